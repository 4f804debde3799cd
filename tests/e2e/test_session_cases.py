"""Cases A45 to A48 through the whole program: damage, two processes, Esc while messages wait, full disks."""

import json
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.running import Bell, held, running
from tests.e2e.screen import start
from tests.e2e.small_disk import small_disk
from tests.model_server.fixture import ModelServer
from tests.processes import processes_with, seconds
from tests.program import Program, Ran, model_flags


def execute(program: Program, server: ModelServer, *argv: str) -> Ran:
    return program.run("exec", *model_flags("chat", server.base_url()), *argv)


def store_of(program: Program) -> Path:
    (store,) = program.state.glob("sessions/*/session.db")
    return store


def rows(store: Path, statement: str) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(statement)


def with_zeros(store: Path) -> None:
    content = bytearray(store.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = bytes(4096)
    store.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a row that is no JSON": lambda s: rows(s, "UPDATE records SET body = '{' WHERE seq = 3"),
    "a row of an unknown kind": lambda s: rows(
        s, "INSERT INTO records VALUES (9000, 1.0, 'event', '{\"type\": \"FromTheFuture\"}')"
    ),
    "a row twice": lambda s: rows(
        s, "INSERT INTO records SELECT 9000, at, kind, body FROM records WHERE seq = 5"
    ),
    "a mark before the first byte": lambda s: s.write_bytes(b"\xef\xbb\xbf" + s.read_bytes()),
    "a block of zeros in the middle": with_zeros,
    "its last bytes are missing": lambda s: s.write_bytes(s.read_bytes()[:-150]),
    "nothing in the file": lambda s: s.write_bytes(b""),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_session_is_listed_and_goes_on_or_says_what_is_missing(
    program: Program, model_server: ModelServer, damage: Callable[[Path], object]
) -> None:  # A45
    model_server.script([{"calls": [call("read_file", path="calc.py")]}, {"text": "first answer"}])
    assert execute(program, model_server, "first message").code == 0
    model_server.script([{"text": "second answer"}])
    assert execute(program, model_server, "another session").code == 0
    store = max(program.state.glob("sessions/*/session.db"), key=lambda one: one.stat().st_size)
    damage(store)
    damaged = store.read_bytes()
    listed = program.run("sessions", "--json")
    assert listed.code == 0 and len(json.loads(listed.out)) >= 1, listed.err
    model_server.script([{"text": "went on"}])
    ran = execute(program, model_server, "--resume", store.parent.name, "go on")
    if ran.code == 0:
        assert ran.out == "went on\n"
        kept = b"first message" in model_server.requests[-1].body
        assert kept or "damaged" in ran.err or "cannot be read" in ran.err, ran.err
    else:
        model_server.allow_unplayed = True
        assert ran.code == 5 and "Traceback" not in ran.err and str(store.parent.name) in ran.err, ran.err
    if damaged and any(store.parent.glob("session.db.damaged-*")):
        assert damaged in [path.read_bytes() for path in store.parent.glob("session.db.damaged-*")]


def test_the_second_process_is_refused_and_takes_over_once_the_first_is_dead(
    program: Program, model_server: ModelServer
) -> None:  # A46
    bell = Bell(program.workspace)
    mark = seconds()
    waits = f"echo up > bell; sleep {mark}"
    model_server.script([{"calls": [call("exec_command", cmd=waits, yield_ms=30_000)]}])
    with running(program, model_server.base_url(), "go") as run:
        assert bell.wait() == "up\n"
        session = store_of(program).parent.name
        refused = execute(program, model_server, "--resume", session, "me too")
        assert refused.code not in (0, None)
        assert f"process {run.process.pid}" in refused.err and "--fork" in refused.err
        with start(program, model_server, "resume", session) as second:
            second.expect(f"process {run.process.pid}")
            assert second.end() != 0
        run.process.send_signal(signal.SIGSTOP)
        assert f"process {run.process.pid}" in execute(program, model_server, "--resume", session, "x").err
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
    model_server.script([{"text": "took over"}])
    ran = execute(program, model_server, "--resume", session, "go on")
    assert (ran.code, ran.out) == (0, "took over\n"), ran.err
    sent = json.dumps(model_server.requests[-1].json)
    assert "Outcome unknown" in sent and "me too" not in sent
    assert not processes_with(mark)


def test_esc_stops_the_program_and_gives_back_what_waited(
    program: Program, model_server: ModelServer
) -> None:  # A47
    bell = Bell(program.workspace)
    mark = seconds()
    serve = f"trap '' HUP; (sleep {mark} & echo up > bell; sleep {mark})"
    model_server.script(
        [{"calls": [call("exec_command", cmd=serve, yield_ms=30_000)]}, {"text": "as you say"}]
    )
    with start(program, model_server, "go") as screen:
        assert bell.wait() == "up\n"
        for word in ("one", "two"):
            screen.say(word)
            screen.shows("running", f"steer    {word}")
        screen.type("\x1b")
        screen.shows("interrupted by you", "one", "two")
        screen.type(" three\r")
        screen.shows("as you say")
        screen.leave()
    assert not processes_with(mark)
    messages = [m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "user"]
    said = " ".join(str(message) for message in messages)
    assert [said.count(word) for word in ("one", "two", "three")] == [1, 1, 1]
    assert said.index("one") < said.index("two") < said.index("three")


def test_esc_twice_at_once_stops_and_neither_quits_nor_clears(
    program: Program, model_server: ModelServer
) -> None:  # A47
    bell = Bell(program.workspace)
    mark = seconds()
    stubborn = f"trap '' INT TERM; echo up > bell; sleep {mark}; sleep {mark}"
    model_server.script(
        [{"calls": [call("exec_command", cmd=stubborn, yield_ms=30_000)]}, {"text": "as you say"}]
    )
    with start(program, model_server, "go") as screen:
        assert bell.wait() == "up\n"
        screen.type("a draft")
        screen.shows("running", "a draft")
        screen.type("\x1b")
        screen.type("\x1b")
        screen.shows("interrupted by you", "paused", "a draft")
        assert not processes_with(mark)
        screen.type(" to send\r")
        screen.shows("as you say")
        screen.leave()
    assert "a draft to send" in json.dumps(model_server.requests[-1].json)


def results(server: ModelServer) -> list[str]:
    """What the model was last told of its calls."""
    return [m["content"] for m in server.requests[-1].json["messages"] if m["role"] == "tool"]


def test_a_full_data_directory_is_told_stops_before_the_next_effect_and_loses_no_turn(
    program: Program, model_server: ModelServer
) -> None:  # A48
    small = program.home / "small"
    places = {"AGENT_TUI_STATE_DIR": str(small / "state"), "XDG_CONFIG_HOME": str(small / "config")}
    program = replace(program, extra=places)
    flags = model_flags("chat", model_server.base_url())
    ran = program.workspace / "ran"
    asking = call("exec_command", cmd="echo denied >> ran", needs="network", reason="r")
    model_server.script(
        [
            {"calls": [call("exec_command", cmd="echo one >> ran")]},
            {"text": "first answer"},
            {"calls": [asking]},
            {"calls": [call("exec_command", cmd="echo late >> ran")], "gate": "full"},
            {"text": "third answer"},
            {"text": "fourth answer"},
        ]
    )
    with small_disk(small, "3m") as disk:
        settings = disk.inside / "config" / "agent-tui"
        settings.mkdir(parents=True)
        (settings / "config.toml").write_text("theme = 'dark'\n")
        (settings / "rules.toml").write_text("# mine\n")
        kept = project.tree(settings)
        process = disk.start(
            program, "exec", "--json", "--stdin-commands", "-a", "on-request", *flags, "first message"
        )
        with held(process) as run:
            run.until("turn.completed")
            run.order(type="prompt", text="second message")
            asked = run.until("item.started", "approval")["item"]
            disk.fill()
            run.order(type="decide", id=asked["id"], decision="rule", digest=asked["digest"])
            assert "full" in run.until("error")["message"]
            disk.free()
            run.order(type="decide", id=asked["id"], decision="deny", digest=asked["digest"])
            run.until("item.completed", "command_execution")
            disk.fill()
            model_server.release("full")
            ended = run.until("turn.failed")
            assert (ended["reason"], ended["exit_code"]) == ("state_unwritable", 5)
            assert "full" in ended["error"]["message"]
            assert ran.read_text() == "one\n"
            run.order(type="prompt", text="refused message")
            assert "full" in run.until("error")["message"]
            assert project.tree(settings) == kept
            looked = disk.run(program, "sandbox", "--", "df", ".")
            assert looked.code == 0 and "Filesystem" in looked.out, looked
            assert disk.run(program, "sessions").code == 0
            disk.free()
            run.order(type="prompt", text="third message")
            assert run.until("turn.completed")["exit_code"] == 0
            code, err = run.end()
        assert (code, "Traceback" in err) == (0, False), err
        resumed = disk.run(program, "exec", *flags, "--last", "fourth message")
        assert (resumed.code, resumed.out) == (0, "fourth answer\n"), resumed.err
        shown = disk.run(program, "checkpoints").out
        rolled = disk.run(program, "rollback", shown.split()[0], "--files-only", "--yes")
        assert rolled.code == 0, rolled
    # the response may still have found room; its call then runs once there is room for its start
    assert ran.read_text() in ("one\n", "one\nlate\n")
    sent = json.dumps(model_server.requests[-1].json)
    said = ["first message", "first answer", "second message", "third message", "third answer"]
    assert [sent.count(one) for one in said] == [1] * len(said) and "refused message" not in sent


def test_a_full_workspace_leaves_files_whole_when_a_patch_and_a_rollback_fail(
    program: Program, model_server: ModelServer
) -> None:  # A48
    place = program.home.parent / "small"
    with small_disk(place, "4m") as disk:
        program = replace(program, workspace=place / "work")
        work = disk.inside / "work"
        work.mkdir()
        big = b"first\n" + b"0123456789abcdef\n" * 40_000
        (work / "big.txt").write_bytes(big)
        patch = "*** Begin Patch\n*** Update File: big.txt\n@@\n-first\n+another\n*** End Patch"
        flags = model_flags("chat", model_server.base_url())
        model_server.script(
            [
                {"calls": [call("exec_command", cmd="df . && cat big.txt | wc -c")], "gate": "full"},
                {"calls": [call("apply_patch", patch=patch)]},
                {"calls": [call("exec_command", cmd="rm big.txt && echo gone")]},
                {"text": "done"},
            ]
        )
        with held(disk.start(program, "exec", "--json", *flags, "go")) as run:
            run.until("turn.started")
            disk.fill()
            model_server.release("full")
            run.until("turn.completed")
            code, err = run.end()
        assert (code, "Traceback" in err) == (0, False), err
        looked, patched, removed = results(model_server)
        assert "Filesystem" in looked and str(len(big)) in looked
        assert "No space left" in patched and "gone" in removed
        disk.fill()  # what the removal gave back
        rolled = disk.run(program, "rollback", "--yes", "--files-only")
        assert rolled.code != 0 and "differs: big.txt (No space left on device)" in rolled.out, rolled
        assert not (work / "big.txt").exists() or (work / "big.txt").read_bytes() == big
        disk.free()
        again = disk.run(program, "rollback", "--yes", "--files-only")
        assert again.code == 0, again
        assert project.tree(work) == {"big.txt": big}
