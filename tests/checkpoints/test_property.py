"""Design c.9: any tree, any edits, by agent and user; a rollback gives back exactly the agent's part."""

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints.gitprocess import Git
from tests.checkpoints.sessions import Session
from tests.checkpoints.trees import Editor, Manifest, git_manifest, manifest

CASES = int(os.environ.get("AGENT_TUI_PROPERTY_CASES", "80"))
FIRST_SEED = int(os.environ.get("AGENT_TUI_PROPERTY_SEED", "0"))
BATCHES = 4
IDENTITY = {f"GIT_{who}_{what}": "u@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what is proved here does not depend on the disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="agent-tui-test-", dir=memory) as folder:
        yield Path(folder)


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.timeout(0)
def test_rollback_gives_back_exactly_what_the_agent_changed(batch: int, quick: Path, git: Git) -> None:
    for seed in range(FIRST_SEED + batch, FIRST_SEED + CASES, BATCHES):
        folder = quick / str(seed)
        folder.mkdir()
        try:
            _one_case(folder, random.Random(seed), git)
        except BaseException as error:
            error.add_note(f"seed {seed}: AGENT_TUI_PROPERTY_SEED={seed} AGENT_TUI_PROPERTY_CASES={seed + 1}")
            raise
        shutil.rmtree(folder)


def _one_case(folder: Path, rng: random.Random, git: Git) -> None:
    root, state = folder / "w", folder / "state"
    root.mkdir()
    state.mkdir()
    editor = Editor(root, rng)
    editor.grow(editor.root, 0)
    _maybe_repositories(root, rng)
    repositories = git_manifest(root)
    session = Session(root, state, git=git)
    try:
        _play_and_go_back(session, editor, rng)
    finally:
        session.close()
    assert git_manifest(root) == repositories


def _maybe_repositories(root: Path, rng: random.Random) -> None:
    """An outer repository, a nested one with a commit, one without, each with files."""
    commands = []
    if rng.random() < 0.4:
        commands.append("git init -q . && git add -A . && git commit -q -m one --allow-empty")
    if rng.random() < 0.4:
        commands.append("mkdir -p sub && git init -q sub && echo x > sub/inner.txt")
    if rng.random() < 0.2:
        committed = "git -C sub2 add -A && git -C sub2 commit -q -m one"
        commands.append(f"mkdir -p sub2 && git init -q sub2 && echo y > sub2/y && {committed}")
    for command in commands:
        subprocess.run(command, shell=True, cwd=root, check=True, env={**os.environ, **IDENTITY})


def _play_and_go_back(session: Session, editor: Editor, rng: random.Random) -> None:
    states: list[tuple[str, Manifest]] = []
    blame: list[tuple[str, Manifest, Manifest]] = []  # who, before, after; in order
    for _ in range(rng.randint(1, 4)):
        _user_edits(session.root, editor, rng, blame)
        states.append((session.before().row.id, manifest(session.root)))
        before = manifest(session.root)
        blame.append(("agent", before, before))
        for _ in range(rng.randint(0, 5)):
            editor.edit()
        blame[-1] = ("agent", before, manifest(session.root))
        session.after()
    _user_edits(session.root, editor, rng, blame)
    present = manifest(session.root)
    index = rng.randrange(len(states))
    target, then = states[index]
    result = session.rollback(target)
    since = [entry for entry in blame if _is_since(entry, blame, index)]
    assert not result.mismatches, result
    assert manifest(session.root) == _expected(then, present, since)
    redone = session.redo()
    assert not redone.mismatches, redone
    assert manifest(session.root) == present


def _is_since(
    entry: tuple[str, Manifest, Manifest], blame: list[tuple[str, Manifest, Manifest]], index: int
) -> bool:
    """Whether an edit came after the target: the agent's edit number `index` and all that follow."""
    agent = [position for position, one in enumerate(blame) if one[0] == "agent"]
    return blame.index(entry) >= agent[index]


def _user_edits(
    root: Path, editor: Editor, rng: random.Random, blame: list[tuple[str, Manifest, Manifest]]
) -> None:
    before = manifest(root)
    for _ in range(rng.randint(0, 2)):
        rng.choice([editor.change, editor.change_unseen, editor.create, editor.bits, editor.remove])()
    after = manifest(root)
    if before != after:
        blame.append(("user", before, after))


def _expected(then: Manifest, present: Manifest, since: list[tuple[str, Manifest, Manifest]]) -> Manifest:
    """What the user touched since stays; all else is as then; folders stay while something is in them."""
    theirs = {
        path
        for who, before, after in since
        if who == "user"
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }
    wanted: Manifest = {}
    for path in then.keys() | present.keys():
        entry = present.get(path) if path in theirs else then.get(path)
        if entry is not None:
            wanted[path] = entry
    return _possible(wanted, theirs, then, present)


def _possible(wanted: Manifest, theirs: set[bytes], then: Manifest, present: Manifest) -> Manifest:
    """What stays of the user keeps the folders it is in, and the place it has taken from a folder."""
    for path in sorted(theirs & wanted.keys()):
        for above in _above(path):
            if wanted.get(above, ("",))[0] != "folder":
                wanted[above] = present[above]
    for path in list(wanted):
        for above in _above(path):
            if above not in wanted:  # the user removed what stood there; what comes back needs its folder
                wanted[above] = then[above]
    return {
        path: entry
        for path, entry in wanted.items()
        if all(wanted.get(above, ("folder",))[0] == "folder" for above in _above(path))
    }


def _above(path: bytes) -> list[bytes]:
    found = []
    while path := path.rpartition(b"/")[0]:
        found.append(path)
    return found
