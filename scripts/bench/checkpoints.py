#!/usr/bin/env python3
"""Times checkpoints against one `git status` on the same tree in the same run.

Prints one JSON object a metric: name, value, unit, floor, ratio, target. `--quick` measures 1,000
files only; AGENT_TUI_BENCH_QUICK does the same.
"""

import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from checkpoints.coverage import Limits  # noqa: E402
from checkpoints.gitprocess import environment, find_git  # noqa: E402
from checkpoints.retention import Retention, store_size  # noqa: E402
from checkpoints.rollback import Request, Rollback  # noqa: E402
from checkpoints.roots import home_of  # noqa: E402
from checkpoints.types import Cause, Phase  # noqa: E402
from checkpoints.workspace import Workspace  # noqa: E402
from scripts.measuring import QUICK, report  # noqa: E402

SIZES = {"1k": 1_000, "10k": 10_000, "50k": 50_000}
TARGETS = {"1k": (40, 40, None), "10k": (None, None, None), "50k": (300, 400, 5000)}  # unchanged, one, import
REPEATS = 7
_T = TypeVar("_T")
WORDS = [f"word{number}" for number in range(3000)]


def main() -> int:
    """Measure every size, then what 200 checkpoints cost."""
    for label, count in SIZES.items():
        if label == "1k" or not QUICK:
            with tempfile.TemporaryDirectory(prefix="bench-checkpoints-") as base:
                measure(label, count, Path(base))
    with tempfile.TemporaryDirectory(prefix="bench-checkpoints-") as base:
        measure_growth(Path(base), 40 if QUICK else 200)
    report(
        "engine resident memory, largest tree",
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "MiB",
        target="<= 100 MiB",
    )
    return 0


def measure(label: str, count: int, base: Path) -> None:
    """All times of one tree."""
    root, state_dir = base / "w", base / "state"
    make_tree(root, count, random.Random(1))
    state_dir.mkdir()
    status = git_status(root)
    core, first_ms = first_import(root, state_dir)
    unchanged, one, hundred = TARGETS[label]
    report(
        f"{label} files: first import, in the background", first_ms, "ms", floor=status, target=limit(hundred)
    )
    take = lambda: core.record(Cause(phase=Phase.TURN_START, session="bench"))  # noqa: E731
    report(
        f"{label} files: checkpoint, unchanged", median_ms(take), "ms", floor=status, target=limit(unchanged)
    )
    changing = median_ms(take, before=lambda number: edit(root, number))
    report(f"{label} files: checkpoint, one file changed", changing, "ms", floor=status, target=limit(one))
    report(
        f"{label} files: restore of 100 files, verified",
        restore_ms(root, core),
        "ms",
        floor=status,
        target="<= 500 ms",
    )
    core.close()
    again, _ = timed(lambda: first_import(root, state_dir))
    report(f"{label} files: start of the next session", again, "ms", floor=status)


def limit(milliseconds: int | None) -> str:
    """The target in words."""
    return f"<= {milliseconds} ms" if milliseconds is not None else ""


def make_tree(root: Path, count: int, rng: random.Random) -> None:
    """A repository of small text files, 25 to a folder, about 2 KB each, all committed."""
    for number in range(count):
        folder = root / f"p{number // 2500}" / f"d{number // 25}"
        if number % 25 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join(" ".join(rng.choices(WORDS, k=8)) for _ in range(rng.randint(10, 60)))
        (folder / f"f{number}.py").write_text(text + "\n")
    (root / ".gitignore").write_text("*.pyc\nnode_modules/\n")
    identity = {
        "GIT_AUTHOR_NAME": "b",
        "GIT_AUTHOR_EMAIL": "b@b",
        "GIT_COMMITTER_NAME": "b",
        "GIT_COMMITTER_EMAIL": "b@b",
    }
    for command in (["init", "-q", "."], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run(
            ["git", "-c", "gc.auto=0", *command], cwd=root, check=True, env=environment() | identity
        )


def git_status(root: Path) -> float:
    """The floor: the median of `git status` on the committed, unchanged tree, process start included."""
    command = ["git", "status", "--porcelain"]
    run = lambda: subprocess.run(command, cwd=root, check=True, capture_output=True, env=environment())  # noqa: E731
    return median_ms(run)


def first_import(root: Path, state_dir: Path) -> tuple[Workspace, float]:
    """Open the workspace and take in what is there."""
    core = Workspace(
        home_of(root, state_dir, alone=False),
        "bench",
        git=find_git(),
        limits=Limits(import_s=120),
        state_dir=state_dir,
    )
    core.open(lambda _: None)
    milliseconds, _ = timed(core.first_import)
    return core, milliseconds


def edit(root: Path, number: int) -> None:
    """Change one small file."""
    with (root / "p0" / f"d{number}" / f"f{number * 25}.py").open("a") as stream:
        stream.write(f"edit {number} {time.time_ns()}\n")


def restore_ms(root: Path, core: Workspace) -> float:
    """A rollback of 100 changed files, with checkpoint before, journal, and everything read again."""
    return statistics.median(_one_restore_ms(root, core) for _ in range(3))


def _one_restore_ms(root: Path, core: Workspace) -> float:
    before = core.record(Cause(phase=Phase.BEFORE_CALL, session="bench", step=1, call_id="c1")).row
    for number in range(100):
        path = root / "p0" / f"d{number // 4}" / f"f{number // 4 * 25 + number % 4}.py"
        path.write_text(f"changed {number} {time.time_ns()}\n")
    core.record(Cause(phase=Phase.AFTER_CALL, session="bench", step=1, call_id="c1"))
    request = Request(target=before.id, choices={})
    milliseconds, result = timed(lambda: Rollback(core).run(request))
    assert not result.mismatches
    assert len(result.changed) == 100
    return milliseconds


def measure_growth(base: Path, count: int) -> None:
    """Bytes of a store after many checkpoints of small edits, against one packed copy of the tree."""
    root, state_dir = base / "w", base / "state"
    make_tree(root, 1000, random.Random(2))
    state_dir.mkdir()
    core, _ = first_import(root, state_dir)
    packed = store_size(core.store.directory)
    for number in range(count):
        edit(root, number % 40)
        core.record(Cause(phase=Phase.TURN_START, session="bench"))
    grown = store_size(core.home.directory)
    target = packed * 1.5 + 20 * 2**20
    report(
        f"store after {count} checkpoints of small edits", grown / 2**20, "MiB", floor=packed / 2**20,
        target=f"<= {target / 2**20:.1f} MiB (1.5 x packed + 20 MiB)",
    )  # fmt: skip
    retention = Retention(core.home.directory, core.store, core.catalog)
    milliseconds, _ = timed(retention.pack)
    report("the same store, packed", store_size(core.home.directory) / 2**20, "MiB", floor=packed / 2**20)
    report("packing it", milliseconds, "ms")
    core.close()


def median_ms(work: Callable[[], object], before: Callable[[int], None] | None = None) -> float:
    """The median of a few runs; one run before them warms caches."""
    times = []
    for number in range(REPEATS + 1):
        if before is not None:
            before(number)
        milliseconds, _ = timed(work)
        times.append(milliseconds)
    return statistics.median(times[1:])


def timed(work: Callable[[], _T]) -> tuple[float, _T]:
    """Milliseconds of one run, and its result."""
    start = time.perf_counter()
    result = work()
    return (time.perf_counter() - start) * 1000, result


if __name__ == "__main__":
    shutil.which("git") or sys.exit("git is not installed")
    sys.exit(main())
