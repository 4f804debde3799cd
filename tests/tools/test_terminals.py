"""`write_stdin` and the table of live commands, with programs people really use."""

import asyncio
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.probe import ProbeResult
from tests.tools.room import Room, repository
from tools.registry import build_toolbox
from tools.terminals import MAX_LIVE
from tools.types import Outcome, OutcomeStatus, TerminalNews


def body(text: str) -> str:
    return text.partition("\n")[2]


async def until(room: Room, session: str, wanted: str) -> str:
    """Poll until the output so far holds a text; each poll waits by itself."""
    seen = ""
    for _ in range(20):
        outcome = await room.type(session, yield_ms=5_000)
        seen += body(outcome.text)
        if wanted in seen:
            return seen
        assert outcome.data["live"], outcome.text
    raise AssertionError(seen)


async def sees(room: Room, outcome: Outcome, wanted: str) -> str:
    """The text of a result and of polls after it, up to one that holds a text."""
    if wanted in outcome.text or outcome.terminal is None:
        assert wanted in outcome.text
        return outcome.text
    return outcome.text + await until(room, outcome.terminal, wanted)


async def test_a_repl_is_talked_to_line_by_line(room: Room) -> None:
    first = await room.exec("python3 -q -i", tty=True, yield_ms=500)
    assert (first.status, first.terminal) == (OutcomeStatus.YIELDED, "t1")
    await sees(room, first, ">>>")
    await sees(room, await room.type("t1", "6*7\n"), "42")
    await room.type("t1", "while True: pass\n\n")
    await sees(room, await room.type("t1", "\u0003"), "KeyboardInterrupt")
    await sees(room, await room.type("t1", "3+4\n"), "7")
    ended = await room.type("t1", eof=True, yield_ms=30_000)
    if ended.terminal:
        ended = await room.type("t1", yield_ms=30_000)
    assert (ended.exit_code, ended.status, ended.terminal) == (0, OutcomeStatus.SUCCEEDED, None)


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


async def test_a_rebase_with_an_editor(room: Room) -> None:
    repository(room.workspace, commits=3)
    environment = {"GIT_SEQUENCE_EDITOR": "sed -i -e '1s/pick/reword/'", "GIT_EDITOR": "vim -u NONE -n"}
    if not shutil.which("vim"):
        pytest.skip("vim is not installed")
    room.policy = replace(room.policy, git_lane=True)
    await room.exec("git rebase -i HEAD~2", tty=True, env=environment, yield_ms=1_500)
    # the prompt that vim puts after a long file name
    await sees(room, await room.type("t1", "\n"), "c2")
    await room.type("t1", "ggcwrenamed\u001b", yield_ms=500)
    outcome = await room.type("t1", ":wq\n", yield_ms=5_000)
    if outcome.data["live"]:
        outcome = await room.type("t1", yield_ms=5_000)
    assert outcome.exit_code == 0, outcome.text
    log = await room.exec("git log --format=%s")
    assert body(log.text).split("\n") == ["c3", "renamed", "c1"]


async def test_less_shows_its_screen_and_quits(room: Room) -> None:
    room.write("long.txt", "".join(f"line {number}\n" for number in range(1, 200)))
    first = await room.exec("less long.txt", tty=True, yield_ms=700)
    assert "line 24" not in await sees(room, first, "line 23")
    assert "[screen now]" in await sees(room, await room.type("t1", " ", yield_ms=500), "line 46")
    ended = await room.type("t1", "q", yield_ms=30_000)
    assert (ended if ended.terminal is None else await room.type("t1", yield_ms=30_000)).exit_code == 0


async def test_top_shows_processes_and_quits(room: Room) -> None:
    if not shutil.which("top"):
        pytest.skip("top is not installed")
    first = await room.exec("top", tty=True, yield_ms=1_000)
    await sees(room, first, "PID")
    ended = await room.type("t1", "q")
    if ended.data["live"]:
        ended = await room.type("t1", yield_ms=5_000)
    assert ended.exit_code == 0


async def test_a_curses_program(room: Room) -> None:
    room.write(
        "menu.py",
        "import curses\n"
        "def main(s):\n"
        "    s.addstr(3, 5, 'choose: y/n'); s.refresh()\n"
        "    key = s.getkey(); s.addstr(5, 5, 'you chose ' + key); s.refresh(); s.getkey()\n"
        "curses.wrapper(main)\nprint('left')\n",
    )
    first = await room.exec("python3 menu.py", tty=True, yield_ms=800)
    await sees(room, first, "choose: y/n")
    await sees(room, await room.type("t1", "y"), "you chose y")
    await sees(room, await room.type("t1", "x"), "left")


async def test_a_server_is_reached_by_a_later_call(room: Room) -> None:
    if not room.probe.shared_network:
        pytest.skip("; ".join(room.probe.lost))
    room.write("page.txt", "served")
    server = await room.exec("python3 -u -m http.server 8124 --bind 127.0.0.1 & echo started", yield_ms=250)
    assert server.terminal == "t1"
    await sees(room, server, "Serving")
    fetch = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8124/page.txt').read().decode())"
    assert body((await room.exec(f'python3 -c "{fetch}"')).text) == "served"
    await room.type("t1", signal="KILL", yield_ms=250)


def test_the_description_says_what_loopback_reaches(room: Room) -> None:
    def told(probe: ProbeResult) -> str:
        toolbox = build_toolbox(artifacts=room.artifacts, probe=probe)
        return next(spec.description for spec in toolbox.schemas() if spec.name == "exec_command")

    assert "start a server in one call, use it in the next." in told(replace(room.probe, shared_network=True))
    assert "those of different commands do not." in told(replace(room.probe, shared_network=False))


async def test_a_server_and_its_client_share_a_terminal(room: Room) -> None:
    room.write("index.html", "it works")
    await room.exec("bash --norc", tty=True, yield_ms=300)
    await room.type("t1", "python3 -m http.server 8123 >/dev/null 2>&1 &\n")
    fetch = "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8123/').read())\"\n"
    seen = ""
    for _ in range(20):
        seen += (await room.type("t1", fetch)).text
        if "it works" in seen:
            break
    assert "b'it works'" in seen
    await room.type("t1", signal="KILL")


async def test_programs_that_want_a_person_are_handed_on(room: Room) -> None:
    if shutil.which("sudo"):
        outcome = await room.exec("sudo -k true", yield_ms=2_000)
        assert outcome.exit_code not in (0, None) or outcome.status is OutcomeStatus.YIELDED
    if shutil.which("npm"):
        outcome = await room.exec("npm init", tty=True, yield_ms=1_000)
        assert outcome.status is OutcomeStatus.YIELDED
    device = await room.exec("head -c1 /dev/tty; echo", yield_ms=2_000)
    assert device.exit_code is not None  # without a terminal there is none to open


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
        await asyncio.wait_for(collect(), 5)
    assert "".join(piece.text for piece in news) == "late\n"
    assert (news[-1].terminal, news[-1].ended, news[-1].exit_code) == ("t1", True, 3)


async def test_a_person_types_into_a_terminal(room: Room) -> None:
    await room.exec("read x; echo got $x; sleep 9", tty=True, yield_ms=250)
    assert await room.toolbox.terminal_input("t1", "me\n", "", None) == ""
    assert "got me" in await until(room, "t1", "got me")
    assert "not live" in await room.toolbox.terminal_input("t5", "x", "", None)
    assert await room.toolbox.terminal_input("t1", "", "KILL", None) == ""


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
