"""Facts that line mode lists."""

from dataclasses import asdict
from typing import get_args

import pytest

from agent_tui.engine.types import EndReason
from agent_tui.plain import facts
from checkpoints.types import Action, Operation, RollbackPlan


@pytest.mark.parametrize(
    ("ended", "word"),
    [
        ("completed_unverified", "done"),
        ("budget_time", "limit"),
        ("model_rejected", "failed"),
        ("running", "crashed"),
    ],
)
def test_how_a_session_ended_is_a_word(ended: str, word: str) -> None:
    found = {"id": "7f3a", "title": "mend it", "turns": 3, "messages": 2, "ended": ended}
    line = facts.session(found, everywhere=False)
    assert line.startswith("7f3a: mend it, 2 messages, ") and line.endswith(f", {word}")


@pytest.mark.parametrize("reason", EndReason)
def test_no_reason_is_shown_as_it_is_stored(reason: EndReason) -> None:
    assert "_" not in facts.session({"id": "7f3a", "ended": str(reason)}, everywhere=False)


def test_a_rollback_names_each_kind_of_step_and_a_folder_as_one() -> None:
    steps = [Operation(action=action, path=action.upper()) for action in get_args(Action)]
    new = [
        Operation(action="mkdir", path="NEW", creates=True),
        Operation(action="write", path="FILE", creates=True),
    ]
    plan = RollbackPlan(target="7f3a/17", operations=(*steps, *new), conflicts=(), kept=())
    assert facts.plan(asdict(plan)) == [
        "  Change: WRITE",
        "  Delete: DELETE",
        "  Change the mode of: MODE",
        "  Change: LINK",
        "  Change: MKDIR/",
        "  Delete: RMDIR/",
        "  Create: NEW/",
        "  Create: FILE",
    ]


def test_of_all_directories_each_session_says_its_own() -> None:
    found = {"id": "7f3a", "workspace": "/w", "forked_from": "9c02", "live": True, "ended": "waiting"}
    assert facts.session(found, everywhere=True).endswith(", fork of 9c02, in /w, waiting")


def test_a_grant_says_what_it_lets_run_and_a_denial_that_it_is_one() -> None:
    allowed = {"id": "g1", "scope": "session", "rule": "run make", "allows": "make", "grant": "network"}
    denied = {"id": "g2", "scope": "workspace", "action": "deny", "rule": "run rm"}
    assert facts.grants([allowed, denied]) == [
        "g1: allow run make, session, lets run make, in the sandbox with: network",
        "g2: deny run rm, workspace",
    ]


def test_a_terminal_says_how_it_is_contained() -> None:
    row = {"id": "t2", "command": "npm run dev", "state": "live"}
    assert facts.terminals(
        [
            row | {"sandbox": "workspace, net off"},
            row | {"sandbox": "workspace + /srv/x, net on, git lane"},
            row | {"sandbox": "read-only, net off"},
            row | {"sandbox": "no sandbox"},
        ]
    ) == [
        "t2, live: npm run dev. Sandboxed, network off.",
        "t2, live: npm run dev. Sandboxed + /srv/x, network on, git lane.",
        "t2, live: npm run dev. Sandboxed, read-only, network off.",
        "t2, live: npm run dev. NO SANDBOX.",
    ]
