"""What the gate is told of a command line: the surface of this package for `exec_command`."""

from collections.abc import Mapping
from pathlib import Path

from sandbox.policy import Mode
from tools.types import Assessment, CallClass, Effects, Grant


def assess_command(
    command: str,
    *,
    workspace: Path,
    cwd: Path,
    mode: Mode,
    env: Mapping[str, str] | None = None,
    wanted: Grant = Grant.NONE,
    wanted_detail: str = "",
) -> Assessment:
    """Class, grant, keys and effects of a bash command line; never raises, runs nothing.

    `workspace` and `cwd` are absolute and resolved. `env` holds variables that the model sets for
    this command. `wanted` is what the model asked for beyond the sandbox (a path, a host, no
    sandbox), `wanted_detail` its path or host; its reason is the caller's to add.
    """
    return Assessment(
        action="command",
        call_class=CallClass.REJECT if "\0" in command else CallClass.ASK,
        reason="not a known safe command",
        shown=command,
        effects=Effects(),
        keys=(f"line {command}",),
        grant=wanted,
        grant_detail=wanted_detail,
    )
