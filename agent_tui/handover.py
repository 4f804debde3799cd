"""The start that follows a session: the words of `agent-tui` that keep its guards, and becoming it."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui import search_path
from agent_tui.engine.types import ApprovalPolicy, Config, SandboxStatus
from sandbox.policy import Mode

PROGRAM = (sys.executable, "-P", "-m", "agent_tui")  # `-P`: the workspace may hold an `agent_tui` of its own


_SAFEST = (ApprovalPolicy.UNTRUSTED, ApprovalPolicy.NEVER, ApprovalPolicy.ON_REQUEST)  # first


def as_now(config: Config, sandbox: SandboxStatus | None, approval: str) -> Config:
    """This start's settings with what the session made stricter since; what it loosened was for it alone."""
    if sandbox is not None:
        modes = tuple(Mode)
        mode = min(config.sandbox, sandbox.mode, key=modes.index)
        config = replace(config, sandbox=mode, network=config.network and sandbox.network)
    now = ApprovalPolicy(approval) if approval else config.approval
    return replace(config, approval=min(config.approval, now, key=_SAFEST.index))


def resuming(config: Config, session_id: str, *, fork: bool = False, plain: bool = False) -> list[str]:
    """Continue a session, or a copy of it, guarded as this start was told."""
    more = [flag for flag, wanted in (("--fork", fork), ("--plain", plain)) if wanted]
    return ["resume", session_id, *more, *_guards(config)]


def anew(config: Config, model: str, given: tuple[str, str]) -> list[str]:
    """An empty session with this model and the guards and limits of this start.

    `given` is the model that this session began with and the address that was named with it: the
    address goes on with every model of that provider, and with no other.
    """
    words = ["-m", model] if model else []
    first, address = given
    if address and first.partition("/")[0] == model.partition("/")[0]:
        words += ["--base-url", address]
    return [*words, *_guards(config), *_limits(config)]


def _guards(config: Config) -> list[str]:
    roots = [word for root in config.extra_roots for word in ("--add-dir", str(root))]
    flags = {
        "--network": config.network,
        "--ephemeral": config.ephemeral,
        "--no-checkpoints": not config.checkpoints,
        "--require-checkpoints": config.require_checkpoints,
    }
    said = [flag for flag, wanted in flags.items() if wanted]
    said += ["--verify", config.verify] if config.verify and config.names("verify") else []
    return ["-s", config.sandbox.value, "-a", config.approval.value, *said, *roots]


def _limits(config: Config) -> list[str]:
    """Those of this start; a stored session has its own."""
    budgets = config.budgets
    limits = {
        "--max-turns": budgets.max_turns,
        "--max-tool-calls": budgets.max_tool_calls,
        "--max-tokens": budgets.max_tokens,
        "--max-cost": budgets.max_cost_usd,
        "--timeout": budgets.timeout_s,
    }
    return [word for flag, limit in limits.items() if limit is not None for word in (flag, str(limit))]


def become(arguments: Sequence[str], workspace: Path) -> None:
    """Become the `agent-tui` of those arguments; does not return."""
    os.chdir(workspace)
    os.execve(PROGRAM[0], [*PROGRAM, *arguments], search_path.given())
