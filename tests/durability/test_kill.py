import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.engine.events import CallEnded, CallStarted, Event, TurnEnded, TurnStarted
from agent_tui.engine.log import from_record
from agent_tui.engine.types import EndReason
from checkpoints.records import SessionRecords
from context.items import Item, ResponseItem, ResultItem
from context.units import read_log
from tests.durability.driver import KINDS
from tests.waiting import WAIT_S

ROOT = Path(__file__).parents[2]
KILLED = -9
SEED = int(os.environ.get("AGENT_TUI_KILL_SEED", "1"))
SAMPLE = int(os.environ.get("AGENT_TUI_KILL_POINTS", "24"))  # of all points; 0: every one of them
MAX_POINTS = 40


class Driver:
    """The process that runs jobs; see `driver`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.durability.driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def run(self, root: Path, kinds: list[str], kill_at: int = 0, when: str = "") -> int:
        """Exit code of a job, negative for a signal."""
        assert self._process.stdin is not None and self._process.stdout is not None
        root.mkdir(exist_ok=True)
        job = {"root": str(root), "kinds": kinds, "kill_at": kill_at, "when": when}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=WAIT_S)


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    started = Driver()
    yield started
    started.close()


def points() -> list[tuple[str, int, str]]:
    """Kind, number of the commit, and whether the kill comes before or after it."""
    every = [(kind, at, when) for kind in KINDS for at in range(1, 13) for when in ("before", "after")]
    return every if not SAMPLE else random.Random(SEED).sample(every, SAMPLE)


async def entries(root: Path) -> tuple[list[Item], list[Event]]:
    records = await SessionRecords.open(root / "session.db")
    found = [from_record(record) async for record in records.read()]
    await records.close()
    return (
        [one for one in found if not isinstance(one, Event)],
        [one for one in found if isinstance(one, Event)],
    )


async def check(root: Path, kinds: list[str]) -> None:
    """What must hold after any kill and the resume that follows it."""
    log, events = await entries(root)
    reading = read_log(log)
    assert reading.orphans == () and reading.incomplete == ()
    declared = [call.call_id for item in log if isinstance(item, ResponseItem) for call in item.calls]
    answered = [item.call_id for item in log if isinstance(item, ResultItem)]
    assert sorted(answered) == sorted(declared)
    effects = (root / "effects").read_text().split() if (root / "effects").exists() else []
    assert len(effects) == len(set(effects))
    started = [event.body for event in events if isinstance(event.body, CallStarted)]
    assert all(one.attempt == 1 for one in started if "read" not in kinds)
    runs = [event.body for event in events if isinstance(event.body, TurnStarted)]
    ends = [event.body for event in events if isinstance(event.body, TurnEnded)]
    assert [run.run_id for run in runs] == [end.run_id for end in ends]
    assert ends[-1].reason is EndReason.COMPLETED
    ended = [event.body for event in events if isinstance(event.body, CallEnded)]
    outcomes = {body.call_id: body.outcome for body in ended}
    assert len(outcomes) == len(ended), "each call ends once"
    for item in log:
        if isinstance(item, ResultItem) and item.call_id in outcomes:
            told = item.text.replace("\n[changed: M x]", "")
            assert told == outcomes[item.call_id].text, "what was stored before the kill is what is sent"
        if isinstance(item, ResultItem) and item.call_id not in effects and "read" not in kinds:
            assert "Outcome unknown" in item.text or "Not applied" in item.text


@pytest.mark.parametrize(("kind", "at", "when"), points())
async def test_a_kill_at_any_commit_loses_nothing_and_repeats_nothing(
    driver: Driver, tmp_path: Path, kind: str, at: int, when: str
) -> None:
    root = tmp_path / "w"
    assert driver.run(root, [kind], at, when) in (KILLED, 0)
    if not (root / "session.db").exists():
        return
    assert driver.run(root, [kind]) == 0
    await check(root, [kind])


async def test_a_batch_killed_again_and_again_is_answered_once(driver: Driver, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    root, kinds = tmp_path / "w", ["read", "exec", "write", "exec"]
    for _ in range(6):
        assert driver.run(root, kinds, rng.randint(1, 9), rng.choice(("before", "after"))) in (KILLED, 0)
    assert driver.run(root, kinds) == 0
    log, _ = await entries(root)
    assert read_log(log).incomplete == ()
    effects = (root / "effects").read_text().split()
    assert len(effects) == len(set(effects))
