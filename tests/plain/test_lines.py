import asyncio
import os
import pty
import subprocess
import sys
import termios
import tty
from pathlib import Path

import pytest
from prompt_toolkit.application import in_terminal
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from agent_tui.history import History
from agent_tui.plain.completion import Completing
from agent_tui.plain.lines import MESSAGE, StreamLines, TerminalLines, keys_kept
from tests.waiting import WAIT_S, until


def test_a_key_typed_before_the_prompt_reads_is_still_that_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        before = termios.tcgetattr(terminal)
        with keys_kept():
            os.write(keyboard, b"\x04")
            prompt = termios.tcgetattr(terminal)
            tty.setraw(terminal, termios.TCSANOW)  # as a prompt does when it begins to read
            assert os.read(terminal, 8) == b"\x04"
            termios.tcsetattr(terminal, termios.TCSANOW, prompt)
        assert termios.tcgetattr(terminal) == before
    os.close(keyboard)


async def test_a_key_typed_while_something_is_printed_above_the_prompt_is_still_that_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The editor gives the terminal back meanwhile, which then would gather lines."""
    keyboard, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        with keys_kept():
            lines = TerminalLines(None)
            line = asyncio.create_task(lines.read("> "))
            # until the editor has the terminal
            await asyncio.to_thread(until, lambda: not termios.tcgetattr(terminal)[3] & termios.ISIG)
            async with asyncio.timeout(WAIT_S):
                async with in_terminal():
                    os.write(keyboard, b"\x04")
                assert await line is None
            assert lines.ended
    os.close(keyboard)


async def test_a_line_typed_before_the_first_prompt_is_sent_and_a_line_feed_after_it_is_a_new_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keyboard, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        os.write(keyboard, b"early\r")
        with keys_kept():
            lines = TerminalLines(None)
            async with asyncio.timeout(WAIT_S):
                assert await lines.read("> ") == "early"
                os.write(keyboard, b"one\ntwo\r")
                assert await lines.read("> ") == "one\ntwo"
    os.close(keyboard)


async def test_what_was_said_comes_back_in_later_sessions_and_answers_do_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keyboard, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        with keys_kept():
            async with asyncio.timeout(WAIT_S):
                lines = TerminalLines(tmp_path / "history")
                os.write(keyboard, b"said\r")
                assert await lines.read(MESSAGE) == "said"
                os.write(keyboard, b"1\r")
                assert await lines.read("answer 1 to 7> ") == "1"
                later = TerminalLines(tmp_path / "history")
                os.write(keyboard, b"\x12ai\r\r")
                assert await later.read(MESSAGE) == "said"
    os.close(keyboard)
    assert History(tmp_path / "history").entries == ["said"]


def test_a_damaged_line_of_the_history_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "history").write_text('"one"\n"tw\n' + "[" * 5000 + '\n"three"\n')
    assert History(tmp_path / "history").entries == ["one", "three"]


async def test_files_are_asked_for_by_a_mention_and_known_for_a_while() -> None:
    asked: list[bool] = []

    async def listing(ignored: bool) -> list[str]:
        asked.append(ignored)
        return ["a\u202e.py", *(["a.o"] if ignored else [])]

    completing = Completing()
    completing.listing = listing
    for text in ("no mention", "@a", "see @a", "@!a.o"):
        await completing.prepare(text)
    assert asked == [False, True]
    [found] = completing.get_completions(Document("see @a"), CompleteEvent())
    assert (found.text, found.display_text) == ("@a\u202e.py ", "a\\u202e.py")
    [found] = completing.get_completions(Document("@!a.o"), CompleteEvent())
    assert (found.text, found.start_position) == ("@a.o ", -5)
    assert completing.nothing("@!nowhere") == 'No file matches "nowhere"'
    assert not completing.nothing("no mention")


def test_a_terminal_that_went_away_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with keys_kept():
            os.close(keyboard)
        monkeypatch.undo()


def test_input_that_nobody_reads_ends_with_the_session() -> None:
    """In a process of its own: what a thread leaves behind is said at the end of one."""
    script = (
        "import asyncio\nfrom agent_tui.plain.lines import StreamLines\n"
        "print(asyncio.run(StreamLines().read('> ')))\n"
    )
    given = b"/quit\n" + b"more\n" * 5_000
    ended = subprocess.run([sys.executable, "-c", script], input=given, capture_output=True, timeout=WAIT_S)
    assert (ended.stdout, ended.stderr) == (b"> \n/quit\n", b"")


async def test_more_lines_than_are_read_ahead_all_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_tui.plain.lines.MAX_LINES_AHEAD", 3)
    reading, writing = os.pipe()
    os.write(writing, b"".join(b"%d\n" % n for n in range(20)))
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        lines = StreamLines()
        assert [await lines.read("") for _ in range(21)] == [*(str(n) for n in range(20)), None]
        assert lines.ended
