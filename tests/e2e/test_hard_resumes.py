"""Sessions that are resumed where something has changed for the worse: one clear line, and nothing lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.small_disk import SmallDisk, small_disk
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags


def told_once(ran: Ran, code: int, *words: str) -> None:
    """One line on stderr, with all of the words."""
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (code, "", 1), ran
    assert all(word in ran.err for word in words), ran.err


def session_of(state: Path) -> str:
    return next((state / "sessions").iterdir()).name


def test_a_workspace_that_is_gone_is_named_and_the_session_can_be_read(
    program: Program, model_server: ModelServer
) -> None:
    flags = model_flags("chat", model_server.base_url())
    model_server.script([{"text": "first answer"}, {"text": "second answer"}])
    assert program.run("exec", *flags, "first message").code == 0
    session = session_of(program.state)
    moved = replace(program, workspace=program.workspace.with_name("moved"))
    program.workspace.rename(moved.workspace)
    told_once(moved.run("exec", *flags, "--resume", session, "go on"), 2, str(program.workspace), "show")
    assert "first answer" in moved.run("sessions", "show", session).out
    moved.workspace.rename(program.workspace)
    assert program.run("exec", *flags, "--last", "go on").out == "second answer\n"
    assert b"first message" in model_server.requests[-1].body


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_store_that_cannot_be_written_is_told_and_kept(
    program: Program, model_server: ModelServer, how: str
) -> None:
    small = program.home / "small"
    program = replace(program, extra={"AGENT_TUI_STATE_DIR": str(small)})
    flags = model_flags("chat", model_server.base_url())
    model_server.script([{"text": "first answer"}, {"text": "second answer"}])
    with small_disk(small, "3m") as disk:
        assert disk.run(program, "exec", *flags, "first message").code == 0
        session = session_of(disk.inside)
        spoil(disk, how)
        words = "No space left" if how == "full" else "Read-only"
        told_once(disk.run(program, "exec", *flags, "--last", "go on"), 5, words)
        told_once(disk.run(program, "exec", *flags, "--resume", session, "go on"), 5, words)
        listed = disk.run(program, "sessions")
        assert listed.code == 0 and "1 turn  first message" in listed.out, listed
        for line in (("sessions", "show", session), ("checkpoints",)) if how == "full" else ():
            told_once(disk.run(program, *line), 5, "the disk is full; make room")
        mend(disk, how)
        assert disk.run(program, "exec", *flags, "--last", "go on").out == "second answer\n"
    assert b"first message" in model_server.requests[-1].body


def test_a_session_that_was_killed_is_not_called_damaged_on_a_full_disk(
    program: Program, model_server: ModelServer
) -> None:
    small = program.home / "small"
    program = replace(program, extra={"AGENT_TUI_STATE_DIR": str(small)})
    flags = model_flags("chat", model_server.base_url())
    model_server.script([{"text": "first answer"}])
    with small_disk(small, "3m") as disk:
        assert disk.run(program, "exec", *flags, "first message").code == 0
        store = disk.inside / "sessions" / session_of(disk.inside) / "session.db"
        store.with_name("session.db-wal").write_bytes(b"\0" * 4096)  # as a kill leaves one
        disk.fill()
        listed = disk.run(program, "sessions")
        assert "the disk is full" in listed.out and "damaged" not in listed.out, listed
        told_once(disk.run(program, "exec", *flags, "--last", "go on"), 5, "the disk is full; make room")


@pytest.mark.parametrize("size", ["32k", "64k"])  # no room for the store, and none for a record
def test_a_start_on_a_full_disk_leaves_no_session(
    program: Program, model_server: ModelServer, size: str
) -> None:
    small = program.home / "small"
    program = replace(program, extra={"AGENT_TUI_STATE_DIR": str(small)})
    with small_disk(small, size) as disk:
        started = disk.run(program, "exec", *model_flags("chat", model_server.base_url()), "go")
        told_once(started, 5, "disk is full")
        assert disk.run(program, "sessions").out.startswith("no sessions are stored here")


def spoil(disk: SmallDisk, how: str) -> None:
    if how == "full":
        disk.fill()
    else:
        disk.mount_again("ro")


def mend(disk: SmallDisk, how: str) -> None:
    if how == "full":
        disk.free()
    else:
        disk.mount_again("rw")
