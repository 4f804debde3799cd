"""What the tests of checkpoints share: a workspace beside a state directory, and sessions in it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkpoints.coverage import Limits
from checkpoints.gitprocess import Git, find_git
from tests.checkpoints.sessions import Session

OpenSession = Callable[..., Session]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the workspace and the state directory lie."""
    return tmp_path


@pytest.fixture
def root(place: Path) -> Path:
    path = place / "w"
    path.mkdir()
    return path


@pytest.fixture
def state_dir(place: Path) -> Path:
    path = place / "state"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def git() -> Git:
    found = find_git()
    if found is None:
        pytest.skip("git is not installed")
    return found


@pytest.fixture
def open_session(root: Path, state_dir: Path, git: Git) -> Iterator[OpenSession]:
    """Opens a session of the workspace as it is then; all are closed at the end."""
    opened: list[Session] = []

    def start(
        name: str = "s1",
        *,
        at: Path = root,
        limits: Limits | None = None,
        targeted: str = "",
        plain: bool = False,
    ) -> Session:
        opened.append(
            Session(at, state_dir, name, git=None if plain else git, limits=limits, targeted=targeted)
        )
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.fixture
def no_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that cannot share blocks, also where the one of the tests can."""
    monkeypatch.setattr("checkpoints.clones._FICLONE", 0x4004940F)  # no such request


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
