"""Builds the view in its fixed order: tools, system, project instructions, summary, history.

The system text is written once, at session start, and never changes in a session: the day is in
it, but no clock, git state or budget. Facts that change are appended to the log as notices.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from agent_tui.frozen import frozen
from context.items import Item, ToolSchema
from context.units import LogReader, read_log
from context.view import View


@frozen
class Surroundings:
    """What the system text says of the place the session runs in."""

    workspace: str
    day: str  # ISO date
    platform: str  # such as "Linux 6.1, x86_64"
    shell: str
    sandbox: str  # one sentence: what commands may touch
    approval: str  # one sentence: when a person is asked
    undo: str  # one sentence: what can be taken back
    extra_roots: tuple[str, ...] = ()
    is_git: bool = False


@lru_cache(maxsize=1)
def _template() -> str:
    return (Path(__file__).parent / "system.md").read_text(encoding="utf-8")


def system_text(where: Surroundings) -> str:
    """The text a session freezes at its start."""
    roots = "".join(f"\n- Also writable: {root}" for root in where.extra_roots)
    return _template().format(
        workspace=where.workspace + (" (a git repository)" if where.is_git else ""),
        day=where.day,
        platform=where.platform,
        shell=where.shell,
        sandbox=where.sandbox,
        approval=where.approval,
        undo=where.undo,
        roots=roots,
    )


def build_view(
    log: Sequence[Item] | LogReader, *, system: str, project: str, tools: Sequence[ToolSchema]
) -> View:
    """What is sent to the model, computed from the log alone."""
    reading = log.read() if isinstance(log, LogReader) else read_log(log)
    return View(
        system=system,
        tools=tuple(sorted(tools, key=lambda tool: tool.name)),
        project=project,
        units=reading.units,
    )
