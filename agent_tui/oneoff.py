"""What commands ask of the product without starting a session: its sandbox, its judgement, a request."""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from agent_tui import search_path
from agent_tui.bootstrap import NEWEST, Start, open_engine, place_of, with_state
from agent_tui.config.layers import Settings
from agent_tui.engine.types import Config
from agent_tui.errors import UsageError
from agent_tui.scratch import scratch


def run_in_sandbox(config: Config, argv: Sequence[str]) -> int:
    """A command in the sandbox of `exec_command`, with our streams; returns its exit status."""
    from agent_tui.engine.session_policy import session_policy
    from sandbox.passthrough import run_passthrough

    with ExitStack() as stack:
        config = with_state(config, stack)
        return run_passthrough(session_policy(config), argv, config.workspace, environ=search_path.given())


def classify(config: Config, command_line: str, *, as_text: bool = False) -> dict[str, object] | str:
    """How approvals see a command line, as data or for a person; runs nothing."""
    from agent_tui.engine.session_policy import session_policy
    from sandbox.environment import search_path as path_of
    from tools.command_line.explain import explain, explain_text
    from tools.command_line.parts import Setting

    policy = session_policy(config)
    setting = Setting(
        workspace=config.workspace,
        cwd=config.workspace,
        mode=config.sandbox,
        roots=config.extra_roots,
        resolve=partial(shutil.which, path=path_of(policy, search_path.given())),
    )
    return (explain_text if as_text else explain)(command_line, setting)


def next_request(config: Config, settings: Settings, wanted: str) -> str:
    """The exact bytes that a session would send next, `wanted` being the start of its id or empty for
    the newest. Works on a copy: the session stays as it is."""
    from checkpoints.index import fork_session

    place = place_of(Start(config=config, settings=settings, resume=wanted or NEWEST), config)
    with scratch("request") as folder:
        copy = fork_session(place, folder)
        alone = replace(config, state_dir=folder, checkpoints=False)
        return asyncio.run(_request(Start(config=alone, settings=settings, resume=copy.id)))


async def _request(start: Start) -> str:
    from agent_tui.engine.commands import Command, Inspect, Shutdown, Subject
    from agent_tui.engine.events import Inspected, Refused

    opened = await open_engine(start)
    events = opened.engine.events()
    opened.engine.send(Command(id="request", body=Inspect(subject=Subject.REQUEST)))
    opened.serve()
    async for event in events:
        if isinstance(event.body, Inspected | Refused):
            opened.engine.send(Command(id="done", body=Shutdown()))
            assert opened.serving is not None
            await opened.serving
            if isinstance(event.body, Refused):
                raise UsageError(f"debug request: {event.body.reason}")
            return str(event.body.data)
    raise UsageError("debug request: the session ended before it could be asked")
