"""The interface on a terminal of its own."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.tui.emulated import Starts, Tty

PLAY = Path(__file__).with_name("play.py")


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Starts]:
    """Starts the interface on a scene and waits for its first picture."""
    opened: list[Tty] = []

    def start(
        scene: str = "idle",
        *settings: str,
        wait_for: str = "ready",
        answers: bool = True,
        shell: bool = False,
        starter: Sequence[str] = (),
        **environ: str,
    ) -> Tty:
        env = {
            key: value
            for key, value in os.environ.items()
            if key not in ("NO_COLOR", "TMUX", "EDITOR", "VISUAL")
        }
        env |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environ}
        tty = Tty(
            [*starter, sys.executable, str(PLAY), scene, str(tmp_path), *settings],
            env=env,
            cwd=str(tmp_path),
            answers=answers,
            shell=shell,
        )
        opened.append(tty)
        tty.settings_before = tty.line_settings()
        tty.until(wait_for)
        return tty

    yield start
    for tty in opened:
        tty.close()
