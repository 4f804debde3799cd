"""The start that follows a session keeps what guards this one."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui import handover
from agent_tui.engine.types import ApprovalPolicy, Budgets, Config, SandboxStatus
from sandbox.policy import Mode
from tests.program import ROOT


def config(tmp_path: Path, **changes: object) -> Config:
    return Config(workspace=tmp_path, state_dir=tmp_path, config_dir=tmp_path, model=None, **changes)  # type: ignore[arg-type]  # as given


def test_guards_are_those_of_this_start(tmp_path: Path) -> None:
    plain = handover.resuming(config(tmp_path), "ab12", plain=True)
    assert plain == ["resume", "ab12", "--plain", "-s", "workspace-write", "-a", "on-request"]
    strict = config(
        tmp_path,
        sandbox=Mode.READ_ONLY,
        approval=ApprovalPolicy.UNTRUSTED,
        network=True,
        extra_roots=(Path("/data"),),
        ephemeral=True,
        checkpoints=False,
        require_checkpoints=True,
        verify="make test",
        origins={"verify": "flag"},
    )
    said = "--network --ephemeral --no-checkpoints --require-checkpoints --verify"
    assert handover.resuming(strict, "ab12", fork=True) == [
        *("resume", "ab12", "--fork", "-s", "read-only", "-a", "untrusted"),
        *(*said.split(), "make test", "--add-dir", "/data"),
    ]


@pytest.mark.parametrize(
    ("mode", "network", "approval", "words"),
    [
        (Mode.READ_ONLY, False, "untrusted", "-s read-only -a untrusted"),
        (Mode.WORKSPACE_WRITE, True, "never", "-s workspace-write -a never --network"),
        (Mode.OFF, True, "on-request", "-s workspace-write -a on-request --network"),
    ],
)
def test_what_a_session_made_stricter_goes_on_and_what_it_loosened_does_not(
    tmp_path: Path, mode: Mode, network: bool, approval: str, words: str
) -> None:
    now = SandboxStatus(available=True, mode=mode, network=network)
    begun = config(tmp_path, network=True)
    assert handover.resuming(handover.as_now(begun, now, approval), "ab12")[2:] == words.split()
    assert handover.as_now(begun, None, "") == begun


def test_a_check_of_the_project_stays_the_projects(tmp_path: Path) -> None:
    words = handover.resuming(config(tmp_path, verify="make test", origins={"verify": "project"}), "ab12")
    assert "--verify" not in words


def test_an_empty_session_has_the_limits_of_this_start_and_a_stored_one_its_own(tmp_path: Path) -> None:
    limited = config(tmp_path, budgets=Budgets(max_tokens=12_345_678, max_cost_usd=2.5))
    assert handover.anew(limited, "", ("", ""))[-4:] == ["--max-tokens", "12345678", "--max-cost", "2.5"]
    assert "--max-cost" not in handover.resuming(limited, "ab12")


@pytest.mark.parametrize(
    ("model", "goes_on"), [("compatible/other", True), ("openai/gpt", False), ("", False)]
)
def test_an_address_goes_on_with_its_provider_only(tmp_path: Path, model: str, goes_on: bool) -> None:
    words = handover.anew(config(tmp_path), model, ("compatible/one", "http://127.0.0.1:1"))
    assert ("--base-url" in words) == goes_on


def test_the_next_start_has_the_search_path_that_was_given_to_this_one(tmp_path: Path) -> None:
    become = f"""
import os
from pathlib import Path
from agent_tui import handover, search_path
search_path.keep_out([Path({str(tmp_path)!r})])
search_path.keep_out([Path("/usr/games")])
print(os.environ["PATH"], flush=True)
handover.PROGRAM = ("/bin/sh", "-c", "echo $PATH")
handover.become([], Path("/"))
"""
    given = f"{tmp_path}/bin:/usr/games:/usr/bin:/bin"
    done = subprocess.run(
        [sys.executable, "-c", become], cwd=ROOT, env={"PATH": given}, capture_output=True, text=True
    )
    assert done.stdout.split("\n") == ["/usr/bin:/bin", given, ""], done.stderr
