"""The object of a prompt on the whole screen: numbered lines, what is hidden is named (3.5)."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui import safe_text
from agent_tui.tui import words
from agent_tui.tui.screens.view import View
from agent_tui.tui.transcript.lines import Line, Span, untrusted, wrap
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp
    from agent_tui.tui.forms.approval import ApprovalForm

BLANKS = re.compile(r" {8,}")  # so many blanks could push text out of sight: they are counted


class CommandView(View):
    """Space to the end, then the choices of the prompt may be taken there."""

    keys_first = "space more · end last · / find"
    keys_second = "the choices are in the prompt · Esc back to it"

    def __init__(self, agent: "AgentApp", form: "ApprovalForm") -> None:
        super().__init__(agent)
        self._form = form

    def title_words(self) -> tuple[str, str]:
        shown = self._form.event.assessment.shown
        lines = words.count(shown.count("\n") + 1, "line")
        size = f"{lines}, {words.count(len(shown.encode(errors='replace')), 'byte')}"
        last = min(self.body.top + self.body.size.height, len(self.body.lines))
        title = self._form.title if self._form.event.diff else f"{self._form.title} · {size}"
        return title, f"{self.body.top + 1}–{last} of {len(self.body.lines)}"

    def content(self, look: Look) -> Sequence[Line]:
        if self._form.event.diff:
            return self._form.object(look)
        return numbered(self._form.event.assessment.shown, look)

    def draw_frame(self) -> None:
        super().draw_frame()
        if self.body.lines and self.body.size.height and self.body.top >= self.body.last_top:
            self.agent.prompt.seen_to_end()


def numbered(text: str, look: Look) -> list[Line]:
    """Real lines with numbers; runs of blanks and of empty lines as counts."""
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
    return rows


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
    hidden = safe_text.hidden(row)
    if hidden:
        spans.append(
            Span(
                f"  ! {words.count(len(hidden), 'hidden character')}: {safe_text.name_of(hidden[0])}",
                "attention",
            )
        )
    first = (Span(f"{number:>5}  ", "muted"),)
    return wrap(spans, look.width, first=first, rest=(Span(f"    {look.glyphs.wrapped}  ", "muted"),)) or [
        first
    ]
