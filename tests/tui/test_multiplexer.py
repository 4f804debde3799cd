import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_tui.tui import multiplexer
from tests.waiting import WAIT_S


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("500 off", ["Shift+Enter", "`escape-time` to 50 or less"]),
        ("10 off", ["set `extended-keys on`"]),
        ("10 on", []),
        ("", []),
        ("no server running", []),
    ],
)
def test_only_what_is_withheld_or_slow_is_said(answer: str, words: list[str]) -> None:
    said = multiplexer.notices(answer)
    assert len(said) == len(words)
    assert all(word in text for word, text in zip(words, said, strict=True))


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_real_one_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = tmp_path / "s"
    command = ["tmux", "-f", "/dev/null", "-S", str(socket)]
    subprocess.run([*command, "new-session", "-d", "-s", "x", "sleep 30"], check=True)
    try:
        subprocess.run([*command, "set", "-s", "escape-time", "123"], check=True)
        monkeypatch.setenv("TMUX", f"{socket},0,0")
        monkeypatch.setattr(multiplexer, "WAIT_S", WAIT_S)
        assert asyncio.run(multiplexer.ask()).startswith("123 ")
    finally:
        subprocess.run([*command, "kill-server"], check=True)
