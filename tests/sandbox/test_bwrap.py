"""The arguments of bwrap, word for word, for made-up machines."""

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.bwrap import Fds, Host, Kind, Layers, Mount, arguments
from sandbox.policy import Limits, Mode, Policy

FDS = Fds(seccomp=5, status=6, block=7, files={"gitconfig": 9, "gitignore": 10})
GOLDEN = Path(__file__).parent / "golden"
POLICY = Policy(
    mode=Mode.WORKSPACE_WRITE,
    workspace=Path("/home/u/w"),
    state_dir=Path("/home/u/.local/state/agent-tui"),
    limits=Limits(tmp_bytes=1000),
)


def bound(kind: Kind, path: str) -> Mount:
    return Mount(kind=kind, source=path, target=path)


USER = Host(
    home="/home/u",
    system=(
        bound(Kind.READ, "/usr"),
        bound(Kind.READ, "/etc"),
        Mount(kind=Kind.LINK, source="usr/bin", target="/bin"),
    ),
    hidden=(),
    home_parts=(Mount(kind=Kind.TMPFS, target="/home/u"), bound(Kind.READ_IF_THERE, "/home/u/.cargo/bin")),
    kernel=("/proc/sys",),
)
ROOT = replace(
    USER,
    hidden=(Mount(kind=Kind.READ, source="/dev/null", target="/etc/shadow"),),
    kernel=("/proc/sys", "/proc/fs"),
)
PINNED = Layers(
    granted=(bound(Kind.READ, "/srv/sdk"), bound(Kind.WRITE, "/srv/out")),
    pins=(bound(Kind.READ, "/home/u/w/.git"), bound(Kind.READ, "/home/u/w/.npmrc")),
    approved=(bound(Kind.WRITE, "/home/u/w/.npmrc"),),
    covers=(Mount(kind=Kind.TMPFS, target="/home/u/.ssh"),),
)
CASES = {
    "read-only": (replace(POLICY, mode=Mode.READ_ONLY), USER, Layers(), True, {}),
    "workspace-write": (POLICY, USER, PINNED, True, {"A": "b c"}),
    "workspace-write-root": (POLICY, ROOT, PINNED, True, {}),
    "terminal": (POLICY, USER, Layers(), False, {}),
    "network": (
        replace(POLICY, network=True),
        replace(USER, resolver="/run/systemd/resolve/stub-resolv.conf"),
        Layers(),
        True,
        {},
    ),
    "session-temp": (replace(POLICY, temp_dir=Path("/state/tmp")), USER, Layers(), True, {}),
    "home-as-workspace": (
        replace(POLICY, workspace=Path("/home/u")),
        replace(USER, home=None, home_parts=()),
        Layers(),
        True,
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_arguments_are_exactly_these(name: str, request: pytest.FixtureRequest) -> None:
    policy, host, layers, new_session, env = CASES[name]
    words = arguments(
        policy,
        host,
        layers=layers,
        cwd=policy.workspace,
        fds=FDS,
        new_session=new_session,
        env=env,
    )
    text = (
        "\n".join(words)
        .replace("\n--", "\n\n--")
        .replace("\n\n", "\0")
        .replace("\n", " ")
        .replace("\0", "\n")
        + "\n"
    )
    golden = GOLDEN / f"{name}.txt"
    if not golden.exists():
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
        pytest.fail(f"{golden} is new; look at it and keep it")
    assert text == golden.read_text()


def test_the_workspace_is_opened_before_it_is_pinned_and_everything_is_closed_last() -> None:
    words = arguments(
        POLICY,
        ROOT,
        layers=PINNED,
        cwd=POLICY.workspace,
        fds=FDS,
        new_session=True,
        env={},
    )
    line = " ".join(words)
    order = [
        "--proc /proc",
        "--ro-bind /proc/sys /proc/sys",
        "--file 9 ",  # where bwrap waits for the stand-ins
        "--tmpfs /home/u ",
        "--bind /home/u/w /home/u/w",
        "--ro-bind /home/u/w/.npmrc",
        "--bind /home/u/w/.npmrc",
        "--tmpfs /home/u/.ssh",
        "--remount-ro /home/u ",
        "--remount-ro / ",
    ]
    places = [line.index(part) for part in order]
    assert places == sorted(places)
