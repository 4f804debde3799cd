"""A denial is told by evidence: the same words without it are an ordinary failure."""

from pathlib import Path

import pytest

from sandbox.denials import find
from sandbox.policy import Mode
from tests.sandbox.conftest import Shell
from tests.sandbox.worlds import World


def judged(world: World, said: str, **policy: object) -> tuple[str, str] | None:
    found = find(said, policy=world.policy(**policy), cwd=world.ws, environ=world.environ())
    return (found.grant, found.detail) if found else None


@pytest.mark.parametrize(
    "said",
    [
        "bash: line 1: {path}: Read-only file system",
        "/bin/bash: line 1: {path}: Read-only file system",
        "/bin/sh: 1: cannot create {path}: Read-only file system",
        "OSError: [Errno 30] Read-only file system: '{path}'",
        "Error: EROFS: read-only file system, open '{path}'",
        "touch: cannot touch '{path}': Read-only file system",
        "mkdir: cannot create directory ‘{path}’: Read-only file system",
        "error: failed to write `{path}`: Read-only file system (os error 30)",
        "PermissionError: [Errno 13] Permission denied: '{path}'",
    ],
)
def test_the_path_of_a_refused_write_is_named(world: World, said: str) -> None:
    path = world.home / ".profile"
    assert judged(world, said.format(path=path)) == ("write_path", str(path))


def test_a_missing_file_is_granted_through_its_directory(world: World) -> None:
    assert judged(world, f"{world.out}/a/b: Read-only file system") == ("write_path", str(world.out))
    hidden = f"bash: {world.out}/new: No such file or directory"
    assert judged(world, hidden) == ("read_path", str(world.out))


def test_a_new_file_of_the_home_needs_more_than_a_path(world: World) -> None:
    found = judged(world, f"bash: {world.home}/.new: Read-only file system")
    assert found == ("no_sandbox", f"{world.home}/.new")


def test_git_data_needs_the_lane_and_hooks_need_a_path(world: World) -> None:
    lock = f"{world.ws}/.git/index.lock"
    said = f"fatal: Unable to create '{lock}': Read-only file system"
    assert judged(world, said) == ("git_lane", lock)
    hook = world.ws / ".git" / "hooks" / "pre-commit"
    assert judged(world, f"cp: '{hook}': Read-only file system") == ("write_path", str(hook))
    assert judged(world, said, mode=Mode.READ_ONLY) == ("write_path", lock)


def test_the_lock_of_a_repository_is_named_without_the_words_around_it(world: World) -> None:
    said = "error: could not lock config file .git/config: Read-only file system"
    assert judged(world, said) == ("write_path", f"{world.ws}/.git/config")


def test_a_path_with_a_blank_is_named_whole(world: World) -> None:
    path = world.out / "two words"
    assert judged(world, f"bash: line 1: {path}: Read-only file system") == ("write_path", str(world.out))
    path.write_text("x")
    assert judged(world, f"cat: {path}: No such file or directory") == ("read_path", str(path))


def test_the_shell_that_speaks_is_not_what_was_refused(world: World) -> None:
    hidden = f"/bin/bash: line 1: {world.out}/new: No such file or directory"
    assert judged(world, hidden) == ("read_path", str(world.out))
    assert judged(world, "/bin/bash: line 1: nothing.txt: No such file or directory") is None
    assert judged(world, "/bin/bash: line 1: .envrc: Read-only file system") == (
        "write_path",
        f"{world.ws}/.envrc",
    )


def test_a_protected_name_is_named(world: World) -> None:
    assert judged(world, "bash: line 1: ./.npmrc: Read-only file system") == (
        "write_path",
        f"{world.ws}/.npmrc",
    )


def test_a_file_that_exists_only_outside_can_be_granted(world: World) -> None:
    secret = world.out / "secret"
    assert judged(world, f"cat: {secret}: No such file or directory") == ("read_path", str(secret))
    assert judged(world, f"cat: {secret}: No such file or directory", readable=(world.out,)) is None


def test_a_program_outside_is_named_by_its_directory(world: World) -> None:
    tools = world.out / "bin"
    tools.mkdir()
    (tools / "mytool").write_text("#!/bin/sh\n")
    (tools / "mytool").chmod(0o755)
    environ = world.environ() | {"PATH": f"{tools}:/usr/bin"}
    said = "bash: line 1: mytool: command not found"
    found = find(said, policy=world.policy(), cwd=world.ws, environ=environ)
    assert found is not None
    assert (found.grant, found.detail) == ("read_path", str(tools))


@pytest.mark.parametrize(
    ("said", "grant", "detail"),
    [
        ("curl: (6) Could not resolve host: example.com", "host", "example.com:443"),
        (
            "fatal: 'https://git.example.org/x.git/': Could not resolve host: git.example.org",
            "host",
            "git.example.org:443",
        ),
        (
            "npm error request to http://pkg.example.net:8080/x failed: getaddrinfo EAI_AGAIN",
            "host",
            "pkg.example.net:8080",
        ),
        ("failed to resolve http://EXAMPLE.net/x", "host", "example.net:80"),
        ("dial tcp: lookup proxy.example.org: no such host", "host", "proxy.example.org:443"),
        ("dial tcp 192.0.2.1:80: network is unreachable", "network", "192.0.2.1"),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "network", ""),
        ("OSError: [Errno 101] Network is unreachable", "network", ""),
    ],
)
def test_the_host_is_the_grant_when_the_network_is_off(
    world: World, said: str, grant: str, detail: str
) -> None:
    assert judged(world, said) == (grant, detail)
    assert judged(world, said, network=True) is None
    found = judged(world, said, hosts=("example.com:443",))
    assert found is not None and found[0] == "network", "it had a way to single hosts and did not take it"


@pytest.mark.parametrize(
    "said",
    [
        "cat: nothing.txt: No such file or directory",
        "bash: line 1: nosuchtool: command not found",
        "E   assert 1 == 2",
        "bash: ./a.txt: Permission denied",
        "ls: cannot access '/nowhere/at/all': No such file or directory",
        "connect: Connection refused",
        "error: could not find `Cargo.toml` in `/tmp/x`",
    ],
)
def test_ordinary_failures_stay_ordinary(world: World, said: str) -> None:
    assert judged(world, said) is None


def test_our_own_state_is_never_offered(world: World) -> None:
    assert judged(world, f"cat: {world.state}/sessions: No such file or directory") is None
    assert judged(world, f"ls: {world.home}: No such file or directory") is None


def test_with_the_sandbox_off_nothing_is_a_denial(world: World) -> None:
    assert judged(world, f"{world.home}/.profile: Read-only file system", mode=Mode.OFF) is None


async def test_what_really_happens_is_recognised(shell: Shell) -> None:
    for script, grant, detail in (
        ("echo x > ~/.profile", "write_path", "~/.profile"),
        ("git commit --allow-empty -m x", "git_lane", ".git"),
        ("curl -sS http://example.com/", "host", "example.com"),
        (f"cat {shell.world.out}/secret", "read_path", "secret"),
        ("unshare -U true", "no_sandbox", "namespaces"),
    ):
        ended, said = await shell.run(script)
        assert ended.code != 0
        found = find(said, policy=shell.world.policy(), cwd=shell.world.ws, environ=shell.world.environ())
        assert found is not None, said
        assert found.grant == grant, said
        assert "sandbox" not in found.text, "the reader says whose denial it is"
        assert detail in found.text
        assert Path(found.detail).is_absolute() or grant in ("host", "no_sandbox")
