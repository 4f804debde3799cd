"""The lists above the activity line: slash commands, file mentions, and the history search."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent_tui.engine.commands import Subject
from agent_tui.frozen import frozen
from agent_tui.mention import best, mentioned, parted
from agent_tui.safe_text import one_line
from agent_tui.tui import slash
from agent_tui.tui.link import RefusedError
from agent_tui.tui.transcript.lines import Line, Span, clip, untrusted, width_of, with_right

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

ROWS, LOW_ROWS = 8, 3
NAME_COLUMNS = 18  # of a command in the list, at least
KEYS = frozenset({"up", "down", "tab", "enter", "escape"})
FRESH_S = 10.0  # a file listing older than this is asked for again


@frozen
class Listing:
    """The files that can be named, with git's word for each, and when they were asked for."""

    words: Mapping[str, str]
    paths: list[str]
    at: float


@frozen
class Entry:
    """One row: what it puts in place of the draft from `start` on."""

    text: str
    start: int
    shown: str
    note: str = ""
    right: str = ""
    runs: bool = False  # Enter sends it at once


class Completing:
    """Open while the draft asks for it; takes the arrow keys, Tab, Enter and Esc then."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._found: list[Entry] = []
        self._at = 0
        self._closed_for = ""
        self._missing = ""  # what to say in place of rows
        self._listings: dict[bool, Listing] = {}  # by whether ignored files are in it
        self._asking: set[bool] = set()
        self.title = ""
        self.hints: tuple[str, ...] = ()

    def update(self) -> None:
        """The draft changed."""
        text = self._before_caret()
        if text == self._closed_for:
            return
        self._closed_for = ""
        self._found = self._commands(text) or self._mentions(text)
        self._missing = "" if self._found else self._nothing(text)
        self._at = min(self._at, max(len(self._found) - 1, 0))
        self._draw()

    def _before_caret(self) -> str:
        editor = self._app.editor
        return editor.get_text_range((0, 0), editor.cursor_location)

    def _commands(self, text: str) -> list[Entry]:
        if not text.startswith("/") or " " in text or "\n" in text:
            return []
        return [
            Entry(
                text=f"/{item.name}" + (" " if item.argument else ""),
                start=0,
                shown=f"/{item.name} {item.argument}".rstrip(),
                note=item.help,
                right="now" if item.anytime else "when idle",
                runs=True,
            )
            for item in slash.matching(text[1:])
        ]

    def _mentions(self, text: str) -> list[Entry]:
        start = mentioned(text)
        if start is None:
            return []
        wanted, ignored = parted(text[start + 1 :])
        self._refresh(ignored)
        listing = self._listings.get(ignored)
        if listing is None:
            return []
        return [
            Entry(text=f"@{path} ", start=start, shown=path, right=listing.words[path])
            for path in best(wanted, listing.paths)
        ]

    def _nothing(self, text: str) -> str:
        """Why a mention shows no rows."""
        start = mentioned(text)
        if start is None:
            return ""
        wanted, ignored = parted(text[start + 1 :])
        if not wanted or ignored not in self._listings:
            return ""
        hint = "" if ignored else " (ignored files are not listed; @! lists them)"
        return f'no file matches "{one_line(wanted)}"{hint}'

    def _refresh(self, ignored: bool) -> None:
        now, known = self._app.clock.steady(), self._listings.get(ignored)
        if ignored not in self._asking and (known is None or now - known.at > FRESH_S):
            self._asking.add(ignored)
            self._app.run_worker(self._fetch(ignored), exit_on_error=False)

    async def _fetch(self, ignored: bool) -> None:
        args = {"ignored": "1"} if ignored else {}
        try:
            found: Mapping[str, str] = await self._app.link.ask(Subject.FILES, **args)
        except RefusedError:
            found = {}
        self._listings[ignored] = Listing(words=found, paths=list(found), at=self._app.clock.steady())
        self._asking.discard(ignored)
        self.update()
        self._app.draw_fixed()

    def close(self) -> bool:
        """Close the list; False when none was open."""
        opened = bool(self._found)
        self._closed_for = self._before_caret() if opened else ""
        self._found, self._at, self._missing = [], 0, ""
        self._draw()
        return opened

    def key(self, key: str) -> None:
        """A key of the open list."""
        if not self._found or key == "escape":
            self.close()
        elif key in ("up", "down"):
            self._at = (self._at + (1 if key == "down" else -1)) % len(self._found)
            self._draw()
        else:
            self._take(self._found[self._at], send=key == "enter")
        self._app.draw_fixed()

    def take_row(self, row: int) -> None:
        """A click on a row."""
        first = max(self._at - self._most + 1, 0)
        if first + row < len(self._found):
            self._take(self._found[first + row], send=False)
            self._app.draw_fixed()

    @property
    def _most(self) -> int:
        """Rows: beside a prompt on a low screen few, which leave it its own."""
        return LOW_ROWS if self._app.prompt.form is not None and self._app.size.height < 20 else ROWS

    def fit(self) -> None:
        """There is a prompt now, or none any more."""
        if self._found:
            self._draw()

    def _take(self, entry: Entry, *, send: bool) -> None:
        editor = self._app.editor
        before = self._before_caret()
        editor.put_before_caret(before[: entry.start] + entry.text)
        self.close()
        if send and entry.runs:
            self._app.acts.do("send")

    def _draw(self) -> None:
        app = self._app
        app.editor.list_keys = KEYS if self._found else frozenset()
        first = max(self._at - self._most + 1, 0)
        shown = self._found[first : first + self._most]
        column = max([NAME_COLUMNS, *(len(item.shown) for item in shown if item.note)])
        rows = [self._row(item, index + first == self._at, column) for index, item in enumerate(shown)]
        if self._missing:
            rows = [clip([Span("  "), *untrusted(self._missing, "muted")], app.size.width, app.glyphs.more)]
        app.list.show(rows)
        runs = bool(self._found) and self._found[0].runs
        total = len(slash.TABLE) if runs else self._listed()
        self.title = f"{len(self._found)} of {total}" if self._found else ""
        words = ("Tab complete", "Enter run", "Esc close") if runs else ("Enter take", "Esc close")
        self.hints = words if self._found else ()

    def _listed(self) -> int:
        """How many files there are to choose from."""
        listing = self._listings.get(self._wanted()[1])
        return len(listing.paths) if listing is not None else 0

    def _wanted(self) -> tuple[str, bool]:
        text = self._before_caret()
        start = mentioned(text)
        return ("", False) if start is None else parted(text[start + 1 :])

    def _matched(self, path: str) -> list[Span]:
        """A path with the letters that were typed in bold."""
        wanted = self._wanted()[0].lower()
        at = path.lower().rfind(wanted) if wanted else -1
        hits = set(range(at, at + len(wanted))) if at >= 0 else _in_order(wanted, path.lower())
        runs: list[Span] = []
        for index, char in enumerate(path):
            role = "strong" if index in hits else "text"
            if runs and runs[-1].role == role:
                runs[-1] = Span(runs[-1].text + char, role)
            else:
                runs.append(Span(char, role))
        return [span for run in runs for span in untrusted(run.text, run.role, strict=True)]

    def _row(self, item: Entry, selected: bool, column: int) -> Line:
        width = self._app.size.width
        right = (Span(item.right, "muted"),) if item.right else ()
        shown = f"{item.shown:<{column}} " if item.note else item.shown
        names = untrusted(shown, "strong", strict=True) if item.note else self._matched(shown)
        left = (Span("> " if selected else "  ", "accent"), *names, Span(item.note))
        return with_right(clip(left, width - width_of(right) - 1, self._app.glyphs.more), right, width)


def _in_order(wanted: str, path: str) -> set[int]:
    """Places of the letters of `wanted` in `path`, one after the other."""
    places: set[int] = set()
    at = -1
    for char in wanted:
        at = path.find(char, at + 1)
        if at < 0:
            break
        places.add(at)
    return places
