"""`exec_command` through the real sandbox: what it returns, and what it leaves behind."""

import asyncio
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.processes import children
from tests.processes import processes_with, seconds
from tests.tools.room import FakeSink, Room, body, repository
from tools import reading, reads
from tools.types import CallClass, Grant, OutcomeStatus


async def test_a_command_returns_its_output_streams_in_order_and_its_exit_code(room: Room) -> None:
    outcome = await room.exec("echo one; echo two >&2; exit 7")
    assert outcome.status is OutcomeStatus.FAILED
    assert (outcome.exit_code, outcome.signal, outcome.complete) == (7, None, True)
    assert body(outcome.text) == "one\ntwo"
    assert re.match(r"\[exit 7 · 0\.\d s · 2 lines, 8 bytes\]", outcome.text)
    assert outcome.data["state"] == "exited"
    assert [process.pid > 1 for process in room.sink.processes] == [True]


async def test_a_call_that_was_made_ready_runs_when_it_is_run_and_not_before(room: Room) -> None:
    call = room.invocation("exec_command", {"cmd": "cat note"})
    await room.toolbox.make_ready(call)
    room.write("note", "written when it was ready")
    assert body((await room.toolbox.run(call, room.sink)).text) == "written when it was ready"


async def test_a_call_that_was_made_ready_and_is_dropped_leaves_nothing_and_can_be_run(room: Room) -> None:
    call = room.invocation("exec_command", {"cmd": "touch ran"})
    before = children(os.getpid())
    await room.toolbox.make_ready(call)
    assert children(os.getpid()) != before
    await room.toolbox.drop(call.call_id)
    assert children(os.getpid()) == before
    assert list(room.workspace.iterdir()) == []
    assert (await room.toolbox.run(call, room.sink)).status is OutcomeStatus.SUCCEEDED
    assert [path.name for path in room.workspace.iterdir()] == ["ran"]


async def test_what_keeps_a_call_from_being_made_ready_is_told_when_it_is_run(room: Room) -> None:
    call = room.invocation("exec_command", {"cmd": "true"})
    call = replace(call, policy=replace(call.policy, readable=(room.base / "missing",)))
    await room.toolbox.make_ready(call)
    outcome = await room.toolbox.run(call, room.sink)
    assert outcome.status is OutcomeStatus.FAILED
    assert "cannot grant" in outcome.text


async def test_a_killed_command_names_its_signal(room: Room) -> None:
    outcome = await room.exec("kill -SEGV $$")
    assert (outcome.signal, outcome.data["state"]) == ("SEGV", "killed")
    assert "killed by SEGV" in outcome.text


async def test_a_character_written_byte_by_byte_arrives_whole(room: Room) -> None:
    script = "import os,time\nfor b in 'a—中😀z'.encode(): os.write(1, bytes([b])); time.sleep(.005)"
    room.write("slow.py", script)
    assert body((await room.exec("python3 slow.py")).text) == "a—中😀z"


async def test_odd_bytes_make_clean_text_and_valid_json(room: Room) -> None:
    outcome = await room.exec(r"printf 'a\000b\001\033]0;t\007\302\205'; printf '\377\376ok'")
    assert body(outcome.text).endswith("ab\ufffd\ufffdok")
    assert "2 byte sequences were no UTF-8" in outcome.text
    json.dumps(outcome.text).encode()
    random = await room.exec("""python3 -c "import os; os.write(1, os.urandom(300000))" """)
    assert random.data["binary"]
    assert len(random.text) < 500


async def test_fifty_megabytes_are_counted_exactly_and_readable_by_reference(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (reads, reading):  # it takes two seconds of a processor
        monkeypatch.setattr(module, "TIMEOUT_S", 600.0)
    outcome = await room.exec("yes ABCDEFGH | head -c 49999986; echo END", yield_ms=30_000)
    shown = [line for line in body(outcome.text).split("\n") if line in ("ABCDEFGH", "END")]
    assert outcome.total_bytes == 49_999_990
    assert outcome.data["total_lines"] == 5_555_555
    assert outcome.data["omitted_bytes"] == 49_999_990 - sum(len(line) + 1 for line in shown)
    assert outcome.data["omitted_lines"] == 5_555_555 - len(shown)
    assert (shown[0], shown[-1]) == ("ABCDEFGH", "END")
    assert outcome.artifact is not None
    assert outcome.artifact.path.stat().st_size == 49_999_990
    page = await room.call("read_file", path=outcome.artifact.ref, start_line=3_000_000, end_line=3_000_001)
    assert page.text.endswith("3000000\tABCDEFGH\n3000001\tABCDEFGH")


async def test_endless_output_is_ended_by_the_limit_with_everything_counted(room: Room) -> None:
    outcome = await room.exec("yes", timeout_s=0.5)
    assert outcome.status is OutcomeStatus.TIMED_OUT
    text = body(outcome.text)
    kept = sum(len(line) + 1 for line in text.split("\n") if line == "y")
    assert outcome.data["omitted_bytes"] + kept == outcome.total_bytes
    assert "timed out after 0." in outcome.text


async def test_the_limit_ends_every_descendant_and_nothing_else(room: Room) -> None:
    marks = [seconds() for _ in range(3)]
    command = f"setsid sleep {marks[0]} & (trap '' TERM INT; sleep {marks[1]}) & "
    command += f"sh -c 'while :; do :; done; echo {marks[2]}' | cat"
    before = os.getpid()
    outcome = await room.exec(command, timeout_s=0.3)
    assert outcome.status is OutcomeStatus.TIMED_OUT
    assert [processes_with(mark) for mark in marks] == [[], [], []]
    assert os.getpid() == before
    assert body((await room.exec("echo alive")).text) == "alive"


async def test_what_stays_in_the_background_is_a_terminal_until_it_is_ended(room: Room) -> None:
    mark = seconds()
    outcome = await room.exec(f"sleep {mark} & echo started")
    assert outcome.exit_code == 0
    assert outcome.status is OutcomeStatus.SUCCEEDED
    assert outcome.terminal == "t1"
    assert "started" in outcome.text
    assert "1 process of it still running in the background as t1" in outcome.text
    assert processes_with(mark)
    ended = await room.type("t1", signal="KILL")
    assert ended.data["live"] is False or (await room.type("t1", yield_ms=5_000)).data["live"] is False
    assert not processes_with(mark)


async def test_a_daemon_that_closed_its_output_is_still_named(room: Room) -> None:
    mark = seconds()
    outcome = await room.exec(f"setsid sleep {mark} >/dev/null 2>&1 < /dev/null & exit 0")
    assert outcome.terminal == "t1"
    await room.toolbox.close()
    assert not processes_with(mark)


async def test_pagers_and_editors_do_not_wait(room: Room) -> None:
    repository(room.workspace, commits=60)
    log = await room.exec("git -c core.pager=less log --format=%s")
    assert (log.exit_code, body(log.text).count("\n")) == (0, 59)
    amend = await room.exec("git commit --amend")
    assert amend.exit_code not in (0, None)


async def test_the_environment_is_quiet_and_clean(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await room.exec(
        "echo $TERM $NO_COLOR $PAGER $FOO; locale charmap; ls /proc/self/fd | wc -l", env={"FOO": "bar"}
    )
    lines = body(outcome.text).split("\n")
    assert lines[0] == "dumb 1 cat bar"
    assert lines[1] == "UTF-8"
    assert int(lines[2]) <= 4
    colour = await room.exec("echo $TERM", tty=True)
    assert body(colour.text) == "xterm-256color"


async def test_standard_input_is_closed_without_a_terminal(room: Room) -> None:
    assert body((await room.exec("cat; echo done")).text) == "done"


async def test_workdir_and_login(room: Room) -> None:
    room.write("sub/x", "")
    outcome = await room.exec("pwd; shopt -q login_shell && echo login", workdir="sub", login=True)
    assert body(outcome.text).split("\n")[-2:] == [str(room.policy.workspace / "sub"), "login"]
    missing = await room.exec("pwd", workdir="nowhere")
    assert missing.status is OutcomeStatus.FAILED
    assert "is no directory" in missing.text


async def test_the_command_never_travels_through_the_terminal(room: Room) -> None:
    odd = "printf %s 'tab\there' ; echo; printf '\x03\x04' | od -An -c; echo $'\\n'" + "#" * 9_000
    outcome = await room.exec(odd, tty=True)
    assert outcome.exit_code == 0
    assert "tab\there" in outcome.text
    assert "003 004" in outcome.text


async def test_cancelling_ends_the_command_and_still_gives_its_output(room: Room) -> None:
    mark = seconds()
    invocation = room.invocation("exec_command", {"cmd": f"echo begun; sleep {mark} & sleep {mark}"})
    seen = asyncio.Event()

    class Sink(FakeSink):
        def output(self, text: str) -> None:
            seen.set()

    task = asyncio.ensure_future(room.toolbox.run(invocation, Sink()))
    await seen.wait()
    task.cancel()
    outcome = await task
    assert outcome.status is OutcomeStatus.INTERRUPTED
    assert body(outcome.text) == "begun"
    assert not processes_with(mark)


async def test_cancelling_twice_kills_at_once(room: Room) -> None:
    mark = seconds()
    command = f"trap '' INT TERM; echo begun; while :; do sleep {mark}; done"
    invocation = room.invocation("exec_command", {"cmd": command})
    seen = asyncio.Event()

    class Sink(FakeSink):
        def output(self, text: str) -> None:
            seen.set()

    task = asyncio.ensure_future(room.toolbox.run(invocation, Sink()))
    await seen.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    outcome = await asyncio.wait_for(task, 4.5)  # the ladder alone takes five seconds
    assert outcome.status is OutcomeStatus.INTERRUPTED
    assert not processes_with(mark)


async def test_live_output_is_shown_while_it_runs(room: Room) -> None:
    await room.exec("echo one; sleep 0.2; echo two")
    assert "".join(room.sink.shown) == "one\ntwo\n"


async def test_a_refusal_of_the_sandbox_is_told_from_a_failure(room: Room) -> None:
    outside = Path.home() / "agent-tui-test-never-written"
    outcome = await room.exec(f"touch {outside}/x 2>&1; cat /usr/never-there/file")
    assert outcome.denied_grant is Grant.NONE
    outcome = await room.exec("python3 -c \"import urllib.request as u; u.urlopen('http://host.invalid')\"")
    assert outcome.denied_grant is Grant.NETWORK
    assert "denied by the sandbox" in outcome.text


async def test_loopback_works_inside_one_command(room: Room) -> None:
    room.write(
        "talk.py",
        "import socket as s\na=s.socket(); a.bind(('127.0.0.1',0)); a.listen()\n"
        "s.create_connection(a.getsockname(),2); s.socketpair()\n"
        "b=s.socket(s.AF_UNIX); b.bind('u.sock')\nprint('ok')",
    )
    assert body((await room.exec("python3 talk.py")).text) == "ok"


def test_patches_sent_to_the_shell_are_answered(room: Room) -> None:
    for cmd in (
        "apply_patch <<'EOF'\n*** Begin Patch\nEOF",
        "cd x && apply_patch foo",
        "applypatch '*** Begin Patch'",
    ):
        answer = room.check("exec_command", cmd=cmd)
        assert isinstance(answer, str)
        assert "call the tool `apply_patch`" in answer
    assert not isinstance(room.check("exec_command", cmd="grep apply_patch README.md"), str)


def test_a_command_line_that_is_too_long_is_refused_with_the_way_out(room: Room) -> None:
    answer = room.check("exec_command", cmd="echo " + "x" * 130_000)
    assert "write it to a file" in answer


@pytest.mark.parametrize(
    "env", [{"": "x"}, {"A=B": "x"}, {"A": "x\0y"}, {"A\0": "x"}, {"A": "x" * 130_000}], ids=str
)
def test_variables_that_cannot_be_set_make_no_call(room: Room, env: dict[str, str]) -> None:
    answer = room.check("exec_command", cmd="true", env=env)
    assert isinstance(answer, str)
    assert "`env`" in answer


async def test_a_directory_to_run_in_is_looked_at_before_anybody_is_asked(room: Room) -> None:
    room.write("file", "")
    (room.workspace / "out").symlink_to("/root")

    async def refusal(workdir: str) -> str:
        return await room.toolbox.refusal("exec_command", {"cmd": "true", "workdir": workdir}, room.policy)

    assert await refusal(".") == await refusal("/usr/bin") == ""
    assert "`file` is no directory" in (await refusal("file")).replace(f"{room.policy.workspace}/", "")
    for hidden in ("/root", "/root/never-there", "out"):
        told = await refusal(hidden)
        assert "lies outside the workspace" in told, "not even whether it exists"
        assert (await room.exec("true", workdir=hidden)).text == told


async def test_nobody_is_asked_for_a_grant_that_cannot_be_given(room: Room) -> None:
    async def refusal(path: Path, needs: str = "write_path") -> str:
        arguments = {"cmd": "true", "needs": needs, "needs_path": str(path)}
        return await room.toolbox.refusal("exec_command", arguments, room.policy)

    for above in (room.workspace.parent, Path("/")):
        assert "holds the workspace; name less of it" in await refusal(above)
    for other in (room.workspace, room.workspace / "sub", room.workspace.parent / "beside"):
        assert await refusal(other) == ""
    assert await refusal(room.workspace.parent, "read_path") == ""


def test_what_the_model_needs_beyond_the_sandbox_reaches_the_gate(room: Room) -> None:
    arguments = room.check(
        "exec_command", cmd="curl https://example.org", needs="network", reason="to fetch it"
    )
    assessment = room.toolbox.assess("exec_command", arguments, room.policy)
    assert assessment.grant is Grant.NETWORK
    assert "to fetch it" in assessment.reason
    assert "needs_path" in room.check("exec_command", cmd="ls", needs="read_path")


def test_every_command_is_a_possible_writer_until_the_parser_knows_better(room: Room) -> None:
    arguments = room.check("exec_command", cmd="make", workdir="sub")
    assessment = room.toolbox.assess("exec_command", arguments, room.policy)
    assert assessment.effects.writes.everything
    assert assessment.call_class is CallClass.ASK


@pytest.mark.parametrize(
    ("interactive", "asked", "waits_s"),
    [(True, 0, 0.25), (True, 999_000, 30), (False, 999_000, 120), (False, 400, 0.4), (True, None, 10)],
)
def test_how_long_a_result_is_waited_for_has_bounds(
    tmp_path: Path, interactive: bool, asked: int | None, waits_s: float
) -> None:
    room = Room(tmp_path, interactive=interactive)
    tool = room.toolbox._tools["exec_command"]
    given = {"cmd": "true"} | ({} if asked is None else {"yield_ms": asked})
    assert tool._yield_s(given) == waits_s  # type: ignore[attr-defined]  # the tool behind the protocol


async def test_the_model_may_ask_for_less_output(room: Room) -> None:
    outcome = await room.exec("seq 5000", max_output_tokens=200)
    assert len(outcome.text) < 1_300
    assert outcome.omitted_bytes + sum(
        len(line) + 1 for line in outcome.text.split("\n") if line.isdigit()
    ) == len("".join(f"{number}\n" for number in range(1, 5001)))


async def test_a_flood_of_cursor_movements_comes_whole(room: Room) -> None:
    """It is read in ever smaller pieces, so that nothing else has to wait for it."""
    outcome = await room.exec("for i in $(seq 9000); do printf '\\e[A\\e[2K\\r%s' $i; done; echo; echo end")
    assert body(outcome.text).split("\n")[-2:] == ["9000", "end"]
    assert outcome.total_bytes == 8 * 9_000 + len("".join(map(str, range(1, 9_001)))) + len("\nend\n")


async def test_stopped_and_closed_processes_hold_nothing_up(room: Room) -> None:
    stopped = await room.exec("echo begun; kill -STOP $$; echo never", timeout_s=0.5)
    assert (stopped.status, body(stopped.text)) == (OutcomeStatus.TIMED_OUT, "begun")
    closed = await room.exec("exec 0<&- 1>&- 2>&-; sleep 0.2; exit 3")
    assert (closed.exit_code, closed.terminal, closed.total_bytes) == (3, None, 0)
    child = await room.exec("(kill -STOP $BASHPID; sleep 999) & echo started")
    assert "1 process of it still running in the background" in child.text
    assert "killed" not in (await room.type(child.terminal, signal="KILL")).text
