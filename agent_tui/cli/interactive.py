"""`agent-tui` without a command: the interface, or line mode where there is no usable terminal."""

import argparse
import os
import sys

from agent_tui.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only the interface takes."""
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="the first message")


def run(arguments: argparse.Namespace) -> int:
    """Start the interface; returns the exit code."""
    return start(arguments, prompt=arguments.prompt or "")


def start(
    arguments: argparse.Namespace, *, prompt: str, resume: str = "", last: bool = False, fork: bool = False
) -> int:
    """Start an interface on a new or a stored session."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("stdin or stdout is not a terminal; `agent-tui exec PROMPT` runs without one")

    from agent_tui.cli.settings import configure, images

    config, settings = configure(arguments, interactive=True)

    from agent_tui.bootstrap import Start, run_interface

    return run_interface(
        Start(config=config, ignored=settings.ignored, resume=resume, last=last, fork=fork),
        prompt=prompt,
        images=images(settings),
        plain=settings.flag("plain") or os.environ.get("TERM", "") in ("", "dumb"),
    )
