"""`agent-tui resume`: continue a stored session in the interface."""

import argparse

from agent_tui.cli import interactive
from agent_tui.errors import UsageError

NEWEST = "newest"  # as in `agent_tui.bootstrap`, which is imported later


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `resume` takes."""
    which = "a session; the start of an id is enough; default: as with --last"
    parser.add_argument("id", nargs="?", metavar="ID", help=which)
    parser.add_argument("--last", action="store_true", help="the newest session of this workspace")
    parser.add_argument("--fork", action="store_true", help="continue a copy")


def run(arguments: argparse.Namespace) -> int:
    """Start the interface on the session; returns the exit code."""
    if arguments.id is not None and arguments.last:
        raise UsageError("resume: give an ID or `--last`, not both")
    if arguments.id == "":
        raise UsageError("resume: the ID is empty; `agent-tui sessions` lists them, `--last` is the newest")
    return interactive.start(arguments, prompt="", resume=arguments.id or NEWEST, fork=arguments.fork)
