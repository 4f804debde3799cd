"""The diff view: unified, or side by side from 120 columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.engine.commands import Subject
from agent_tui.tui import words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import View
from agent_tui.tui.transcript import diff
from agent_tui.tui.transcript.lines import Line, Span, plain, untrusted
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

SIDES_FROM = 120  # columns
_SCOPES = {"1": ("turn", {"turn": "1"}), "2": ("session", {"session": "1"})}


class DiffView(View):
    """A diff that is given, or asked for over turn, session or checkpoint."""

    def __init__(
        self,
        agent: "AgentApp",
        *,
        title: str,
        args: dict[str, str],
        before: str = "before",
        after: str = "after",
        path: str = "",
    ) -> None:
        super().__init__(agent)
        self._path = path  # of the file that is shown first; empty: the first of them
        self._title = title
        self._args = args
        self._sides = (before, after)
        self._files: list[diff.FileDiff] | None = None
        self._failure = ""
        self._wrapped = False

    async def load(self) -> None:
        try:
            files = diff.parse(str(await self.agent.link.ask(Subject.DIFF, **self._args)))
            self._files = sorted(files, key=lambda file: not file.rows)  # binaries behind what can be read
        except RefusedError as error:
            self._files, self._failure = [], str(error)
        self.draw()
        at = next((at for at, file in enumerate(self._files) if file.path == self._path), 0)
        self._path = ""
        if at:
            self.body.scroll(self._headings()[at] - self.body.top)
            self.draw_frame()

    @property
    def _side_by_side(self) -> bool:
        return self.agent.size.width >= SIDES_FROM and self.agent.sides

    @property
    def keys_first(self) -> str:  # type: ignore[override]  # the other view is named
        other = "unified" if self._side_by_side else "side by side"
        return f"j k scroll · n N hunk · f F file · s {other} · w wrap · / find"

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        back = "u take this file back · " if self._target else ""
        return f"1 turn · 2 session · 3 since · {back}y copy · Esc close"

    def hints(self) -> tuple[str, str]:
        return super().hints() if self._files else ("", "1 turn · 2 session · 3 since · Esc close")

    @property
    def _target(self) -> str:
        """The checkpoint that a file can be taken back to."""
        return self._args.get("checkpoint") or self._args.get("from", "")

    def title_words(self) -> tuple[str, str]:
        files = self._files or []
        totals = f"+{sum(f.added for f in files)} -{sum(f.removed for f in files)}"
        left = f"diff · {self._title}" + (f" · {words.count(len(files), 'file')} {totals}" if files else "")
        return left, f"file {self._file() + 1} of {len(files)}" if files else ""

    def content(self, look: Look) -> Sequence[Line]:
        if self._files is None:
            return [(Span(f"  loading {look.glyphs.more}", "muted"),)]
        if not self._files:
            text = (
                self._failure
                or f"Nothing changed in this {self._title if self._title in ('turn', 'session') else 'call'}"
            )
            return [(Span("  "), *untrusted(text, "muted"))]
        if self._side_by_side:
            return diff.side_by_side(self._files, look, *self._sides)
        return diff.unified(self._files, look, wrapped=self._wrapped)

    def _headings(self) -> list[int]:
        return [
            index for index, row in enumerate(self.body.lines) if len(row) > 1 and row[0].text in _HEADINGS
        ]

    def _file(self) -> int:
        return max(sum(start <= self.body.top for start in self._headings()) - 1, 0)

    def press(self, key: str, character: str) -> bool:
        if character in ("f", "F"):
            self._jump(self._headings(), 1 if character == "f" else -1)
        elif character in ("n", "N") and not self._found:
            self._jump(self._hunks(), 1 if character == "n" else -1)
        elif character == "s":
            self.agent.sides = not self.agent.sides
            self.draw()
            if self.agent.size.width < SIDES_FROM:
                self.say(
                    f"side by side from {SIDES_FROM} columns on"
                    if self.agent.sides
                    else "unified at any width"
                )
        elif character == "w":
            self._wrapped = not self._wrapped
            self.draw()
        elif character in _SCOPES:
            self._ask_for(*_SCOPES[character])
        elif character == "3":
            self.ask_line(
                "since checkpoint", "", lambda name: self._ask_for(f"since {name}", {"checkpoint": name})
            )
        elif character == "y":
            self._copy()
        elif character == "u":
            self._take_back()
        else:
            return False
        return True

    def _ask_for(self, title: str, args: dict[str, str]) -> None:
        self._title, self._args, self._failure = title, args, ""
        before = args.get("checkpoint", "")
        self._sides = (before, "now") if before else ("before", "after")
        self.body.top = 0
        self.run_worker(self.load())

    def _hunks(self) -> list[int]:
        rows = self.body.lines
        changed = [any(span.role in ("add", "remove") for span in row) for row in rows]
        return [index for index, now in enumerate(changed) if now and (index == 0 or not changed[index - 1])]

    def _jump(self, places: list[int], by: int) -> None:
        top = self.body.top
        ahead = (
            [place for place in places if place > top]
            if by > 0
            else [place for place in reversed(places) if place < top]
        )
        if ahead:
            self.body.scroll(ahead[0] - top)

    def _copy(self) -> None:
        self.agent.copy_to_clipboard("\n".join(plain(row) for row in self.body.lines))
        self.say(f"copied {words.count(len(self.body.lines), 'line')}")

    def _take_back(self) -> None:
        if not self._files or not self._target:
            self.say("only the diff of a checkpoint or a call can be taken back from here")
            return
        file = self._files[self._file()]
        self.agent.views.rollback(self._target, "files", paths=(file.path, *filter(None, (file.old_path,))))


_HEADINGS = frozenset({" M ", " A ", " D ", " R ", " X "})
