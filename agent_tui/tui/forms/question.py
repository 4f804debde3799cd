"""Questions of the model, lost results after a crash, and leaving with live terminals."""

from collections.abc import Mapping, Sequence

from agent_tui.engine import commands, events
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.forms.form import CHOICE, WIDE_CHOICE, Act, Choice, Effect, Fact, Send, Spacing, Writing
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript import changes
from agent_tui.tui.transcript.lines import Line, Span, untrusted, wrap
from agent_tui.tui.transcript.look import Look

DIGITS = "1234567890"  # nine options and own words


class QuestionForm:
    """`request_user_input`: digits or arrows; the last row is free text."""

    title = "question"
    aside: str | None = None
    spacing: Spacing = "close"
    columns = CHOICE
    in_rows = True

    def __init__(self, event: events.QuestionAsked) -> None:
        self.event = event
        self.writing: Writing | None = None

    def object(self, look: Look) -> list[Line]:
        """The question."""
        lead: Line = (Span("  "),)
        return wrap(untrusted(self.event.text, "strong"), look.prose, first=lead, rest=lead)

    def facts(self, look: Look, *, whole: bool = False) -> list[Fact]:
        """None, or all options whole."""
        options = zip(DIGITS, self.event.options, strict=False) if whole else ()
        return [Fact(label=key, spans=untrusted(one_line(text), strict=True)) for key, text in options]

    def choices(self) -> Sequence[Choice]:
        """The options, free text, Esc."""
        options = [_option(key, text) for key, text in zip(DIGITS, self.event.options, strict=False)]
        if self.event.free_text or not options:
            label = "say something else" if options else "answer in your own words"
            options.append(Choice(key=DIGITS[len(options)], label=label))
        return [*options, Choice(key="Esc", label="no answer, and pause")]

    def corner(self) -> str:
        """Nothing."""
        return ""

    def press(self, key: str) -> Effect:
        """A digit."""
        index = DIGITS.find(key) if len(key) == 1 else -1
        if 0 <= index < len(self.event.options):
            return self._answer(self.event.options[index])
        if index == len(self.event.options) and index < len(self.choices()) - 1:
            self._write()
        return None

    def _write(self) -> None:
        self.writing = Writing(title="your answer:", text="", hint="Enter send · Esc back")

    def submit(self, text: str) -> Effect:
        """Free text."""
        self.writing = None
        return self._answer(text)

    def dismiss(self) -> Effect:
        """No answer."""
        if self.writing is not None:
            self.writing = None
            return None
        return self._answer(None)

    def _answer(self, text: str | None) -> Effect:
        return Send(body=commands.Answer(question_id=self.event.question_id, text=text))


def _option(key: str, text: str) -> Choice:
    """The engine joins label and description by a colon."""
    shown = one_line(text)
    label, found, note = shown.partition(": ")
    if found and len(label) <= 17:
        return Choice(key=key, label=label, note=note)
    return Choice(key=key, label=shown)


class LostForm:
    """A call whose effect is not known; its keys are not those of an approval."""

    title = "result lost"
    aside: str | None = None
    spacing: Spacing = "airy"
    columns = WIDE_CHOICE
    in_rows = False

    def __init__(self, event: events.LostResultAsked) -> None:
        self.event = event
        self.writing: Writing | None = None
        self._sure = False

    def object(self, look: Look) -> list[Line]:
        """The call."""
        lead: Line = (Span("    "),)
        return wrap(
            untrusted(self.event.shown or self.event.tool, "strong", strict=True),
            look.width,
            first=lead,
            rest=lead,
        )

    def facts(self, look: Look, *, whole: bool = False) -> list[Fact]:
        """What is known about it."""
        import time

        event = self.event
        cwd = untrusted(words.home(event.cwd), strict=True)
        rows = [Fact(label="in", spans=cwd)] if event.cwd else []
        started = time.strftime("%H:%M:%S", time.localtime(event.started_at))
        if event.ended_at > event.started_at:
            started += f", {_span(event.ended_at - event.started_at)} before the end"
        started += f"; {event.facts}" if event.facts else ""
        rows.append(Fact(label="started", spans=untrusted(started)))
        rows.append(Fact(label="output", spans=untrusted(self._kept(), strict=True), most=1))
        if event.changes:
            spans = [
                Span(f"{changes.files(event.changes)} since checkpoint "),
                *untrusted(event.checkpoint_id),
                Span(": "),
            ]
            shown = [*spans, *changes.joined(event.changes, look.glyphs)]
            rows.append(Fact(label="changes", spans=shown, right="d diff"))
        return rows

    def _kept(self) -> str:
        lines = [line for line in self.event.output.split("\n") if line.strip()]
        return (
            f"{words.count(len(lines), 'line')} kept: {one_line(lines[-1])}"
            if lines
            else "it printed nothing"
        )

    def choices(self) -> Sequence[Choice]:
        """keep, back, again, stop."""
        if self._sure:
            return [
                Choice(key="a", label="yes, run it again", note="it may act twice"),
                Choice(key="Esc", label="back"),
            ]
        back = (
            [
                Choice(
                    key="b",
                    label="back to before it",
                    note=f"rollback to {self.event.checkpoint_id}, with preview",
                    short="back",
                )
            ]
            if self.event.checkpoint_id
            else []
        )
        return [
            Choice(
                key="k",
                label="keep what it did",
                note="the model is told and looks before repeating",
                short="keep",
            ),
            *back,
            Choice(key="a", label="run it again", note="after you confirm; it may act twice", short="again"),
            Choice(key="x", label="stop here", note="decide later; the session stays as it is", short="stop"),
            Choice(key="Esc", label="stop here"),
        ]

    def corner(self) -> str:
        """What it printed."""
        return "o all output" if self.event.output and not self._sure else ""

    def press(self, key: str) -> Effect:
        """One armed key."""
        if key == "d" and self.event.changes:
            return Act(name="lost_diff")
        if key == "o" and self.corner():
            return Act(name="lost_output")
        if key == "a":
            if self._sure:
                return self._settle("again")
            self._sure = True
        elif key == "k" and not self._sure:
            return self._settle("keep")
        elif key == "b" and not self._sure and self.event.checkpoint_id:
            return Act(name="lost_back")
        elif key == "x" and not self._sure:
            return self._settle("stop")
        return None

    def submit(self, text: str) -> Effect:
        """It takes no text."""
        return None

    def dismiss(self) -> Effect:
        """Stop here."""
        if self._sure:
            self._sure = False
            return None
        return self._settle("stop")

    def back(self, conflicts: Mapping[str, str]) -> Send:
        """The rollback of its preview, with what was chosen there for files in conflict."""
        settled = commands.Settle(question_id=self.event.question_id, choice="rollback", conflicts=conflicts)
        return Send(body=settled)

    def _settle(self, choice: str) -> Effect:
        settled = commands.Settle(question_id=self.event.question_id, choice=choice)  # type: ignore[arg-type]  # the four keys above
        return Send(body=settled)


def _span(seconds: float) -> str:
    """`2 s`, `1:03`."""
    return f"{max(round(seconds), 1)} s" if seconds < 59.5 else words.clock(seconds)


class LeaveForm:
    """Quitting, or another session, while terminals are live."""

    title = "leave"
    aside: str | None = ""
    spacing: Spacing = "none"
    columns = CHOICE
    in_rows = False

    def __init__(self, terminals: Sequence[events.TerminalChanged], *, goes_on: bool) -> None:
        self.writing: Writing | None = None
        self._terminals = terminals
        self._then = "go on" if goes_on else "quit"

    def object(self, look: Look) -> list[Line]:
        """The terminals."""
        lead: Line = (Span("  "),)
        count = len(self._terminals)
        named = [f"{each.terminal} {one_line(each.command)}" for each in self._terminals]
        text = f"{words.count(count, 'terminal')} {'is' if count == 1 else 'are'} live: "
        text += own_words(" · ", look.glyphs).join(named)
        return wrap(untrusted(text, strict=True), look.width, first=lead, rest=lead)

    def facts(self, look: Look, *, whole: bool = False) -> list[Fact]:
        """None."""
        return []

    def choices(self) -> Sequence[Choice]:
        """Stop or stay."""
        return [Choice(key="Enter", label=f"stop them and {self._then}"), Choice(key="Esc", label="stay")]

    def corner(self) -> str:
        """Nothing."""
        return ""

    def press(self, key: str) -> Effect:
        """One key."""
        return Act(name="quit_now") if key == "enter" else None

    def submit(self, text: str) -> Effect:
        """It takes no text."""
        return None

    def dismiss(self) -> Effect:
        """Stay."""
        return Act(name="stay")
