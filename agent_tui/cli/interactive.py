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


def start(arguments: argparse.Namespace, *, prompt: str, resume: str = "", fork: bool = False) -> int:
    """Start an interface on a new session, or on the stored one that `resume` names."""
    is_plain = arguments.setting_plain is not None
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not (has_terminal or is_plain):
        raise UsageError(
            "stdin or stdout is not a terminal; `agent-tui exec PROMPT` needs none, `--plain` reads lines"
        )

    from agent_tui.cli.settings import configure, images

    config, settings = configure(arguments, interactive=True)
    if has_terminal and not resume:
        from agent_tui.cli.trust import ask_for_trust

        answer = ask_for_trust(config)
        if answer == "quit":
            return 0
        if answer == "trusted":
            config, settings = configure(arguments, interactive=True)
    if config.model is None and not resume:
        from agent_tui.cli.first_start import DEMO, choose_model

        chosen = choose_model(settings)
        if chosen is None:
            return 0
        if chosen == DEMO:
            from agent_tui.bootstrap import run_demo

            return run_demo(settings, unattended=False, plain=is_plain)
        arguments.setting_model = chosen
        config, settings = configure(arguments, interactive=True)

    from agent_tui.bootstrap import Start, run_interface

    return run_interface(
        Start(config=config, settings=settings, resume=resume, fork=fork),
        prompt=prompt,
        images=images(settings),
        plain=settings.flag("plain") or os.environ.get("TERM", "") in ("", "dumb") or not has_terminal,
    )
