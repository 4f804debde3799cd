"""Random walks: `exec --stdin-commands` driven with random orders at random moments, with real tools.

Whatever the order, the process ends in bounded time, its store is valid, each message is delivered once
or given back once, and no effect happens twice.
"""

import json
import os
import random
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agent_tui.engine.events import (
    Event,
    InputAccepted,
    InputDelivered,
    InputReturned,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.log import from_record
from agent_tui.engine.states import States
from checkpoints.records import SessionRecords
from context.items import Item, ResponseItem, ResultItem, UserItem
from context.units import read_log
from tests.e2e.project import call
from tests.e2e.running import Running, running
from tests.model_server.fixture import ModelServer
from tests.program import Program
from tests.waiting import WAIT_S

SEEDS = range(
    int(os.environ.get("AGENT_TUI_WALK_SEED", "1")),
    int(os.environ.get("AGENT_TUI_WALK_SEED", "1")) + int(os.environ.get("AGENT_TUI_WALKS", "2")),
)
ORDERS = 14
BROKEN = ("", "{", "[]", '"steer"', '{"type": "steer"}', '{"type": "fly"}', '{"type": "decide"}', "\x00")
KINDS = (
    "steer steer now queue prompt interrupt force pause continue cancel decide decide answer wrong broken"
).split()
CODES = {0, 3, 4, 130}


class Walk:
    """One driven run: what was asked of the driver, and what it said."""

    def __init__(self, run: Running, rng: random.Random) -> None:
        self.run = run
        self.texts: list[str] = []
        self._rng = rng
        self._asked: dict[str, dict[str, Any]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.run.process.stdout is not None
        for line in self.run.process.stdout:
            event = json.loads(line)
            self.run.seen.append(event)
            item = event.get("item", {})
            if item.get("type") in ("approval", "question"):
                if event["type"] == "item.started":
                    self._asked[item["id"]] = item
                else:
                    self._asked.pop(item["id"], None)

    def go(self) -> None:
        """Give the orders, each after a moment of its own, and end the input."""
        stdin = self.run.process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):
            for number in range(ORDERS):
                time.sleep(self._rng.choice((0.0, 0.0, 0.01, 0.05, 0.2)))
                stdin.write(self._line(number) + "\n")
                stdin.flush()
            time.sleep(self._rng.choice((0.0, 0.3)))
        with suppress(BrokenPipeError):
            stdin.close()

    def end(self) -> tuple[int, str]:
        """Wait for the end; fails when it does not come."""
        assert self.run.process.stderr is not None
        try:
            code = self.run.process.wait(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end: {self.run.seen[-5:]}") from None
        self._reader.join(timeout=WAIT_S)
        return code, self.run.process.stderr.read()

    def _line(self, number: int) -> str:
        kind = self._rng.choice(KINDS)
        match kind:
            case "steer" | "queue" | "prompt" | "now":
                self.texts.append(f"text-{number}-end")
                order = {
                    "type": "steer" if kind == "now" else kind,
                    "text": self.texts[-1],
                    "now": kind == "now",
                }
            case "broken":
                return self._rng.choice(BROKEN)
            case "decide" | "answer" | "wrong":
                order = self._reply(kind)
            case "force":
                order = {"type": "interrupt", "force": True}
            case _:
                order = {"type": kind}
        return json.dumps(order)

    def _reply(self, kind: str) -> dict[str, Any]:
        asked = list(self._asked.values())
        if not asked:
            return {"type": "answer", "id": "q99", "text": "nobody asked"}
        item = self._rng.choice(asked)
        if item["type"] == "question":
            return {"type": "answer", "id": item["id"], "text": "so be it"}
        digest = "wrong" if kind == "wrong" else item["digest"]
        decision = self._rng.choice(["once", "deny", "session", "deny_and_pause"])
        return {"type": "decide", "id": item["id"], "decision": decision, "digest": digest}


def script(rng: random.Random) -> list[dict[str, Any]]:
    """What the model asks for: quick and slow commands, files, questions, words."""
    steps: list[dict[str, Any]] = []
    for number in range(30):
        calls = [one_call(rng, f"{number}.{place}") for place in range(rng.randint(1, 3))]
        words = {"text": f"answer {number}", "piece": 2, "delay_s": 0.02}
        steps.append(words if rng.random() < 0.35 else {"calls": calls, "delay_s": rng.choice((0, 0.02))})
    return [*steps, {"text": "the last words"}]


def one_call(rng: random.Random, name: str) -> dict[str, Any]:
    patch = f"*** Begin Patch\n*** Add File: f{name}\n+x\n*** End Patch"
    return rng.choice(
        [
            call("exec_command", cmd=f"echo {name} >> effects"),
            call("exec_command", cmd=f"echo {name} >> effects; sleep 0.4"),
            call("exec_command", cmd=f"echo {name} >> effects; sleep 3", yield_ms=250),
            call("exec_command", cmd=f"echo {name} >> effects", needs="network", reason="r"),
            call("apply_patch", patch=patch),
            call("list_files"),
            call("request_user_input", question=f"Which {name}?"),
        ]
    )


async def entries(program: Program) -> list[Item | Event]:
    (store,) = program.state.glob("sessions/*/session.db")
    records = await SessionRecords.open(store)
    found = [from_record(record) async for record in records.read()]
    await records.close()
    return found


def check_store(found: list[Item | Event], texts: list[str]) -> None:
    """Only legal edges, each call answered once, each message delivered or given back once."""
    states = States()
    for one in found:
        part = one.body if isinstance(one, Event) else one
        states.check([part])
        states.apply(part)
    log = [one for one in found if not isinstance(one, Event)]
    bodies = [one.body for one in found if isinstance(one, Event)]
    reading = read_log(log)
    assert reading.orphans == () and reading.incomplete == ()
    declared = [one.call_id for item in log if isinstance(item, ResponseItem) for one in item.calls]
    assert sorted(item.call_id for item in log if isinstance(item, ResultItem)) == sorted(declared)
    accepted = {body.input_id: body.text for body in bodies if isinstance(body, InputAccepted)}
    left = Counter(body.input_id for body in bodies if isinstance(body, InputDelivered | InputReturned))
    assert left == Counter(accepted.keys())
    delivered = [accepted[body.input_id] for body in bodies if isinstance(body, InputDelivered)]
    said = [item.text for item in log if isinstance(item, UserItem)]
    for text in texts:
        assert said.count(text) == delivered.count(text) <= 1
    runs = [body.run_id for body in bodies if isinstance(body, TurnStarted)]
    assert [body.run_id for body in bodies if isinstance(body, TurnEnded)] == runs


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_random_walk_ends_and_loses_nothing(
    tmp_path: Path, model_server: ModelServer, seed: int
) -> None:
    rng = random.Random(seed)
    program = Program.at(tmp_path)
    model_server.allow_unplayed = True
    model_server.script(script(rng), repeat_last=True)
    policy = rng.choice(["on-request", "untrusted"])
    with running(program, model_server.base_url(), "--stdin-commands", "-a", policy, "begin") as run:
        walk = Walk(run, rng)
        walk.go()
        code, err = walk.end()
    ends = [event for event in run.seen if event["type"] in ("turn.completed", "turn.failed")]
    assert "Traceback" not in err and code in CODES, (code, err, ends[-1:])
    assert code == (ends[-1]["exit_code"] if ends else 130)
    check_store(await entries(program), walk.texts)
    effects = program.workspace / "effects"
    counts = Counter(effects.read_text().split() if effects.exists() else [])
    assert not [name for name, count in counts.items() if count > 1]
