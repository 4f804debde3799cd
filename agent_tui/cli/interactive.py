"""`agent-tui` without a command: the interface, or line mode where there is no usable terminal."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from agent_tui import startup
from agent_tui.cli.exec import NOTHING_STORED
from agent_tui.errors import UsageError
from agent_tui.short_path import short_path

if TYPE_CHECKING:
    from agent_tui.config.layers import Settings
    from agent_tui.engine.types import Config
    from checkpoints.types import CutRollback

DEMO = "demo"  # in place of a model: the demo was chosen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only the interface takes."""
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="the first message")


def run(arguments: argparse.Namespace) -> int:
    """Start the interface; returns the exit code."""
    return start(arguments, prompt=arguments.prompt or "")


def start(arguments: argparse.Namespace, *, prompt: str, resume: str = "", fork: bool = False) -> int:
    """Start an interface on a new session, or on the stored one that `resume` names."""
    startup.begin()
    from agent_tui.cli.settings import configure, images, whole_text

    config, settings = configure(arguments, interactive=True)
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not (has_terminal or settings.flag("plain")):
        raise UsageError(
            "stdin or stdout is not a terminal; `agent-tui exec PROMPT` needs none, `--plain` reads lines"
        )
    if resume and config.ephemeral:
        raise UsageError(NOTHING_STORED)
    plain = settings.flag("plain") or os.environ.get("TERM", "") in ("", "dumb") or not has_terminal
    if plain and settings.items("image") and not prompt:
        raise UsageError("line mode takes `--image` only with a prompt; give one")
    if has_terminal:
        settled = _settle(arguments, config, settings, plain=plain, is_new=not resume)
        if settled is None:
            return 0
        config, settings = settled

    from agent_tui.bootstrap import Start
    from agent_tui.frontends import run_demo, run_interface

    if arguments.setting_model == DEMO:
        return run_demo(settings, unattended=False, plain=plain)
    return run_interface(
        Start(config=config, settings=settings, resume=resume, fork=fork),
        prompt=whole_text(prompt),
        images=images(settings),
        plain=plain,
    )


def _settle(
    arguments: argparse.Namespace, config: "Config", settings: "Settings", *, plain: bool, is_new: bool
) -> "tuple[Config, Settings] | None":
    """Ask what has to be known before a session: trust, a model, what without a sandbox. None: quit."""
    from agent_tui.bootstrap import sandbox_trouble
    from agent_tui.cli.settings import configure

    trouble = sandbox_trouble(config)
    must_choose = is_new and config.model is None
    cut = cut_rollback(config)
    if not (must_choose or trouble or cut or trust_must_be_asked(config)):
        return config, settings

    from agent_tui.cli import questions
    from agent_tui.surroundings import git_branch

    asker = questions.Asker(
        place=short_path(config.workspace),
        branch=git_branch(config.workspace),
        plain=plain,
        interface=config.interface,
    )
    answer = questions.ask_for_trust(asker, config, settings)
    if answer == "quit":
        return None
    if cut is not None and not questions.ask_about_cut(asker, config, cut):
        return None
    if must_choose:
        health = questions.health_of(config, has_sandbox=trouble is None)
        choice = questions.ask_for_model(asker, settings, health)
        if choice is None:
            return None
        arguments.setting_model = DEMO if choice.demo else choice.model
        arguments.setting_base_url = choice.base_url or arguments.setting_base_url
        if choice.demo:
            return config, settings
    if trouble is not None:
        chosen = questions.ask_without_sandbox(asker, config, *trouble)
        if not chosen:
            return None
        if chosen == "look_only":
            # `never`: a command that nothing holds to reading is not asked about either
            arguments.setting_sandbox, arguments.setting_approval = "read-only", "never"
    return configure(arguments, interactive=True)


def cut_rollback(config: "Config") -> "CutRollback | None":
    """The rollback of this workspace that a killed process left, if there is one."""
    if not any((config.state_dir / "checkpoints").glob("*/*.journal")):
        return None
    from checkpoints.offline import cut_rollback as found

    return found(config.workspace, config.state_dir)


def trust_must_be_asked(config: "Config") -> bool:
    """Whether the directory has files that would have an effect and that nobody was asked about."""
    from agent_tui.config.trust import TrustStore, survey
    from context.instructions import candidates

    found = survey(config.workspace, instructions=candidates(config.workspace))
    return TrustStore(config.state_dir, config.workspace).look(found).must_ask
