"""Nothing that a command started outlives its session, whatever it does to hide."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox import seccomp
from sandbox.channels import ARGUMENTS_FD, add_bwrap_channels, open_channels
from sandbox.launch import spawn
from sandbox.leftovers import sweep
from sandbox.policy import Mode
from sandbox.probe import ProbeResult
from sandbox.processes import children, start_ticks
from tests.sandbox.conftest import Shell, read_until
from tests.sandbox.worlds import World
from tests.waiting import WAIT_S, until

ROOT = Path(__file__).parents[2]
AGENT = Path(__file__).with_name("agent.py")
MODES = [Mode.WORKSPACE_WRITE, Mode.READ_ONLY, Mode.OFF]

HIDING = """
setsid sleep {number} &
nohup sleep {number} >/dev/null 2>&1 &
(trap '' TERM INT HUP; sleep {number}) &
python3 -c 'import os,time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for fd in range(256):
    try: os.close(fd)
    except OSError: pass
os.execvp("sleep", ["sleep", "{number}"])'
echo ready
sleep {number}
"""


def alive(number: float) -> list[str]:
    """Command lines that hold a number no other test uses."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", str(number).encode()]:
            found.append(place.parent.name)
    return found


def wait_until_alive(number: float, count: int) -> None:
    until(lambda: len(alive(number)) >= count, lambda: f"only {alive(number)}")


def wait_until_gone(number: int) -> None:
    until(lambda: not alive(number), lambda: f"still alive: {alive(number)}")


@pytest.fixture
def number(request: pytest.FixtureRequest) -> int:
    """Seconds to sleep, and a name to find the sleepers by."""
    return 100_000 + abs(hash((request.node.name, os.getpid()))) % 800_000


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("mode", MODES)
async def test_kill_ends_the_whole_tree(shell: Shell, mode: Mode, tty: bool, number: int) -> None:
    running = await shell.start(HIDING.format(number=number), policy={"mode": mode}, tty=tty)
    await read_until(running, "ready")
    wait_until_alive(number, 5)
    running.kill()
    await running.ended()
    running.close()
    wait_until_gone(number)


@pytest.mark.parametrize("tty", ["pipes", "tty"])
@pytest.mark.parametrize("mode", MODES)
def test_kill_9_of_the_agent_ends_the_whole_tree(world: World, mode: Mode, tty: str, number: int) -> None:
    script = HIDING.format(number=number)
    agent = subprocess.Popen(
        [sys.executable, str(AGENT), str(world.base), mode, tty, script], stdout=subprocess.PIPE
    )
    assert agent.stdout is not None
    assert agent.stdout.readline().startswith(b"started")
    wait_until_alive(number, 5)
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    agent.stdout.close()
    wait_until_gone(number)


@pytest.mark.parametrize("mode", MODES)
async def test_stop_interrupts_first(shell: Shell, mode: Mode) -> None:
    script = "trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    running = await shell.start(script, policy={"mode": mode})
    await read_until(running, "ready")
    ended = await running.stop()
    running.close()
    assert ended.code == 5


async def test_stop_kills_what_ignores_every_signal(
    shell: Shell, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.running.INTERRUPT_GRACE_S", 0.1)
    monkeypatch.setattr("sandbox.running.TERMINATE_GRACE_S", 0.1)
    script = f"trap '' INT TERM HUP; echo ready; while :; do sleep {number}; done"
    running = await shell.start(script)
    await read_until(running, "ready")
    ended = await running.stop()
    running.close()
    assert ended.signal == "KILL"
    wait_until_gone(number)


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("mode", [Mode.WORKSPACE_WRITE, Mode.OFF])
async def test_what_is_left_in_the_background_lives_until_ended(
    shell: Shell, mode: Mode, tty: bool, number: int
) -> None:
    running = await shell.start(f"sleep {number} & echo started", policy={"mode": mode}, tty=tty)
    ended = await running.wait()
    assert ended.code == 0
    wait_until_alive(number, 1)
    assert len(running.leftovers()) == len(alive(number)) == 1
    running.kill()
    await running.ended()
    running.close()
    wait_until_gone(number)


async def test_the_sandbox_ends_with_its_last_process(shell: Shell) -> None:
    running = await shell.start("sleep 0.2 & echo started")
    assert (await running.wait()).code == 0
    await asyncio.wait_for(running.ended(), WAIT_S)
    running.close()


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "KILL"])
@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("mode", [Mode.WORKSPACE_WRITE, Mode.OFF])
async def test_a_signal_by_name_reaches_the_command(shell: Shell, name: str, tty: bool, mode: Mode) -> None:
    running = await shell.start("echo ready; exec sleep 60", policy={"mode": mode}, tty=tty)
    await read_until(running, "ready")
    running.signal(name)
    ended = await asyncio.wait_for(running.wait(), WAIT_S)
    running.close()
    await running.ended()
    assert ended.signal == name


async def test_a_command_that_kills_its_keeper_only_ends_itself(shell: Shell) -> None:
    ended, _ = await shell.run("kill -9 $PPID; sleep 60")
    assert ended.code != 0


@pytest.mark.parametrize("mode", [Mode.WORKSPACE_WRITE, Mode.OFF])
async def test_a_command_that_stops_its_keeper_is_ended(shell: Shell, mode: Mode) -> None:
    running = await shell.start("sleep 7103.5 & kill -STOP $PPID; sleep 7103.5", policy={"mode": mode})
    pids = await asyncio.to_thread(lambda: wait_until_alive(7103.5, 2) or alive(7103.5))
    running.kill()
    await asyncio.wait_for(running.ended(), WAIT_S)
    running.close()
    assert len(pids) == 2 and not alive(7103.5)


def test_what_may_not_be_ended_keeps_nothing_else_alive() -> None:
    """As a process of another user."""
    script = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from sandbox import guard
first, other, last = (subprocess.Popen(["sleep", "60"]) for _ in range(3))
kill = os.kill
def refused(pid, number):
    if pid == other.pid:
        raise PermissionError
    kill(pid, number)
os.kill = refused
guard._end_all()
print(*(os.path.exists(f"/proc/{one.pid}") for one in (first, other, last)))
kill(other.pid, 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(ROOT)], capture_output=True, text=True, timeout=WAIT_S
    )
    assert done.stdout == "False True False\n", done.stderr


@pytest.mark.parametrize("mode", [Mode.WORKSPACE_WRITE, Mode.OFF])
@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", 139), ("nosuchprogram", 127)]
)
async def test_the_exit_status_is_the_commands_own(shell: Shell, mode: Mode, script: str, code: int) -> None:
    ended, _ = await shell.run(script, policy={"mode": mode})
    assert ended.code == code


STOPPED_AT = """
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from sandbox import launch, verification
from sandbox.probe import probe
from tests.sandbox.worlds import World

async def main():
    world = World(base=Path({base!r}), mark="")
    root_process = launch._root_process

    async def stop(channels):
        await verification._built(await root_process(channels))
        os.kill(os.getpid(), 9)

    if {moment!r} == "blocked":
        launch._root_process = stop
    await launch.spawn(["sleep", "{number}"], policy=world.policy(), cwd=world.ws,
        probe=probe(world.state), environ=world.environ())
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["blocked", "started"])
def test_kill_9_while_a_command_starts_leaves_nothing(
    world: World, found: ProbeResult, moment: str, number: int
) -> None:
    code = STOPPED_AT.format(root=str(ROOT), base=str(world.base), moment=moment, number=number)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == -signal.SIGKILL, done.stderr
    until(lambda: not started_for(world), lambda: f"still there: {started_for(world)}")


def started_for(world: World) -> list[str]:
    """Processes whose environment names a world: bwrap's has its home."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(world.home).encode() in place.read_bytes():
                found.append(place.parent.name)
        except OSError:
            continue
    return found


async def test_a_sandbox_that_is_dropped_while_it_is_built_is_gone_as_a_whole(
    world: World, found: ProbeResult
) -> None:
    """Its child is held, so that it can neither end by itself nor have built all."""
    before = sorted(world.ws.iterdir())
    start = spawn(["touch", "ran"], policy=world.policy(), cwd=world.ws, probe=found, environ=world.environ())
    await start.begin()
    assert start._begun is not None
    outer = start._begun.pid
    until(lambda: children(outer))
    os.kill(children(outer)[0], signal.SIGSTOP)
    assert len(started_for(world)) == 2
    await start.drop()
    assert (started_for(world), sorted(world.ws.iterdir())) == ([], before)


async def test_a_sandbox_that_is_dropped_once_its_command_waits_in_it_is_gone_as_a_whole(
    world: World, found: ProbeResult
) -> None:
    files, before = sorted(Path("/proc/self/fd").iterdir()), sorted(world.ws.iterdir())
    start = spawn(["touch", "ran"], policy=world.policy(), cwd=world.ws, probe=found, environ=world.environ())
    await start.begin()
    assert start._begun is not None
    root = (await start._begun.held).root.pid
    until(lambda: "sh\n" in [Path(f"/proc/{pid}/comm").read_text() for pid in children(root)])
    await start.drop()
    assert (started_for(world), sorted(world.ws.iterdir())) == ([], before)
    assert sorted(Path("/proc/self/fd").iterdir()) == files


async def test_an_unsandboxed_start_that_is_cancelled_never_runs_and_leaves_the_next_one_alone(
    shell: Shell,
) -> None:
    world = shell.world
    policy = {"mode": Mode.OFF}
    before = children(os.getpid())
    start = asyncio.create_task(shell.start("touch ran", policy=policy))
    await asyncio.sleep(0)  # it has begun
    assert children(os.getpid()) != before
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    running = await asyncio.wait_for(shell.start("echo up; sleep 600", policy=policy), WAIT_S)
    assert await read_until(running, "up\n") == "up\n"
    running.kill()
    await running.ended()
    running.close()
    await asyncio.to_thread(until, lambda: children(os.getpid()) == before)
    assert not (world.ws / "ran").exists()


def left_behind(bwrap: str, mark: str) -> int:
    """A child of bwrap that waits for ever for its parent, which was killed as soon as it had one."""
    words = [
        bwrap,
        "--unshare-user",
        "--unshare-pid",
        "--ro-bind",
        "/",
        "/",
        "--",
        "sh",
        "-c",
        "sleep 9",
        mark,
    ]
    for _ in range(50):
        outer = subprocess.Popen(words)
        while not (below := children(outer.pid)):
            assert outer.poll() is None
        outer.kill()
        outer.wait()
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline and not children(below[0]):
            time.sleep(0.01)
        if not children(below[0]) and start_ticks(below[0]):
            return below[0]
        os.kill(below[0], signal.SIGKILL)  # it was faster
    raise AssertionError("none was left in 50 tries")


async def test_what_a_kill_in_the_middle_of_a_start_leaves_is_taken_away(shell: Shell) -> None:
    """Its parent is killed right after the fork, as ours would be; one that is in use stays."""
    mark = f"mark{os.getpid()}"
    used = await shell.start(f"echo ready; : {mark}; sleep 60")
    await read_until(used, "ready")
    left = left_behind(shell.found.bwrap, mark)
    in_use = [pid for pid in (used.pid, used.root_pid) if start_ticks(pid)]
    assert sweep(["--unshare-user", mark]) == [], "a start may be in progress"
    assert sweep(["--unshare-user", mark], older_than_s=0) == [left]
    keeper = Path(f"/proc/{used.pid}/cmdline").read_bytes().decode().split("\0")
    assert sweep(keeper[1:-1], older_than_s=0) == []
    assert [pid for pid in in_use if start_ticks(pid)] == in_use
    used.kill()
    await used.ended()
    used.close()


def test_a_part_of_the_arguments_is_never_taken_for_all(world: World, found: ProbeResult) -> None:
    """What happens when the agent dies while it tells bwrap what to build."""
    channels = open_channels(tty=False, stdin=False, size=(80, 24))
    add_bwrap_channels(channels, seccomp=seccomp.filter_fd(), files=2)
    words = [found.bwrap, "--args", str(ARGUMENTS_FD), "--", "/bin/touch", str(world.ws / "ran")]
    pid = os.posix_spawn(found.bwrap, words, os.environ, file_actions=channels.file_actions())
    channels.close_child_ends()
    os.write(channels.arguments, b"--bind\0/\0/\0")
    channels.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    assert not (world.ws / "ran").exists()
