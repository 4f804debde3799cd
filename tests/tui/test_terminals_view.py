"""The list of terminals (F3)."""

from pathlib import Path

from agent_tui.engine import commands, events
from tests.tui.driving import driven
from tests.tui.fake_engine import Play

LOST = {"id": "t1", "command": "npm ci", "state": "lost", "started_at": 1.0, "call_id": "c1", "tail": ""}
LIVE = {
    "id": "t2", "command": "npm run dev", "state": "live", "started_at": 1.0, "call_id": "c2", "tail": "ok?",
    "awaits_input": True,
}  # fmt: skip


def answer(body: commands.CommandBody) -> Play:
    asked = isinstance(body, commands.Inspect) and body.subject is commands.Subject.TERMINALS
    return [events.Inspected(command_id="", data=[LOST, LIVE])] if asked else ()


async def test_live_terminals_come_first_and_one_that_is_gone_takes_nothing(tmp_path: Path) -> None:
    async with driven(tmp_path, on=answer) as it:
        await it.press("f3")
        rows = [row.split() for row in it.screen.splitlines() if "npm" in row]
        assert [row[:4] for row in rows] == [[">", "&", "t2", "live"], ["&", "t1", "lost", "npm"]]
        assert rows[0][-3:] == ["waiting", "for", "input"]
        for key in ("x", "i", "enter"):
            await it.press("down", key)
            assert "t1 is not live" in it.screen
        assert not it.engine.sent_of(commands.TerminalInput)
        await it.press("up", "x")
        assert "asked t2 to end" in it.screen


async def test_how_it_is_contained_is_said_and_without_a_sandbox_in_capitals(tmp_path: Path) -> None:
    rows = [
        {**LIVE, "id": "t3", "sandbox": "no sandbox", "cwd": "/srv", "size_bytes": 214_000},
        {**LIVE, "sandbox": "workspace, net off"},
    ]

    def told(body: commands.CommandBody) -> Play:
        return [events.Inspected(command_id="", data=rows)] if isinstance(body, commands.Inspect) else ()

    async with driven(tmp_path, on=told) as it:
        await it.press("f3")
        assert "t3 · in /srv · started by call c2 · NO SANDBOX · 214 KB" in it.screen
        await it.press("down")
        assert "t2 · started by call c2 · sandboxed, network off" in it.screen


async def test_a_command_that_has_no_room_under_its_terminal_is_marked_as_cut(tmp_path: Path) -> None:
    long = {**LIVE, "command": "npm run dev -- --host 127.0.0.1 --port 8080"}

    def told(body: commands.CommandBody) -> Play:
        return [events.Inspected(command_id="", data=[long])] if isinstance(body, commands.Inspect) else ()

    async with driven(tmp_path, size=(60, 15), on=told) as it:
        await it.press("f3", "enter")
        assert it.screen.splitlines()[-1] == "   t2 npm run dev -- --ho… · you type here · Ctrl+] leave"


async def test_what_takes_no_input_is_sent_none_and_says_so(tmp_path: Path) -> None:
    def told(body: commands.CommandBody) -> Play:
        rows = [{**LIVE, "takes_input": False}]
        return [events.Inspected(command_id="", data=rows)] if isinstance(body, commands.Inspect) else ()

    async with driven(tmp_path, on=told) as it:
        await it.press("f3", "enter")
        assert it.screen.splitlines()[-1].endswith(" · takes no input · Ctrl+] leave")
        await it.feed(b"typed\x1b[200~pasted\x1b[201~")
        assert [body for body in it.engine.sent_of(commands.TerminalInput) if body.chars] == []


async def test_an_attached_terminal_says_that_it_ended_and_takes_no_more_keys(tmp_path: Path) -> None:
    rows = [LIVE]

    def told(body: commands.CommandBody) -> Play:
        return [events.Inspected(command_id="", data=rows)] if isinstance(body, commands.Inspect) else ()

    async with driven(tmp_path, on=told) as it:
        await it.press("f3", "enter", "q")
        rows[0] = {**LIVE, "state": "ended", "exit_code": 0, "ended_at": 9.0, "takes_input": False}
        await it.until("t2 npm run dev · ended, exit 0 · Ctrl+] leave")
        await it.press("x")
        assert [each.chars for each in it.engine.sent_of(commands.TerminalInput) if each.chars] == ["q"]
