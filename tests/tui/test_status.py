"""The status line: what stays where the row is short (screens.md 2)."""

from dataclasses import replace
from typing import Any

import pytest

from agent_tui.engine.types import SandboxStatus
from agent_tui.tui.glyphs import UNICODE
from agent_tui.tui.state import Status
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.widgets import status
from checkpoints.types import Health
from sandbox.policy import Mode

USUAL: dict[str, Any] = {
    "model": "openai/gpt-5.1",
    "effort": "high",
    "context_used": 46_000,
    "context_window": 272_000,
    "cost_usd": 0.51,
    "sandbox": SandboxStatus(available=True, mode=Mode.WORKSPACE_WRITE, network=False),
    "approval": "on-request",
    "undo": Health(state="ok"),
    "terminals": 2,
    "branch": "main",
}
ALARMS: dict[str, Any] = {
    "context_used": 272_000,
    "cost_usd": 10.0,
    "max_cost_usd": 10.0,
    "sandbox": SandboxStatus(available=True, mode=Mode.OFF, network=True),
    "undo": Health(state="off"),
}
SAFE = "▣ workspace, net off"


@pytest.mark.parametrize(
    ("width", "usual", "alarming"),
    [
        (60, f"gpt-5.1 · 17% · {SAFE} · undo ok · 2t", "CONTEXT FULL · BUDGET · SANDBOX OFF · UNDO OFF · 2t"),
        (
            70,
            f"gpt-5.1 · 17%/272k · {SAFE} · undo ok · 2 terminals",
            "gpt-5.1 · CONTEXT FULL · BUDGET · SANDBOX OFF · UNDO OFF · 2t",
        ),
        (
            80,
            f"gpt-5.1 · 17%/272k · {SAFE} · on-request · undo ok · 2 terminals",
            "gpt-5.1 · CONTEXT FULL · BUDGET · SANDBOX OFF · UNDO OFF · 2 terminals",
        ),
        (
            100,
            f"openai/gpt-5.1 high · 17%/272k · $0.51 · {SAFE} · on-request · undo ok · 2 terminals",
            "openai/gpt-5.1 high · CONTEXT FULL · BUDGET · SANDBOX OFF · on-request · UNDO OFF · 2 terminals",
        ),
        (
            120,
            f"openai/gpt-5.1 high · 17%/272k · $0.51 · {SAFE} · on-request · undo ok · 2 terminals · main",
            "openai/gpt-5.1 high · CONTEXT FULL · BUDGET · SANDBOX OFF · on-request · UNDO OFF · 2 terminals"
            " · main",
        ),
    ],
)
def test_what_matters_least_goes_first_and_alarms_never(width: int, usual: str, alarming: str) -> None:
    assert shown(width) == f" {usual}"
    assert shown(width, **ALARMS) == f" {alarming}"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"undo": Health(state="importing", done_files=42, total_files=100)}, "undo 42%"),
        ({"undo": Health(state="failed")}, "UNDO FAILED"),
        ({"sandbox": replace(USUAL["sandbox"], available=False)}, "NO SANDBOX, asks"),
        ({"sandbox": replace(USUAL["sandbox"], mode=Mode.READ_ONLY)}, "▣ read-only, net off"),
        ({"sandbox": replace(USUAL["sandbox"], network=True, extra_roots=2)}, "▣ workspace+2, net on"),
        ({"context_used": 223_040, "context_soft": 223_040}, "▲ 82%/272k"),
        ({"context_used": 150_000, "context_soft": 149_000, "context_hard": 190_000}, "▲ 55%/272k"),
        ({"context_used": 223_040, "context_soft": 230_000}, "82%/272k"),
        ({"context_used": 223_040}, "82%/272k"),  # where nothing is told of it
        ({"context_used": 190_000, "context_soft": 149_000, "context_hard": 190_000}, "▲ 70%/272k"),
        ({"context_used": 190_001, "context_soft": 149_000, "context_hard": 190_000}, "CONTEXT FULL"),
        ({"max_cost_usd": 10.0}, "$0.51 of $10"),
        ({"model": ""}, "NO MODEL"),
        ({"model": "demo/slugs"}, "demo (scripted)"),
        ({"approval": "untrusted"}, "untrusted"),
    ],
)
def test_each_item_says_what_holds(changed: dict[str, Any], said: str) -> None:
    assert said in shown(160, **changed).strip().split(" · ")


def test_no_model_is_missed_before_a_stored_session_is_open() -> None:
    assert "MODEL" not in shown(160, model="", sandbox=None)


def shown(width: int, **changed: Any) -> str:
    return plain(status.line(Status(**(USUAL | changed)), width, UNICODE))
