"""Steers at random moments against the model server, which checks every request as a provider does."""

import asyncio
import os
import random
from contextlib import aclosing
from pathlib import Path

import pytest

from agent_tui.engine.commands import Interrupt, Submit
from agent_tui.engine.events import InputAccepted, InputDelivered, InputReturned, TurnEnded
from agent_tui.engine.types import Config
from context.items import UserItem
from tests.engine.fakes import Engine
from tests.model_server.fixture import ModelServer
from tests.models.views import DIALECTS, model_at
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus

MOMENTS = int(os.environ.get("AGENT_TUI_STEER_MOMENTS", "4"))  # 20 for the full run


async def work(invocation: Invocation, sink: CallSink) -> Outcome:
    try:
        await asyncio.sleep(0.002)
    except asyncio.CancelledError:
        return Outcome(status=OutcomeStatus.INTERRUPTED, text="half")
    return Outcome(status=OutcomeStatus.SUCCEEDED, text="did it")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seed", range(MOMENTS))
async def test_a_steer_at_any_moment_keeps_every_request_legal(
    model_server: ModelServer, tmp_path: Path, dialect: str, seed: int
) -> None:
    rng = random.Random(seed)
    model_server.allow_unplayed = True
    batches = [
        [{"tool": "exec_command", "arguments": {"cmd": f"{n}.{k}"}} for k in range(rng.randint(1, 3))]
        for n in range(4)
    ]
    steps = [
        {"text": f"step {n}", "piece": 2, "delay_s": 0.001, "calls": batch} for n, batch in enumerate(batches)
    ]
    model_server.script([*steps, *[{"text": "done", "piece": 1, "delay_s": 0.001}] * 6])
    config = Config(workspace=tmp_path, state_dir=tmp_path, config_dir=tmp_path, model=None)
    model = model_at(model_server, dialect)
    run = Engine(root=tmp_path, model=model, config=config, in_memory=True)  # type: ignore[arg-type] # a real one
    async with aclosing(model), run:
        run.toolbox.behaviour["exec_command"] = work
        run.send(Submit(text="go"))
        await run.wait(InputDelivered)
        await asyncio.sleep(rng.random() * 0.12)
        run.send(Submit(text="the steer", now=rng.random() < 0.4))
        if rng.random() < 0.3:
            run.send(Interrupt())
        await run.wait(InputAccepted, count=2)
        await run.wait(InputDelivered, InputReturned, count=2)
        await run.idle()
        run.send(Submit(text="and then"))
        await run.wait(TurnEnded, count=len(run.bodies(TurnEnded)) + 1)
        await run.idle()
    said = [item.text for item in run.session.fold.log if isinstance(item, UserItem)]
    returned = [body.text for body in run.bodies(InputReturned)]
    assert said.count("the steer") + returned.count("the steer") == 1
    assert said[-1] == "and then"
