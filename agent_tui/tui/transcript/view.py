"""The one view that draws the transcript: a virtual list of lines over rendered blocks.

There is no global coordinate: the view is anchored at (block, row), so the cost of a key, a piece
of text or a resize depends on the height of the screen and never on the length of the transcript.
Rendered blocks are kept for what is near; the text of all blocks stays.
"""

import gc
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_tui.tui import hints, paint, palette
from agent_tui.tui.transcript import render
from agent_tui.tui.transcript.blocks import Answer, Block, Card, Reasoning
from agent_tui.tui.transcript.growing import Growing
from agent_tui.tui.transcript.lines import Line, Span, cut, plain, with_right
from agent_tui.tui.transcript.look import Look
from agent_tui.tui.transcript.selecting import Selecting

KEPT_BLOCKS = 400  # rendered blocks kept; about ten screens of short blocks each way
KEPT_EACH = 250  # blocks; their objects are a few milliseconds of garbage collection


def _keys_of(block: Block, look: Look) -> list[str]:
    """The keys that do something on a picked block."""
    calls = block.calls if isinstance(block, Card) else []
    keys = ["d diff"] if any(call.changes for call in calls) else []
    if isinstance(block, Card | Reasoning):
        keys.append("Enter fold" if block.expanded else "Enter unfold")
    to = "b back" if look.narrow else "b back to before this"
    back = [to] if any(call.checkpoint_id for call in calls) else []
    return [*keys, "y copy", *back, "Esc leave"]


def _keep() -> None:
    """What is held now stays: collections no longer look it over, so that their pause, which stands
    between a key and the screen, does not grow with the transcript."""
    gc.collect()
    gc.freeze()


class Transcript(Widget):
    """Draws blocks and scrolls over them; it never changes one."""

    DEFAULT_CSS = "Transcript { height: 1fr; }"

    class Scrolled(Message):
        """The view moved or new lines came below it."""

    @dataclass
    class Clicked(Message):
        """A click on a block, and the words of the row it hit."""

        block: Block
        row: str

    @dataclass
    class Selected(Message):
        """Text that was dragged over."""

        text: str

    def __init__(self, look: Callable[[int], Look], theme: Callable[[], str]) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self.following = True
        self.new_lines = 0  # that came below while the reader is scrolled up
        self.picked: int | None = None
        self._look = look
        self._theme = theme
        self._top = (0, 0)  # block and row at the top of the view, when not following
        self._screen: list[Strip] = []
        self._selecting = Selecting()
        self._cache: OrderedDict[int, tuple[int, int, list[Strip]]] = OrderedDict()
        self._growing: dict[int, tuple[Growing, list[Strip]]] = {}

    # --- content -------------------------------------------------------------------------------

    def add(self, block: Block) -> None:
        """Put a block at the end."""
        self.blocks.append(block)
        if len(self.blocks) % KEPT_EACH == 0:
            _keep()
        if not self.following:
            self.new_lines += len(self._rows(len(self.blocks) - 1))
        self.update_view()

    def changed(self, block: Block) -> None:
        """Draw a block again after it was touched."""
        if not self.following and self.blocks and self.blocks[-1] is block:
            old = self._cache.get(id(block))
            grown = len(self._rows(len(self.blocks) - 1)) - (len(old[2]) if old else 0)
            self.new_lines += max(grown, 0)
        self.update_view()

    def replace_all(self, blocks: list[Block]) -> None:
        """Show other blocks, such as after a rollback."""
        self.blocks = blocks
        self._forget()
        self.picked = None
        self.follow()

    def repaint(self) -> None:
        """Draw everything again: another theme, width or setting."""
        self._forget()
        self.update_view()

    def _forget(self) -> None:
        self._cache.clear()
        self._growing.clear()

    # --- rows ----------------------------------------------------------------------------------

    def _rows(self, index: int) -> list[Strip]:
        """The strips of a block with the blank line before it, from the cache where possible."""
        block = self.blocks[index]
        key, width = id(block), self.size.width
        kept = self._cache.get(key)
        if kept is not None and kept[0] == block.revision and kept[1] == width and index != self.picked:
            self._cache.move_to_end(key)
            return kept[2]
        look = self._look(width)
        if isinstance(block, Answer) and block.live and index != self.picked:
            return self._live_rows(index, block, look)
        lines = self._picked_lines(index, look) if index == self.picked else self._lines(block, look)
        if index and lines and not block.tight:
            lines = [(), *lines]
        rows = paint.strips(lines, width, self._theme())
        if index != self.picked:
            self._cache[key] = (block.revision, width, rows)
            if len(self._cache) > KEPT_BLOCKS:
                self._cache.popitem(last=False)
        return rows

    def _lines(self, block: Block, look: Look) -> list[Line]:
        self._growing.pop(id(block), None)
        return render.render(block, look)

    def _live_rows(self, index: int, block: Answer, look: Look) -> list[Strip]:
        """A growing answer: what is closed was painted before, only the rest is painted again."""
        kept = self._growing.get(id(block))
        if kept is None or kept[0].look.width != look.width:
            gap = [()] if index and not block.tight else []
            kept = self._growing[id(block)] = (Growing(look), paint.strips(gap, look.width, self._theme()))
        growing, painted = kept
        done = len(painted) - (1 if index and not block.tight else 0)
        last = growing.update(block.text)
        painted += paint.strips(growing.closed[done:], look.width, self._theme())
        rows = painted + paint.strips(last, look.width, self._theme())
        self._cache[id(block)] = (block.revision, look.width, rows)
        return rows

    def _picked_lines(self, index: int, look: Look) -> list[Line]:
        block = self.blocks[index]
        lines = self._lines(block, look)
        if lines and plain(lines[0]).startswith("  "):  # the mark takes the place of the indent
            lines[0] = tuple(cut(lines[0], [2])[1])
        else:
            lines = self._lines(block, replace(look, width=look.width - 2))
        first, *rest = lines or [()]
        place = Span(f"{index + 1} of {len(self.blocks)}", "muted")
        room = look.width - 4 - len(place.text)
        _, words = hints.fitted(("", hints.BETWEEN.join(_keys_of(block, look))), (0, room), look.glyphs)
        keys = with_right((Span("  " + words, "accent"),), (place,), look.width - 1)
        return [(Span("> ", "accent"), *first), *rest, keys]

    def update_view(self) -> None:
        """Compute what is on the screen and repaint only the rows that differ."""
        width, height = self.size
        if not width or not height or self._selecting.is_moving:  # what is being selected stands still
            return
        old, rows = self._screen, self._rows_of_screen(width, height)
        self._screen = rows
        if len(old) != len(rows):
            self.refresh()
            return
        differing = [
            y
            for y, (before, after) in enumerate(zip(old, rows, strict=True))
            if before is not after and before != after
        ]
        if differing:
            self.refresh(Region(0, differing[0], width, differing[-1] - differing[0] + 1))

    def _rows_of_screen(self, width: int, height: int) -> list[Strip]:
        rows = self._from_end(height) if self.following else self._from_top(height)
        return rows + [paint.strip((), width, self._theme())] * (height - len(rows))

    def _from_end(self, height: int) -> list[Strip]:
        pieces: list[list[Strip]] = []
        missing, index = height, len(self.blocks)
        while missing > 0 and index > 0:
            index -= 1
            rows = self._rows(index)
            pieces.append(rows[-missing:])
            self._top = (index, max(len(rows) - missing, 0))
            missing -= len(rows)
        return [row for piece in reversed(pieces) for row in piece]

    def _from_top(self, height: int) -> list[Strip]:
        result: list[Strip] = []
        index, row = self._top
        while len(result) < height and index < len(self.blocks):
            result += self._rows(index)[row:]
            index, row = index + 1, 0
        if len(result) < height:  # the end is in view: the view follows again
            self.following, self.new_lines = True, 0
            self.post_message(self.Scrolled())
            return self._from_end(height)
        return result[:height]

    def render_line(self, y: int) -> Strip:
        if not self._screen:  # the first paint, before the size is told
            self._screen = self._rows_of_screen(*self.size)
        if y < len(self._screen):
            return self._selecting.marked(y, self._screen[y], palette.style(self._theme(), "selected"))
        return paint.strip((), self.size.width, self._theme())

    # --- mouse ---------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1:
            self._selecting.press(event.y, event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._selecting.is_held:
            self.capture_mouse()
            self._selecting.move(min(event.y, self.size.height - 1), event.x)
            self.refresh()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if not self._selecting.is_held:
            return
        if self._selecting.is_moving:
            self.post_message(self.Selected(self._selecting.text(self._screen)))
        elif (block := self.block_at(event.y)) is not None:
            self.post_message(self.Clicked(block, self._screen[event.y].text))
        self._selecting.release()
        self.release_mouse()
        self.refresh()
        self.update_view()

    def on_resize(self) -> None:
        self._selecting.release()
        self._screen = []
        self.update_view()

    # --- scrolling -----------------------------------------------------------------------------

    def scroll_lines(self, count: int) -> None:
        """Move by lines, negative towards the oldest."""
        if count < 0:
            self._up(-count)
        elif not self.following:
            self._down(count)
        self.update_view()
        self.post_message(self.Scrolled())

    def _up(self, count: int) -> None:
        index, row = self._top
        if self.following:
            self.following, self.new_lines = False, 0
        while count > 0 and (index or row):
            if row == 0:
                index -= 1
                row = len(self._rows(index))
            step = min(count, row)
            row, count = row - step, count - step
        self._top = (index, row)

    def _down(self, count: int) -> None:
        index, row = self._top
        while count > 0 and index < len(self.blocks):
            left = len(self._rows(index)) - row
            if count < left:
                row, count = row + count, 0
            else:
                index, row, count = index + 1, 0, count - left
        self._top = (index, row)

    def follow(self) -> None:
        """Go to the newest and stay there."""
        self.following, self.new_lines = True, 0
        self.update_view()
        self.post_message(self.Scrolled())

    def to_oldest(self) -> None:
        """Go to the first line."""
        self.following, self._top = False, (0, 0)
        self.update_view()
        self.post_message(self.Scrolled())

    def pick(self, index: int | None) -> None:
        """Mark a block, and bring it into view."""
        self.picked = index
        if index is not None:
            self._reveal(index)
        self.update_view()

    def _reveal(self, index: int) -> None:
        if self.following and index >= self._top[0] and (index > self._top[0] or self._top[1] == 0):
            return
        if not self.following and index > self._top[0]:
            shown, at = 0, self._top[0]
            while at <= index and shown <= self.size.height:
                shown += len(self._rows(at))
                at += 1
            if shown - self._top[1] <= self.size.height:
                return
        self.following, self._top = False, (index, 0)

    def block_at(self, y: int) -> Block | None:
        """The block drawn at a row of the screen."""
        index, row = self._top
        y += row
        while index < len(self.blocks):
            rows = len(self._rows(index))
            if y < rows:
                return self.blocks[index]
            y, index = y - rows, index + 1
        return None
