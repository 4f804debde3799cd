"""The composition root: the one place that builds everything and joins it, explicitly and lazily.

The command line and the front ends get functions; nothing else in the house makes a store, a model,
a toolbox or an engine. What an optional part lacks is a notice; what a run requires and cannot have
is an `UnavailableError` before anything is sent.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui import search_path, startup
from agent_tui.config.layers import ENVIRONMENT, FLAG, Settings, unknown_variables
from agent_tui.config.providers import (
    DEMO,
    HOW_TO_CHOOSE,
    KEY_VARIABLE,
    REPLAY,
    choose,
    provider_table,
    route_to,
)
from agent_tui.engine.types import Config, ModelChoice, SandboxStatus
from agent_tui.errors import AgentError, SessionBusyError, UnavailableError, UsageError
from agent_tui.frozen import frozen
from agent_tui.models.base import Model
from agent_tui.scratch import scratch, sweep
from agent_tui.short_path import long_path
from sandbox.policy import Mode
from sandbox.probe import ProbeResult, probe

if TYPE_CHECKING:
    from agent_tui.engine.ports import Ports
    from agent_tui.engine.runtime import EngineRuntime
    from agent_tui.engine.session import Session
    from agent_tui.models.offers import Offers
    from agent_tui.repo_map import ProjectMap
    from checkpoints.index import SessionPlace

NEWEST = "newest"
BESIDE = "Session {} also works in this directory; its edits will show as external"


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
    from sandbox.placeholders import present as stand_ins_present

    stack = AsyncExitStack()
    try:
        config = with_state(start.config, stack)
        if config.model is not None:
            _preload(config.model)
        stand_ins_present(config.state_dir)  # what a crash left in a workspace goes first
        place, session, notices = await _open_session(start, config, stack)
        start = _continuing(start, session)
        config = _of_session(config, session, start.settings)
        roots = (config.workspace, *config.extra_roots)  # a stored session may have another workspace
        search_path.keep_out(roots)
        found = probe(config.state_dir)
        _require_sandbox(config, found)
        engine = _build(start, config, place, session, found, notices, stack)
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


def _preload(model: ModelChoice) -> None:
    if model.api != "demo":
        from agent_tui.models.router import sdk_of
        from agent_tui.models.transport import preload

        preload(sdk_of(model.api))


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
) -> "tuple[SessionPlace, Session, tuple[str, ...]]":
    from agent_tui.engine.clock import SystemClock
    from agent_tui.engine.session import Session
    from checkpoints.index import remove_unused
    from checkpoints.owner import OwnedError, Owner
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
    records, damage = await open_or_salvage(place.store)
    stack.push_async_callback(records.close)
    session = await Session.load(records, SystemClock())
    beating = asyncio.create_task(owner.keep_beating())
    stack.callback(beating.cancel)
    return place, session, (damage.text,) if damage is not None else ()


def place_of(start: Start, config: Config) -> "SessionPlace":
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


def _open_model(
    choice: ModelChoice, settings: Settings, stack: AsyncExitStack, *, ahead: bool = False
) -> Model:
    """`ahead`: its first request is about to come."""
    if choice.provider == DEMO:
        from agent_tui.models.demo import demo_model

        return demo_model()
    if choice.provider == REPLAY:
        return _replayed(choice.model)
    from agent_tui.models.router import open_model

    variable = choice.api_key_env
    key = os.environ.get(variable, "")
    model = open_model(route_to(choice.name, settings), api_key=key, key_name=variable)
    if ahead:
        model.prepare()
    stack.push_async_callback(model.aclose)
    return model


def _replayed(file: str) -> Model:
    from agent_tui.models.replay import ReplayError, replay_file

    try:
        return replay_file(long_path(file).absolute())
    except ReplayError as error:
        raise UsageError(str(error)) from error


def _build(
    start: Start,
    config: Config,
    place: "SessionPlace",
    session: "Session",
    found: ProbeResult,
    notices: tuple[str, ...],
    stack: AsyncExitStack,
) -> "EngineRuntime":
    from agent_tui.engine.events import SessionStarted
    from agent_tui.engine.runtime import EngineRuntime
    from agent_tui.repo_map import ProjectMap
    from agent_tui.surroundings import frozen_system_text, instructions, settings_of
    from checkpoints.identity import boot_id
    from checkpoints.index import open_elsewhere

    assert config.model is not None
    told = instructions(config)
    others = open_elsewhere(config.state_dir, config.workspace, place.id) if config.interactive else ()
    maps = ProjectMap(config.workspace, config.state_dir)
    ports, problems = _ports(start, config, place, found, maps, stack)
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
        notices=(
            *notices,
            *(BESIDE.format(other) for other in others),
            *(f"the sandbox holds, but not on this machine: {lost}" for lost in found.lost if found.is_fresh),
            *(ignored.reason for ignored in start.settings.ignored),
            *unknown_variables(os.environ),
            *told.problems,
            *problems,
        ),
    )


def _ports(
    start: Start,
    config: Config,
    place: "SessionPlace",
    found: ProbeResult,
    maps: "ProjectMap",
    stack: AsyncExitStack,
) -> "tuple[Ports, tuple[str, ...]]":
    """The ports, and what of them could not be had."""
    from agent_tui.engine.approvals import SessionGate
    from agent_tui.engine.ports import Ports
    from agent_tui.models.retry import delay_before_retry, falls_back
    from agent_tui.repo_map import RepoMapTool
    from agent_tui.surroundings import git_branch, nested_instructions, project_text, workspace_files
    from checkpoints.engine import open_checkpointer
    from sandbox.placeholders import present as stand_ins_present
    from tools.registry import build_toolbox

    def model_of(choice: ModelChoice) -> Model:
        return _open_model(choice, start.settings, stack)

    assert config.model is not None
    model = _open_model(config.model, start.settings, stack, ahead=True)
    roles = _Roles(start, model, model_of)
    fallback, unusable = _fallback(start, config)
    if maps.is_possible:
        stack.callback(asyncio.create_task(maps.warm()).cancel)
    ports = Ports(
        model=model,
        toolbox=build_toolbox(
            artifacts=place.artifacts,
            probe=found,
            interactive=config.interactive,
            image_capable=model.info.images,
            environ=search_path.given(),
            more=(RepoMapTool(maps),) if maps.is_possible else (),
        ),
        checkpointer=open_checkpointer(
            workspace=config.workspace,
            state_dir=config.state_dir,
            session=place.id,
            enabled=config.checkpoints,
            beside=config.extra_roots,
            stand_ins=partial(stand_ins_present, config.state_dir),
        ),
        gate=SessionGate(config, sandbox_available=found.available, now=time.time),
        retry=delay_before_retry,
        instructions=lambda: project_text(config, maps.section if config.repo_map else None),
        summariser=roles.summariser,
        fast=roles.fast,
        planner=roles.planner,
        choose_model=lambda name: model_of(choose(name, start.settings, os.environ)),
        fallback=fallback,
        falls_back=falls_back,
        files=lambda ignored: workspace_files(config.workspace, ignored=ignored),
        models=_models_of(start.settings),
        branch=lambda: git_branch(config.workspace),
        nested_instructions=lambda paths: nested_instructions(config, paths),
    )
    return _with_stored(ports, config, start.settings), (*roles.problems, *unusable)


class _Roles:
    """The models beside the chosen one; what cannot be had is a problem to be told, and is done without."""

    def __init__(self, start: Start, main: Model, model_of: Callable[[ModelChoice], Model]) -> None:
        self.problems: list[str] = []
        self._start = start
        self._model_of = model_of
        config = start.config
        self.fast = self._opened("fast_model", config.fast_model)
        self.planner = self._opened("planner_model", config.planner_model)
        own = config.summary_model == "main"
        self.summariser = main if own else self._opened("summary_model", config.summary_model) or self.fast

    def _opened(self, role: str, name: str | None) -> Model | None:
        if not name:
            return None
        try:
            return self._model_of(choose(name, self._start.settings, os.environ))
        except AgentError as error:
            self.problems.append(f"`{role}` is not used: {error}")
            return None


def _fallback(start: Start, config: Config) -> tuple[tuple[str, ...], list[str]]:
    """The models that may take over, and why others cannot: better said now than when they are needed."""
    usable, problems = [], []
    for name in config.fallback:
        try:
            choose(name, start.settings, os.environ)
        except AgentError as error:
            problems.append(f"`fallback` leaves a model out: {error}")
        else:
            usable.append(name)
    return tuple(usable), problems


def _models_of(settings: Settings) -> Callable[[], Awaitable[list[dict[str, object]]]]:
    """As `Subject.MODELS` has it; local servers are asked when somebody looks, never before."""

    @cache
    def offers() -> "Offers":
        from agent_tui.models.offers import Offers

        return Offers(provider_table(settings), os.environ, any_key=KEY_VARIABLE)

    async def listed() -> list[dict[str, object]]:
        return [asdict(offer) for offer in await offers().list()]

    return listed


def _with_stored(ports: "Ports", config: Config, settings: Settings) -> "Ports":
    """The ports with what reaches other sessions and the person's settings."""
    from agent_tui import told

    told_in = None if config.ephemeral else config.state_dir

    def keep_model(name: str) -> None:
        from agent_tui.config.edit import set_value

        set_value(config.config_dir, "model", choose(name, settings, os.environ).name)

    async def rename(found: str, title: str) -> None:
        from agent_tui import stored

        await stored.rename(stored.find(config.state_dir, found), title)

    def remove(found: str) -> None:
        from agent_tui import stored

        stored.remove(stored.find(config.state_dir, found))

    async def watch(found: str, read: int) -> tuple[Sequence[Any], int]:
        from agent_tui import stored

        return await stored.events_after(stored.find(config.state_dir, found), read)

    return replace(
        ports,
        watch=watch,
        sessions=lambda: _session_list(config, settings),
        rename_session=rename,
        remove_session=remove,
        keep_model=keep_model,
        is_news=lambda text: bool(told.news(told_in, [text])),
    )


def _session_list(config: Config, settings: Settings) -> list[dict[str, object]]:
    """As `Subject.SESSIONS` has it."""
    from checkpoints.index import list_sessions

    @cache
    def window(model: str) -> int | None:
        with suppress(AgentError):  # of a provider that is no longer there
            return choose(model, settings, os.environ).context_window
        return None

    return [
        {
            **asdict(entry.more),
            "id": entry.id,
            "title": entry.title,
            "workspace": entry.workspace,
            "updated_at": entry.updated_at,
            "turns": entry.turns,
            "live": entry.owner is not None,
            "model": (model := entry.more.last_model or entry.model),
            "context_window": window(model),
            "damage": entry.damage,
        }
        for entry in list_sessions(config.state_dir)
    ]
