"""`scripts/start` and its kin on machines that lack something, with stand-ins for what they start."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.program import ROOT

PYTHON = """#!/bin/sh
case "$*" in
*version_info*) {version} ;;
*ensurepip*) {ensurepip} ;;
*check_sandbox*) {sandbox} ;;
*sysconfig*) echo "$(dirname "$0")" ;;
*compileall*) exit 0 ;;
*pip*) echo "pip $*" >&2 ;;
*venv*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
*) printf '<%s>' "$@" ;;
esac
"""


class Checkout:
    """A copy of the scripts, with a search path of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root / "check out"
        self.bin = root / "bin"
        self.bin.mkdir()
        shutil.copytree(ROOT / "scripts", self.root / "scripts", ignore=shutil.ignore_patterns("bench"))
        for name in ("sh", "cat", "cmp", "dirname", "basename", "readlink", "mkdir", "cp", "chmod", "touch"):
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)

    def python(
        self, *, version: str = "echo 3.11", ensurepip: str = "exit 0", sandbox: str = "exit 0"
    ) -> None:
        """Put a stand-in for Python on the path."""
        path = self.bin / "python3"
        path.write_text(PYTHON.format(version=version, ensurepip=ensurepip, sandbox=sandbox))
        path.chmod(0o755)

    def start(self, *argv: str, by: Path | None = None, cwd: Path | None = None) -> "Done":
        """Run `scripts/start`, or a link to it, without a terminal."""
        command: Sequence[str | Path] = [by or self.root / "scripts" / "start", *argv]
        done = subprocess.run(
            command,
            cwd=cwd or self.root,
            env={"PATH": str(self.bin), "HOME": str(self.root)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)


class Done:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_no_python_names_the_package(checkout: Checkout) -> None:
    done = checkout.start("--version")
    assert done.code == 5
    assert "no Python 3.11 or newer" in done.err
    assert "apt-get install python3 python3-venv" in done.err


def test_an_old_python_is_passed_over_for_a_newer_one(checkout: Checkout) -> None:
    checkout.python(version="exit 1")
    assert "no Python 3.11 or newer" in checkout.start("--version").err
    checkout.python()
    (checkout.bin / "python3").rename(checkout.bin / "python3.12")
    checkout.python(version="exit 1")
    assert checkout.start("--version").out == "<-I><-m><agent_tui><--version>"


def test_a_python_without_ensurepip_names_the_package(checkout: Checkout) -> None:
    checkout.python(ensurepip="exit 1")
    done = checkout.start("--version")
    assert done.code == 5
    assert "apt-get install python3.11-venv" in done.err


def test_the_first_run_installs_from_the_lock_and_the_second_does_not(checkout: Checkout) -> None:
    checkout.python()
    first = checkout.start("exec", "two words")
    assert first.out == "<-I><-m><agent_tui><exec><two words>"
    assert "--require-hashes" in first.err
    assert "requirements.lock" in first.err
    second = checkout.start("exec", "x")
    assert (second.out, second.err) == ("<-I><-m><agent_tui><exec><x>", "")
    (checkout.root / "scripts" / "requirements.lock").write_text("other\n")
    assert "installing the locked packages" in checkout.start("--version").err


def test_it_works_through_a_link_from_anywhere(checkout: Checkout, tmp_path: Path) -> None:
    checkout.python()
    link = tmp_path / "go"
    link.symlink_to(checkout.root / "scripts" / "start")
    done = checkout.start("doctor", by=link, cwd=tmp_path)
    assert done.out == "<-I><-m><agent_tui><doctor>"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "check out", "go"]
    assert (checkout.root / ".venv").is_dir()


def test_without_a_terminal_and_arguments_the_demo_runs(checkout: Checkout) -> None:
    checkout.python()
    assert checkout.start().out == "<-I><-m><agent_tui><demo><--yes>"


def test_what_the_sandbox_lacks_is_said_each_time_until_it_works(checkout: Checkout) -> None:
    checkout.python(sandbox="echo 'start: sandbox: install bubblewrap'; exit 1")
    for _ in range(2):
        done = checkout.start("--version")
        assert "install bubblewrap" in done.err
        assert done.out == "<-I><-m><agent_tui><--version>"
    shutil.rmtree(checkout.root / ".venv")
    checkout.python()
    assert "bubblewrap" not in checkout.start("--version").err


@pytest.mark.skipif(not (ROOT / ".venv").exists(), reason="this checkout has no environment")
def test_a_program_in_python_goes_on_in_the_environment(tmp_path: Path) -> None:
    done = subprocess.run([ROOT / "scripts" / "drills", "none"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("duplicate message, tool fault\n"), "it could import everything"


@pytest.mark.parametrize("name", ["start", "test", "lint", "lock"])
def test_scripts_are_executable_and_plain_shell(name: str) -> None:
    path = ROOT / "scripts" / name
    assert os.access(path, os.X_OK)
    assert path.read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", path]).returncode == 0
