"""`agent-tui exec`: one run to its end without a person."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui import startup
from agent_tui.errors import UsageError
from agent_tui.short_path import long_path

if TYPE_CHECKING:
    from agent_tui.headless.one_shot import Later

NOTHING_STORED = "`--ephemeral` keeps nothing, so no session can be continued with it; leave one of them out"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `exec` takes."""
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="what to do; `-` reads it from stdin")
    parser.add_argument(
        "--stdin", action="store_true", help="append stdin to the prompt as a block of its own"
    )
    parser.add_argument(
        "--stdin-commands", action="store_true", help="take steers and answers as JSON lines on stdin"
    )
    parser.add_argument("--resume", metavar="ID", help="continue this session")
    parser.add_argument("--last", action="store_true", help="continue the newest session of this workspace")
    parser.add_argument("--fork", action="store_true", help="continue a copy, leaving the session as it is")


def run(arguments: argparse.Namespace) -> int:
    """Run it; returns the exit code."""
    startup.begin()
    _check(arguments)
    continues = bool(arguments.resume or arguments.last)
    replays = not continues and (arguments.setting_model or "").startswith("replay/")
    prompt = _prompt(arguments, may_be_empty=continues or arguments.stdin_commands or replays)

    from agent_tui.cli.settings import configure, images

    config, settings = configure(arguments, interactive=arguments.stdin_commands)
    if continues and config.ephemeral:
        raise UsageError(NOTHING_STORED)
    if settings.items("image") and not prompt:
        raise UsageError("exec: `--image` goes with a prompt; give one")
    if config.model is None and not continues:
        from agent_tui.config.providers import HOW_TO_CHOOSE

        raise UsageError(HOW_TO_CHOOSE)

    from agent_tui.bootstrap import NEWEST, Start
    from agent_tui.frontends import run_headless
    from agent_tui.headless.one_shot import Job

    last_message = settings.text("output_last_message")
    job = Job(
        prompt=prompt,
        images=images(settings),
        json=settings.flag("json"),
        last_message=_writable(long_path(last_message)) if last_message else None,
        takes_orders=arguments.stdin_commands,
        said=_said(config.model.model) if replays and config.model and not prompt else (),
        ephemeral=config.ephemeral,
    )
    resume = NEWEST if arguments.last else (arguments.resume or "")
    start = Start(config=config, settings=settings, resume=resume, fork=arguments.fork)
    return run_headless(start, job)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.resume is not None and arguments.last:
        raise UsageError("exec: give `--resume ID` or `--last`, not both")
    if arguments.resume == "":
        raise UsageError(
            "exec: `--resume` without an ID; `agent-tui sessions` lists them, `--last` is the newest"
        )
    if arguments.fork and not (arguments.resume or arguments.last):
        raise UsageError("exec: `--fork` needs `--resume ID` or `--last`")
    if arguments.stdin_commands and (arguments.stdin or arguments.prompt == "-"):
        raise UsageError("exec: stdin cannot be both the prompt and a stream of commands")
    if arguments.stdin and arguments.prompt == "-":
        raise UsageError("exec: `-` reads the whole prompt from stdin; leave `--stdin` out")


def _prompt(arguments: argparse.Namespace, *, may_be_empty: bool) -> str:
    from agent_tui.cli.settings import whole_text

    if arguments.prompt == "-" or arguments.stdin:
        from checkpoints.index import STDIN_BEGINS

        if sys.stdin.isatty():
            raise UsageError("exec: the prompt was to be read from stdin, which is a terminal; pipe it in")
        given = sys.stdin.buffer.read().decode("utf-8", "replace")
        typed = "" if arguments.prompt == "-" else whole_text(arguments.prompt or "")
        text = f"{typed}{STDIN_BEGINS}{given.rstrip()}\n</stdin>" if typed.strip() else given
    else:
        text = whole_text(arguments.prompt or "")
    if not text.strip() and not may_be_empty:
        raise UsageError(
            'exec: the prompt is empty; give one, such as `agent-tui exec "fix the failing test"`'
        )
    return text.strip()


def _said(file: str) -> "tuple[Later, ...]":
    """What the person typed in a saved session, to be said again."""
    from agent_tui.headless.one_shot import Later
    from agent_tui.stored import said_in

    said = tuple(Later(text=one.text, after=one.after, steer=one.steer) for one in said_in(file))
    if not said:
        raise UsageError(f"exec: `{file}` holds no prompt; give one")
    return said


def _writable(path: Path) -> Path:
    """Found out before the run and not after it."""
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"-o: `{path}` cannot be written; name a file in a directory that exists")
    return path
