"""Terminals and pipes of a running command."""

import asyncio
import os
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.policy import Mode
from tests.sandbox.conftest import Shell, read_all, read_until
from tests.waiting import WAIT_S

BOTH = [Mode.WORKSPACE_WRITE, Mode.OFF]


@pytest.mark.parametrize("mode", BOTH)
async def test_ctrl_c_reaches_the_program_and_not_its_sandbox(shell: Shell, mode: Mode) -> None:
    script = "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done"
    running = await shell.start(script, policy={"mode": mode}, tty=True)
    await read_until(running, "ready")
    assert running.stdin is not None
    os.write(running.stdin, b"\x03")
    await asyncio.wait_for(read_until(running, "caught"), WAIT_S)
    assert (await running.wait()).code == 3
    running.close()
    await running.ended()


@pytest.mark.parametrize("mode", BOTH)
async def test_a_new_size_reaches_the_program(shell: Shell, mode: Mode) -> None:
    script = "trap 'stty size; exit' WINCH; stty size; echo ready; while :; do sleep 0.05; done"
    running = await shell.start(script, policy={"mode": mode}, tty=True, size=(100, 30))
    assert "30 100" in await read_until(running, "ready")
    running.resize(120, 40)
    assert "40 120" in await asyncio.wait_for(read_until(running, "40 120"), WAIT_S)
    running.close()
    await running.ended()


@pytest.mark.parametrize("mode", BOTH)
async def test_a_password_prompt_appears_on_the_commands_own_terminal(shell: Shell, mode: Mode) -> None:
    script = "python3 -c \"import getpass; print(len(getpass.getpass('PW? ')))\"; echo open > /dev/tty"
    running = await shell.start(script, policy={"mode": mode}, tty=True)
    await asyncio.wait_for(read_until(running, "PW?"), WAIT_S)
    assert running.stdin is not None
    os.write(running.stdin, b"secret\n")
    said = await asyncio.wait_for(read_until(running, "open"), WAIT_S)
    assert "6" in said
    assert "secret" not in said
    running.close()
    await running.ended()


@pytest.mark.parametrize("mode", BOTH)
async def test_input_through_a_pipe_ends_when_closed(shell: Shell, mode: Mode) -> None:
    running = await shell.start("cat; echo end", policy={"mode": mode}, stdin=True)
    assert running.stdin is not None
    os.write(running.stdin, b"hello\n")
    assert "hello" in await read_until(running, "hello")
    running.close_stdin()
    assert "end" in await asyncio.wait_for(read_all(running), WAIT_S)
    running.close()
    await running.ended()


async def test_without_input_a_program_reads_nothing(shell: Shell) -> None:
    ended, said = await shell.run("cat; echo end")
    assert (ended.code, said) == (0, "end\n")


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("tty", [False, True])
async def test_no_descriptor_of_ours_is_inherited(shell: Shell, mode: Mode, tty: bool) -> None:
    leaked = os.memfd_create("leak", 0)
    os.set_inheritable(leaked, True)
    try:
        _, said = await shell.run("exec ls /proc/self/fd", policy={"mode": mode}, tty=tty)
    finally:
        os.close(leaked)
    assert said.split() == ["0", "1", "2", "3"]  # 3 is the listing itself


async def test_starting_needs_the_main_thread(shell: Shell) -> None:
    def elsewhere() -> None:
        asyncio.run(shell.run("true"))

    with pytest.raises(SandboxError, match="main thread"):
        await asyncio.to_thread(elsewhere)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"env": {"A=B": "c"}}, "name of a variable"),
        ({"env": {"A": "b\0c"}}, "NUL"),
    ],
)
async def test_impossible_requests_are_refused(shell: Shell, options: dict[str, object], said: str) -> None:
    with pytest.raises(SandboxError, match=said):
        await shell.start("true", **options)


async def test_an_invisible_working_directory_is_refused(shell: Shell) -> None:
    from sandbox.launch import spawn

    with pytest.raises(SandboxError, match="not visible inside"):
        await spawn(
            ["true"],
            policy=shell.world.policy(),
            cwd=shell.world.out,
            probe=shell.found,
            environ=shell.world.environ(),
        )


async def test_variables_given_for_the_command_never_reach_bwrap(shell: Shell) -> None:
    library = shell.world.ws / "evil.so"
    library.write_bytes(b"not a library")
    _, said = await shell.run(
        "tr '\\0' '\\n' < /proc/1/environ; echo $GIVEN", env={"LD_PRELOAD": str(library), "GIVEN": "yes"}
    )
    assert "yes" in said
    lines = [line for line in said.splitlines() if line.startswith("LD_PRELOAD")]
    assert lines == []


@pytest.mark.parametrize("mode", BOTH)
async def test_no_descriptor_is_left_open(shell: Shell, mode: Mode) -> None:
    await shell.run("true", policy={"mode": mode})
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        running = await shell.start("true", policy={"mode": mode}, tty=True)
        await running.ended()
        running.close()
        running.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
