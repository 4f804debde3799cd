"""Help: keys of the moment first, commands, glyphs (F1, or `?` on an empty editor)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agent_tui.tui import slash, words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.keymap import PREFIX
from agent_tui.tui.screens.view import View
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, line, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp
    from agent_tui.tui.forms.form import Form

_WRITE = (
    ("Enter", "send"), ("Ctrl+J", "new line"), ("\\ Enter", "new line"), ("@", "name a file"),
    ("!  !!", "run a command"), ("Ctrl+R", "search history"), ("Ctrl+G", "external editor"),
    ("Ctrl+_ Alt+Z", "undo, redo"), ("Ctrl+V", "paste an image"),
)  # fmt: skip
_SENT = {"\\ Enter": "Shift+Enter", "Ctrl+S": "Ctrl+Enter"}  # what does the same, where the terminal sends it
_MODIFIED_ENTER = {
    True: ("Ctrl+J and Ctrl+S do the same in every terminal", "Ctrl+J and Ctrl+S work everywhere"),
    False: (
        "Shift+Enter and Ctrl+Enter are not sent by this terminal",
        "this terminal sends no Shift+Enter or Ctrl+Enter",
    ),
    None: (
        "Shift+Enter and Ctrl+Enter work where the terminal sends them",
        "Shift+Enter and Ctrl+Enter: where they are sent",
    ),
}
_WORK = (
    ("Enter", "steer: at the next boundary"), ("Tab", "queue: next turn"), ("Ctrl+S", "steer now"),
    ("Esc", "interrupt"), ("Alt+Up", "edit what is pending"), ("Shift+Tab", "answer a prompt"),
)  # fmt: skip
_LOOK = (
    ("Ctrl+Up/Down", "pick a block"), ("Ctrl+O", "show more or less of it"), ("d", "its diff"),
    ("Ctrl+T  F2", "transcript"), ("F3", "terminals"), ("PgUp PgDn", "scroll, End to the newest"),
)  # fmt: skip
_PICKED = (
    ("d", "its diff"), ("Enter", "show more or less of it"), ("y", "copy it"), ("b", "back to before it"),
    ("Esc", "leave it"),
)  # fmt: skip
_BACK = (("Esc Esc", "rewind"), ("/redo", "take a rollback back"))
_LEAVE = (
    ("Ctrl+C", "clear the draft, then interrupt, then twice to quit"),
    ("Ctrl+D", "quit on an empty editor"),
    ("Ctrl+Z", "suspend"),
)

LEAVE_COLUMN = 43  # of its second half, where there is one
SECOND_COLUMN = {False: 36, True: 44}  # of the second groups; while a turn runs, its keys come first

_GLYPHS = (
    ("waiting", "waiting"), ("running", "running"), ("ok", "ran and other successes"), ("failed", "failed"),
    ("denied", "denied"), ("interrupted", "interrupted, limit reached"), ("unknown", "unknown, result lost"),
    ("timed_out", "timed out"), ("terminal", "terminal"), ("skipped", "skipped, not run, invalid"),
    ("end", "end of a turn"), ("notice", "notice"), ("changes", "changed files"), ("plan", "plan"),
    ("compacted", "compacted"), ("rollback", "rolled back"), ("redo", "redone"), ("thought", "reasoning"),
    ("steer", "steer, your words under a card"), ("queue", "queue"), ("sandbox", "sandbox"),
)  # fmt: skip


class HelpView(View):
    """Three pages: keys, commands, glyphs."""

    act = "help"

    def __init__(self, agent: "AgentApp") -> None:
        super().__init__(agent)
        self.page = 1
        self._moment = _Context(agent)

    @property
    def keys_first(self) -> str:  # type: ignore[override]  # computed where the base has a value
        said, in_few_words = _MODIFIED_ENTER[self.agent.keys_told]
        return in_few_words if self.look.narrow else said

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        below = self.lines_below
        more = f"Space {words.count(below, 'more line')} · " if below else ""
        return f"{more}/ find · 1 2 3 switch · Esc close"

    def title_words(self) -> tuple[str, str]:
        return "help", "1 keys · 2 commands · 3 glyphs"

    def content(self, look: Look) -> Sequence[Line]:
        if self.page == 2:
            return _commands(look)
        if self.page == 3:
            return [
                (Span(f"  {getattr(look.glyphs, name):<4}", "accent"), Span(said)) for name, said in _GLYPHS
            ]
        sent = _SENT if self.agent.keys_told else {}
        return [*self._moment.rows(look), *_keys(look, sent, works=self._moment.works), *self._changed()]

    def _changed(self) -> list[Line]:
        """What `[keys]` of the settings says: it holds in place of what is above."""
        said = self.agent.config.interface
        changed = [
            (keys, name.removeprefix(PREFIX)) for name, keys in said.items() if name.startswith(PREFIX)
        ]
        return [BLANK, *_group("Changed in your settings", changed)] if changed else []

    def press(self, key: str, character: str) -> bool:
        if character in ("1", "2", "3"):
            self.page = int(character)
            self.body.top = 0
            self.draw()
            return True
        return False


class _Context:
    """Where help was asked for: a view, a picked block, a prompt, a turn; its keys come first."""

    def __init__(self, agent: "AgentApp") -> None:
        view = agent.screen
        self.works = agent.session.is_stoppable
        self._view = (view.keys_first, view.keys_second) if isinstance(view, View) else ()
        self._is_picked = agent.transcript.picked is not None
        self._form, self._is_armed = agent.prompt.form, agent.prompt.armed

    def rows(self, look: Look) -> list[Line]:
        """The group of it with the blank line behind; none where no other key than below works."""
        if self._view:
            indent = (Span("  "),)
            told = [untrusted(own_words(keys, look.glyphs), strict=True) for keys in self._view if keys]
            rows = [row for spans in told for row in wrap(spans, look.width, first=indent, rest=indent)]
            return [*_group("In this view", ()), *rows, BLANK]
        if self._is_picked:
            return [*_group("At the picked block", _PICKED), BLANK]
        if self._form is None:
            return []
        first = () if self._is_armed else (("Shift+Tab", "answer it"),)
        rows = _group("At the prompt", [*first, *_answers(self._form), ("Tab", "to the editor")])
        return [*(clip(row, look.width, look.glyphs.more) for row in rows), BLANK]


def _answers(form: "Form") -> list[tuple[str, str]]:
    others = [_parted(each) for each in form.corner().split(" · ") if each]
    return [*((choice.key, choice.label) for choice in form.choices()), *others]


def _parted(hint: str) -> tuple[str, str]:
    """`v full view` as its key and what that does."""
    key, _, said = hint.removeprefix("[ ] ").partition(" ")
    return ("[ ]", f"{key} {said}".strip()) if hint.startswith("[ ] ") else (key, said)


def _keys(look: Look, other: Mapping[str, str], *, works: bool) -> list[Line]:
    write, work = ([(other.get(key, key), said) for key, said in rows] for rows in (_WRITE, _WORK))
    left = [*_group("Write", write), BLANK, *_group("Go back", _BACK)]
    right = [*_group("While it works", work), *_group("Look", _LOOK)]
    if works:
        left, right = right, left
    leave = [BLANK, *_group("Leave", _LEAVE, wide=True)]
    if look.width < 80:
        return [*left, BLANK, *right, *leave]
    *leave, third, last = leave  # side by side
    leave.append((*third, Span(" " * max(LEAVE_COLUMN - width_of(third) - 2, 1)), *last))
    rows = []
    for index in range(max(len(left), len(right))):
        first = left[index] if index < len(left) else BLANK
        second = right[index] if index < len(right) else BLANK
        rows.append((*first, Span(" " * max(SECOND_COLUMN[works] - width_of(first), 1)), *second))
    return [*rows, *leave]


def _group(title: str, entries: Sequence[tuple[str, str]], *, wide: bool = False) -> list[Line]:
    room = 7 if wide else 12
    rows: list[Line] = [line(Span("  " + title, "strong"))]
    rows += [(Span(f"  {key:<{room}} ", "accent"), *untrusted(said, strict=True)) for key, said in entries]
    return rows


def _commands(look: Look) -> list[Line]:
    rows: list[Line] = []
    for item in slash.TABLE:
        usage = f"/{item.name} {item.argument}".rstrip()
        note = "" if item.anytime else "  (when idle)"
        lead = line(Span(f"  {usage:<24} ", "accent"))
        rows += wrap([Span(item.help), Span(note, "muted")], look.width, first=lead, rest=line(" " * 27))
    return rows
