"""`write_stdin` and the table of live commands, with programs people really use."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import running
from sandbox.probe import ProbeResult
from tests.tools.room import Room, body, sees, until
from tests.waiting import WAIT_S
from tests.waiting import until as until_true
from tools.registry import build_toolbox
from tools.terminals import MAX_LIVE
from tools.types import STOP, CallClass, OutcomeStatus, TerminalNews
from tools.write_stdin import longest_wait_s


async def test_a_session_with_open_input_needs_no_terminal(room: Room) -> None:
    await room.exec("cat; echo gone", stdin=True, yield_ms=250)
    await sees(room, await room.type("t1", "hello\n"), "hello")
    await sees(room, await room.type("t1", eof=True), "gone")


async def test_a_password_prompt_without_a_line_end_is_seen_and_answered(room: Room) -> None:
    await room.exec(
        "sleep 0.4; python3 -c \"import getpass; print(len(getpass.getpass('PW? ')))\"",
        tty=True,
        yield_ms=250,
    )
    prompt = await room.type("t1", yield_ms=300_000)  # the silence ends the wait, not the five minutes
    assert "PW?" in prompt.text
    answer = await sees(room, await room.type("t1", "secret\n"), "6")
    assert "secret" not in answer


async def test_a_poll_returns_at_once_when_the_command_ends(room: Room) -> None:
    await room.exec("sleep 0.5; echo bye; exit 7", yield_ms=250)
    outcome = await room.type("t1", yield_ms=300_000)
    assert (body(outcome.text), outcome.exit_code) == ("bye", 7)


async def test_an_ended_session_answers_with_its_state(room: Room) -> None:
    await room.exec("sleep 0.3; echo bye; exit 7", yield_ms=250)
    terminal = room.toolbox._terminals.get("t1")
    assert terminal is not None
    assert terminal.terminal is not None
    await terminal.terminal.gone.wait()
    first = await room.type("t1", "\u0003")
    assert (first.status, first.exit_code) == (OutcomeStatus.SUCCEEDED, 7)
    assert "bye" in first.text
    assert "had ended before" in first.text
    second = await room.type("t1")
    assert (second.status, second.exit_code) == (OutcomeStatus.SUCCEEDED, 7)
    assert "bye" not in second.text
    late = await room.type("t1", "more\n")
    assert late.status is OutcomeStatus.FAILED
    assert "exit 7" in late.text
    assert "bye" in late.text
    never = await room.type("t9")
    assert never.status is OutcomeStatus.FAILED
    assert "There is no terminal `t9`; live ones:\nnone" in never.text


async def test_what_is_left_behind_is_waited_for_like_any_other(room: Room) -> None:
    first = await room.exec("(sleep 0.5; echo late; sleep 0.3) & echo now")
    assert "now" in first.text and first.terminal == "t1"
    late = await room.type("t1", yield_ms=30_000)
    assert body(late.text).endswith("late")
    assert (await room.type("t1", yield_ms=30_000)).data["live"] is False


async def test_nobody_is_asked_about_typing_where_nothing_listens(room: Room) -> None:
    def assess(session: str, **arguments: object) -> CallClass:
        checked = room.check("write_stdin", session=session, **arguments)
        return room.toolbox.assess("write_stdin", checked, room.policy).call_class

    await room.exec("cat", stdin=True, yield_ms=250)
    assert assess("t1", chars="x") is CallClass.ASK
    await sees(room, await room.type("t1", signal="KILL"), "killed by KILL")
    assert assess("t1", chars="x") is assess("t1", signal="INT") is CallClass.AUTO
    assert assess("t2", chars="x") is CallClass.ASK, "it may be there when this runs"
    unknown = await room.toolbox.refusal("write_stdin", {"session": "t2", "chars": "x"}, room.policy)
    assert "There is no terminal `t2`" in unknown
    assert await room.toolbox.refusal("write_stdin", {"session": "t1", "chars": "x"}, room.policy) == ""


async def test_signals_by_name_reach_pipes_and_terminals(room: Room) -> None:
    trap = "trap 'echo got int' INT; trap 'echo got hup' HUP; echo ready; while :; do sleep 0.05; done"
    await room.exec(trap, yield_ms=250)
    await sees(room, await room.type("t1", signal="INT"), "got int")
    await sees(room, await room.type("t1", signal="HUP"), "got hup")
    await sees(room, await room.type("t1", signal="KILL"), "killed by KILL")
    await room.exec(trap, tty=True, yield_ms=250)
    await sees(room, await room.type("t2", "\\x03"), "got int")
    await sees(room, await room.type("t2", signal="TERM"), "killed by TERM")


async def test_the_window_size_can_change(room: Room) -> None:
    await room.exec("trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done", tty=True, yield_ms=300)
    await sees(room, await room.type("t1", columns=132, rows=50), "50 132")
    await room.type("t1", signal="KILL")


async def test_what_was_shown_once_is_not_shown_again(room: Room) -> None:
    await room.exec("echo one; read x; echo two $x; sleep 9", tty=True, yield_ms=300)
    seen = await sees(room, await room.type("t1", "in\n"), "two in")
    assert "one" not in seen


async def test_writing_more_than_a_pipe_takes_is_reported(room: Room) -> None:
    await room.exec("sleep 60", stdin=True, yield_ms=250)
    await room.type("t1", "x" * 65_536, yield_ms=250)
    outcome = await room.type("t1", "y" * 65_536, yield_ms=250)
    assert "only 0 of 65,536 bytes were taken" in outcome.text
    await room.exec("wc -c", stdin=True, yield_ms=250)
    await room.type("t2", "z" * 65_536)
    await sees(room, await room.type("t2", eof=True), "65536")
    assert "at most 65,536" in room.check("write_stdin", session="t2", chars="x" * 65_537)


async def test_writing_to_closed_input_says_what_to_do(room: Room) -> None:
    await room.exec("sleep 60", yield_ms=250)
    assert "start it with `stdin` or `tty`" in (await room.type("t1", "x\n")).text


async def test_a_limit_holds_after_the_call(room: Room) -> None:
    await room.exec("echo working; sleep 60", yield_ms=250, timeout_s=0.6)
    outcome = await room.type("t1", yield_ms=60_000)
    if outcome.status is not OutcomeStatus.TIMED_OUT:  # the pause after `working` came first
        outcome = await room.type("t1", yield_ms=60_000)
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert "timed out" in outcome.text


async def test_a_cancelled_poll_leaves_the_terminal_alone(room: Room) -> None:
    await room.exec("sleep 60", yield_ms=250)
    task = asyncio.ensure_future(room.type("t1", yield_ms=300_000))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    outcome = await task
    assert outcome.status is OutcomeStatus.INTERRUPTED
    assert outcome.terminal == "t1"


def test_the_description_says_what_loopback_reaches(room: Room) -> None:
    def told(probe: ProbeResult) -> str:
        toolbox = build_toolbox(artifacts=room.artifacts, probe=probe)
        return next(spec.description for spec in toolbox.schemas() if spec.name == "exec_command")

    assert "start a server in one call, use it in the next." in told(replace(room.probe, shared_network=True))
    assert "those of different commands do not." in told(replace(room.probe, shared_network=False))


async def test_the_thirty_third_is_refused_with_the_list(room: Room) -> None:
    await asyncio.gather(*(room.exec(f"sleep {8_000 + number}", yield_ms=250) for number in range(MAX_LIVE)))
    outcome = await room.exec("echo one more")
    assert outcome.status is OutcomeStatus.FAILED
    assert f"{MAX_LIVE} terminals are live" in outcome.text
    assert "sleep 8000" in outcome.text
    await room.type("t7", signal="KILL")
    assert (await room.exec("echo one more")).exit_code == 0
    assert len([row for row in room.toolbox.terminals() if row["state"] == "live"]) == MAX_LIVE - 1


async def test_after_a_restart_the_ids_go_on_and_old_ones_are_lost(room: Room, tmp_path: Path) -> None:
    await room.exec("echo before; sleep 8100", yield_ms=300)
    await room.exec("sleep 8101", yield_ms=250)
    await room.type("t2", signal="KILL")
    again = Room(tmp_path)
    lost = await again.type("t1", "hello\n")
    assert lost.status is OutcomeStatus.FAILED
    assert "is lost" in lost.text
    assert "out/c1.1" in lost.text
    page = await again.call("read_file", path="out/c1.1")
    assert page.text.endswith("1\tbefore")
    again.calls = 10
    assert (await again.exec("sleep 8102", yield_ms=250)).terminal == "t3"
    await again.toolbox.close()


async def test_news_of_terminals_are_told_as_they_come(room: Room) -> None:
    await room.exec("sleep 0.4; echo late; exit 3", yield_ms=250)
    news: list[TerminalNews] = []

    async def collect() -> None:
        async for piece in room.toolbox.terminal_news():
            news.append(piece)
            if piece.ended:
                return

    with suppress(TimeoutError):
        await asyncio.wait_for(collect(), WAIT_S)
    assert "".join(piece.text for piece in news) == "late\n"
    assert (news[-1].terminal, news[-1].ended, news[-1].exit_code) == ("t1", True, 3)


@pytest.mark.parametrize("way", [{}, {"stdin": True}, {"tty": True}])
async def test_whether_a_command_takes_input_is_told(room: Room, way: dict[str, bool]) -> None:
    await room.exec("sleep 600", yield_ms=250, **way)
    assert room.toolbox.terminals()[0]["takes_input"] == bool(way)


async def test_that_a_command_waits_for_input_is_told_as_it_changes(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.terminal.LOOK_S", 0.05)
    asking = asyncio.create_task(room.exec("read x; echo got $x; sleep 600", tty=True, yield_ms=30_000))
    await asyncio.to_thread(until_true, lambda: room.sink.waits == [True])
    asking.cancel()
    await asking
    await room.exec("printf 'name? '; sleep 0.4; read x; sleep 600", stdin=True, yield_ms=250)
    news = aiter(room.toolbox.terminal_news())
    assert (await anext(news)).awaits_input
    row = room.toolbox.terminals()[0]
    assert (row["awaits_input"], row["tail"]) == (True, "name? ")
    await room.toolbox.terminal_input("t1", "me\n", "", None)
    assert (await anext(news)).awaits_input is False
    assert not room.toolbox.terminals()[0]["awaits_input"]


DRAWS = r"""
printf 'before\n%sone\ntwo\n\033[24H\033[3H'
read -r _
printf '\033[H%sone\nnew\n'
sleep 600
"""


@pytest.mark.parametrize("begin", [r"\033[H\033[2J", r"\033[?1049h\033[H\033[2J"])
async def test_what_stands_on_a_terminal_is_shown_and_not_what_came_by(room: Room, begin: str) -> None:
    """`top` draws over its lines, `vim` on another screen: each shows what a person would see of it."""
    await room.exec(DRAWS.replace("%s", begin, 1).replace("%s", ""), tty=True, yield_ms=1_000)
    await asyncio.to_thread(until_true, lambda: shown(room) == "one\ntwo")
    await room.toolbox.terminal_input("t1", "\n", "", None)
    await asyncio.to_thread(until_true, lambda: shown(room) == "one\nnew")
    await room.toolbox.terminal_input("t1", "", "", (80, 10))
    assert shown(room) == "one\nnew" and room.toolbox.terminals()[0]["tail"].count("\n") < 10


def shown(room: Room) -> str:
    return str(room.toolbox.terminals()[0]["tail"]).strip("\n")


async def test_a_command_whose_time_is_over_is_ended_once_whatever_it_asks_meanwhile(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "INTERRUPT_GRACE_S", 0.5)
    script = "trap 'echo x >> interrupts' INT; echo up; while :; do sleep 0.05; done"
    await room.exec(script, yield_ms=250, timeout_s=0.4)
    entry = room.toolbox._terminals.get("t1")
    assert entry is not None and entry.terminal is not None
    interrupts = room.workspace / "interrupts"
    await asyncio.to_thread(until_true, interrupts.exists)
    with entry.terminal.held():
        pass
    await entry.terminal.gone.wait()
    assert interrupts.read_text() == "x\n"


async def test_a_person_types_into_a_terminal(room: Room) -> None:
    await room.exec("read x; echo got $x; sleep 9", tty=True, yield_ms=250)
    assert await room.toolbox.terminal_input("t1", "me\n", "", None) == ""
    assert "got me" in await until(room, "t1", "got me")
    assert "not live" in await room.toolbox.terminal_input("t5", "x", "", None)
    assert await room.toolbox.terminal_input("t1", "", "KILL", None) == ""


async def test_a_terminal_tells_that_it_shows_nothing_of_what_is_typed(room: Room) -> None:
    await room.exec("read x; read -s y; read z", tty=True, yield_ms=250)
    assert not room.toolbox.terminal_hides("t1")
    await room.toolbox.terminal_input("t1", "me\r", "", None)
    await asyncio.to_thread(until_true, lambda: room.toolbox.terminal_hides("t1"))
    await room.toolbox.terminal_input("t1", "secret\r", "", None)
    await asyncio.to_thread(until_true, lambda: not room.toolbox.terminal_hides("t1"))
    await room.exec("cat", stdin=True, yield_ms=250)
    assert not room.toolbox.terminal_hides("t2"), "nothing can hide what is typed into a pipe"
    assert not room.toolbox.terminal_hides("t9")


def test_two_calls_on_one_terminal_are_one_resource(room: Room) -> None:
    from agent_tui.engine.waves import conflict

    poll = room.toolbox.assess("write_stdin", room.check("write_stdin", session="t1"), room.policy)
    other = room.toolbox.assess("write_stdin", room.check("write_stdin", session="t2"), room.policy)
    typed = room.toolbox.assess(
        "write_stdin", room.check("write_stdin", session="t1", chars="x"), room.policy
    )
    assert conflict(poll.effects, typed.effects)
    assert not conflict(poll.effects, other.effects)
    assert (poll.read_only, typed.read_only) == (True, False)


def test_the_least_wait_of_a_poll_doubles_with_each_that_found_nothing() -> None:
    short = {"session": "t1", "yield_ms": 250}
    assert [longest_wait_s(short, empty) for empty in (0, 1, 2, 5, 6, 40)] == [5, 10, 20, 160, 300, 300]
    assert longest_wait_s(short | {"chars": "x"}, 9) == 0.25
    assert longest_wait_s({"session": "t1", "yield_ms": 60_000}, 1) == 60


async def test_what_a_person_stops_ends_although_it_takes_no_hint(room: Room) -> None:
    await room.exec("trap '' INT TERM; echo ready; while :; do sleep 0.1; done", tty=True, yield_ms=250)
    entry = room.toolbox._terminals.get("t1")
    assert entry is not None
    assert entry.terminal is not None
    assert await room.toolbox.terminal_input("t1", "", STOP, None) == ""
    assert await room.toolbox.terminal_input("t1", "", STOP, None) == "", "once is enough"
    [row] = room.toolbox.terminals()
    assert row["stopping_at"] > 0
    await asyncio.wait_for(entry.terminal.gone.wait(), WAIT_S)
    [row] = room.toolbox.terminals()
    assert (row["state"], row["stopping_at"]) == ("ended", 0.0)
    assert row["ended_at"] > row["started_at"]


def test_more_than_a_terminal_takes_at_once_is_refused(room: Room) -> None:
    assert isinstance(room.check("write_stdin", session="t1", chars="é" * 32_768), dict)
    answer = room.check("write_stdin", session="t1", chars="é" * 32_768 + "x")
    assert "`chars` has 65,537 bytes, at most 65,536 can be typed at once" in answer


async def test_ended_ones_are_forgotten_oldest_use_first_and_live_ones_never(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.terminals.MAX_ENDED", 2)
    await room.exec("sleep 600", yield_ms=250)
    for number in (2, 3, 4, 5):
        await room.exec("cat", stdin=True, yield_ms=250)
        ended = await room.type(f"t{number}", eof=True, yield_ms=30_000)
        assert ended.exit_code == 0
        await room.type("t2")
    await room.exec("sleep 600", yield_ms=250)
    assert [row["id"] for row in room.toolbox.terminals()] == ["t1", "t2", "t5", "t6"]
    assert "There is no terminal `t3`" in (await room.type("t3")).text
