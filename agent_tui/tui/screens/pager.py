"""The transcript pager: everything of the session, each call with all output that is kept."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tui.engine.commands import Subject
from agent_tui.tui import hidden, words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import View
from agent_tui.tui.transcript import blocks, render
from agent_tui.tui.transcript.lines import BLANK, Line, plain
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

NEAR = 2_000  # blocks that are rendered at once; older ones come with `g`
_TO_BLOCK: dict[str, tuple[type[blocks.Block], int]] = {  # by key or character; the next, or the one before
    "[": (blocks.UserMessage, -1), "]": (blocks.UserMessage, 1),
    "left": (blocks.UserMessage, -1), "right": (blocks.UserMessage, 1),
    "{": (blocks.Card, -1), "}": (blocks.Card, 1),
}  # fmt: skip


class PagerView(View):
    """Ctrl+T, F2, `/transcript`; Ctrl+F begins with a search."""

    act = "transcript"
    keys_first = "j k line · space b page · g G ends · [ ] message · { } call · / find · n N"
    keys_second = "Enter unfold · d diff · y copy block · Y copy raw · q or Esc close"

    def __init__(self, agent: "AgentApp", *, find: bool = False) -> None:
        super().__init__(agent)
        self._blocks = hidden.whole(agent.transcript.blocks)
        self._count = sum(not isinstance(block, blocks.Mark) for block in self._blocks)
        self._first = max(len(self._blocks) - NEAR, 0)
        self._starts: list[int] = []  # first line of each block
        self._unfolded: set[int] = set()
        self._outputs: dict[str, list[str]] = {}  # call → all lines that were kept of it
        self._at_end = True
        if find:
            self._finding = ""

    @property
    def look(self) -> Look:
        return replace(super().look, facts=True)

    def title_words(self) -> tuple[str, str]:
        last = self.body.last_top
        share = 100 if not last else round(100 * self.body.top / last)
        return f"transcript · {self.agent.session.session_id} · {self._count} blocks", f"{share}%"

    def content(self, look: Look) -> Sequence[Line]:
        rows: list[Line] = []
        self._starts = []
        shown = self._blocks[self._first :]
        for index, block in enumerate(shown):
            if rows and _is_apart(shown[index - 1], block):
                rows.append(BLANK)
            self._starts.append(len(rows))
            rows += self._whole(block, look) if index in self._unfolded else render.render(block, look)
        return rows

    def _whole(self, block: blocks.Block, look: Look) -> list[Line]:
        if isinstance(block, blocks.Card):
            calls = [self._with_output(call) for call in block.calls]
            return render.render(blocks.Card(calls=calls, expanded=True), replace(look, whole=True))
        before, block.expanded = block.expanded, True
        try:
            return render.render(block, look)
        finally:
            block.expanded = before

    def _with_output(self, call: blocks.Call) -> blocks.Call:
        """The call with all of its output that was fetched."""
        lines = self._outputs.get(call.call_id)
        if lines is None:
            return call
        output = blocks.Output()
        output.lines, output.total = deque(lines), len(lines)
        return replace(call, output=output)

    async def _fetch(self, card: blocks.Card) -> None:
        for call in card.calls:
            artifact = call.outcome.artifact if call.outcome is not None else None
            if artifact is None or call.call_id in self._outputs:
                continue
            try:
                text = str(await self.agent.link.ask(Subject.OUTPUT, ref=artifact.ref))
            except RefusedError as error:
                self.say(str(error))
                continue
            self._outputs[call.call_id] = text.splitlines()
            self.draw()

    def draw(self) -> None:
        super().draw()
        if self._at_end and self.body.size.height:
            self._at_end = False
            self.body.scroll(10**9)
            self.draw_frame()

    def _index(self) -> int:
        """The found block while it is in view, else the newest at the end, else the one at the top."""
        shown = range(self.body.top, self.body.top + self.body.size.height)
        if self.body.marked in shown:
            top = self.body.marked
        else:
            top = len(self.body.lines) if self.body.top >= self.body.last_top else self.body.top
        return max((index for index, start in enumerate(self._starts) if start <= top), default=0)

    def press(self, key: str, character: str) -> bool:
        if key in _TO_BLOCK or character in _TO_BLOCK:
            self._jump(*(_TO_BLOCK.get(key) or _TO_BLOCK[character]))
        elif key == "enter":
            self._unfold(self._index())
        elif character == "d":
            self._diff()
        elif character in ("y", "Y"):
            self._copy(raw=character == "Y")
        elif character == "g" and self._first:
            self._first = 0
            self.draw()
            return False
        else:
            return False
        return True

    def _unfold(self, index: int) -> None:
        self._unfolded ^= {index}
        block = self._blocks[self._first :][index] if self._starts else None
        if isinstance(block, blocks.Card) and index in self._unfolded:
            self.run_worker(self._fetch(block))
        self.draw()

    def _jump(self, kind: type[blocks.Block], by: int) -> None:
        shown = self._blocks[self._first :]
        index = self._index() + by
        while 0 <= index < len(shown) and not isinstance(shown[index], kind):
            index += by
        if 0 <= index < len(shown):
            self.body.top = min(self._starts[index], self.body.last_top)
            self.body.marked = self._starts[index]
            self.body.refresh()

    def _diff(self) -> None:
        block = self._blocks[self._first :][self._index()] if self._starts else None
        if isinstance(block, blocks.Card):
            self.agent.views.diff_of(block)
        else:
            self.say("only a call has a diff")

    def _copy(self, *, raw: bool) -> None:
        block = self._blocks[self._first :][self._index()] if self._starts else None
        if block is None:
            return
        text = getattr(block, "text", "") if raw else ""
        text = text or "\n".join(plain(row) for row in self._whole(block, self.look))
        self.agent.copy_to_clipboard(text)
        self.say(f"copied {words.count(text.count(chr(10)) + 1, 'line')}")


def _is_apart(above: blocks.Block, block: blocks.Block) -> bool:
    """Whether a blank line stands between two blocks: a hidden part and its marks stand together."""
    if isinstance(above, blocks.Mark):
        return above.ends
    return not (block.tight or (isinstance(block, blocks.Mark) and block.ends))
