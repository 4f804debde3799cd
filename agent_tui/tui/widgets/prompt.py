"""The inline prompt: draws a form, takes keys only while armed, posts the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Offset
from textual.message import Message

from agent_tui.tui.forms import form as forms
from agent_tui.tui.forms import layout
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript.lines import Line, Span
from agent_tui.tui.transcript.look import Look
from agent_tui.tui.widgets.arming import Arming
from agent_tui.tui.widgets.burst import Burst
from agent_tui.tui.widgets.line_input import LineInput
from agent_tui.tui.widgets.pane import Pane

WHEEL_ROWS = 3
INPUT_ROWS, INPUT_LEFT = 6, 5  # of a text that is written; columns beside it
OTHER_ROWS = 4  # left to the question while a text is written: title, object, grant, sandbox
_STEPS = {"pageup": -8, "pagedown": 8, "space": 8, "home": -10_000, "end": 10_000, "j": 1, "k": -1}
_KEYS = frozenset({"tab", "up", "down", "left", "right", "enter", "home", "end"})  # beside printable ones


class Prompt(Vertical, can_focus=True):
    """One question at a time; hidden while there is none."""

    DEFAULT_CSS = """
    Prompt { height: auto; display: none; }
    Prompt.-asking { display: block; }
    Prompt Horizontal { height: auto; display: none; }
    Prompt.-writing Horizontal { display: block; }
    Prompt Horizontal Pane { width: 4; }
    """

    @dataclass
    class Answered(Message):
        """The person answered; the form said with what."""

        form: forms.Form
        effect: forms.Send | forms.Act

    class Armed(Message):
        """The prompt takes keys now, or no longer does."""

    @dataclass
    class Step(Message):
        """`[` or `]`: another of several questions."""

        by: int

    @dataclass
    class ToEditor(Message):
        """The person turned to the editor; `typed` came while there was no question any more."""

        typed: str = ""

    def __init__(
        self, look: Callable[[int], Look], theme: Callable[[], str], clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__()
        self.form: forms.Form | None = None
        self.armed = False
        self.draft = False
        self._look = look
        self._theme = theme
        self._clock = clock
        self._arming = Arming(clock())
        self.burst = Burst(self, self._key_alone, self._to_editor)
        self._pane = Pane()
        self._input = LineInput(self._submit, self.dismiss, self._edit_outside)
        self._mark = Pane()
        self._hint = Pane()
        self._position = ""
        self._others: Sequence[Line] = ()
        self._shown: tuple[object, ...] = ()  # what a key would answer, as it was drawn
        self._scroll = 0
        self._seen = 0
        self._selected = -1
        self._is_answered = False
        self._is_away = False  # keys are for the transcript
        self._is_long = False  # more of the object than is in view
        self._is_read_whole = False  # its full view was read to the end
        self._is_locked = False  # what allows waits until all was seen
        self._cursor_row = 0
        self._current = 0
        self._room, self._limit = 17, 21
        self._compact = False
        self._width = 0  # for which it was drawn

    def compose(self) -> ComposeResult:
        yield self._pane
        with Horizontal():
            yield self._mark
            yield self._input
        yield self._hint

    # --- what is shown -------------------------------------------------------------------------

    def ask(
        self, form: forms.Form | None, *, position: str = "", others: Sequence[Line] = (), current: int = 0
    ) -> None:
        """Show a form, another one, or none; `current` is its row among the others."""
        if form is not self.form:
            self._scroll, self._seen, self._selected = 0, 0, -1
            self._is_read_whole = False
            self.form, self._is_answered = form, False
            self._arming.opened(self._clock())
            self._redrawn()
        elif self._shape() != self._shown:  # other questions came or were answered: its rows have moved
            self._selected = -1
            self._redrawn()
        self._position, self._others, self._current = position, others, current
        self.set_class(form is not None, "-asking")  # a terminal that is too small hides it even so
        if form is None:
            self.armed = False
            self._close_input()
        else:
            self.draw()

    def fit(self, room: int, limit: int, *, compact: bool) -> None:
        """How many rows its object may fill it up to, and how many there are."""
        if (room, limit, compact) != (self._room, self._limit, self._compact):
            self._room, self._limit, self._compact = room, limit, compact
            self.draw()

    def draw(self) -> None:
        """Compute the lines again."""
        if self.form is None or not self.is_mounted:
            return None
        width = self.size.width or self.app.size.width
        if width != self._width and self._is_locked:
            self._seen = 0  # it was counted in rows of the other width
        self._width = width
        self._shown = self._shape()
        look = self._look(self._width)
        writing = self.form.writing
        below = self._rows_below(writing)
        place = forms.Place(
            room=max(self._room - below, 1), limit=max(self._limit - below, 1), compact=self._compact,
            position=self._position, others=self._others, current=self._current, armed=self.armed,
            draft=self.draft or self._is_away or self.is_left, scroll=self._scroll, seen=self._seen,
            read_whole=self._is_read_whole, selected=self._selected,
        )  # fmt: skip
        drawn = layout.draw(self.form, look, place)
        self._is_locked = drawn.is_locked
        self._is_long = self._scroll > 0 or drawn.shown_to < drawn.object_rows
        if drawn.shown_to > self._seen:
            self._seen = drawn.shown_to
            if self._seen >= drawn.object_rows > 0:
                return self.draw()
        for pane in (self._pane, self._hint):
            pane.set_theme(self._theme())
        lines = drawn.lines
        gap = () if self._compact else ((),)
        if writing is not None:
            lines = [*lines, *gap, (Span("  " + writing.title, "muted"),)]
        self._pane.show(lines)
        self._cursor_row = drawn.cursor
        self._show_writing(writing, gap if writing is not None or len(lines) < self._limit else ())
        if self.armed and self.has_focus:
            self.call_after_refresh(self.put_cursor)
        return None

    def on_resize(self, event: events.Resize) -> None:
        """Laid out at another width than it was drawn for."""
        if event.size.width != self._width:
            self.draw()

    def put_cursor(self) -> None:
        """The terminal's cursor to the choices, so that screen readers and magnifiers follow."""
        if self.has_focus:
            self.app.cursor_position = self.region.offset + Offset(4, self._cursor_row)
            self.refresh()

    def on_focus(self) -> None:
        self.call_after_refresh(self.put_cursor)

    def _rows_below(self, writing: forms.Writing | None) -> int:
        """What the text that is written takes under the lines: its title, itself, its keys."""
        if writing is None:
            return 0
        around = 2 if self._compact else 4
        if not self.has_class("-writing"):
            self._input.load(writing.text)
        rows = self._input.rows_at(self._width - INPUT_LEFT)
        most = max(min(rows, INPUT_ROWS, self._limit - around - OTHER_ROWS), 1)
        self._input.styles.max_height = most
        return around + most

    def _show_writing(self, writing: forms.Writing | None, gap: Sequence[Line]) -> None:
        if writing is None:
            self._close_input()
            self._hint.show(gap)
        elif not self.has_class("-writing"):
            self.add_class("-writing")
            self._mark.set_theme(self._theme())
            self._input.focus()
        if writing is not None:
            glyphs = self._look(0).glyphs
            self._mark.show([(Span(f"  {glyphs.user} ", "accent"),)])
            self._hint.show([*gap, (Span("    " + own_words(writing.hint, glyphs), "muted"),)])

    @property
    def is_left(self) -> bool:
        """Whether the person turned to the editor, and has to turn back before keys answer."""
        return self.form is not None and self._arming.is_left

    @property
    def is_writing(self) -> bool:
        """Whether a text is being written inside: keys belong to its input."""
        return self.form is not None and self.form.writing is not None

    @property
    def has_keys(self) -> bool:
        """Whether keys are for the question, or for a text that is written inside."""
        return self.armed or (self.is_writing and self.has_focus_within)

    def take_focus(self) -> None:
        """To the input while a text is written, so that a prompt that arms does not take its keys."""
        (self._input if self.is_writing else self).focus()

    def _close_input(self) -> None:
        if self.has_class("-writing"):
            self.remove_class("-writing")
            if self._input.has_focus:
                self.focus() if self.armed else self._to_editor("")

    def seen_to_end(self, form: forms.Form) -> None:
        """All of a question was read in full view."""
        if form is not self.form:
            return
        self._seen, self._is_read_whole = 1_000_000, True
        self._redrawn()
        self.draw()

    # --- arming --------------------------------------------------------------------------------

    def hide(self, hidden: bool) -> None:
        """A terminal that is too small shows nothing of it: no key is for it then, nor in the pause after."""
        if hidden and self.has_focus_within:
            self._to_editor("")
        self.disabled = hidden  # so that neither it nor its input takes the focus
        self.returned()

    def returned(self) -> None:
        """A view that covered the prompt is gone: the pause begins again, then the keys are here."""
        if self.form is not None:
            self._redrawn()
            self.draw()

    def _redrawn(self) -> None:
        self._arming.drawn(self._clock())
        self._set_armed(False)
        self._wait()

    def typed(self, *, draft: bool) -> None:
        """A key went to the editor."""
        self.draft = draft
        if self.form is None:
            return
        self._arming.key(self._clock())
        self._set_armed(False)
        self._wait()
        self.draw()

    def turn_to(self) -> None:
        """Shift+Tab or a click."""
        if self.form is not None:
            self._arming.ask()
            self.check()

    def turn_away(self, away: bool) -> None:
        """A block of the transcript is picked, whose keys are letters too: nothing of them answers."""
        self._is_away = away
        if self.form is not None and (away or not self.armed):
            self._redrawn()
            self.draw()

    def _wait(self) -> None:
        if self.form is not None and self.is_attached:
            self.set_timer(self._arming.due_in(self._clock()) + 0.01, self.check)

    def check(self) -> None:
        """Arm when the pause is over."""
        is_shown = self.form is not None and not self.disabled
        if is_shown and self._arming.is_armed(self._clock(), draft=self.draft or self._is_away):
            self._set_armed(True)

    def _set_armed(self, armed: bool) -> None:
        if armed != self.armed:
            self.armed = armed
            self.draw()
            self.post_message(self.Armed())

    # --- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if event.key == "ctrl+c" and self.form is not None and not self.is_writing:
            event.stop()
            self.burst.end_as_text()
            self.post_message(self.Answered(self.form, forms.Act(name="cancel")))  # answers nothing
            return
        if self.form is None or self._is_answered:
            if event.is_printable and event.character:
                event.stop()
                self.burst.add(event.key, event.character)
            return
        if self.is_writing and event.key != "escape":
            return
        if event.key == "escape":
            event.stop()
            self.burst.end_as_text()
            self.dismiss()
            return
        if event.is_printable and event.character:
            event.stop()
            self.burst.add(event.key, event.character)
        elif self.armed and self.burst.is_open:
            event.stop()
            self.burst.end_as_text()
        elif self.armed and self._is_own(event.key):
            event.stop()
            self._take(event.key, event.character)

    def _is_own(self, key: str) -> bool:
        """What is no key of a prompt does what it does anywhere."""
        return key in _KEYS or (key in ("pageup", "pagedown") and self._is_long)

    def lets_by(self, key: str) -> bool:
        """Whether a key does here what it does anywhere."""
        return key != "ctrl+c" and not self._is_own(key)

    def _key_alone(self, key: str, typed: str) -> None:
        """A printable key that nothing followed at once, and no view."""
        is_asked = self.form is not None and self.screen.is_current and not self._is_answered
        if is_asked and self.armed and not self.is_writing:
            self._take(key, typed[0])
        else:
            self._to_editor(typed)

    def _to_editor(self, text: str) -> None:
        self.post_message(self.ToEditor(text))

    def _take(self, key: str, character: str | None) -> None:
        if self.form is None:
            return
        if key == "tab":
            self._arming.leave()
            self._set_armed(False)
            self.post_message(self.ToEditor())
        elif key in ("up", "down"):
            self._move(-1 if key == "up" else 1)
        elif key in _STEPS and self._scrolls(key):
            self._scroll_by(_STEPS[key])
        elif key in ("left_square_bracket", "right_square_bracket", "left", "right"):
            self.post_message(self.Step(-1 if key.startswith("left") and "right" not in key else 1))
        elif key == "enter":
            self._press_enter()
        elif key == "v" and not forms.is_inline(self.form):
            self._answer(self.form, forms.Act(name="full_view"))
        else:
            self._press(self._letter(key, character))

    def _scrolls(self, key: str) -> bool:
        return self.form is None or key not in {choice.key for choice in self.form.choices()}

    def _letter(self, key: str, character: str | None) -> str:
        """The key, or for a digit the choice in that row where letters are not digits themselves."""
        choices = self.form.choices() if self.form is not None else ()
        keys = [choice.key for choice in choices]
        if key.isdecimal() and not any(each.isdigit() for each in keys) and 0 < int(key) <= len(keys):
            return keys[int(key) - 1]
        return key if key == "question_mark" else character or key

    def _press_enter(self) -> None:
        choices = self.form.choices() if self.form is not None else ()
        if 0 <= self._selected < len(choices):
            key = choices[self._selected].key
            self._press({"Enter": "enter"}.get(key, key))
        elif any(choice.key == "Enter" for choice in choices):
            self._press("enter")

    def _press(self, key: str) -> None:
        form = self.form
        if form is None:
            return
        if key == "Esc":  # by the digit of its row
            self.dismiss()
            return
        if self._is_locked and any(each.needs_end and each.key.lower() == key for each in form.choices()):
            self.draw()
            return
        self._goes_on(form, lambda: form.press(key))

    def _goes_on(self, form: forms.Form, acted: Callable[[], forms.Effect]) -> None:
        """An answer, another picture, whose pause begins, or more or less of the same one."""
        shape, before, effect = self._shape(), self._object(), acted()
        if effect is not None:
            self._answer(form, effect)
            return
        if self._shape() != shape:
            self._selected, self._is_read_whole = -1, False
            self._redrawn()
        self._turned(before)

    def choose(self, form: forms.Form, key: str) -> None:
        """A choice that was made in the full view of this form, which has its own pause."""
        if form is self.form and not self._is_answered:
            self._arming.ask()
            self._press(key)

    def _object(self) -> list[Line]:
        return self.form.object(self._look(self._width)) if self.form is not None else []

    def _turned(self, before: list[Line]) -> None:
        """Nothing was seen of what stands in place of another object."""
        if self._object() != before:
            self._scroll, self._seen = 0, 0
        self.draw()

    def _shape(self) -> tuple[object, ...]:
        form = self.form
        if form is None:
            return ()
        reach = tuple((each.label, *each.spans) for each in form.facts(self._look(0)) if each.decides)
        return (form.title, form.writing, tuple(form.choices()), reach)

    def _move(self, by: int) -> None:
        count = len(self.form.choices()) - 1 if self.form is not None else 0
        if not count:
            self._scroll_by(by)
            return
        self._selected = (
            (self._selected + by) % count if self._selected >= 0 else (0 if by > 0 else count - 1)
        )
        self.draw()

    def _scroll_by(self, by: int) -> None:
        self._scroll = max(min(self._scroll + by, len(self._object()) - 1), 0)
        self.draw()

    def _answer(self, form: forms.Form, effect: forms.Send | forms.Act) -> None:
        """One answer to a form: what is typed behind it answers nothing."""
        self._is_answered = isinstance(effect, forms.Send)
        self.post_message(self.Answered(form, effect))

    def dismiss(self) -> None:
        """Esc: out of a sub-step, or the harmless answer; works unarmed as well."""
        form = self.form
        if form is None or self._is_answered:
            return
        self._goes_on(form, form.dismiss)

    def _submit(self, text: str) -> None:
        if self.form is None or self.form.writing is None:
            return
        form = self.form
        effect = form.submit(text)
        self._close_input()
        if effect is not None:
            self._answer(form, effect)

    def on_text_area_changed(self) -> None:
        self.draw()

    def _edit_outside(self) -> None:
        if self.form is not None:
            self.post_message(self.Answered(self.form, forms.Act(name="edit_outside")))  # answers nothing

    @property
    def written(self) -> str:
        """What is written inside."""
        return self._input.text

    def rewrite(self, text: str) -> None:
        """Another text for what is written inside; Enter sends it, as if it had been typed."""
        self._input.load(text)

    def on_click(self) -> None:
        self.turn_to()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -WHEEL_ROWS)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, WHEEL_ROWS)

    def _wheel(self, event: events.MouseEvent, by: int) -> None:
        """What is under it, where there is more of it than in view."""
        if self._is_long:
            event.stop()
            self._scroll_by(by)
