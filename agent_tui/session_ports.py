"""The ports of a session: what its engine reaches outside, made for one workspace and one store."""

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any

from agent_tui import search_path, told
from agent_tui.config.layers import Settings
from agent_tui.config.providers import choose
from agent_tui.engine.approvals import SessionGate
from agent_tui.engine.ports import Ports
from agent_tui.engine.types import Config
from agent_tui.errors import AgentError
from agent_tui.models.base import Model
from agent_tui.models.retry import delay_before_retry, falls_back
from agent_tui.repo_map import ProjectMap, RepoMapTool
from agent_tui.session_models import Roles, offers_of, open_model, usable_fallback
from agent_tui.surroundings import git_branch, nested_instructions, project_text, workspace_files
from checkpoints.engine import open_checkpointer
from checkpoints.index import SessionPlace, list_sessions
from sandbox.placeholders import present as stand_ins_present
from sandbox.probe import ProbeResult
from tools.registry import build_toolbox


def open_ports(
    config: Config, settings: Settings, place: SessionPlace, found: ProbeResult, stack: AsyncExitStack
) -> tuple[Ports, tuple[str, ...]]:
    """The ports, closed with `stack`, and what of them could not be had. Raises UsageError."""

    def model_called(name: str) -> Model:
        return open_model(choose(name, settings, os.environ), settings, stack)

    assert config.model is not None
    model = open_model(config.model, settings, stack, ahead=True)
    roles = Roles(config, model, model_called)
    fallback, unusable = usable_fallback(config, settings)
    maps = ProjectMap(config.workspace, config.state_dir)
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
        choose_model=model_called,
        fallback=fallback,
        falls_back=falls_back,
        files=lambda ignored: workspace_files(
            config.workspace, ignored=ignored, stand_ins=stand_ins_present(config.state_dir)
        ),
        models=offers_of(settings),
        branch=lambda: git_branch(config.workspace),
        nested_instructions=lambda paths: nested_instructions(config, paths),
    )
    return _with_stored(ports, config, settings), (*roles.problems, *unusable)


def _with_stored(ports: Ports, config: Config, settings: Settings) -> Ports:
    """The ports with what reaches other sessions and the person's settings."""
    told_in = None if config.ephemeral else config.state_dir

    def keep(model: str) -> None:
        from agent_tui.config.edit import keep_model

        keep_model(model, settings)

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
        keep_model=keep,
        is_news=lambda text: bool(told.news(told_in, [text])),
    )


def _session_list(config: Config, settings: Settings) -> list[dict[str, object]]:
    """As `Subject.SESSIONS` has it."""

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
