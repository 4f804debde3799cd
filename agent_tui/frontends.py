"""Joins a front end to an engine and drives both to their end, whatever ends them."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui.bootstrap import Opened, Start, open_engine, sandbox_trouble
from agent_tui.config.layers import Settings
from agent_tui.config.providers import DEMO, choose
from agent_tui.engine.commands import Command, Engine, Shutdown, Submit
from agent_tui.engine.types import ApprovalPolicy, Config
from agent_tui.errors import UnavailableError
from agent_tui.scratch import scratch
from agent_tui.signals import ends_by_signal
from context.items import Image

if TYPE_CHECKING:
    from agent_tui.headless.one_shot import Job

CLOSE_S = 1.0  # for an engine to let go once its front end has ended
END_S = 4.0  # for one that is told to end: two for its run, two to kill what still runs


def run_headless(start: Start, job: "Job") -> int:
    """One run without a person; returns the exit code."""
    return asyncio.run(_headless(start, job))


async def _headless(start: Start, job: "Job") -> int:
    from agent_tui.headless.one_shot import OneShot

    return await _driven(start, lambda opened: OneShot(opened.engine, job).run())


def run_interface(
    start: Start, *, prompt: str, images: tuple[Image, ...], plain: bool, offered: str = ""
) -> int:
    """The interface, or line mode; returns the exit code. `offered` is a message that Enter sends as the
    first one. Raises AgentError."""
    if plain:
        return asyncio.run(_line_mode(start, prompt, images, offered))
    from agent_tui.tui.entry import run

    if not sys.stderr.isatty():  # the toolkit draws on it; errors still go where they were sent
        vars(sys)["__stderr__"] = Path("/dev/tty").open("w", encoding="utf-8")  # noqa: SIM115  # open to the end

    async def begin() -> Engine:
        opened = await open_engine(start)
        opened.serve()
        return opened.engine

    return run(begin, start.config, initial_prompt=prompt or None, images=images, offered=offered)


async def _line_mode(start: Start, prompt: str, images: tuple[Image, ...], offered: str) -> int:
    from agent_tui.plain.app import run

    first = Submit(text=prompt, images=images) if prompt else None
    return await _driven(
        start, lambda opened: run(opened.engine, opened.config, first=first, offered=offered)
    )


def run_demo(settings: Settings, *, unattended: bool, plain: bool) -> int:
    """The guided run, on a copy that goes when it ends; nothing of it is kept.

    Raises UnavailableError where nobody is there to ask and nothing can be sandboxed."""
    from agent_tui.models.demo import PROMPT, copy_sample

    with scratch("demo") as folder:
        config = Config(
            workspace=copy_sample(folder).resolve(),
            state_dir=folder / "state",
            config_dir=folder / "config",
            model=choose(f"{DEMO}/scripted", settings, {}),
            approval=ApprovalPolicy.UNTRUSTED,
            require_checkpoints=True,
            ephemeral=True,
        )
        start = Start(config=config, settings=settings)
        trouble = sandbox_trouble(config)
        if unattended and trouble is not None:
            raise UnavailableError(f"demo: {'; '.join(filter(None, trouble))}; `agent-tui doctor` tells more")
        sys.stdout.write(_opening(sandboxed=trouble is None))
        sys.stdout.flush()
        if unattended:
            return asyncio.run(_guided(start, PROMPT))
        return run_interface(start, prompt="", images=(), plain=plain, offered=PROMPT)


def _opening(*, sandboxed: bool) -> str:
    sandbox = " the sandbox," if sandboxed else ""
    without = "" if sandboxed else " No sandbox here, so each command asks."
    return (
        f"Demo: the model is scripted and knows only this task. The loop,{sandbox}\n"
        f"the approvals and checkpoints are real. You work on a copy, gone afterwards.{without}\n\n"
    )


async def _guided(start: Start, prompt: str) -> int:
    from agent_tui.headless.guided import Guided

    return await _driven(start, lambda opened: Guided(opened.engine, opened.config.workspace, prompt).run())


async def _driven(start: Start, drive: Callable[[Opened], Coroutine[Any, Any, int]]) -> int:
    """A front end and its engine side by side; whichever fails first ends both."""
    with ends_by_signal():
        opened = await open_engine(start)
        driving = asyncio.create_task(drive(opened))
        await asyncio.sleep(0)  # it subscribes before the first event
        opened.serve()
        return await _ended(opened, driving)


async def _ended(opened: Opened, driving: asyncio.Task[int]) -> int:
    assert opened.serving is not None
    try:
        await asyncio.wait({driving, opened.serving}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        opened.engine.send(Command(id="end", body=Shutdown(why="terminated")))
        await asyncio.wait({opened.serving}, timeout=END_S)
        raise
    if opened.serving.done() and opened.serving.exception() is not None:
        driving.cancel()
        await opened.serving
    try:
        return await driving
    finally:
        await asyncio.wait({opened.serving}, timeout=CLOSE_S)
        opened.serving.cancel()
