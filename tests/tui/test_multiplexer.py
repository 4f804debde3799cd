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
        ("10 off 1 xterm-256color iTerm2 3.5.0", ["set `extended-keys on`"]),
        ("", []),
        ("no server running", []),
    ],
)
def test_only_what_is_withheld_or_slow_is_said(answer: str, words: list[str]) -> None:
    said = multiplexer.notices(answer)
    assert len(said) == len(words)
    assert all(word in text for word, text in zip(words, said, strict=True))


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("10 on 1 xterm-256color iTerm2 3.5.0", "xterm-256color iTerm2 3.5.0"),
        ("10 on all xterm-kitty ", "xterm-kitty "),
        ("10 on 0 xterm-kitty", None),  # as tmux 3.3 says it
        ("10 on off xterm-kitty", None),
        ("10 on  xterm-kitty", None),  # tmux 3.2 has no such option
        ("500 off", None),
        ("", None),
    ],
)
def test_what_tmux_lets_through_and_to_whom(answer: str, names: str | None) -> None:
    assert multiplexer.passes_to(answer) == names


@pytest.mark.parametrize(
    ("answer", "sends"), [("10 off 1 xterm", False), ("10 on 1 xterm", None), ("", None)]
)
def test_modified_enter_is_known_to_be_withheld_and_not_to_arrive(answer: str, sends: bool | None) -> None:
    assert multiplexer.sends_modified_enter(answer) is sends


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_real_one_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = tmp_path / "s"
    command = ["tmux", "-f", "/dev/null", "-S", str(socket)]
    subprocess.run([*command, "new-session", "-d", "-s", "x", "sleep 30"], check=True)
    try:
        subprocess.run([*command, "set", "-s", "escape-time", "123"], check=True)
        subprocess.run([*command, "set", "-g", "allow-passthrough", "on"], check=True)
        monkeypatch.setenv("TMUX", f"{socket},0,0")
        monkeypatch.setattr(multiplexer, "WAIT_S", WAIT_S)
        answer = asyncio.run(multiplexer.ask())
        assert answer.startswith("123 ")
        assert multiplexer.passes_to(answer) is not None
    finally:
        subprocess.run([*command, "kill-server"], check=True)
