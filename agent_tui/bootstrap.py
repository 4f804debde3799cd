"""The composition root: the one place that builds everything and joins it, explicitly and lazily.

The command line and the front ends get functions; nothing else in the house makes a store, a model,
a toolbox or an engine; what is on the ports of one is made in `session_ports`, with the models of
`session_models`. What an optional part lacks is a notice; what a run requires and cannot have is an
`UnavailableError` before anything is sent.
"""

import asyncio
import os
from collections.abc import Iterable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui import search_path, startup
from agent_tui.config.layers import ENVIRONMENT, FLAG, Settings, unknown_variables
from agent_tui.config.providers import HOW_TO_CHOOSE, choose
from agent_tui.engine.types import OF_GATE, Config, SandboxStatus
from agent_tui.errors import SessionBusyError, UnavailableError, UsageError
from agent_tui.frozen import frozen
from agent_tui.scratch import scratch, sweep
from sandbox.policy import Mode
from sandbox.probe import ProbeResult, probe

if TYPE_CHECKING:
    from agent_tui.engine.events import NoticeRaised
    from agent_tui.engine.runtime import EngineRuntime
    from agent_tui.engine.session import Session
    from checkpoints.index import SessionPlace

NEWEST = "newest"
BESIDE = "Session {} also works in this directory; its edits will show as external"
LESS = "the sandbox holds, but not on this machine: {}"


@frozen
class Start:
    """What a front end is started on: settings, and perhaps a stored session."""

    config: Config
    settings: Settings
    resume: str = ""  # the start of a session's id, or NEWEST for the newest of the workspace
    fork: bool = False  # continue a copy of it


class Opened:
    """An engine that serves in a task of its own, and what it holds until it has ended."""

    def __init__(self, engine: "EngineRuntime", config: Config, stack: AsyncExitStack) -> None:
        self.engine = engine
        self.config = config
        self._stack = stack
        self.serving: asyncio.Task[None] | None = None

    def serve(self) -> None:
        """Begin; readers that are made before the next await miss nothing."""
        self.serving = asyncio.create_task(self._serve())
        asyncio.get_running_loop().call_later(startup.COLLECT_AFTER_S, startup.settle)

    async def _serve(self) -> None:
        try:
            await self.engine.run()
        finally:
            await self._stack.aclose()
            sweep()  # at the end, where nobody waits for it


async def open_engine(start: Start) -> Opened:
    """Build everything for one session. Raises AgentError."""
    from agent_tui.session_models import preload_sdk
    from sandbox.placeholders import present as stand_ins_present

    stack = AsyncExitStack()
    try:
        config = with_state(start.config, stack)
        if config.model is not None:
            preload_sdk(config.model)
        stand_ins_present(config.state_dir)  # what a crash left in a workspace goes first
        place, session, damage = await _open_session(start, config, stack)
        start = _continuing(start, session)
        config = _of_session(config, session, start.settings)
        roots = (config.workspace, *config.extra_roots)  # a stored session may have another workspace
        search_path.keep_out(roots)
        found = probe(config.state_dir)
        _require_sandbox(config, found)
        engine = _build(start, config, place, session, found, damage, stack)
    except BaseException:
        await stack.aclose()
        raise
    return Opened(engine, config, stack)


# --- the parts -----------------------------------------------------------------------------------


def with_state(config: Config, stack: ExitStack | AsyncExitStack) -> Config:
    """The configuration with a state directory that exists; a scratch one when nothing may stay."""
    if config.ephemeral:
        return replace(config, state_dir=stack.enter_context(scratch("ephemeral")))
    try:
        config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = config.state_dir.stat().st_mode
        config.state_dir.chmod(mode & 0o700)  # nobody else's; what its owner took away stays away
        if not os.access(config.state_dir, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise UnavailableError(
            f"state directory `{config.state_dir}` cannot be written: {error.strerror}; "
            "set `AGENT_TUI_STATE_DIR` to one that can, or run with `--ephemeral`"
        ) from error
    return config


def _require_sandbox(config: Config, found: ProbeResult) -> None:
    """Without a person there is nobody to ask for each command, so such a run does not begin."""
    if config.interactive or found.available or config.sandbox is not Mode.WORKSPACE_WRITE:
        return
    fix = f"{found.fix}, " if found.fix else ""
    raise UnavailableError(
        f"sandbox: {found.detail}; {fix}or look only with `-s read-only`; `agent-tui doctor` tells more"
    )


def sandbox_trouble(config: Config) -> tuple[str, str] | None:
    """Why commands cannot be sandboxed here and how to mend it; None where they can, or need not.
    Raises UnavailableError without a state directory."""
    if config.sandbox is Mode.OFF:
        return None
    with ExitStack() as stack:
        found = probe(with_state(config, stack).state_dir)
    return None if found.available else (found.detail, found.fix)


async def _open_session(
    start: Start, config: Config, stack: AsyncExitStack
) -> "tuple[SessionPlace, Session, str]":
    from checkpoints.index import remove_session, remove_unused
    from checkpoints.owner import OwnedError, Owner
    from checkpoints.records import RecordsError
    from checkpoints.salvage import open_or_salvage

    place = place_of(start, config)
    try:
        owner = Owner.take(place.directory)
    except OwnedError as error:
        raise SessionBusyError(str(error)) from error
    except OSError as error:
        raise UnavailableError(
            f"session `{place.id}` cannot be opened: {error.strerror}: `{place.directory}`"
        ) from error
    stack.callback(owner.release)
    stack.callback(remove_unused, place)
    opening = asyncio.create_task(open_or_salvage(place.store))
    await asyncio.sleep(0)  # a thread begins, and mostly waits for the disk
    _import_the_rest()
    from agent_tui.engine.clock import SystemClock
    from agent_tui.engine.session import Session

    try:
        records, damage = await opening
    except RecordsError:
        if not start.resume:  # no session began, so none is damaged
            remove_session(place)
        raise
    stack.push_async_callback(records.close)
    session = await Session.load(records, SystemClock())
    beating = asyncio.create_task(owner.keep_beating())
    stack.callback(beating.cancel)
    return place, session, damage.text if damage is not None else ""


def _import_the_rest() -> None:
    """Everything that `_build` needs, while something else is waited for."""
    import agent_tui.engine.runtime
    import agent_tui.session_ports  # noqa: F401


def place_of(start: Start, config: Config) -> "SessionPlace":
    """The session to open: a new one, a stored one, or a copy of it. Raises AgentError."""
    from checkpoints.index import (
        DISK_FULL,
        NoSessionError,
        create_session,
        find_session,
        fork_session,
        list_sessions,
    )

    if not start.resume:
        return create_session(config.state_dir)
    wanted = start.resume
    if wanted == NEWEST:
        entries = list_sessions(config.state_dir, config.workspace)
        found = [entry for entry in entries if not entry.damage]
        if any(entry.damage == DISK_FULL for entry in entries):  # one of them may be the newest
            raise UnavailableError(f"the sessions in `{config.state_dir}` cannot be read: {DISK_FULL}")
        if not found:
            raise UsageError(f"no session of `{config.workspace}` is stored; start one with `agent-tui`")
        wanted = found[0].id
    try:
        place = find_session(config.state_dir, wanted)
    except NoSessionError as error:
        raise UsageError(str(error)) from error
    return fork_session(place, config.state_dir) if start.fork else place


def _continuing(start: Start, session: "Session") -> Start:
    """A stored session also brings the address that was given with its model."""
    first = session.fold.first
    if first is None:
        return start
    return replace(start, settings=start.settings.continuing(first.model, session.fold.base_url))


def _of_session(config: Config, session: "Session", settings: Settings) -> Config:
    """What a stored session brings: its directory, and its model unless another one was asked for."""
    first = session.fold.first
    if first is None:
        if config.model is None:
            raise UsageError(HOW_TO_CHOOSE)
        return config
    workspace = Path(first.workspace)
    if not workspace.is_dir():
        raise UsageError(
            f"the directory of the session, `{workspace}`, does not exist any more; "
            f"bring it back, or read on with `agent-tui sessions show {session.id}`"
        )
    if settings.layer("cd") == FLAG and workspace != config.workspace:
        raise UsageError(f"session `{session.id}` belongs to `{workspace}`; leave `--cd` out")
    if config.model is None or (settings.layer("model") not in (FLAG, ENVIRONMENT) and first.model):
        config = replace(config, model=choose(first.model, settings, os.environ))
    return replace(config, workspace=workspace)


def _build(
    start: Start,
    config: Config,
    place: "SessionPlace",
    session: "Session",
    found: ProbeResult,
    damage: str,
    stack: AsyncExitStack,
) -> "EngineRuntime":
    from agent_tui.engine.events import SessionStarted
    from agent_tui.engine.runtime import EngineRuntime
    from agent_tui.session_ports import open_ports
    from agent_tui.surroundings import frozen_system_text, instructions, settings_of
    from checkpoints.identity import boot_id
    from checkpoints.index import open_elsewhere

    assert config.model is not None
    told = instructions(config)
    others = open_elsewhere(config.state_dir, config.workspace, place.id) if config.interactive else ()
    ports, problems = open_ports(config, start.settings, place, found, stack)
    return EngineRuntime(
        config=config,
        session=session,
        ports=ports,
        start=SessionStarted(
            session_id=place.id,
            workspace=str(config.workspace),
            model=config.model.name,
            system=frozen_system_text(config, sandbox_available=found.available),
            project=ports.instructions() or "" if session.fold.first is None else "",
            boot_id=boot_id(),
            forked_from=start.resume if start.fork else "",
            settings=settings_of(config),
            base_url=start.settings.text("base_url") or "",
        ),
        artifacts=place.artifacts,
        sandbox=SandboxStatus(
            available=found.available,
            mode=config.sandbox,
            network=config.network,
            detail=f"{found.detail}; {found.fix}" if found.detail else "",
            lost=found.lost,
        ),
        notices=_notices(damage, others, found, start.settings, (*told.problems, *problems)),
    )


def _notices(
    damage: str, others: Iterable[str], found: ProbeResult, settings: Settings, problems: Iterable[str]
) -> "tuple[NoticeRaised, ...]":
    from agent_tui.engine.events import NoticeRaised

    notice = partial(NoticeRaised, level="warning")
    return (
        *([notice(text=damage, about="records")] if damage else []),
        *(notice(text=BESIDE.format(other), about="others") for other in others),
        *(notice(text=LESS.format(lost), about="guard") for lost in found.lost if found.is_fresh),
        *(
            notice(text=each.reason, about="guard" if each.key in OF_GATE else "")
            for each in settings.ignored
        ),
        *(notice(text=text) for text in (*unknown_variables(os.environ), *problems)),
    )
