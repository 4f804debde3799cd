"""Runs sessions in processes of their own and kills them at a chosen write: `python driver.py`.

One line of JSON on stdin is one job; the answer line says how its process ended. The parent only
forks, so that a job costs no start-up; a child dies by a real SIGKILL before or after a commit.
"""

import asyncio
import hashlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from agent_tui.engine.commands import Compact, Continue, Decide, Submit
from agent_tui.engine.events import ApprovalAsked, CompactionEnded, StatusChanged, TurnEnded, TurnStarted
from agent_tui.engine.types import Config, Decision, TaskStatus
from agent_tui.models.base import ModelInfo, ModelRequest, StreamPart
from checkpoints.owner import Owner
from checkpoints.records import Record, SessionRecords
from context.view import ExchangeUnit, UserUnit
from tests.engine.fakes import Engine, FakeModel, calls, check_view, text
from tests.waiting import WAIT_S
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

BEFORE, AFTER = b"old\n", b"new\n"
KINDS = {
    "read": ("read_file", {"path": "target"}),
    "write": (
        "write_file",
        {
            "path": "target",
            "before": hashlib.sha256(BEFORE).hexdigest(),
            "after": hashlib.sha256(AFTER).hexdigest(),
        },
    ),
    "exec": ("exec_command", {"cmd": "append a line"}),
    "stdin": ("write_stdin", {"session": "t1", "chars": "x"}),
    "ask": ("ask_exec", {"cmd": "append a line"}),
}


class KillingRecords:
    """A session store that kills its process at one append."""

    def __init__(self, records: SessionRecords, at: int, when: str) -> None:
        self._records = records
        self._left = at
        self._when = when

    async def append(self, records: Sequence[Record]) -> int:
        self._left -= 1
        if self._left == 0 and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        last = await self._records.append(records)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return last

    def read(self, after: int = 0) -> AsyncIterator[Record]:
        return self._records.read(after)

    async def close(self) -> None:
        await self._records.close()


class FollowingModel(FakeModel):
    """Asks for the calls until it has seen their results, then says what it saw."""

    def __init__(self, wanted: Sequence[tuple[str, dict[str, Any]]]) -> None:
        super().__init__([])
        self._wanted = wanted

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        check_view(request.view)
        seen = [unit for unit in request.view.units if isinstance(unit, ExchangeUnit | UserUnit)]
        step = text("done") if isinstance(seen[-1], ExchangeUnit) else calls(*self._wanted)
        for part in step:
            assert not callable(part)
            yield part


async def effect(invocation: Invocation, sink: CallSink) -> Outcome:
    """The one side effect of a call: a line, and for a write the file's new content."""
    root = invocation.policy.workspace
    with (root / "effects").open("a") as effects:
        effects.write(f"{invocation.call_id}\n")
    if invocation.tool == "write_file":
        (root / "target").write_bytes(AFTER)
    invocation.spool.write_text("some output\n")
    return Outcome(status=OutcomeStatus.SUCCEEDED, text="did it", exit_code=0)


async def run_job(job: dict[str, Any]) -> None:
    """One process's life: open, go on or begin, to the end of the turn."""
    root = Path(job["root"])
    owner = Owner.take(root)
    (root / "target").touch()
    wanted = [KINDS[kind] for kind in job["kinds"]]
    config = Config(workspace=root, state_dir=root, config_dir=root, model=None, interactive=False)
    engine = Engine(root=root, model=FollowingModel(wanted), config=config)
    engine.wrap = lambda records: KillingRecords(records, job.get("kill_at", 0), job.get("when", ""))
    for tool in ("write_file", "exec_command", "write_stdin", "ask_exec"):
        engine.toolbox.behaviour[tool] = effect
    async with engine:
        await engine.wait(StatusChanged)  # the session is open
        fold = engine.session.fold
        crashed = engine.bodies(TurnEnded)  # ends that the process before could not store
        if fold.task_status is TaskStatus.PAUSED:
            engine.send(Continue())
        else:
            engine.send(Submit(text=job.get("prompt", "go")))
        answering = asyncio.create_task(_allow(engine))
        await engine.wait(TurnStarted, count=1)
        await engine.wait(TurnEnded, count=1 + len(crashed))
        answering.cancel()
    owner.release()


async def run_epoch(job: dict[str, Any]) -> None:
    """One process's life: open, compact, end."""
    root = Path(job["root"])
    owner = Owner.take(root)
    small = ModelInfo(provider="fake", model="fake", context_window=16_000, max_output=2_000)
    config = Config(workspace=root, state_dir=root, config_dir=root, model=None, interactive=False)
    engine = Engine(root=root, model=FakeModel([], small), config=config)
    engine.wrap = lambda records: KillingRecords(records, job.get("kill_at", 0), job.get("when", ""))
    async with engine:
        await engine.wait(StatusChanged)
        engine.send(Compact(focus=""))
        await engine.wait(CompactionEnded)
    owner.release()


async def _allow(engine: Engine) -> None:
    """Say yes to everything that is asked."""
    count = 0
    while True:
        count += 1
        asked = await engine.wait(ApprovalAsked, count=count)
        assert isinstance(asked, ApprovalAsked)
        engine.send(Decide(approval_id=asked.approval_id, decision=Decision.ONCE, digest=asked.digest))


def main() -> None:
    """Serve jobs until stdin ends."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            job = json.loads(line)
            asyncio.run(asyncio.wait_for((run_job if job["kinds"] else run_epoch)(job), WAIT_S))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
