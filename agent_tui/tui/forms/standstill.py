"""Prompts of the runtime: a limit, no progress, no checkpoint, no room for the session."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from agent_tui.engine import commands, events
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.forms.form import WIDE_CHOICE, Act, Choice, Effect, Fact, Send, Spacing, Writing, fact
from agent_tui.tui.transcript.lines import Line, Span, untrusted, wrap
from agent_tui.tui.transcript.look import Look
from checkpoints.types import Kept

SHORT = 9  # columns of a fact's label
SEND = "Enter send · Esc back"


class RuntimeForm(ABC):
    """A question of the runtime whose options have letters; `o` and `t` take a text."""

    spacing: Spacing = "none"
    title = ""
    aside: str | None = ""
    columns = WIDE_CHOICE
    in_rows = False

    def __init__(self, event: events.QuestionAsked) -> None:
        self.event = event
        self.writing: Writing | None = None

    def object(self, look: Look) -> list[Line]:
        """What happened, in one line."""
        lead: Line = (Span("    "),)
        return wrap(untrusted(self.event.text, strict=True), look.width, first=lead, rest=lead)

    def facts(self, look: Look, *, whole: bool = False) -> list[Fact]:
        """None."""
        return []

    @abstractmethod
    def choices(self) -> Sequence[Choice]:
        """The letters."""

    def corner(self) -> str:
        """Nothing."""
        return ""

    @abstractmethod
    def answers(self) -> dict[str, str]:
        """Letter → option of the question."""

    def press(self, key: str) -> Effect:
        """One armed letter."""
        answer = self.answers().get(key)
        return None if answer is None else self._answer(answer)

    def submit(self, text: str) -> Effect:
        """A text of the person."""
        self.writing = None
        return self._answer(text.strip()) if text.strip() else None

    def dismiss(self) -> Effect:
        """Out of the text first; then no answer."""
        if self.writing is not None:
            self.writing = None
            return None
        return self._answer(None)

    def _answer(self, text: str | None) -> Effect:
        return Send(body=commands.Answer(question_id=self.event.question_id, text=text))


class LimitForm(RuntimeForm):
    """A limit is reached: raise it, or stop here."""

    title = "limit reached"

    def object(self, look: Look) -> list[Line]:
        """How much of what, and the work that is not checked."""
        limit = self.event.limit
        assert limit is not None
        if limit.raised is None:
            used = [Span("is limited, and the price of this model is not known")]
        else:
            used = [Span(f"{_amount(limit.name, limit.used)} of {_amount(limit.name, limit.allowed)}")]
        after = [Span(f", after step {limit.step}")] if limit.step else []
        name = {"tools": "calls"}.get(limit.name, limit.name)
        said = fact(name, [*used, *after], look, columns=SHORT)
        return said + fact("state", untrusted(limit.state), look, columns=SHORT)

    def choices(self) -> Sequence[Choice]:
        """Raise, another amount, stop."""
        limit = self.event.limit
        another = [] if limit is None or limit.raised is None else [Choice(key="o", label="another amount")]
        return [
            Choice(key="r", label=one_line(self.event.options[0])),
            *another,
            Choice(key="x", label="stop here", note="the session stays; /resume continues"),
            Choice(key="Esc", label="pause"),
        ]

    def answers(self) -> dict[str, str]:
        """As the engine offers them."""
        return {"r": self.event.options[0], "x": self.event.options[1]}

    def press(self, key: str) -> Effect:
        """`o` takes an amount."""
        if key == "o" and self.event.limit is not None and self.event.limit.raised is not None:
            self.writing = Writing(title="raise the limit to:", text="", hint=SEND)
            return None
        return super().press(key)


def _amount(name: str, value: float) -> str:
    if name == "cost":
        return words.money(value)
    if name == "time":
        return words.clock(value)
    return words.tokens(round(value)) if name == "tokens" else f"{value:,.0f}"


class NoProgressForm(RuntimeForm):
    """The model goes in circles."""

    title = "no progress"

    def object(self, look: Look) -> list[Line]:
        """What was found."""
        lead: Line = (Span("    "),)
        text = self.event.text.removeprefix("No progress: ")
        return wrap(untrusted(text, strict=True), look.width, first=lead, rest=lead)

    def choices(self) -> Sequence[Choice]:
        """Go on, say something, stop."""
        return [
            Choice(key="c", label="continue", note="counting starts again"),
            Choice(key="t", label="tell it something", note="Enter sends, the run goes on", short="tell it"),
            Choice(key="x", label="stop the run", short="stop"),
            Choice(key="Esc", label="pause"),
        ]

    def answers(self) -> dict[str, str]:
        """As the engine offers them."""
        return {"c": self.event.options[0], "x": self.event.options[1]}

    def press(self, key: str) -> Effect:
        """`t` takes a text."""
        if key == "t":
            self.writing = Writing(title="tell the model:", text="", hint=SEND)
            return None
        return super().press(key)


class NoCheckpointForm(RuntimeForm):
    """A call that could not be taken back; `shown` names it."""

    title = "no checkpoint"

    def __init__(self, event: events.QuestionAsked, shown: str) -> None:
        super().__init__(event)
        self._shown = shown

    def object(self, look: Look) -> list[Line]:
        """The call."""
        lead: Line = (Span("    "),)
        spans = untrusted(self._shown or self.event.call_id, "strong", strict=True)
        return wrap(spans, look.width, first=lead, rest=lead)

    def facts(self, look: Look, *, whole: bool = False) -> list[Fact]:
        """Why there is none."""
        return [Fact(label="why", spans=untrusted(self.event.text.partition(": ")[2] or self.event.text))]

    def choices(self) -> Sequence[Choice]:
        """Wait, go without, deny."""
        return [
            Choice(key="w", label="wait 30 s more", short="wait"),
            Choice(key="r", label="run without undo", note="this call cannot be taken back", short="run"),
            Choice(key="n", label="deny"),
            Choice(key="Esc", label="deny and pause"),
        ]

    def answers(self) -> dict[str, str]:
        """As the engine offers them."""
        wait, without, deny = self.event.options
        return {"w": wait, "r": without, "n": deny}


class UnwritableForm:
    """The run ended because the session cannot be written."""

    title = "cannot write the session"
    aside: str | None = ""
    spacing: Spacing = "none"
    columns = WIDE_CHOICE
    in_rows = False
    writing: Writing | None = None

    def __init__(self, state_dir: Path, stored_calls: int) -> None:
        self._state_dir = state_dir
        self._stored_calls = stored_calls  # of the turn that ended so
        self.kept: Kept | None = None  # the checkpoints, once that is known
        try:
            self._free: int | None = shutil.disk_usage(state_dir).free
        except OSError:
            self._free = None

    def object(self, look: Look) -> list[Line]:
        """Where, and what that means."""
        free = "" if self._free is None else f", {words.size(self._free)} free"
        where = untrusted(f"{words.home(self._state_dir)}{free}", strict=True)
        state = [Span(f"{self._stored()}; nothing runs that cannot be recorded")]
        return fact("where", where, look, columns=SHORT) + fact("state", state, look, columns=SHORT)

    def _stored(self) -> str:
        if not self._stored_calls:
            return "what is stored stays"
        calls = "call is" if self._stored_calls == 1 else f"{self._stored_calls:,} calls are"
        return f"the last {calls} stored"

    def _old(self) -> str:
        if self.kept is None:
            return "of old sessions"
        return f"of sessions older than {self.kept.days:g} days; all take {words.size(self.kept.size_bytes)}"

    def facts(self, look: Look, *, whole: bool = False) -> list[Fact]:
        """None."""
        return []

    def choices(self) -> Sequence[Choice]:
        """Try again, make room, stop."""
        return [
            Choice(key="r", label="try again", note="after you made room", short="again"),
            Choice(key="c", label="clear old checkpoints", note=self._old(), short="clear"),
            Choice(key="x", label="stop here", short="stop"),
            Choice(key="Esc", label="stay"),
        ]

    def corner(self) -> str:
        """Nothing."""
        return ""

    def press(self, key: str) -> Effect:
        """One armed letter."""
        names = {"r": "retry_write", "c": "prune", "x": "quit_now"}
        return Act(name=names[key]) if key in names else None

    def submit(self, text: str) -> Effect:
        """It takes no text."""
        return None

    def dismiss(self) -> Effect:
        """Stay."""
        return Act(name="stay")
