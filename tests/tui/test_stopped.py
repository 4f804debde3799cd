"""The interface stopped and continued by a shell, and by signals that ask nobody."""

import os
import re
import signal
from pathlib import Path

import pytest

from tests.tui.emulated import Starts


def test_suspend_and_back_draws_anew(begin: Starts) -> None:  # A40
    tty = begin(shell=True)
    tty.send("draft")
    tty.until("draft")
    for times, size in enumerate(((90, 20), (100, 30)), 1):
        tty.send("\x1a")
        tty.await_stop()
        tty.until(lambda tty: tty.data.count(b"\x1b[?1049l") == times)  # noqa: B023 - waited for here
        assert tty.line_settings() == tty.settings_before
        tty.resize(*size)
        tty.signal(signal.SIGCONT)
        tty.until(lambda tty: tty.data.count(b"\x1b[?1049h") == times + 1)  # noqa: B023 - as above
        tty.until("Ctrl+_ is the key that undoes")
        tty.send(f" {times}")
        tty.until("draft 1 2"[: 5 + 2 * times])
    tty.send(" more")
    tty.until("draft 1 2 more")
    assert len(tty.lines) == 30
    tty.send("\x03")
    tty.until(lambda tty: "draft 1 2 more" not in tty.text)
    tty.send("\x04")
    assert tty.wait() == 0


@pytest.mark.parametrize("key", ["\x1a", ""])  # pressed, or the signal from outside
def test_suspend_and_back_in_the_same_size_shows_all_of_the_screen(begin: Starts, key: str) -> None:
    tty = begin("asks", wait_for="y  once", shell=True)
    before = tty.text
    tty.send(key) if key else tty.signal(signal.SIGTSTP)
    tty.await_stop()
    tty.until(lambda tty: b"\x1b[?1049l" in tty.data)
    tty.signal(signal.SIGCONT)
    tty.until(lambda tty: tty.data.count(b"\x1b[?1049h") == 2)
    tty.until("y  once")
    tty.until(lambda tty: _without_activity(tty.text) == _without_activity(before))


def _without_activity(text: str) -> str:
    return "\n".join(row for row in text.split("\n") if not row.startswith("──"))


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_a_key_that_was_typed_while_the_screen_was_away_answers_nothing(  # A31, A40
    begin: Starts, tmp_path: Path, number: int
) -> None:
    tty = begin("asks", wait_for="y  once", shell=True)
    tty.signal(number)
    tty.await_stop()
    tty.send("y")
    tty.signal(signal.SIGCONT)
    tty.until("› y")
    tty.send("\x03")
    tty.until(lambda tty: "› y" not in tty.text)
    tty.send("\x04")
    assert tty.wait() == 0
    assert "Decide(" not in (tmp_path / "sent.log").read_text()


def test_a_stop_that_cannot_be_caught_leaves_nothing_of_ours(begin: Starts) -> None:  # A39, A40
    tty = begin(shell=True)
    for times in (1, 2):
        tty.signal(signal.SIGSTOP)
        tty.await_stop()
        tty.signal(signal.SIGCONT)
        tty.until(lambda tty: tty.data.count(b"\x1b[?1049h") == times + 1)  # noqa: B023 - waited for here
        tty.until("ready")
    tty.send("letter for letter")
    tty.until("letter for letter")
    tty.send("\x03")
    tty.until(lambda tty: "letter for letter" not in tty.text)
    tty.send("\x04")
    assert tty.wait() == 0
    assert tty.line_settings() == tty.settings_before
    assert len(re.findall(rb"\x1b\[>\d+u", tty.data)) == tty.data.count(b"\x1b[<u")


def test_what_started_it_stops_with_it_by_ctrl_z(begin: Starts) -> None:  # A40
    tty = begin(shell=True, starter=["sh", "-c", '"$@"; exit $?', "sh"])  # the job is that shell
    tty.send("\x1a")
    tty.await_stop()
    os.killpg(tty.pid, signal.SIGCONT)
    tty.until("Ctrl+_ is the key that undoes")
    tty.send("\x04")
    assert tty.wait() == 0


def test_it_does_not_stop_where_nobody_could_continue_it(begin: Starts) -> None:
    tty = begin()
    tty.send("\x1a")
    tty.until(lambda tty: tty.data.count(b"\x1b[?1049h") == 2)
    tty.send("goes on")
    tty.until("goes on")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the interface is said to be, in a home of its own: a program in front is started there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "src" / "slugkit").mkdir(parents=True)


EDITOR = "sh -c 'echo in front; exec sleep 60'"


@pytest.mark.usefixtures("workspace")
def test_ctrl_c_for_a_program_in_front_ends_only_that(begin: Starts) -> None:
    tty = begin(shell=True, EDITOR=EDITOR)
    tty.send("draft")
    tty.until("draft")
    tty.send("\x07")
    tty.until("in front")
    tty.send("\x03")
    tty.until(lambda tty: tty.data.count(b"\x1b[?1049h") == 2)
    tty.send(" more")
    tty.until("draft more")


@pytest.mark.usefixtures("workspace")
def test_an_editor_that_does_not_start_takes_no_screen_away(begin: Starts) -> None:
    tty = begin(EDITOR="/no/such/editor")
    tty.send("draft\x07")
    tty.until("`/no/such/editor` did not start: No such file or directory")
    tty.send(" more")
    tty.until("draft more")


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_at_a_signal_while_a_program_is_in_front(begin: Starts, number: int) -> None:  # A39
    tty = begin(EDITOR=EDITOR)
    tty.send("\x07")
    tty.until("in front")
    tty.signal(number)
    assert tty.wait() == 128 + number
    assert tty.line_settings() == tty.settings_before
