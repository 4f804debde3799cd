#!/usr/bin/env python3
"""Cost of building a view and of a compaction epoch, and how much of each request is a prefix.

Prints one JSON object a line: name, value, unit, floor (the same run's), ratio, target.
"""

import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from agent_tui.models.base import ModelInfo, ModelRequest  # noqa: E402
from agent_tui.models.catalog import Quirks  # noqa: E402
from agent_tui.models.router import dialect_of  # noqa: E402
from context.budget import Window  # noqa: E402
from context.builder import build_view  # noqa: E402
from context.codec import encode  # noqa: E402
from context.epoch import EpochInput, plan_epoch  # noqa: E402
from context.estimate import Meter  # noqa: E402
from context.items import Item  # noqa: E402
from scripts.measuring import QUICK, report  # noqa: E402
from tests.context.logs import TOOLS, make_log  # noqa: E402

RUNS = 2 if QUICK else 5
INFO = ModelInfo(provider="p", model="m", context_window=200_000, max_output=32_000)


def best_ms(work: Callable[[], object], times: int = RUNS) -> float:
    """The fastest of a few runs, in milliseconds."""
    return min(_once_ms(work) for _ in range(times))


def _once_ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Run all of it."""
    log = make_log(1, 1500, result_chars=2000)
    items = log.items[:5000]
    floor = best_ms(lambda: json.dumps([encode(item) for item in items]))
    report(
        "context: view of 5,000 items",
        best_ms(lambda: build_view(items, system="s", project="p", tools=TOOLS)),
        "ms",
        floor,
        "under 0.5 of encoding the items as JSON",
    )
    report(
        "context: request of 5,000 items, body included",
        best_ms(lambda: _body(items), times=3),
        "ms",
        floor,
        "under 1.5 of encoding the items as JSON",
    )
    big = make_log(2, 3000, result_chars=2000)
    many = big.items[:10_000]
    view = build_view(many, system="s", project="p", tools=TOOLS)
    given = EpochInput(facts=big.facts, window=Window(size=200_000, max_output=32_000))
    meter = Meter()
    meter.tokens(view)
    epoch_ms = _once_ms(lambda: plan_epoch(many, view, meter, given))
    tracemalloc.start()
    plan_epoch(many, view, meter, given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    floor = best_ms(lambda: json.dumps([encode(item) for item in many]), times=2)
    report("context: epoch over 10,000 items", epoch_ms, "ms", floor, "under 5 of encoding the items as JSON")
    report("context: memory of that epoch", peak / 2**20, "MiB", None, "under 64")
    report("context: prefix share over 200 steps", _prefix_share(), "share", None, "above 0.99")


def _body(items: list[Item]) -> bytes:
    """View and request body, as before each model call."""
    view = build_view(items, system="s", project="p", tools=TOOLS)
    return dialect_of("chat").build(ModelRequest(view=view, model="m"), INFO, Quirks()).body


def _prefix_share() -> float:
    """Bytes of a request that repeat the one before it, over 200 steps without an epoch."""
    maker = make_log(3, 0, result_chars=2000)
    before, same, total = b"", 0, 0
    for _ in range(200):
        maker.exchange()
        body = _body(maker.items)
        shared = _common_prefix(before, body)
        if before:
            # Everything of the earlier request but its closing brackets should come again.
            same += shared
            total += len(before)
        before = body
    return same / total


def _common_prefix(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


if __name__ == "__main__":
    main()
