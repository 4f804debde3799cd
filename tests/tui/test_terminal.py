"""The interface on a real pseudo-terminal: raw bytes in, every way out."""

import errno
import io
import os
import signal
from pathlib import Path
from threading import Event, Timer

import pytest
from textual import events
from textual.drivers._writer_thread import MAX_QUEUED_WRITES

from agent_tui.tui.driver import PASTE_IDLE_S, InputParser, OutputThread
from agent_tui.tui.probe import Answers, Probe, parsed
from agent_tui.tui.toolkit import keys_told
from tests.tui.emulated import Starts, Tty
from tests.waiting import WAIT_S

OFF = (
    b"\x1b[?1000l",
    b"\x1b[?1003l",
    b"\x1b[?1006l",
    b"\x1b[?1015l",
    b"\x1b[?1004l",
    b"\x1b[?2004l",
    b"\x1b[<u",
    b"\x1b[?1049l",
    b"\x1b[?25h",
)


def test_a_paste_without_an_end_is_given_up_and_keys_act_again() -> None:
    now = [0.0]
    parser = InputParser(clock=lambda: now[0])

    def come(data: str, after_s: float) -> list[object]:
        now[0] += after_s
        messages = [*parser.feed(data), *parser.tick()] if data else [*parser.tick()]
        return [one.text if isinstance(one, events.Paste) else one.key for one in messages]  # type: ignore[attr-defined]

    assert come("\x1b[200~one\x03", 0) == []
    assert come("two", PASTE_IDLE_S - 0.1) == []
    assert come("", PASTE_IDLE_S - 0.1) == []
    assert come("", 0.2) == ["one\x03two"]
    assert come("\x03", 0.1) == ["ctrl+c"]
    assert come("late\r\x1b[201~y", 0.1) == ["late\r", "y"]
    assert come("\x1b[200~whole\x1b[201~\x03", 0.1) == ["whole", "ctrl+c"]


LATE = {
    "in one piece": ["\x1b[1;3R\x1b]11;rgb:1414/1616/1a1a\x07\x1b[?1;2c"],
    "with the other end of a string": ["\x1b]11;rgb:1414/1616/1a1a\x1b\\\x1b[?62;22c"],
    "of the kitty protocol": ["\x1b[?0u\x1b[?62;22c"],
    "cut in the attributes": ["\x1b[?1", ";2c"],
    "cut in the colour": ["\x1b]11;rgb:14", "14/1616/1a1a\x1b", "\\\x1b[?1;2c"],
}


@pytest.mark.parametrize("pieces", LATE.values(), ids=LATE)
def test_an_answer_of_the_terminal_that_comes_late_is_no_input(
    begin: Starts, tmp_path: Path, pieces: list[str]
) -> None:
    tty = begin(answers=False)
    for piece in pieces:
        tty.send(piece)
        tty.settle()
    tty.send("go")
    tty.until("go")
    tty.send("\r")
    tty.until("You said 2")
    tty.send("\x04")
    assert tty.wait() == 0
    assert "text='go'" in sent(tmp_path)


@pytest.mark.parametrize("cut", [0, 2, 9, 30])
def test_the_probe_reads_what_has_come_when_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    monkeypatch.setattr("agent_tui.tui.probe.WAIT_S", 0.0)
    monkeypatch.setattr("agent_tui.tui.probe.FAR_WAIT_S", 0.0)
    monkeypatch.setattr("agent_tui.tui.probe.REST_S", 5.0)
    answer = b"hi\x1b[1;3R\x1b]11;rgb:1414/1616/1a1a\x07\x1b[?1;2c"
    terminal, descriptor = os.openpty()
    try:
        probe = Probe(descriptor)
        os.write(terminal, answer[: len(answer) - cut])
        rest = Timer(0.05, os.write, (terminal, answer[len(answer) - cut :]))
        rest.start()
        found = probe.answers()
        rest.join()
    finally:
        os.close(terminal)
        os.close(descriptor)
    assert found == Answers(background_is_dark=True, glyphs_fit=True, has_kitty_keys=False, typed="hi")


@pytest.mark.parametrize(
    ("data", "variables", "told"),
    [
        (b"\x1b[?0u\x1b[?62;22c", {}, True),
        (b"\x1b[?0u\x1b[?62;22c", {"TMUX": "/tmp/t"}, True),
        (b"\x1b[?62;22c", {}, False),
        (b"\x1b[?62;22c", {"XTERM_VERSION": "XTerm(379)"}, None),
        (b"\x1b[?62;22c", {"TMUX": "/tmp/t"}, None),
        (b"", {}, None),
    ],
)
def test_what_a_terminal_says_of_its_keys(
    monkeypatch: pytest.MonkeyPatch, data: bytes, variables: dict[str, str], told: bool | None
) -> None:
    for name in ("XTERM_VERSION", "TMUX", "STY", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    answers = parsed(data + b"typed")
    assert (answers.typed, keys_told(answers.has_kitty_keys)) == ("typed", told)


def test_enter_before_the_first_picture_adds_no_empty_line_to_the_draft() -> None:
    assert parsed(b"one\ntwo\n\n\x1b[?62;22c").typed == "one\ntwo"
    assert parsed(b"\n").typed == ""


def sent(tmp_path: Path) -> str:
    return (tmp_path / "sent.log").read_text()


def restored(tty: Tty) -> None:
    """Every mode that was switched on is off, mouse before the line settings; nothing on after it."""
    tail = tty.data[tty.data.rindex(b"\x1b[?1049h") :]
    for sequence in OFF:
        assert sequence in tail, sequence
        assert tail.rfind(sequence.replace(b"l", b"h")) < tail.rfind(sequence) or sequence in (
            b"\x1b[<u",
            b"\x1b[?25h",
        )
    assert tty.line_settings() == tty.settings_before


def test_a_message_is_sent_letter_for_letter_and_the_end_leaves_words(
    begin: Starts, tmp_path: Path
) -> None:  # A39, A44
    tty = begin()
    tty.send("中文a😀e\u0301한 go")
    tty.until("go")
    tty.send("\r")
    tty.until("You said")
    tty.send("\x04")
    assert tty.wait() == 0
    assert "text='中文a😀e\u0301한 go'" in sent(tmp_path)
    assert b"agent-tui resume 7f3a" in tty.data
    restored(tty)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_restores_the_terminal(begin: Starts, number: int, code: int) -> None:  # A39
    tty = begin()
    tty.signal(number)
    assert tty.wait() == code
    restored(tty)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_while_the_screen_is_made_restores_the_terminal(
    begin: Starts, number: int, code: int
) -> None:  # A39
    tty = begin(wait_for="")
    tty.until(lambda tty: b"\x1b[?1049h" in tty.data)
    tty.signal(number)
    assert tty.wait() == code
    restored(tty)


def test_it_ends_when_its_terminal_is_gone(begin: Starts, tmp_path: Path) -> None:
    tty = begin("command_runs", "motion=true", wait_for="running 1 call")
    assert tty.hang_up() == 129
    assert "Shutdown(" in sent(tmp_path)


class FakeOutput(io.StringIO):
    """A terminal that is gone."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "gone")


def test_writing_without_a_terminal_never_waits() -> None:
    output = OutputThread(FakeOutput())
    output.start()
    for _ in range(10 * MAX_QUEUED_WRITES):
        output.write("x")
    output.stop()
    assert not output.is_alive()


class SlowOutput(io.StringIO):
    """A terminal that takes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.lets = Event(), Event()

    def write(self, text: str) -> int:
        self.began.set()
        self.lets.wait(WAIT_S)
        return len(text)


def test_a_terminal_that_does_not_follow_is_known_to_be_behind() -> None:
    terminal = SlowOutput()
    output = OutputThread(terminal)
    output.start()
    assert not output.is_behind
    output.write("x")
    assert terminal.began.wait(WAIT_S)
    output.write("y")
    assert output.is_behind
    terminal.lets.set()
    output.stop()
    assert not output.is_behind


def test_ctrl_c_twice_quits(begin: Starts) -> None:  # A39
    tty = begin()
    tty.send("\x03")
    tty.until("again to quit")
    tty.send("\x03")
    assert tty.wait() == 0
    restored(tty)


def test_an_internal_error_leaves_a_readable_screen(begin: Starts) -> None:  # A39
    tty = begin("broken", wait_for="AttributeError")
    assert tty.wait() == 1
    restored(tty)
    after = tty.data[tty.data.rindex(b"\x1b[?1049l") :]
    assert b"AttributeError" in after


def test_the_guardian_restores_after_kill_9(begin: Starts) -> None:  # A39
    tty = begin()
    tty.settle()
    tty.signal(signal.SIGKILL)
    tty.wait()
    tty.until("the terminal is restored")
    tty.until("continue   agent-tui resume 7f3a")
    restored(tty)


def test_a_large_paste_is_one_insertion_and_arrives_whole(begin: Starts, tmp_path: Path) -> None:  # A42
    tty = begin()
    line = "/quit y n 日本\t\x1b[2J\x1b]0;t\x07\x1b[A\x1b[200~\x03\x04" + "x" * 60
    text = "".join(f"{number} {line}\r\n" for number in range(10_000)) + "\x1b[20"
    assert len(text.encode()) > 1_000_000
    tty.paste(text)
    tty.until("[pasted 10,001 lines]")
    tty.send(" go\r")
    tty.until("You said")
    tty.send("\x04")
    assert tty.wait() == 0
    assert repr(text.replace("\r\n", "\n") + " go") in sent(tmp_path)
    assert sent(tmp_path).count("Submit(") == 1


NO_TEXT = {
    "latin-1": b"caf\xe9 ",
    "mouse": b"\x1b[M\x20\xc8\xc8",
    "none": b"\xe2\x28\xff\xfe",
    "keys beyond all characters": b"\x1b[99999999~\x1b[1114112u\x1b[97;;1114112u",
    "the same of xterm": b"\x1b[27;5;99999999999~\x1b[27;2;1114112~\x1b[27;5;1114112~",
}


@pytest.mark.parametrize("data", NO_TEXT.values(), ids=NO_TEXT)
def test_bytes_that_are_no_text_end_nothing(begin: Starts, tmp_path: Path, data: bytes) -> None:
    tty = begin()
    tty.send(data)
    tty.settle()
    tty.send("go")
    tty.until("go")
    tty.send("\r")
    tty.until("You said")
    tty.send("\x04")
    assert tty.wait() == 0
    assert "go'" in sent(tmp_path)


@pytest.mark.parametrize("pause_s", [0.0, 0.03])
def test_a_sequence_that_comes_in_pieces_is_one_key(begin: Starts, tmp_path: Path, pause_s: float) -> None:
    tty = begin("command_runs", wait_for="running 1 call", ESCDELAY="1000")  # so long may this process stand
    for byte in "\x1b[1;3A":  # Alt+Up, whose first byte alone would interrupt
        tty.send(byte)
        tty.pump(pause_s)
    tty.send("draft")
    tty.until("draft")
    tty.signal(signal.SIGTERM)
    tty.wait()
    assert "EditPending(input_id='i3'" in sent(tmp_path)
    assert "Interrupt(" not in sent(tmp_path)


def test_hostile_text_sends_nothing_to_the_terminal(begin: Starts) -> None:  # A41
    tty = begin("hostile", "theme=dark", wait_for="waiting for you")
    tty.until("[red]x[/]")
    tty.until("\\x1b[2J\\x1b]0;owned\\x07")
    ours = tty.data[tty.data.index(b"\x1b[?1049h") :]
    for bad in (
        b"\x1b]0;",
        b"owned\x07",
        b"\x1b[31m",
        "\u202e".encode(),
        "\u2066".encode(),
        b"\xc2\x9b",
        b"\x08",
    ):
        assert bad not in ours, bad


@pytest.mark.parametrize("key", ["\n", "\x1b\r", "\x1b[13;2u", "\x1b[27;2;13~", "\\\r"])
def test_every_way_to_a_new_line(begin: Starts, tmp_path: Path, key: str) -> None:
    tty = begin()
    tty.send("one")
    tty.until("one")
    tty.send(key)
    tty.send("two")
    tty.until("two")
    tty.send("\r")
    tty.until("You said 7")
    tty.send("\x04")
    tty.wait()
    assert "text='one\\ntwo'" in sent(tmp_path)


def test_settings_of_the_toolkit_are_not_ours(begin: Starts) -> None:
    begin(TEXTUAL_COLOR_SYSTEM="bogus", TEXTUAL_ANIMATIONS="x")


def test_ctrl_q_does_nothing(begin: Starts) -> None:
    tty = begin()
    tty.send("\x11still here")
    tty.until("still here")


def test_resize_keeps_the_draft_and_says_when_it_is_too_small(begin: Starts) -> None:
    tty = begin()
    tty.send("draft")
    tty.until("draft")
    tty.resize(50, 12)
    tty.until("terminal too small (50×12)")
    tty.resize(120, 40)
    tty.until("draft")
    tty.until("openai/gpt-5.1 high")


def test_the_hardware_cursor_stands_at_the_caret(begin: Starts) -> None:  # A44
    tty = begin()
    tty.send("a中😀")
    tty.until("a中😀")
    tty.until(lambda tty: tty.cursor == (2 + 5, 22))
    tty.send("\x1b[D\x1b[D")
    tty.until(lambda tty: tty.cursor == (2 + 1, 22))


def test_one_backspace_removes_one_visible_character(begin: Starts, tmp_path: Path) -> None:  # A44
    tty = begin()
    tty.send("x👩\u200d👩\u200d👧e\u0301")
    tty.until(lambda tty: "x" in tty.lines[22])
    tty.send("\x7f\x7f!ok\r")
    tty.until("You said 4")
    tty.send("\x04")
    tty.wait()
    assert "text='x!ok'" in sent(tmp_path)


def test_escape_interrupts(begin: Starts, tmp_path: Path) -> None:
    tty = begin("command_runs", wait_for="running 1 call")
    tty.send("\x1b")
    tty.until("interrupted by you")
    tty.send("\x04")
    tty.wait()
    assert "Interrupt(force=False" in sent(tmp_path)


def test_ascii_and_no_colour(begin: Starts) -> None:
    tty = begin("finished", "glyphs=ascii", "theme=mono", wait_for="done")
    assert tty.text.isascii()
    assert b"\x1b[38" not in tty.data
    assert b"\x1b[48" not in tty.data
