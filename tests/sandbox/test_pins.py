"""Stand-ins and pins: nothing is left behind, nothing of the user's is touched, crashes are mended."""

import asyncio
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import placeholders, processes
from sandbox.errors import SandboxError
from sandbox.launch import spawn
from sandbox.pins import DIRECTORIES, FILES
from sandbox.placeholders import Placeholders, StandIn, present
from sandbox.policy import Mode
from sandbox.preparation import Plan, prepare
from sandbox.probe import ProbeResult
from tests.sandbox.conftest import Shell, read_until
from tests.sandbox.worlds import World
from tests.waiting import WAIT_S, until
from tools.paths import writing_need

AGENT = Path(__file__).with_name("agent.py")


def names(world: World) -> list[str]:
    return sorted(path.name for path in world.ws.iterdir())


async def test_stand_ins_stay_while_any_command_needs_them(shell: Shell) -> None:
    before = names(shell.world)
    long = await shell.start("echo ready; sleep 60")
    await read_until(long, "ready")
    assert ".envrc" in names(shell.world)
    await shell.run("true")
    assert ".envrc" in names(shell.world)
    _, said = await shell.run("echo evil > .envrc; rm -f .npmrc; mv .vscode v")
    assert said.count("Read-only file system") + said.count("busy") == 3
    long.kill()
    await long.ended()
    long.close()
    assert names(shell.world) == before


def test_bwrap_is_told_before_stand_ins_are_made_and_mounts_none_of_them(world: World) -> None:
    """What it mounts it looks up as it is told; on what, only once it is let."""
    told: list[tuple[Plan, list[str]]] = []
    before = names(world)
    ready = prepare(world.policy(), world.environ(), lambda plan: told.append((plan, names(world))))
    [(plan, then)] = told
    made = {place for place in world.ws.iterdir() if place.name not in before}
    ready.release()
    assert then == names(world) == before
    assert {mount.target for mount in plan.layers.pins} >= {*map(str, made)}
    assert made and not {mount.source for mount in plan.layers.pins} & {*map(str, made)}


async def test_git_never_sees_the_stand_ins_of_a_command_that_still_runs(shell: Shell) -> None:
    """A server runs on; the next command commits everything, and the person's own new file is part of it."""
    long = await shell.start("echo ready; sleep 60")
    await read_until(long, "ready")
    (shell.world.ws / "mine.txt").touch()
    _, said = await shell.run(
        "git status --short && git add -A && git commit -qm all && git ls-files", policy={"git_lane": True}
    )
    long.kill()
    await long.ended()
    long.close()
    assert "?? mine.txt" in said
    assert not {line.removeprefix("?? ").strip("/") for line in said.splitlines()} & {*FILES, *DIRECTORIES}


def test_a_crash_leaves_stand_ins_that_the_next_start_removes(world: World, found: ProbeResult) -> None:
    before = names(world)
    agent = subprocess.Popen(
        [sys.executable, str(AGENT), str(world.base), "workspace-write", "pipes", "sleep 60"],
        stdout=subprocess.PIPE,
    )
    assert agent.stdout is not None
    first = processes.open_handle(int(agent.stdout.readline().split()[1]))
    assert ".envrc" in names(world)
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    agent.stdout.close()
    # bwrap may still be laying its mounts, and would make a file anew that goes at that moment
    assert select.select([first.fd], [], [], WAIT_S)[0]
    first.close()
    assert ".envrc" in names(world)
    assert Placeholders.of(world.state, world.ws).present() == ()
    assert names(world) == before


@pytest.mark.parametrize("loss", ["removed", "emptied"])
def test_stand_ins_go_even_when_the_journal_is_lost_meanwhile(world: World, loss: str) -> None:
    before = names(world)
    held = Placeholders.of(world.state, world.ws)
    held.acquire(
        lambda _: [StandIn(path=world.ws / ".envrc"), StandIn(path=world.ws / ".idea", directory=True)]
    )
    assert {".envrc", ".idea"} <= set(names(world))
    if loss == "removed":
        shutil.rmtree(world.state)
    else:
        for journal in (world.state / "sandbox" / "pins").iterdir():
            os.truncate(journal, 0)
    held.release()
    assert names(world) == before


def test_a_stand_in_that_went_is_told_for_a_while_to_those_who_ask_since_before(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = Placeholders.of(world.state, world.ws)
    since = time.time_ns()
    wanted = [StandIn(path=world.ws / ".envrc"), StandIn(path=world.ws / ".idea", directory=True)]
    places.acquire(lambda _: wanted)
    (world.ws / ".idea").chmod(0o755)  # the user's from now on
    places.release()
    assert present(world.state, since) == {world.ws / ".envrc"}
    assert present(world.state) == present(world.state, time.time_ns()) == frozenset()
    monkeypatch.setattr(placeholders, "_GONE_NS", 0)
    assert present(world.state, since) == frozenset()
    (journal,) = (world.state / "sandbox" / "pins").glob("*.json")
    assert not journal.read_text().strip()


def test_what_the_user_made_of_a_stand_in_is_kept(world: World) -> None:
    placeholders = Placeholders.of(world.state, world.ws)
    wanted = [StandIn(path=world.ws / name) for name in (".npmrc", ".envrc", ".yarnrc")]
    wanted.append(StandIn(path=world.ws / ".idea", directory=True))
    placeholders.acquire(lambda _: wanted)
    (world.ws / ".npmrc").unlink()
    (world.ws / ".npmrc").write_text("mine")
    (world.ws / ".envrc").chmod(0o600)
    (world.ws / ".envrc").write_text("mine too")
    (world.ws / ".idea").chmod(0o700)
    (world.ws / ".idea" / "mine.xml").touch()
    placeholders.release()
    assert (world.ws / ".npmrc").read_text() == "mine"
    assert (world.ws / ".envrc").read_text() == "mine too"
    assert (world.ws / ".idea" / "mine.xml").exists()
    assert not (world.ws / ".yarnrc").exists()


def test_a_stand_in_never_follows_a_link(world: World) -> None:
    (world.ws / "link").symlink_to(world.out / "made")
    with pytest.raises(SandboxError, match="cannot protect"):
        Placeholders.of(world.state, world.ws).acquire(lambda _: [StandIn(path=world.ws / "link")])
    assert not (world.out / "made").exists()


@pytest.mark.parametrize(
    "text",
    [
        "{nonsense",
        pytest.param("[" * 5000, id="nested"),
        '{"users": {"me": 1}, "made": {}}',
        '{"users": [], "made": {}}',
    ],
)
def test_a_damaged_journal_is_an_error(world: World, text: str) -> None:
    placeholders = Placeholders.of(world.state, world.ws)
    placeholders.acquire(lambda _: [])
    (journal,) = (world.state / "sandbox" / "pins").glob("*.json")
    journal.write_text(f"{text}\n")
    with pytest.raises(SandboxError, match="damaged"):
        placeholders.release()


async def test_git_as_a_link_is_refused_for_writing(shell: Shell) -> None:
    (shell.world.ws / ".git").rename(shell.world.out / "git")
    (shell.world.ws / ".git").symlink_to(shell.world.out / "git")
    others = processes.children(os.getpid())
    with pytest.raises(SandboxError, match="symbolic link"):
        await shell.start("true")
    assert processes.children(os.getpid()) == others  # the bwrap that was started is gone
    ended, _ = await shell.run("true", policy={"mode": Mode.READ_ONLY})
    assert ended.code == 0


async def test_a_protected_name_that_is_a_link_is_told(shell: Shell) -> None:
    (shell.world.ws / ".npmrc").symlink_to("a.txt")
    running = await shell.start("true")
    await running.ended()
    running.close()
    assert running.notices == ["`.npmrc` is a symbolic link and not protected from commands"]


async def test_a_worktree_file_that_points_elsewhere_opens_nothing(shell: Shell) -> None:
    """The admin directory must point back; else a file could make any repository writable."""
    shutil.rmtree(shell.world.ws / ".git")
    shell.world.run('git init -q "$OUT/victim" && cd "$OUT/victim" && git commit -q --allow-empty -m v')
    (shell.world.ws / ".git").write_text(f"gitdir: {shell.world.out}/victim/.git\n")
    ended, said = await shell.run(f"ls {shell.world.out}/victim/.git", policy={"git_lane": True})
    assert ended.code != 0
    assert "No such file" in said


async def test_an_approved_path_can_be_written_once(shell: Shell) -> None:
    world = shell.world
    approved = {"writable": (world.ws / ".npmrc", world.ws / ".vscode", world.home / ".profile")}
    (world.ws / ".vscode").mkdir()
    script = f"echo a > .npmrc && echo b > .vscode/tasks.json && echo c > {world.home}/.profile"
    ended, said = await shell.run(script, policy=approved)
    assert ended.code == 0, said
    assert (world.ws / ".npmrc").read_text() == "a\n"
    assert (world.home / ".profile").read_text() == "c\n"
    ended, _ = await shell.run("echo again > .npmrc")
    assert ended.code != 0


async def test_a_readable_path_shows_and_stays_read_only(shell: Shell) -> None:
    world = shell.world
    changes = {"readable": (world.out,)}
    _, said = await shell.run(f"cat {world.out}/secret; echo x > {world.out}/new", policy=changes)
    assert world.mark in said
    assert "Read-only file system" in said


async def test_an_extra_root_is_writable(shell: Shell) -> None:
    ended, said = await shell.run(
        f"echo x > {shell.world.out}/new", policy={"extra_roots": (shell.world.out,)}
    )
    assert ended.code == 0, said
    assert (shell.world.out / "new").exists()


async def test_a_gitlink_of_the_lane_is_disarmed_and_told(shell: Shell) -> None:
    script = "git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub && git commit -qm s"
    running = await shell.start(script, policy={"git_lane": True})
    assert (await running.wait()).code == 0
    await running.ended()
    running.close()
    assert any("`sub` was added as a nested repository" in notice for notice in running.notices)
    assert not (shell.world.ws / "sub" / ".git").exists()
    assert len(list((shell.world.state / "sandbox" / "quarantine").iterdir())) == 1


async def test_the_home_as_workspace_keeps_its_settings_and_secrets(world: World, found: ProbeResult) -> None:
    policy = world.policy(workspace=world.home)
    script = (
        "cat ~/.ssh/id_ed25519 ~/.netrc; for f in .profile .ssh/x .bashrc; do echo x >> ~/$f; done; "
        "echo y > ~/file && mkdir -p ~/.cache/x && echo $?"
    )
    running = await spawn(
        ["bash", "-c", script], policy=policy, cwd=world.home, probe=found, environ=world.environ()
    )
    await running.wait()
    await running.ended()
    said = os.read(running.outputs[0], 9999).decode() + os.read(running.outputs[1], 9999).decode()
    running.close()
    assert world.mark not in said
    assert (world.home / ".profile").read_text() == "# mine\n"
    assert not (world.home / ".bashrc").exists()
    assert (world.home / "file").exists()


@pytest.mark.parametrize("root", ["the home", "a directory above"])
async def test_nothing_of_a_home_that_is_obeyed_later_can_be_planted(
    world: World, found: ProbeResult, root: str
) -> None:
    config, state = world.home / ".config" / "agent-tui", world.home / ".local" / "state" / "agent-tui"
    for place in (config, state, world.home / ".local" / "bin"):
        place.mkdir(parents=True)
    shutil.rmtree(world.home / ".ssh")
    workspace = world.home if root == "the home" else world.base
    policy = world.policy(workspace=workspace, config_dir=config, state_dir=state)
    names = (
        ".local/bin/ls .local/share .config/autostart .config/agent-tui/config.toml .bashrc .bash_profile "
        ".bash_login .zshenv .npmrc .ssh/authorized_keys bin/ls .gitconfig"
    )
    plant = f"for f in {names}; do mkdir -p $(dirname $f); echo x >> $f; done"
    script = f"cd; {plant}; mv .local .moved; echo y > file"
    before = {place: place.lstat().st_size for place in world.home.rglob("*") if place.is_file()}
    running = await spawn(
        ["bash", "-c", script], policy=policy, cwd=world.home, probe=found, environ=world.environ()
    )
    await running.ended()
    running.close()
    after = {
        place: place.lstat().st_size
        for place in world.home.rglob("*")
        if place.is_file() and not {state, world.home / ".cache"} & {*place.parents}
    }
    assert after == before | {world.home / "file": 2}


@pytest.mark.parametrize("place", ["/", "/usr"])
async def test_the_system_is_no_workspace(world: World, found: ProbeResult, place: str) -> None:
    with pytest.raises(SandboxError, match="workspace cannot be"):
        await spawn(
            ["true"],
            policy=world.policy(workspace=Path(place)),
            cwd=Path("/usr"),
            probe=found,
            environ=world.environ(),
        )


@pytest.mark.parametrize(
    ("grant", "refusal"),
    # of a root for want of its stand-ins, by whoever comes to them first
    [("readable", "was exchanged"), ("extra_roots", "gave up|failed|cannot protect|was exchanged")],
)
async def test_a_root_exchanged_while_bwrap_starts_is_noticed(shell: Shell, grant: str, refusal: str) -> None:
    """A wrapper swaps the directory after it was looked at and before bwrap mounts it."""
    world = shell.world
    root = world.base / "root"
    root.mkdir()
    wrapper = world.base / "bwrap"
    wrapper.write_text(
        f"#!/bin/sh\ncat <&8 >{world.base}/words\n"  # all is looked at once they are complete
        f'mv {root} {root}2; mkdir {root}\nexec {shell.found.bwrap} "$@" 8<{world.base}/words\n'
    )
    wrapper.chmod(0o755)
    swapped = ProbeResult(available=True, bwrap=str(wrapper), version="0.8.0", seccomp=True)
    with pytest.raises(SandboxError, match=refusal):
        await spawn(
            ["touch", "ran"],
            policy=world.policy(**{grant: (root,)}),
            cwd=world.ws,
            probe=swapped,
            environ=world.environ(),
        )
    assert not (world.ws / "ran").exists()
    assert ".envrc" not in names(world)


async def test_caches_are_private_to_a_workspace_and_last(shell: Shell) -> None:
    await shell.run("echo kept > ~/.cache/f; echo npm > ~/.npm/g")
    _, said = await shell.run("cat ~/.cache/f ~/.npm/g")
    assert said == "kept\nnpm\n"
    other = shell.world.base / "other"
    other.mkdir()
    running = await spawn(
        ["bash", "-c", "cat ~/.cache/f"],
        policy=shell.world.policy(workspace=other),
        cwd=other,
        probe=shell.found,
        environ=shell.world.environ(),
    )
    assert (await running.wait()).code != 0
    await running.ended()
    running.close()


async def test_links_in_the_private_cache_lead_us_nowhere(shell: Shell) -> None:
    """We write beside the cache and never in it: commands own its content."""
    target = shell.world.out / "stolen"
    await shell.run(f"rm -rf ~/.cache/home; ln -s {target} ~/.cache/home; ln -s {target} ~/.cache/gitconfig")
    await asyncio.sleep(0)
    await shell.run("true")
    assert not target.exists()


async def test_stand_ins_of_an_extra_root_are_shared_by_two_workspaces(shell: Shell) -> None:
    """Each notes them for the root, so the first to end leaves the other's mounts alone."""
    world = shell.world
    root = world.out / "lib"
    for place in (root, world.base / "second"):
        place.mkdir()
    before = sorted(root.iterdir())
    first = await shell.start("echo ready; sleep 60", policy={"extra_roots": (root,)})
    await read_until(first, "ready")
    script = f"echo ready; read -r _; echo evil > {root}/.envrc; git init -q {root}"
    second = await spawn(
        ["bash", "-c", script],
        policy=world.policy(workspace=world.base / "second", extra_roots=(root,)),
        cwd=world.base / "second",
        probe=shell.found,
        environ=world.environ(),
        stdin=True,
    )
    await read_until(second, "ready")
    first.kill()
    await first.ended()
    first.close()
    assert second.stdin is not None
    os.write(second.stdin, b"\n")
    assert (await second.wait()).code != 0
    await second.ended()
    second.close()
    assert sorted(root.iterdir()) == before


async def test_a_grant_that_holds_the_workspace_is_refused(shell: Shell) -> None:
    """Mounted after the pins it would undo them, before them the workspace could be exchanged."""
    with pytest.raises(SandboxError, match="holds the workspace"):
        await shell.start("true", policy={"writable": (shell.world.base,)})


async def test_what_the_program_obeys_and_is_made_of_stays_closed_in_every_root(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shell.world
    own = {"config_dir": world.out / "config" / "agent-tui", "state_dir": world.out / "state" / "agent-tui"}
    venv = world.ws / ".venv"
    for place in (*own.values(), venv / "bin"):
        place.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr("sandbox.pins.INSTALLATION", venv)
    places = f"{own['config_dir']}/rules.toml {own['state_dir']}/x .venv/bin/agent-tui"
    script = (
        f"for p in {places}; do echo x > $p; done; "
        f"mv {world.out}/config c; mv {world.out}/state s; mv .venv v"
    )
    _, said = await shell.run(script, policy={"extra_roots": (world.out,), **own})
    assert said.count("busy") == 3, said
    assert list((venv / "bin").iterdir()) == list(own["config_dir"].iterdir()) == []
    assert not (own["state_dir"] / "x").exists()


def test_a_project_inside_the_installation_is_no_part_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one in `/usr/src`, with the Python of the system in `/usr`."""
    monkeypatch.setattr("sandbox.pins.INSTALLATION", world.ws.parent)
    assert writing_need(world.ws / "main.py", world.policy()) is None


async def test_a_granted_secret_file_is_shown(shell: Shell) -> None:
    (shell.world.ws / ".env").write_text("KEY=shown\n")
    _, hidden = await shell.run("cat .env")
    _, shown = await shell.run("cat .env", policy={"readable": (shell.world.ws / ".env",)})
    assert (hidden, shown) == ("", "KEY=shown\n")


async def test_a_protected_path_below_another_opens_nothing(shell: Shell) -> None:
    """Directories between are held as mounts; inside one that is closed that would open them."""
    world = shell.world
    world.run('mkdir -p "$WS/.vscode/a/b" && cd "$WS" && git config core.hooksPath .vscode/a/b/hooks')
    world.run('mkdir -p "$WS/.vscode/c/d" && git init -q "$WS/.vscode/c/d/e"')
    _, said = await shell.run("touch .vscode/a/x .vscode/a/b/x .vscode/c/x .vscode/c/d/x")
    assert said.count("Read-only file system") == 4


@pytest.mark.parametrize("exchanged", [False, True])
async def test_a_nested_repository_of_the_index_is_disarmed_and_nothing_outside(
    shell: Shell, exchanged: bool
) -> None:
    """Where a link has taken its place, what it leads to is not ours to move."""
    world = shell.world
    world.run('git init -q "$OUT/mine"')
    swap = f"mv sub gone && ln -s {world.out}/mine sub" if exchanged else "true"
    script = f"git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub && {swap}"
    running = await shell.start(script, policy={"git_lane": True})
    assert (await running.wait()).code == 0
    await running.ended()
    running.close()
    assert (world.out / "mine" / ".git").is_dir()
    assert (world.ws / "sub" / ".git").exists() is exchanged
    assert any("moved to" in notice for notice in running.notices) is not exchanged


async def test_stand_ins_go_also_when_a_nested_repository_cannot_be_moved(shell: Shell) -> None:
    world = shell.world
    before = names(world)
    (world.state / "sandbox").mkdir(parents=True, exist_ok=True, mode=0o700)
    (world.state / "sandbox" / "quarantine").touch()
    script = "git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub"
    running = await shell.start(script, policy={"git_lane": True})
    assert (await running.wait()).code == 0
    await running.ended()
    running.close()
    assert any("clearing up after the sandbox failed" in notice for notice in running.notices)
    assert names(world) == sorted([*before, "sub"])


async def test_stand_ins_go_also_when_a_grant_is_impossible(shell: Shell) -> None:
    before = names(shell.world)
    with pytest.raises(SandboxError, match="cannot grant"):
        await shell.start("true", policy={"readable": (shell.world.out / "missing",)})
    assert names(shell.world) == before


async def test_stand_ins_go_also_when_a_start_is_cancelled_twice(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shell.world
    before = names(world)
    wrapper = world.base / "bwrap"
    wrapper.write_text("#!/bin/sh\nexec sleep 600\n")
    wrapper.chmod(0o755)
    is_reaping, may_reap, waitpid = threading.Event(), threading.Event(), os.waitpid

    def reap(pid: int, options: int) -> tuple[int, int]:
        is_reaping.set()
        may_reap.wait(WAIT_S)
        return waitpid(pid, options)

    silent = Shell(world, replace(shell.found, bwrap=str(wrapper)))
    start = asyncio.create_task(silent.start("true"))
    await asyncio.to_thread(until, lambda: ".envrc" in names(world))
    monkeypatch.setattr("os.waitpid", reap)
    start.cancel()
    await asyncio.to_thread(is_reaping.wait, WAIT_S)
    start.cancel()
    may_reap.set()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert names(world) == before


async def test_stand_ins_go_also_when_bwrap_gives_up_before_it_may_run_the_command(shell: Shell) -> None:
    world = shell.world
    before = names(world)
    wrapper = world.base / "bwrap"
    wrapper.write_text(
        "#!/bin/sh\nexec 7<&-\ncat <&8 >/dev/null\n"  # nobody hears the leave any more when it tells its pid
        'echo "{\\"child-pid\\": $$}" >&6\nexec sleep 600\n'
    )
    wrapper.chmod(0o755)
    with pytest.raises(SandboxError, match="`bwrap` failed"):
        await Shell(world, replace(shell.found, bwrap=str(wrapper))).start("true")
    assert names(world) == before


async def test_a_setting_of_git_with_a_word_too_long_for_a_name_harms_nothing(shell: Shell) -> None:
    shell.world.run(f'cd "$WS" && git config filter.x.clean "tool {"n" * 5000}"')
    ended, said = await shell.run("echo here")
    assert (ended.code, said) == (0, "here\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_root_of_somebody_else_needs_no_stand_ins(shell: Shell) -> None:
    ended, said = await shell.run("ls /var/lib && echo ok", policy={"extra_roots": (Path("/var/lib"),)})
    assert (ended.code, said.splitlines()[-1]) == (0, "ok")


async def test_a_root_whose_mode_forbids_writing_is_closed_all_the_same(shell: Shell) -> None:
    """Its owner could change the mode from inside."""
    root = shell.world.out / "lib"
    root.mkdir()
    if os.geteuid() != 0:
        root.chmod(0o555)
        with pytest.raises(SandboxError, match="cannot protect"):
            await shell.start("true", policy={"extra_roots": (root,)})
    else:
        _, said = await shell.run(f"echo x > {root}/.envrc", policy={"extra_roots": (root,)})
        assert "Read-only file system" in said


@pytest.mark.parametrize(("count", "is_told"), [(64, False), (65, True)])
async def test_more_nested_repositories_than_are_covered_are_told(
    shell: Shell, count: int, is_told: bool
) -> None:
    for number in range(count):
        (shell.world.ws / f"r{number}" / ".git").mkdir(parents=True)
    running = await shell.start("true")
    await running.ended()
    running.close()
    assert is_told is any("too many, to cover every nested repository" in said for said in running.notices)
