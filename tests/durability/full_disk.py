"""A session on a file system that fills up; run inside a mount namespace: `full_disk.py DIR`.

Prints one JSON line: what was refused, how the turn ended, how often the effect happened, and that
everything reported as done is there after a restart.
"""

import asyncio
import json
import sys
from pathlib import Path

from agent_tui.engine.commands import Continue, Submit
from agent_tui.engine.events import Refused, StatusChanged, TurnEnded
from agent_tui.engine.types import Config
from context.items import ResultItem
from tests.engine.fakes import Engine, FakeModel, calls, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus


async def run(root: Path) -> dict[str, object]:
    ballast = root / "ballast"
    effects: list[str] = []

    async def effect(invocation: Invocation, sink: CallSink) -> Outcome:
        effects.append(invocation.call_id)
        if len(effects) == 2:
            fill(ballast)
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="x" * 10_000, exit_code=0)

    script = [calls(("exec_command", {"cmd": str(n)})) for n in range(4)]
    config = Config(workspace=root, state_dir=root, config_dir=root, model=None)
    engine = Engine(root=root, model=FakeModel([*script, text("done")]), config=config)
    engine.toolbox.behaviour["exec_command"] = effect
    async with engine:
        engine.send(Submit(text="go"))
        full = await engine.wait(TurnEnded)
        assert isinstance(full, TurnEnded)
        when_full = len(effects)
        engine.send(Submit(text="more"))
        refused = await engine.wait(Refused)
        assert isinstance(refused, Refused)
        ballast.unlink()
        engine.send(Continue())
        ended = await engine.wait(TurnEnded, count=2)
        assert isinstance(ended, TurnEnded)
    again = Engine(root=root, model=FakeModel([]), config=config)
    async with again:
        await again.wait(StatusChanged)
        results = [item.call_id for item in again.session.fold.log if isinstance(item, ResultItem)]
    return {
        "full": full.reason,
        "error": full.error,
        "refused": refused.reason,
        "effects_when_full": when_full,
        "ended": ended.reason,
        "effects": effects,
        "results": results,
    }


def fill(ballast: Path) -> None:
    """Take every byte that is left."""
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 512):
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    break


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Path(sys.argv[1])))))
