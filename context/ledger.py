"""The evidence ledger: what stands for the hidden part of a session.

Made from facts by code, so it is always to be had and always the same. Sections come in a fixed
order, each with its quota. What the person said, what changed, what was checked and what is alive
is never emptied; what was merely looked up goes first.
"""

from collections.abc import Iterable, Mapping, Sequence

from agent_tui.frozen import frozen
from context.entities import hard_entities, missing, retained_list
from context.estimate import text_tokens
from context.facts import CallFact
from context.items import UserItem
from context.shrink import describe

DIRECTIVE_SHARE = 0.40
DIRECTIVE_TOKENS = 20_000
COMMAND_CHARS = 300
PATHS_BEFORE_GROUPING = 400
NEWEST_CHANGES = 12  # keep their line in full where not all can
CHANGES_SHARE = 0.4  # of the ledger, for full lines of changed paths
NAMES_SHARE = 2.0  # what bare names of changed paths may take beyond that before the oldest are left out
CHECKS_SHARE = 0.2
DENIALS_SHARE = 0.1
RETAINED_SHARE = 0.4
GONE_AGAIN = "gone again"  # what became of a path that was made and deleted


@frozen
class Sources:
    """All that a ledger is made from; `facts` and `users` of the whole visible past, in order."""

    users: tuple[UserItem, ...]
    facts: tuple[CallFact, ...]
    hidden_calls: frozenset[str]
    live: tuple[str, ...] = ()  # lines: terminals, pending approvals, plan, budgets used
    live_ids: tuple[str, ...] = ()
    history: str = ""  # how hidden items are read again
    focus: str = ""  # what the person asked to keep with `/compact FOCUS`


def build_ledger(sources: Sources, limit_bytes: int) -> str:
    """The ledger text, at most `limit_bytes` where its protected sections allow."""
    fixed = [
        _section("Said by the person", _directives(sources, limit_bytes)),
        _section("Files changed", _changes(sources.facts, limit_bytes)),
        _fit("Checks", _checks(sources.facts), round(limit_bytes * CHECKS_SHARE)),
        _section("Now", [*sources.live, *([f"Keep in mind: {sources.focus}"] if sources.focus else [])]),
        _section("Hidden items", [sources.history] if sources.history else []),
    ]
    left = limit_bytes - sum(_size(text) for text in fixed)
    failures = _failures(sources.facts)
    failing = _fit("Open failures", failures, max(left // 2, 400 if failures else 0))
    left -= _size(failing)
    lookups = _lookups(sources)
    looked_up = _fit("Commands and lookups", lookups, max(left, 0))
    said, changed, checked, now, index = fixed
    body = "".join((said, changed, checked, failing, looked_up, now, index))
    text = "# What happened before (earlier items are hidden)\n" + body
    hidden_facts = [fact for fact in sources.facts if fact.call_id in sources.hidden_calls]
    hard = hard_entities(sources.users, hidden_facts, sources.live_ids)
    return text + retained_list(missing(hard, text), round(limit_bytes * RETAINED_SHARE))


def _size(text: str) -> int:
    return len(text.encode("utf-8", errors="surrogatepass"))


def _section(title: str, lines: Sequence[str]) -> str:
    return f"\n## {title}\n" + "\n".join(f"- {line}" for line in lines) + "\n" if lines else ""


def _fit(title: str, lines: Sequence[str], limit: int) -> str:
    """As many lines as fit, newest last; the oldest go first and are counted."""
    return _section(title, _newest(lines, limit - _size(_section(title, ["x" * 40]))))


def _newest(lines: Sequence[str], limit: int) -> list[str]:
    """The last lines that fit, and how many there were before them; none where not even one fits."""
    kept: list[str] = []
    size = 0
    for line in reversed(lines):
        size += _size(line) + 3
        if size > limit:
            break
        kept.append(line)
    dropped = len(lines) - len(kept)
    head = [f"({dropped} older ones left out)"] if dropped and kept else []
    return [*head, *reversed(kept)]


def _directives(sources: Sources, limit_bytes: int) -> list[str]:
    """Every message of the person, newest first until the quota; older ones cut in the middle."""
    budget = min(round(limit_bytes * DIRECTIVE_SHARE), DIRECTIVE_TOKENS * 4)
    tokens_left = DIRECTIVE_TOKENS
    lines: list[str] = []
    last = len(sources.users) - 1
    for index in range(last, -1, -1):
        text = sources.users[index].text.strip()
        size, tokens = _size(text), text_tokens(text)
        if size <= budget and tokens <= tokens_left:
            lines.append(_quoted(text))
            budget, tokens_left = budget - size, tokens_left - tokens
        elif index in (0, last) or budget > 160:
            room = max(min(budget, size), 400)
            cut = _cut_middle(text, room)
            lines.append(_quoted(cut))
            budget, tokens_left = budget - _size(cut), tokens_left - text_tokens(cut)
    lines.reverse()
    denials = [
        f"denied: {f.target[:COMMAND_CHARS]}: {f.denial_text[:COMMAND_CHARS]}"
        for f in sources.facts
        if f.denial_text
    ]
    return lines + _newest(list(dict.fromkeys(denials)), round(limit_bytes * DENIALS_SHARE))


def quotes(ledger: str, text: str) -> bool:
    """Whether a ledger holds a message of the person word for word."""
    return f"- {_quoted(text.strip())}\n" in ledger


def _quoted(text: str) -> str:
    return '"' + text.replace("\n", "\n  ") + '"'


def _cut_middle(text: str, room_bytes: int) -> str:
    if _size(text) <= room_bytes:
        return text
    half = max(room_bytes // 2 - 20, 40)
    return f"{text[:half]} […{len(text) - 2 * half} characters…] {text[-half:]}"


def changed_paths(facts: Iterable[CallFact]) -> dict[str, str]:
    """What became of each changed path, `GONE_AGAIN` or a kind of change, in order of the first change."""
    kinds: dict[str, str] = {}
    for fact in facts:
        for change in fact.changes:
            kinds[change.path] = _joined(kinds.get(change.path, ""), change.kind)
    return kinds


def _changes(facts: Sequence[CallFact], limit_bytes: int) -> list[str]:
    """One line a path: what became of it, by which calls, its content now, the way back. Where there
    is no room for that, names alone, and for the newest ones the whole line."""
    first: dict[str, CallFact] = {}
    calls: dict[str, list[str]] = {}
    kinds = changed_paths(facts)
    hashes: dict[str, str] = {}
    for fact in facts:
        for change in fact.changes:
            first.setdefault(change.path, fact)
            calls.setdefault(change.path, []).append(fact.call_id)
            hashes[change.path] = change.sha256
    if len(kinds) > PATHS_BEFORE_GROUPING:
        return _grouped(kinds, limit_bytes)
    lines = []
    for path, kind in kinds.items():
        by = ", ".join(calls[path][:6]) + (
            f" and {len(calls[path]) - 6} more" if len(calls[path]) > 6 else ""
        )
        line = f"{kind} {path} by {by}"
        if hashes[path]:
            line += f", now sha256 {hashes[path][:12]}"
        if first[path].checkpoint_id:
            line += f", before: checkpoint {first[path].checkpoint_id}"
        lines.append(line)
    if sum(map(_size, lines)) <= limit_bytes * CHANGES_SHARE:
        return lines
    short = [*_by_kind(dict(list(kinds.items())[:-NEWEST_CHANGES])), *lines[-NEWEST_CHANGES:]]
    return short if sum(map(_size, short)) <= limit_bytes else _grouped(kinds, limit_bytes)


def _by_kind(kinds: Mapping[str, str]) -> list[str]:
    paths: dict[str, list[str]] = {}
    for path, kind in kinds.items():
        paths.setdefault(kind, []).append(path)
    return [f"{kind}: {', '.join(found)}" for kind, found in paths.items()]


def _joined(before: str, now: str) -> str:
    """What a path's changes amount to over the session."""
    if before == "A":
        return GONE_AGAIN if now == "D" else "A"
    return now if not before or now == "D" else "M"


def _grouped(kinds: Mapping[str, str], limit_bytes: int) -> list[str]:
    """Counts by directory, and all names; the newest ones where there is no room for all."""
    counts: dict[str, int] = {}
    for path in kinds:
        counts[path.rpartition("/")[0] or "."] = counts.get(path.rpartition("/")[0] or ".", 0) + 1
    folders = _newest([f"{count} files in {folder}" for folder, count in counts.items()], limit_bytes // 4)
    names = ", ".join(kinds)
    if _size(names) <= NAMES_SHARE * limit_bytes:
        return [*folders, f"all paths: {names}"]
    newest = [name for name in _newest(list(kinds), limit_bytes // 2) if name in kinds]
    return [*folders, f"the newest {len(newest)} of {len(kinds)} paths: {', '.join(newest)}"]


def _checks(facts: Sequence[CallFact]) -> list[str]:
    last: dict[str, tuple[int, CallFact]] = {}
    changed_at = -1
    for position, fact in enumerate(facts):
        if fact.changes:
            changed_at = position
        if fact.is_check:
            last.pop(fact.target, None)
            last[fact.target] = (position, fact)
    lines = []
    for position, fact in last.values():
        state = "passed" if fact.passed else f"failed (exit {fact.exit_code})"
        stale = "; files changed after it" if changed_at > position else ""
        lines.append(f"`{fact.target[:COMMAND_CHARS]}` {state} in step {fact.step}{stale}")
    return lines


def _failures(facts: Sequence[CallFact]) -> list[str]:
    failing: dict[str, list[CallFact]] = {}
    for fact in facts:
        if fact.kind != "exec":
            continue
        if fact.passed:
            failing.pop(fact.key, None)
        elif fact.status in ("failed", "timed_out"):
            failing.setdefault(fact.key, []).append(fact)
    lines = []
    for tries in failing.values():
        newest = tries[-1]
        line = f"`{newest.target[:COMMAND_CHARS]}` exit {newest.exit_code}: {newest.first_error[:200]}"
        if newest.failing_tests:
            line += f"; failing: {', '.join(newest.failing_tests[:10])}"
        if len(tries) > 1:
            line += f"; tried {len(tries)} times"
        lines.append(line)
    return lines


def _lookups(sources: Sources) -> list[str]:
    """Hidden commands and reads, equal ones counted; successes of read-only kinds go first."""
    counts: dict[tuple[str, str], int] = {}
    newest: dict[tuple[str, str], CallFact] = {}
    for fact in sources.facts:
        if fact.call_id in sources.hidden_calls and fact.kind != "write":
            key: tuple[str, str] = (fact.kind, fact.key)
            counts[key] = counts.get(key, 0) + 1
            newest.pop(key, None)
            newest[key] = fact
    # `_fit` drops from the front: read-only successes stand there, oldest first.
    ordered = sorted(newest, key=lambda key: not (newest[key].passed and key[0] in ("read", "search")))
    lines = []
    for key in ordered:
        times = f" ({counts[key]} times)" if counts[key] > 1 else ""
        lines.append(describe(newest[key])[: COMMAND_CHARS + 200] + times)
    return lines
