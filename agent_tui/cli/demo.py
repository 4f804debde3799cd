"""`agent-tui demo`: a guided run with a scripted model on a copy of a small sample project."""

import argparse
import os
import sys

from agent_tui.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `demo` takes."""
    parser.add_argument("--yes", action="store_true", help="run through by itself, allowing what asks")


def run(arguments: argparse.Namespace) -> int:
    """Run it; returns the exit code."""
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not (has_terminal or arguments.yes):
        raise UsageError("demo: stdin or stdout is not a terminal; `agent-tui demo --yes` needs none")

    from agent_tui.cli.settings import load
    from agent_tui.frontends import run_demo

    is_plain = os.environ.get("TERM", "") in ("", "dumb")
    return run_demo(load(arguments), unattended=arguments.yes, plain=is_plain)
