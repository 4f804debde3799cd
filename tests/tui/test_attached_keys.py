"""An attached terminal gets what xterm sends for a key, in whatever way the terminal around us sent it."""

from pathlib import Path

import pytest

from agent_tui.engine import commands
from agent_tui.tui.screens.terminals import AttachedView, TerminalsView
from agent_tui.tui.xterm_keys import sent
from tests.tui import gallery
from tests.tui.driving import Driven, driven
from tests.tui.test_keys import F3

ESC = "\x1b"
AS_THEY_ARE = [
    "a", "A", "é", " ", "~", "\r", "\t", "\x7f",
    *(chr(code) for code in range(1, 0x1D) if code not in (8, 27)), "\x00", "\x1e", "\x1f", ESC,
    *(f"{ESC}{key}" for key in "bfdDz.;19 -/?"), f"{ESC}\x7f", f"{ESC}\r",
    *(f"{ESC}[{end}" for end in "ABCDHFZ"), *(f"{ESC}O{end}" for end in "PQS"),
    *(f"{ESC}[{number}~" for number in (2, 3, 5, 6, 15, 17, 18, 19, 20, 21, 23, 24)),
    *(f"{ESC}[1;{held}{end}" for held in range(2, 9) for end in "ABCDHF"),
    *(f"{ESC}[1;{held}{end}" for held in (2, 3, 5, 6) for end in "PQS"),
    *(f"{ESC}[{number};{held}~" for held in (2, 3, 5) for number in (2, 3, 5, 6, 15, 24)),
]  # fmt: skip
FROM_OTHERS = {  # rxvt, the Linux console, application mode, the kitty protocol, modifyOtherKeys
    f"{ESC}[7~": f"{ESC}[H", f"{ESC}[8~": f"{ESC}[F", f"{ESC}Oc": f"{ESC}[1;5C", f"{ESC}[a": f"{ESC}[1;2A",
    f"{ESC}[[A": f"{ESC}OP", f"{ESC}[11~": f"{ESC}OP", f"{ESC}OA": f"{ESC}[A", "\b": "\x7f",
    f"{ESC}[27u": ESC, f"{ESC}[98;3u": f"{ESC}b", f"{ESC}[99;5u": "\x03", f"{ESC}[127;3u": f"{ESC}\x7f",
    f"{ESC}[13;2u": "\r", f"{ESC}[13;3u": f"{ESC}\r", f"{ESC}[32;5u": "\x00", f"{ESC}[47;5u": "\x1f",
    f"{ESC}[92;5u": "\x1c", f"{ESC}[97;7u": f"{ESC}\x01", f"{ESC}[46;3u": f"{ESC}.", f"{ESC}[127;5u": "\b",
    f"{ESC}[P": f"{ESC}OP", f"{ESC}[9;2u": f"{ESC}[Z",
    f"{ESC}[27;2;13~": "\r", f"{ESC}[27;5;9~": "\t", f"{ESC}[27;3;100~": f"{ESC}d", f"{ESC}[27;2;65~": "A",
}  # fmt: skip


async def given(it: Driven, data: str) -> str:
    before = len(it.engine.sent)
    await it.feed(data.encode())
    assert isinstance(it.app.screen, AttachedView), data
    sent = [body for body in it.engine.sent[before:] if isinstance(body, commands.TerminalInput)]
    return "".join(body.chars for body in sent)


async def test_keys_reach_an_attached_terminal_as_xterm_sends_them(tmp_path: Path) -> None:
    async with driven(tmp_path, on=gallery.Scene().on) as it:
        await it.feed(F3 + b"\r")
        wanted = {**dict.fromkeys(AS_THEY_ARE, ""), **FROM_OTHERS}
        wrong = {
            data: got for data, want in wanted.items() if (got := await given(it, data)) != (want or data)
        }
        assert wrong == {}
        await it.feed(b"\x1d")
        assert isinstance(it.app.screen, TerminalsView)


@pytest.mark.parametrize("key", ["left_shift", "caps_lock", "ctrl+left_control", "<ignore>", "alt+left_alt"])
def test_a_modifier_alone_sends_nothing(key: str) -> None:
    assert sent(key, None) == ""
