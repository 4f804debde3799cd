"""What the first picture holds, before there is a session."""

import os
import sys
from pathlib import Path

from tests.tui.emulated import Tty

PLAY = Path(__file__).parent / "play.py"
FIRST_ROW = b"\x1b[1;1H"


def test_the_first_picture_is_the_whole_one(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    tty = Tty([sys.executable, str(PLAY), "idle", str(tmp_path)], env=env, cwd=str(tmp_path))
    try:
        tty.until("Say what")
        first = tty.data.partition(FIRST_ROW)[2].partition(FIRST_ROW)[0]
        assert b"agent-tui" in first and b"Say what" in first and "─".encode() in first
    finally:
        tty.close()
