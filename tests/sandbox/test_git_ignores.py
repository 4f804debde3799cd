"""git offers nothing that is there for a sandbox only, inside and outside, and all that is somebody's."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox import git_ignores
from sandbox.git_ignores import Ignores
from sandbox.launch import spawn
from sandbox.pins import FILES
from sandbox.policy import Mode
from tests.sandbox.conftest import Shell, read_all, read_until

LANE = {"git_lane": True}
OFF = {"mode": Mode.OFF}
STATUS = "git status --porcelain --untracked-files=all"


@asynccontextmanager
async def standing(shell: Shell, **policy: object) -> AsyncIterator[None]:
    """Another command runs meanwhile, and its stand-ins are there."""
    world = shell.world
    long = await spawn(
        ["bash", "-c", "echo ready; exec sleep 60"],
        policy=world.policy(**policy),
        cwd=world.policy(**policy).workspace,
        probe=shell.found,
        environ=world.environ(),
    )
    try:
        await read_until(long, "ready")
        yield
    finally:
        long.kill()
        await long.ended()
        long.close()


async def lines(shell: Shell, script: str, policy: Mapping[str, object] = LANE) -> list[str]:
    _, said = await shell.run(script, policy=dict(policy))
    return said.splitlines()


def outside(shell: Shell, script: str) -> list[str]:
    """As the person, when no command runs."""
    return shell.world.run(f'cd "$WS" && {script}').stdout.decode().splitlines()


@pytest.mark.parametrize("world", ["repo", "worktree", "submodule"], indirect=True)
async def test_no_stand_in_is_offered(shell: Shell) -> None:
    (shell.world.ws / "mine").touch()
    for policy in (LANE, {}, OFF, {"mode": Mode.READ_ONLY}):
        assert await lines(shell, STATUS, policy) == ["?? mine", "?? tool.py"]
    async with standing(shell):
        for policy in (LANE, {}, OFF, {"mode": Mode.READ_ONLY}):
            assert await lines(shell, STATUS, policy) == ["?? mine", "?? tool.py"]


@pytest.mark.parametrize(
    ("world", "policy"), [("repo", LANE), ("repo", OFF), ("worktree", LANE)], indirect=["world"]
)
@pytest.mark.parametrize(
    "script",
    [
        "git add -A && git commit -qm all",
        "git add . && git commit -qam all",
        "git stash -qu && git stash pop >/dev/null && git add --all . && git commit -qm all",
        "git clean -qfd -e mine -e tool.py && git add -A && git commit -qm all",
    ],
)
async def test_no_stand_in_is_committed(shell: Shell, script: str, policy: Mapping[str, object]) -> None:
    (shell.world.ws / "mine").touch()
    async with standing(shell):
        said = await lines(shell, f"{script}; {STATUS}; git ls-files -o --exclude-standard", policy)
    assert said == []
    assert outside(shell, "git ls-files") == ["a.txt", "mine", "tool.py"]
    assert outside(shell, STATUS) == []


async def test_a_tracked_name_that_is_gone_stays_gone_for_git(shell: Shell) -> None:
    tracked = [".npmrc", ".envrc", ".gitmodules"]
    outside(
        shell, f"touch {' '.join(tracked)} && git add -A && git commit -qm more && rm {' '.join(tracked)}"
    )
    assert sorted(await lines(shell, STATUS, {})) == sorted(f" D {name}" for name in tracked)
    assert await lines(shell, "git commit -qam less; git ls-files") == ["a.txt", "tool.py"]
    assert outside(shell, STATUS) == []


async def test_what_is_there_and_tracked_or_new_is_no_stand_in(shell: Shell) -> None:
    outside(
        shell,
        "echo a > .npmrc && git add .npmrc && git commit -qm more && echo b > .npmrc && echo c > .envrc",
    )
    async with standing(shell):
        for policy in (LANE, OFF):
            assert await lines(shell, STATUS, policy) == [" M .npmrc", "?? .envrc", "?? tool.py"]
        assert await lines(shell, "git add -A && git commit -qm all; git ls-files") == [
            ".envrc", ".npmrc", "a.txt", "tool.py",
        ]  # fmt: skip


@pytest.mark.parametrize("setting", ["--global", "--local", "--worktree"])
@pytest.mark.parametrize("policy", [LANE, OFF], ids=["lane", "off"])
async def test_the_ignores_of_the_person_and_of_the_repository_still_hold(
    shell: Shell, policy: Mapping[str, object], setting: str
) -> None:
    (shell.world.ws / "of-mine").write_text("*.log\n")
    outside(shell, "git config extensions.worktreeConfig true; echo '*.tmp' >> .git/info/exclude")
    outside(shell, f'git config {setting} core.excludesFile "$PWD/of-mine"; touch a.log a.tmp')
    async with standing(shell):
        assert await lines(shell, STATUS, policy) == ["?? of-mine", "?? tool.py"]


async def test_a_file_that_a_command_does_not_see_is_not_shown_as_ignores(shell: Shell) -> None:
    secret = shell.world.ws / ".env"
    secret.write_text("of-env\n")
    for place in (shell.world.out / "secret", secret):
        outside(shell, f"git config core.excludesFile {place}")
        said = await lines(shell, f"cat /.agent-tui/*; {STATUS}")
        assert not {shell.world.mark, "of-env"} & {*said}
        assert said[-1] == "?? tool.py"


async def test_a_workspace_in_a_part_of_a_repository(shell: Shell) -> None:
    """Of which a command sees nothing in its sandbox, and all of it outside."""
    world = shell.world
    part = world.ws / "a part [1]"
    part.mkdir()
    (part / "mine").touch()
    async with standing(shell, workspace=part):
        assert (part / ".npmrc").exists()
        assert await lines(shell, STATUS, OFF) == ['?? "a part [1]/mine"', "?? tool.py"]
        assert await lines(shell, STATUS) == ['?? "a part [1]/mine"', "?? tool.py"]


async def test_a_name_is_ignored_in_the_repository_that_holds_the_stand_in_only(shell: Shell) -> None:
    """Each of two roots lacks what the other one has; a repository inside one has it, too."""
    other = shell.world.base / "ws-other"
    inner = shell.world.ws / "inner"
    for place, own in ((other, ".envrc"), (inner, ".npmrc"), (shell.world.ws, ".npmrc")):
        shell.world.run(f"git init -q {place}; touch {place / own}")
    policy = {"extra_roots": (other,)}
    async with standing(shell, **policy):
        for mode in (Mode.WORKSPACE_WRITE, Mode.OFF):
            said = await lines(
                shell, f"{STATUS}; git -C {other} status --porcelain", {**policy, "mode": mode}
            )
            assert said == ["?? .npmrc", "?? inner/", "?? tool.py", "?? .envrc", "?? secret"]
        assert await lines(shell, "git -C inner status --porcelain", OFF) == ["?? .npmrc"]


async def test_a_masked_file_is_not_committed_as_empty(shell: Shell) -> None:
    (shell.world.ws / ".env").write_text("KEY=1\n")
    said = await lines(shell, f"git add -A && git commit -qm all; git ls-files; {STATUS}")
    assert said == ["a.txt", "tool.py"]
    assert outside(shell, STATUS) == ["?? .env"]


@pytest.mark.parametrize(
    "script", ["git add -f .env", "git add -fN .env", "git add -f .env && git commit -qm a"]
)
async def test_a_masked_file_that_a_command_adds_stays_masked(shell: Shell, script: str) -> None:
    (shell.world.ws / ".env").write_text("KEY=1\n")
    assert await lines(shell, f"{script}; cat .env") == []
    assert await lines(shell, "cat .env") == []
    outside(shell, "git add -f .env")
    assert await lines(shell, "cat .env") == ["KEY=1"]


async def test_a_command_outside_keeps_its_settings_and_leaves_nothing(shell: Shell) -> None:
    environ = shell.world.environ() | {
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "my.own", "GIT_CONFIG_VALUE_0": "kept",
    }  # fmt: skip
    left = shell.world.state / "sandbox" / f"git-{2**22 + 1}-x"  # of a process with a number that none has
    left.mkdir(parents=True)
    async with standing(shell):
        running = await spawn(
            ["bash", "-c", f"git config my.own; {STATUS}"],
            policy=shell.world.policy(**OFF),
            cwd=shell.world.ws,
            probe=shell.found,
            environ=environ,
        )
        said = await asyncio.wait_for(read_all(running), 20)
        await running.ended()
        running.close()
    assert said.splitlines() == ["kept", "?? tool.py"]
    assert not [*(shell.world.state / "sandbox").glob("git-*")]


async def test_a_listing_of_files_has_no_stand_ins(shell: Shell) -> None:
    async with standing(shell):
        _, said = await shell.run("rg --files --hidden -g '!.git'")
    assert not {*FILES} & {*said.splitlines()}


def test_patterns_match_their_place_alone() -> None:
    top = Path("/w")
    places = [top / name for name in ("*.c", "[x]", "a\\b", "sub/.npmrc", "end ", "#x")] + [Path("/other")]
    assert git_ignores.patterns(places, top) == [
        "/\\*.c", "/\\[x\\]".replace("\\]", "]"), "/a\\\\b", "/sub/.npmrc", "/end\\ ", "/#x",
    ]  # fmt: skip


def test_of_a_file_of_patterns_without_an_end_the_first_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n\texcludesFile = ~/huge\n")
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"*.log\r\n/caf\xe9\n")
        file.truncate(2**40)
    assert git_ignores.of_person(tmp_path) == "*.log\n/caf\udce9\n"


@pytest.mark.parametrize(("count", "first"), [("", 0), ("2", 2)])
def test_settings_come_after_those_that_are_there(count: str, first: int) -> None:
    ignores = [Ignores(top=Path("/w"), git_dir=Path(f"/w{n}/.g*t"), text="") for n in range(2)]
    found = git_ignores.variables(ignores, ["/a", "/b"], {"GIT_CONFIG_COUNT": count})
    assert found == {
        "GIT_CONFIG_COUNT": str(first + 2),
        f"GIT_CONFIG_KEY_{first}": "includeIf.gitdir:/w0/.g\\*t.path",
        f"GIT_CONFIG_VALUE_{first}": "/a",
        f"GIT_CONFIG_KEY_{first + 1}": "includeIf.gitdir:/w1/.g\\*t.path",
        f"GIT_CONFIG_VALUE_{first + 1}": "/b",
    }
    assert git_ignores.variables(ignores, ["/a", "/b"], {"GIT_CONFIG_COUNT": "x"}) == {}
