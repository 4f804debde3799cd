"""What the benchmarks share: whether they run in the quick form, and a row of their table."""

import json
import os
import sys

QUICK = "--quick" in sys.argv[1:] or bool(os.environ.get("AGENT_TUI_BENCH_QUICK"))


def report(name: str, value: float, unit: str, floor: float | None = None, target: str = "") -> None:
    """Print one row for `scripts/bench/all`; `floor` is the cheapest way to do it, in the same unit."""
    row = {
        "name": name,
        "value": _short(value),
        "unit": unit,
        "floor": None if floor is None else _short(floor),
        "ratio": _short(value / floor) if floor else None,
        "target": target,
    }
    print(json.dumps(row), flush=True)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
