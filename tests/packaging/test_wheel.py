"""The wheel: what is in it, and that nobody else's packages of the same names get into the program."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui import __version__
from tests.program import ROOT

SIBLINGS = ("tools", "context", "sandbox", "checkpoints")
TRAP = "raise SystemExit('a foreign package was imported: ' + __name__)\n"


@dataclass(frozen=True)
class Installed:
    """A clean environment with the wheel in it."""

    python: Path
    script: Path
    site: Path
    home: Path

    def run(self, *argv: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
        """Standard output of a start that has to succeed."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            argv, cwd=cwd, env=base | dict(env or {}), capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(target.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Laid out as an installer does it; the libraries come from the environment of the tests."""
    root = tmp_path_factory.mktemp("installed")
    venv.create(root, with_pip=False, symlinks=True)
    python = root / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        entry = archive.read(next(n for n in archive.namelist() if n.endswith("entry_points.txt"))).decode()
    assert "agent-tui = agent_tui.__main__:main" in entry
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    script = root / "bin" / "agent-tui"
    script.write_text(f"#!{python}\nimport sys\nfrom agent_tui.__main__ import main\nsys.exit(main())\n")
    script.chmod(0o755)
    home = root / "home"
    home.mkdir()
    return Installed(python=python, script=script, site=site, home=home)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A project that has the four names itself: packages, modules, and a folder without `__init__`."""
    for name in ("tools", "sandbox"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(TRAP)
    (tmp_path / "context.py").write_text(TRAP)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "types.py").write_text(TRAP)
    return tmp_path


def starts(installed: Installed) -> Iterator[tuple[str | Path, ...]]:
    """Every way of starting the program."""
    yield (installed.script,)
    yield (installed.python, "-m", "agent_tui")
    yield (installed.python, "-P", "-m", "agent_tui")


def works(installed: Installed, cwd: Path, env: Mapping[str, str] | None = None) -> None:
    """Each start loads all four packages, from the wheel."""
    for start in starts(installed):
        assert installed.run(*start, "--version", cwd=cwd, env=env) == f"agent-tui {__version__}\n"
        assert "auto" in installed.run(*start, "debug", "classify", "git status", cwd=cwd, env=env)
        report = installed.run(*start, "doctor", "-m", "demo/scripted", cwd=cwd, env=env)
        assert report.count("/agent_tui/_bundled/") == len(SIBLINGS)


def test_only_the_program_reaches_site_packages(wheel: Path) -> None:
    assert wheel.name.startswith(f"agent_tui-{__version__}-")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"agent_tui"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".orig"))]
    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]
    assert "agent_tui/py.typed" in names
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
    for name in SIBLINGS:
        assert f"agent_tui/_bundled/{name}/__init__.py" in names
        assert f"agent_tui/_bundled/{name}/py.typed" in names


def test_every_file_of_the_packages_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    missing = []
    for package in ("agent_tui", *SIBLINGS):
        for path in (ROOT / package).rglob("*"):
            place = path.relative_to(ROOT).as_posix()
            place = place if package == "agent_tui" else f"agent_tui/_bundled/{place}"
            if path.is_file() and "__pycache__" not in path.parts and place not in names:
                missing.append(place)
    assert missing == []


def test_it_runs_in_an_ordinary_directory(installed: Installed, tmp_path: Path) -> None:
    works(installed, tmp_path)


def test_a_project_with_the_same_names_is_not_imported(installed: Installed, hostile: Path) -> None:
    works(installed, hostile)


def test_nor_is_a_hostile_search_path(installed: Installed, hostile: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    works(installed, elsewhere, {"PYTHONPATH": f"{hostile}:."})


def test_another_distribution_with_the_same_names_is_left_alone(installed: Installed, tmp_path: Path) -> None:
    foreign = installed.site / "tools"
    foreign.mkdir()
    (foreign / "__init__.py").write_text("theirs = True\n")
    works(installed, tmp_path)
    assert (
        installed.run(installed.python, "-c", "import tools; print(tools.theirs)", cwd=tmp_path) == "True\n"
    )
    (foreign / "__init__.py").unlink()
    works(installed, tmp_path)  # what is left of it is a namespace package
    shutil.rmtree(foreign)
    works(installed, tmp_path)


def test_a_process_that_has_a_foreign_one_loaded_is_told(installed: Installed, hostile: Path) -> None:
    (hostile / "tools" / "__init__.py").write_text("")
    code = "import sys; sys.path.insert(0, '.'); import tools; import agent_tui"
    done = subprocess.run([installed.python, "-c", code], cwd=hostile, capture_output=True, text=True)
    assert done.returncode != 0
    assert "`tools` is already loaded from" in done.stderr


def test_the_checkout_is_no_less_careful(hostile: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(hostile), "PYTHONPATH": f"{hostile}:{ROOT}"}
    command = [sys.executable, "-m", "agent_tui", "debug", "classify", "git status"]
    done = subprocess.run(command, cwd=hostile, env=env, capture_output=True, text=True)
    assert (done.returncode, "auto" in done.stdout) == (0, True), done.stdout + done.stderr
