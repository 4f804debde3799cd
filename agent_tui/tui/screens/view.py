"""What every full-screen view is: a title rule, a body that scrolls, two rows of keys."""

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from agent_tui.safe_text import one_line
from agent_tui.tui import hints, smallest
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.screens.body import Body
from agent_tui.tui.transcript.lines import Line, Span, clip, plain, ruled, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look
from agent_tui.tui.widgets.arming import Arming
from agent_tui.tui.widgets.pane import Pane

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

T = TypeVar("T")

SCROLL_KEYS = {
    "j": "down", "down": "down", "k": "up", "up": "up", "space": "page", "pagedown": "page", "b": "page_up",
    "pageup": "page_up", "g": "top", "home": "top", "G": "end", "end": "end",
}  # fmt: skip


OVER_VIEWS = frozenset({"help", "transcript", "terminals", "mouse", "redraw", "suspend"})
LEAVE_KEYS = ("escape", "ctrl+c")
EARLY = "too early: that key did nothing"


@dataclass(slots=True)
class Asked:
    """A line of text that a view takes."""

    title: str
    text: str
    done: Callable[[str], None]


class View(Screen[None]):
    """Base of the views; covers everything, and gives back scroll position and draft untouched."""

    BINDINGS: ClassVar[list[BindingType]] = []
    CSS = "View Pane { height: auto; } View Body { height: 1fr; }"
    heavy = False  # the rule of what changes something
    heavy_foot: bool | None = None  # where the rule below is another one
    keys_first = ""
    keys_right = ""  # right end of the rule below
    keys_second = "/ find · Esc close"
    act = ""  # that opens it: its key closes it again

    def __init__(self, agent: "AgentApp") -> None:
        super().__init__()
        self.agent = agent
        self.head = Pane(theme=agent.look_theme)
        self.body = Body(agent.look_theme)
        self.foot = Pane(theme=agent.look_theme)
        self.foot_second = Pane(theme=agent.look_theme)
        self.small = Pane(theme=agent.look_theme, id="small")
        self._finding: str | None = None
        self._found = ""
        self._said = ""
        self._again = ""  # behind what is said, once a second key counts
        self._is_early = False  # the last key would have confirmed what nobody can have read
        self._arming = Arming(agent.clock.steady())
        self._is_closed = False
        self._line: Asked | None = None
        self._ahead: list[events.Key] = []  # typed before there was anything to type at

    def compose(self) -> ComposeResult:
        yield self.small
        yield self.head
        yield self.body
        yield self.foot
        yield self.foot_second

    def on_mount(self) -> None:
        self.draw()
        self.run_worker(self.load(), exit_on_error=True)

    async def load(self) -> None:
        """Fetch what the view shows; the frame is already there."""

    @property
    def look(self) -> Look:
        """As in the transcript."""
        return self.agent.look(self.agent.size.width)

    def session_changed(self) -> None:
        """Events of the session were applied; for views that show or wait for what they say."""

    def title_words(self) -> tuple[str, str]:
        """Left and right of the first row."""
        return "", ""

    def content(self, look: Look) -> Sequence[Line]:
        """The body as lines."""
        return ()

    def draw(self) -> None:
        """Draw everything again."""
        if not self.is_attached:
            return
        self.set_class(self.is_small, "-small")
        if self.is_small:
            self.small.show(smallest.said(self.agent.size, self.agent.glyphs))
            return
        self.body.show(self.content(self.look))
        self.draw_frame()
        if self._ahead and not self.awaits_data:
            self.call_next(self._catch_up)  # whoever draws may not be at the end of loading

    @property
    def is_small(self) -> bool:
        """Whether there is no room to show anything, so that no key decides anything."""
        return smallest.is_too_small(self.agent.size)

    @property
    def awaits_data(self) -> bool:
        """Whether keys are to wait for what is being fetched."""
        return False

    def draw_frame(self) -> None:
        """The rows around the body."""
        if self.is_small:
            return
        look = self.look
        rule = look.glyphs.heavy if self.heavy else look.glyphs.rule
        left, right = (
            tuple(untrusted(own_words(text, look.glyphs), strict=True)) for text in self.title_words()
        )
        more = look.glyphs.more
        room = look.width - 6 - width_of(right)  # words go before the end of the rule
        self.head.show([ruled(clip(left, room, more), right, look.width, rule)])
        is_heavy = self.heavy if self.heavy_foot is None else self.heavy_foot
        below = look.glyphs.heavy if is_heavy else look.glyphs.rule
        end = (Span(own_words(self.keys_right, look.glyphs), "muted"),) if self.keys_right else ()
        room = look.width - 5 - (width_of(end) + 4 if end else 0)
        keys, second = self._foot(look, room)
        self.foot.show(
            [ruled(clip([Span(keys, "muted")], room, more) if keys else (), end, look.width, below)]
        )
        indent = (Span("   "),)
        rows = wrap(untrusted(second, "muted"), look.width, first=indent, rest=indent)
        self.foot_second.show(rows)

    @property
    def lines_below(self) -> int:
        """How many are out of view there."""
        return max(self.body.last_top - self.body.top, 0)

    def hints(self) -> tuple[str, str]:
        """The keys that work now, those of the first row and those of the second."""
        return self.keys_first, self.keys_second

    def _foot(self, look: Look, room: int) -> tuple[str, str]:
        """Left end of the rule below, and what stands under it."""
        if self._line is not None:
            return f"{self._line.title}: {self._line.text}", own_words("Enter keep · Esc back", look.glyphs)
        if self._finding is not None:
            return f"find: {self._finding}", own_words("Enter find · Esc back", look.glyphs)
        keys, second = hints.fitted(self.hints(), (room, look.width - 4), look.glyphs)
        early = EARLY if self._is_early and not self.is_armed else ""
        if self._again:
            return keys, own_words(f"{self._said} {self._again if self.is_armed else early}", look.glyphs)
        if self._said:
            return keys, own_words(self._said, look.glyphs)
        return keys, f"{early}, it counts once it is named here" if early else second

    def say(self, words: str) -> None:
        """A word in the last row until the next key."""
        self._said, self._again = words, ""
        self.draw_frame()

    @property
    def is_armed(self) -> bool:
        """Whether a key confirms what stands there: it was there for a pause, as before a prompt, so that
        neither keys typed ahead nor one held down confirm what nobody has read."""
        return self._arming.is_armed(self.agent.clock.steady(), draft=False)

    def disarm(self) -> None:
        """Something that a key confirms was drawn: the pause begins."""
        now = self.agent.clock.steady()
        self._arming.drawn(now)
        self.set_timer(self._arming.due_in(now) + 0.01, self.draw_frame)

    def too_early(self) -> None:
        """A key that confirms came before the pause was over: it begins again, which is said."""
        self.disarm()
        self._is_early = True

    def ask_again(self, question: str, again: str) -> None:
        """Ask in the last row for a second key, which `again` names as soon as it counts."""
        self.disarm()
        self._said, self._again = question, again
        self.draw_frame()

    def on_resize(self) -> None:
        was_small = self.has_class("-small")
        self.draw()
        if was_small and not self.is_small:
            self.disarm()

    # --- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if self._is_for_another(event):
            return
        leaves = self.awaits_data and event.key in LEAVE_KEYS
        if not leaves and (self.awaits_data or self._ahead):
            self._ahead.append(event)
            return
        self._take(event)

    def _catch_up(self) -> None:
        """The keys that waited, before any newer one."""
        while self._ahead and not self.awaits_data:
            event = self._ahead.pop(0)
            if not self._is_for_another(event):
                self._take(event)

    def _is_for_another(self, event: events.Key) -> bool:
        """Whether a key was typed behind one that closed this view, or opened another: it is there now."""
        if self._is_closed:
            self.agent.editor.post_message(events.Key(event.key, event.character))
            return True
        return self.app.screen is not self and self.agent.views.take_key(event)

    def _take(self, event: events.Key) -> None:
        if self.is_small:
            if event.key in LEAVE_KEYS:
                self.close()
            return
        self._said, self._again, self._is_early = "", "", False
        writes = self._line is not None or self._finding is not None
        if writes and event.key in self.agent.keymap.anywhere and event.key not in LEAVE_KEYS:
            self._common(event.key, "")
        elif self._line is not None:
            self._line_key(self._line, event)
        elif self._finding is not None:
            self._find_key(event)
        elif not self.press(event.key, event.character or ""):
            self._common(event.key, event.character or "")
        if self.is_attached:
            self.draw_frame()

    def press(self, key: str, character: str) -> bool:
        """A key of this view; False for those of all views."""
        return False

    def _common(self, key: str, character: str) -> None:
        if key == "escape" or character == "q":
            self.close()
        elif character == "/":
            self._finding = ""
        elif character in ("n", "N") and self._found:
            self._find_next(1 if character == "n" else -1)
        elif scrolls := SCROLL_KEYS.get(key) or SCROLL_KEYS.get(character):
            self.scroll(scrolls)
        else:
            self._anywhere(self.agent.keymap.anywhere.get(key, ""))

    def _anywhere(self, act: str) -> None:
        """A key that works anywhere. The draft below is not seen here, so nothing of it is cleared."""
        if act == "cancel" and self.agent.session.is_stoppable:
            self.agent.acts.interrupt()
            self.say("interrupted")
        elif act and act in (self.act, "cancel"):
            self.close()
        elif act == "find":
            self._finding = ""
        elif act in ("oldest", "newest"):
            self.scroll("top" if act == "oldest" else "end")
        elif act in OVER_VIEWS:
            self.agent.do(act)
        if act == "mouse":
            self.say(f"mouse {'on' if self.agent.mouse_on else 'off'}")

    def take_key(self, event: events.Key) -> bool:
        """A key that reached the editor although this view was open by then; False once it is closed."""
        if not self._is_closed:
            self.post_message(events.Key(event.key, event.character))
        return not self._is_closed

    def close(self) -> None:
        """Back to the session."""
        self._is_closed = True
        self.dismiss(None)
        self.agent.prompt.returned()

    def scroll(self, act: str) -> None:
        """Move the body."""
        page = max(self.body.size.height - 2, 1)
        steps = {"down": 1, "up": -1, "page": page, "page_up": -page, "top": -(10**9), "end": 10**9}
        if act in steps:
            self.body.scroll(steps[act])

    def on_body_clicked(self, message: Body.Clicked) -> None:
        self.clicked(message.index)

    def clicked(self, row: int) -> None:
        """A click on a row of the body."""

    def on_mouse_scroll_up(self) -> None:
        self.body.scroll(-3)
        self.draw_frame()

    def on_mouse_scroll_down(self) -> None:
        self.body.scroll(3)
        self.draw_frame()

    def ask_line(self, title: str, text: str, done: Callable[[str], None]) -> None:
        """Take one line of text in the key row; `done` gets it unless it is left or empty."""
        self._line = Asked(title, text, done)

    def _line_key(self, line: "Asked", event: events.Key) -> None:
        if event.key in LEAVE_KEYS:
            self._line = None
        elif event.key == "enter":
            self._line = None
            if line.text.strip():
                line.done(line.text.strip())
        elif event.key == "backspace":
            line.text = line.text[:-1]
        elif event.key == "ctrl+u":
            line.text = ""
        elif event.is_printable and event.character:
            line.text += event.character

    def on_paste(self, event: events.Paste) -> None:
        """Into the line that is being written, if there is one; it is no key of the view."""
        event.stop()
        for character in one_line(event.text).strip():
            if self._line is not None or self._finding is not None:
                self._take(events.Key(character, character))

    # --- find ----------------------------------------------------------------------------------

    def _find_key(self, event: events.Key) -> None:
        if self._finding is None:
            return
        if event.key in LEAVE_KEYS:
            self._finding = None
        elif event.key == "enter":
            self._found, self._finding = self._finding, None
            self._find_next(1)
        elif event.key == "backspace":
            self._finding = self._finding[:-1]
        elif event.is_printable and event.character:
            self._finding += event.character

    def _find_next(self, by: int) -> None:
        wanted = self._found.lower()
        hits = [at for at, line in enumerate(self.body.lines) if wanted and wanted in plain(line).lower()]
        if not hits:
            self.say(f'No match for "{self._found}"')
            return
        start = self.body.marked if self.body.marked >= 0 else self.body.top - 1
        place = bisect_right(hits, start) if by > 0 else bisect_left(hits, start) - 1
        self.body.marked = hits[place % len(hits)]
        self.body.reveal(self.body.marked)
        self.say(f'"{self._found}" · {place % len(hits) + 1} of {len(hits)}')


class ListView(View, Generic[T]):
    """A view of rows, one of them picked, with details below."""

    keys_of_none = ""  # that work where there are no rows

    def __init__(self, agent: "AgentApp") -> None:
        super().__init__(agent)
        self.items: list[T] = []
        self.at = 0
        self.loaded = False
        self.failure = ""
        self._rows_at = 0  # row of the body that shows the first item in view, and that item
        self._first = 0

    @abstractmethod
    def row(self, item: T, look: Look) -> Line:
        """One row without its mark, two columns narrower."""

    def header(self, look: Look) -> list[Line]:
        """Lines above the rows."""
        return []

    def detail(self, look: Look) -> list[Line]:
        """Lines below the rows, about the picked one."""
        return []

    def empty(self) -> str:
        """What stands here when there is nothing."""
        return ""

    def hints(self) -> tuple[str, str]:
        return super().hints() if self.items else (self.keys_of_none, "Esc close")

    @property
    def awaits_data(self) -> bool:
        return not self.loaded and not self.failure

    @property
    def picked(self) -> T | None:
        """The row under the mark."""
        return self.items[self.at] if 0 <= self.at < len(self.items) else None

    def content(self, look: Look) -> Sequence[Line]:
        """Header, as many rows as fit around the picked one, details."""
        if not self.items:
            words = self.failure or (self.empty() if self.loaded else f"loading {look.glyphs.more}")
            return [*self.header(look), (Span("  "), *untrusted(words, "muted"))]
        header, detail = self.header(look), self.detail(look)
        room = max(self.body.size.height - len(header) - len(detail) - 1, 3)
        first = max(min(self.at - room // 2, len(self.items) - room), 0)
        self._rows_at, self._first = len(header), first
        rows = [self._marked(index, look) for index in range(first, min(first + room, len(self.items)))]
        return [*header, *rows, *([()] if detail else []), *detail]

    def _marked(self, index: int, look: Look) -> Line:
        mark = Span("> " if index == self.at else "  ", "accent")
        row = self.row(self.items[index], look)
        if index == self.at:
            row = tuple(Span(text, "strong" if role in ("text", "muted") else role) for text, role in row)
        return clip((mark, *row), look.width, look.glyphs.more)

    def scroll(self, act: str) -> None:
        page = max(self.body.size.height - 6, 1)
        steps = {"down": 1, "up": -1, "page": page, "page_up": -page, "top": -(10**9), "end": 10**9}
        if act in steps and self.items:
            self.at = max(min(self.at + steps[act], len(self.items) - 1), 0)
            self.moved()
            self.draw()

    def clicked(self, row: int) -> None:
        index = row - self._rows_at + self._first
        if row >= self._rows_at and self._first <= index < len(self.items):
            self.at = index
            self.moved()
            self.draw()

    def moved(self) -> None:
        """Another row is picked."""

    def set_items(self, items: Sequence[T], at: int = 0) -> None:
        """What was fetched."""
        self.items, self.loaded = list(items), True
        self.at = max(min(at, len(self.items) - 1), 0)
        self.moved()
        self.draw()

    def _find_next(self, by: int) -> None:
        wanted, look = self._found.lower(), self.look
        for offset in range(1, len(self.items) + 1):
            index = (self.at + by * offset) % len(self.items)
            if wanted in plain(self.row(self.items[index], look)).lower():
                self.at = index
                self.moved()
                self.draw()
                return
        self.say(f'No match for "{self._found}"')
