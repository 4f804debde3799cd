"""The object of a prompt on the whole screen: numbered lines, what is hidden is named."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from agent_tui import safe_text
from agent_tui.engine.events import ApprovalAsked
from agent_tui.tui import words
from agent_tui.tui.forms.approval import ApprovalForm
from agent_tui.tui.forms.form import Choice, Fact, Form
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.screens.view import EARLY, View
from agent_tui.tui.transcript.lines import Line, Span, clip, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look
from agent_tui.tui.widgets.arming import DELAY_S
from agent_tui.tui.widgets.burst import Burst
from agent_tui.tui.widgets.pane import Pane

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

BLANKS = re.compile(r" {8,}")  # so many blanks could push text out of sight: they are counted
LABEL = 12  # columns of a label
_DECIDE = ("grant", "sandbox")


class CommandView(View):
    """Space to the end; the choices of the prompt work here too, those that allow only after the end."""

    heavy = True
    heavy_foot = False

    def __init__(self, agent: "AgentApp", form: Form) -> None:
        super().__init__(agent)
        self._form = form
        self.facts = Pane(theme=agent.look_theme)
        self._seen_at: float | None = None  # when the end came on the screen
        self._burst = Burst(self, self._answer, self._typed)

    @property
    def keys_first(self) -> str:  # type: ignore[override]  # computed where the base has a value
        below = len(self.body.lines) - self.body.top - self.body.size.height
        if below > 0:
            return f"space more ({words.count(below, 'line')} below) · end last · / find"
        allowing = [f"{choice.key} {choice.label}" for choice in self._form.choices() if choice.needs_end]
        return " · ".join([*allowing, "/ find"])

    @property
    def keys_right(self) -> str:  # type: ignore[override]  # computed where the base has a value
        keys = " ".join(choice.key for choice in self._form.choices() if choice.needs_end)
        return f"{keys} after the end" if self._is_more and self._seen_at is None else ""

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        choices = self._form.choices()[:-1]
        free = [choice for choice in choices if not choice.needs_end]
        every = _keys(choices[1:]) if self._is_more else _keys(free)
        return every if len(every) + 3 <= self.look.width else _keys(free)

    @property
    def _is_more(self) -> bool:
        return len(self.body.lines) - self.body.top > self.body.size.height

    @property
    def is_holding(self) -> bool:
        """Whether a key waits until it is clear that it stands alone."""
        return self._burst.is_open

    def press(self, key: str, character: str) -> bool:
        if self._burst.is_open and character.isprintable() and character:
            self._burst.add(key, character)
            return True
        self._burst.end_as_text()
        choice = next((each for each in self._form.choices() if each.key == character), None)
        if choice is None or (self._found and character in "nN"):
            return False
        if choice.needs_end and self._seen_at is None:
            self.say(f"{character} works after the end was on the screen; space goes on, end is last")
            return True
        since = self._seen_at if choice.needs_end and self._seen_at is not None else 0.0
        if not self.is_armed or self.agent.clock.steady() - since < DELAY_S:
            self.say(EARLY)
        else:
            self._burst.add(key, character)
        return True

    def _answer(self, _: str, typed: str) -> None:
        self.close()
        self.agent.prompt.choose(self._form, typed[0])

    def _typed(self, text: str) -> None:
        self.say("typed text answers nothing; press one key")

    def title_words(self) -> tuple[str, str]:
        title, last = self._form.title, min(self.body.top + self.body.size.height, len(self.body.lines))
        if self._asked is not None and not self._asked.diff:
            shown = self._asked.assessment.shown
            lines = words.count(shown.count("\n") + 1, "line")
            title += f" · {lines}, {words.count(len(shown.encode(errors='replace')), 'byte')}"
        return title, f"{self.body.top + 1}–{last} of {len(self.body.lines)}"

    @property
    def _asked(self) -> ApprovalAsked | None:
        return self._form.event if isinstance(self._form, ApprovalForm) else None

    def content(self, look: Look) -> Sequence[Line]:
        """The object, and behind it what has no place under it."""
        if self._asked is None or self._asked.diff:
            rows = self._form.object(look)
        else:
            rows = numbered(self._asked.assessment.shown, look, self._asked.assessment.notes)
        behind = [row for each in self._parted(look)[1] for row in each.rows(look, columns=LABEL)]
        return [*rows, (), *behind] if behind else rows

    def _parted(self, look: Look) -> tuple[list[Fact], list[Fact]]:
        """All that is known, whole: what stays in view under the lines, and what stands behind them."""
        known = self._form.facts(replace(look, low=False), whole=True)
        facts = [replace(each, right="") for each in known]  # its key does nothing here
        if self._asked is not None and self._asked.assessment.parsed and not self._asked.diff:
            parsed = own_words(self._asked.assessment.parsed, look.glyphs)
            facts.insert(0, Fact(label="as parsed", spans=untrusted(parsed)))
        for stays in (("as parsed", "in", *_DECIDE), _DECIDE):
            under = [each for each in facts if each.label in stays]
            if sum(len(each.rows(look, columns=LABEL)) for each in under) <= self.agent.size.height // 3:
                return under, [each for each in facts if each not in under]
        return [], facts

    def compose(self) -> ComposeResult:
        yield self.small
        yield self.head
        yield self.body
        yield self.facts
        yield self.foot
        yield self.foot_second

    def _fact_rows(self, look: Look) -> list[Line]:
        """What stays in view under the lines: how they were understood, and where they would run."""
        under, _ = self._parted(look)
        if [each.label for each in under[-2:]] == ["in", "sandbox"]:
            place, sandbox = under[-2:]
            lead, *more = place.rows(look, columns=LABEL)
            beside = (*lead, Span(" " * 8), Span("sandbox  ", "muted"), *sandbox.spans)
            if width_of(beside) <= look.width and not more:
                above = [row for each in under[:-2] for row in each.rows(look, columns=LABEL)]
                return [*above, beside, ()]
        return [row for each in under for row in each.rows(look, columns=LABEL)]

    def draw_frame(self) -> None:
        super().draw_frame()
        if self.is_small:
            return
        rows = self._fact_rows(self.look)
        self.facts.styles.height = len(rows)
        self.facts.show(rows)
        at_end = self.body.lines and self.body.size.height and self.body.top >= self.body.last_top
        if at_end and self._seen_at is None:
            self._seen_at = self.agent.clock.steady()
            self.agent.prompt.seen_to_end(self._form)


def _keys(choices: Sequence[Choice]) -> str:
    return " · ".join([*(f"{choice.key} {choice.short or choice.label}" for choice in choices), "Esc back"])


def numbered(text: str, look: Look, notes: Sequence[tuple[int, str]] = ()) -> list[Line]:
    """Real lines with numbers; runs of blanks and of empty lines as counts; notes under their line."""
    rows: list[Line] = []
    empty = 0
    for number, row in enumerate([*text.split("\n"), "\0"], 1):
        if not row.strip() and row != "\0":
            empty += 1
            continue
        if empty > 2:
            rows.append((Span(f"{number - empty:>5}  ", "muted"), Span(f"({empty} empty lines)", "muted")))
        elif empty:
            rows += [(Span(f"{number - empty + offset:>5}", "muted"),) for offset in range(empty)]
        empty = 0
        if row != "\0":
            rows += _row(number, row, look)
            rows += [_note(at, said, look) for at, said in notes if at == number]
    return rows


def _note(number: int, said: str, look: Look) -> Line:
    spans = untrusted(f"line {number} {said}", "attention", strict=True)
    return clip((Span("    !  ", "attention"), *spans), look.width, look.glyphs.more)


def _row(number: int, row: str, look: Look) -> list[Line]:
    spans: list[Span] = []
    at = 0
    for found in BLANKS.finditer(row):
        if found.start() == 0:
            continue  # an indent hides nothing
        spans += untrusted(row[at : found.start()], strict=True)
        spans.append(Span(f"({len(found.group())} blanks)", "alarm"))
        at = found.end()
    spans += untrusted(row[at:], strict=True)
    for said in safe_text.warnings(row):
        spans += untrusted(own_words(f"  ! {said}", look.glyphs), "attention")
    first = (Span(f"{number:>5}  ", "muted"),)
    return wrap(spans, look.width, first=first, rest=(Span(f"    {look.glyphs.wrapped}  ", "muted"),)) or [
        first
    ]
