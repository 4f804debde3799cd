"""One compaction epoch: an atomic rewrite of the view.

`plan_epoch` is pure and decides what is hidden, shortened and said instead. A model summary, where
one is wanted, is made by the caller from `EpochPlan.span` and handed to `finish_epoch`, which
accepts or rejects it. Nothing changes before the returned record is in the log.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent_tui.frozen import frozen
from context.budget import Window
from context.entities import hard_entities, missing
from context.estimate import Meter, text_tokens
from context.evict import (
    TAIL_SHARE,
    TAIL_SHARE_AFTER_REREADS,
    evict,
    floor_units,
    protected_units,
)
from context.facts import CallFact
from context.guard import Guard
from context.history import history_text
from context.items import (
    CompactionItem,
    Item,
    KeptWhole,
    Origin,
    Replacement,
    ResponseItem,
    ResultItem,
    UserItem,
)
from context.kept import absent, kept_whole
from context.ledger import Sources, build_ledger, changed_paths
from context.shrink import describe, shrink
from context.units import item_ids, visibility_of, with_replacements
from context.view import ExchangeUnit, FinalUnit, SummaryUnit, Unit, UserUnit, View

SUMMARY_TITLE = "\n\n# Summary of the hidden part\n"
SUMMARY_SHARE = 0.04  # of the input budget, the most a summary may take
_SEEKING = ("read", "search", "exec")  # kinds whose repetition says that too much was hidden


@frozen
class EpochInput:
    """What an epoch needs besides the log."""

    facts: Mapping[str, CallFact]
    window: Window
    guard: Guard = Guard()
    live: tuple[str, ...] = ()
    live_ids: tuple[str, ...] = ()
    history: str = ""
    focus: str = ""
    target_tokens: int | None = None  # None: half of the input budget
    floor: bool = False  # hide everything that can be hidden


@frozen
class EpochPlan:
    """What an epoch would do; sizes in tokens, corrected by the session's factor."""

    hidden: tuple[str, ...]
    replacements: tuple[Replacement, ...]
    ledger: str
    tokens_before: int
    tokens_after: int
    hidden_units: int
    hidden_keys: tuple[str, ...]
    hard: tuple[str, ...]  # identifiers that must occur in the new view
    lost: tuple[str, ...]  # those of them that neither what stays nor the ledger holds
    kept: KeptWhole
    span: str  # the hidden part as text, for a summariser; with arguments and outcomes
    history: str  # all that this epoch takes out of the view, word for word
    previous_summary: str
    summary_tokens: int  # the most a summary may take

    @property
    def changes_nothing(self) -> bool:
        """Whether nothing could be hidden or shortened."""
        return not self.hidden and not self.replacements


def plan_epoch(log: Sequence[Item], view: View, meter: Meter, given: EpochInput) -> EpochPlan:
    """Layers 1 and 2 until the target is met, and the ledger for what was hidden."""
    units = [unit for unit in view.units if not isinstance(unit, SummaryUnit)]
    before = meter.tokens(view)
    target = given.window.target if given.target_tokens is None else given.target_tokens
    tail = TAIL_SHARE_AFTER_REREADS if given.guard.reread_strikes else TAIL_SHARE

    def tokens(unit: Unit) -> int:
        return round(meter.unit(unit) * meter.factor)

    kept = protected_units(units, tokens, round(given.window.input * tail), given.guard.pinned_calls)
    replacements = () if given.floor else shrink(units, given.facts, kept)
    shortened = _shortened(view, replacements)
    size = round(meter.raw(shortened) * meter.factor)
    hidden: tuple[Unit, ...] = ()
    if given.floor:
        hidden = floor_units(units)
    elif size > target:
        ledger_room = round(given.window.ledger_bytes / 3 * meter.factor)
        current = [unit for unit in shortened.units if not isinstance(unit, SummaryUnit)]
        hidden = evict(current, tokens, kept, size + ledger_room - target)
    return _plan(log, shortened, meter, given, replacements, hidden, before)


def _shortened(view: View, replacements: tuple[Replacement, ...]) -> View:
    by_call = {(one.item_id, one.call_id): one for one in replacements}
    return replace(view, units=tuple(with_replacements(unit, by_call) for unit in view.units))


def _plan(
    log: Sequence[Item],
    shortened: View,
    meter: Meter,
    given: EpochInput,
    replacements: tuple[Replacement, ...],
    hidden: tuple[Unit, ...],
    before: int,
) -> EpochPlan:
    hidden_ids = tuple(item_id for unit in hidden for item_id in item_ids(unit))
    gone = frozenset(hidden_ids)
    seen = visibility_of(log)
    rolled_back = _calls_of(log, seen.rolled_back)
    gone_calls = _calls_of(log, seen.hidden | gone) - rolled_back
    sources = Sources(
        users=_said(log, given.facts, seen.rolled_back),
        facts=tuple(fact for fact in given.facts.values() if fact.call_id not in rolled_back),
        hidden_calls=gone_calls,
        live=given.live,
        live_ids=given.live_ids,
        history=given.history,
        focus=given.focus,
    )
    limit = given.window.ledger_bytes // (2 if given.floor else 1)
    ledger = build_ledger(sources, limit) if hidden or seen.summary else ""
    kept = [u for u in shortened.units if item_ids(u)[0] not in gone and not isinstance(u, SummaryUnit)]
    head = [SummaryUnit(id="trial", text=ledger)] if ledger else []
    after = replace(shortened, units=(*head, *kept))
    touched = {item_id for item_id, _ in seen.replacements} | {one.item_id for one in replacements} | gone
    span_facts = [fact for fact in sources.facts if fact.call_id in gone_calls]
    newly = _calls_of(log, gone)
    hard = hard_entities(sources.users, span_facts, given.live_ids)
    return EpochPlan(
        hidden=hidden_ids,
        replacements=replacements,
        ledger=ledger,
        tokens_before=before,
        tokens_after=round(meter.raw(after) * meter.factor),
        hidden_units=len(hidden),
        hidden_keys=tuple(f.key for f in span_facts if f.call_id in newly and f.kind in _SEEKING),
        hard=hard,
        lost=absent(hard, after.units),
        kept=kept_whole(sources.users, changed_paths(sources.facts), shortened.units, after.units, touched),
        span=_span_text(hidden, given.facts),
        history=history_text(log, gone, replacements),
        previous_summary=_summary_of(seen.summary.text) if seen.summary else "",
        summary_tokens=round(given.window.input * SUMMARY_SHARE),
    )


def _said(
    log: Sequence[Item], facts: Mapping[str, CallFact], rolled_back: frozenset[str]
) -> tuple[UserItem, ...]:
    """What the person said, in order: messages, and answers to what the model asked."""
    said: list[UserItem] = []
    for item in log:
        if item.id in rolled_back:
            continue
        fact = facts.get(item.call_id) if isinstance(item, ResultItem) else None
        if isinstance(item, UserItem):
            said.append(item)
        elif fact is not None and fact.answer:
            said.append(UserItem(id=item.id, text=fact.answer, origin=Origin.ANSWER))
    return tuple(said)


def _calls_of(log: Sequence[Item], item_ids: frozenset[str]) -> frozenset[str]:
    """The calls of the responses among `item_ids`."""
    responses = (item for item in log if isinstance(item, ResponseItem) and item.id in item_ids)
    return frozenset(call.call_id for response in responses for call in response.calls)


def _summary_of(text: str) -> str:
    return text.partition(SUMMARY_TITLE)[2]


def _span_text(hidden: Sequence[Unit], facts: Mapping[str, CallFact]) -> str:
    """The hidden units as plain text; results cut, arguments and outcomes kept."""
    lines: list[str] = []
    for unit in hidden:
        match unit:
            case UserUnit():
                lines.append(f"PERSON: {unit.item.text}")
            case FinalUnit():
                lines.append(f"AGENT: {unit.response.text}")
            case ExchangeUnit():
                if unit.response.text:
                    lines.append(f"AGENT: {unit.response.text}")
                for call, result in zip(unit.response.calls, unit.results, strict=True):
                    fact = facts.get(call.call_id)
                    lines.append(f"CALL {call.tool} {call.arguments[:1000]}")
                    lines.append(f"RESULT {describe(fact) if fact else ''}: {result.text[:1500]}")
            case _:
                continue
    return "\n".join(lines)


def finish_epoch(plan: EpochPlan, item_id: str, summary: str | None) -> tuple[CompactionItem, str]:
    """The record to append, and why a summary was rejected (empty: it was accepted or not given)."""
    text, problem = plan.ledger, ""
    if summary is not None:
        problem = _problem_of(summary, plan)
        if not problem:
            text = plan.ledger + SUMMARY_TITLE + summary.strip()
            lost = missing(plan.lost, text)
            problem = f"{len(lost)} identifiers were lost" if lost else ""
        if problem:
            text = plan.ledger
    item = CompactionItem(id=item_id, hidden=plan.hidden, replacements=plan.replacements, text=text)
    return item, problem


def _problem_of(summary: str, plan: EpochPlan) -> str:
    """Why a summary cannot be used: empty, a refusal, or more than twice its room."""
    stripped = summary.strip()
    if len(stripped) < 20:
        return "empty"
    if text_tokens(stripped) > 2 * plan.summary_tokens:
        return "too long"
    start = stripped[:80].lower()
    if start.startswith(("i can't", "i cannot", "i'm sorry", "i am sorry", "sorry,")):
        return "a refusal"
    return ""
