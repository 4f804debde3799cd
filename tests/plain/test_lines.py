import os
import pty
import termios
import tty

import pytest

from agent_tui.plain.lines import keys_kept


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


def test_a_terminal_that_went_away_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with keys_kept():
            os.close(keyboard)
        monkeypatch.undo()
