"""Answers `Inspect`: facts of the session and its ports as plain data; changes nothing but `remove`."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent_tui.engine.commands import Inspect, Subject
from agent_tui.engine.events import GrantRemoved
from agent_tui.engine.framing import request_of, view_of, window_of
from agent_tui.engine.scope import Scope
from agent_tui.engine.types import OF_GATE
from agent_tui.engine.undo import checkpoint_of, grants_ended
from agent_tui.errors import AgentError
from checkpoints.types import Checkpoint, CheckpointError, Phase
from context.codec import encode
from tools.integrity import damage_of

MAX_OUTPUT_BYTES = 4 * 1024 * 1024  # of an artifact, read for a pager


class InspectionError(Exception):
    """The question cannot be answered; the text says why."""


async def inspect(scope: Scope, asked: Inspect) -> Any:
    """The data for a subject, in the shape stated with `Subject`; raises InspectionError and RecordsError."""
    try:
        return await _ANSWERS[asked.subject](scope, asked.args)
    except (CheckpointError, AgentError) as error:  # AgentError: a rules file that cannot be used
        raise InspectionError(str(error)) from error


def _lines(text: str | None) -> Sequence[str]:
    return text.splitlines() if text else ()


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() else default


async def _diff(scope: Scope, args: Mapping[str, str]) -> str:
    """Between a checkpoint and the one that ends what was asked for, or the workspace now."""
    checkpointer = scope.ports.checkpointer
    if args.get("checkpoint"):
        return await checkpointer.diff(args["checkpoint"], args.get("until"))
    taken = sorted(await checkpointer.list(scope.session.id), key=lambda one: one.seq)
    if args.get("call"):
        older, newer = _of_call(taken, args["call"])
        return await checkpointer.diff(older, newer)
    turn = scope.session.fold.tasks
    inside = [one for one in taken if args.get("session") or one.cause.turn == turn]
    if not inside:
        part = "session" if args.get("session") else "turn"
        raise InspectionError(
            f"no checkpoint was taken in this {part} yet, so there is nothing to compare with"
        )
    if args.get("session") or scope.session.fold.is_running:
        return await checkpointer.diff(inside[0].id)
    ends = [one for one in inside if one.cause.phase is Phase.TURN_END]
    return await checkpointer.diff(inside[0].id, (ends or inside)[-1].id)


def _of_call(taken: Sequence[Checkpoint], call_id: str) -> tuple[str, str | None]:
    """The checkpoint before a call, and the first one after it that shows its end."""
    before = [one for one in taken if one.cause.call_id == call_id and one.cause.phase is Phase.BEFORE_CALL]
    if not before:
        raise InspectionError(f"there is no checkpoint before call `{call_id}`")
    ends = [one for one in taken if one.cause.call_id == call_id and one.cause.phase is Phase.AFTER_CALL]
    return before[0].id, ends[-1].id if ends else None


async def _checkpoints(scope: Scope, args: Mapping[str, str]) -> Any:
    return [encode(one) for one in await scope.ports.checkpointer.list(args.get("session"))]


async def _kept(scope: Scope, _: Mapping[str, str]) -> Any:
    return encode(await scope.ports.checkpointer.kept())


async def _plan(scope: Scope, args: Mapping[str, str]) -> Any:
    return encode(await scope.ports.checkpointer.plan(args.get("id", ""), _lines(args.get("paths"))))


async def _sessions(scope: Scope, args: Mapping[str, str]) -> Any:
    ports = scope.ports
    if args.get("remove") and ports.remove_session is not None:
        await asyncio.to_thread(ports.remove_session, args["remove"])
    if args.get("rename") and ports.rename_session is not None:
        await ports.rename_session(args["rename"], args.get("title", ""))
    return list(await asyncio.to_thread(scope.ports.sessions))


async def _watch(scope: Scope, args: Mapping[str, str]) -> Any:
    if scope.ports.watch is None:
        raise InspectionError("sessions cannot be watched here")
    found, read = await scope.ports.watch(args.get("id", ""), _number(args.get("read"), 0))
    return {"events": found, "read": read}


async def _files(scope: Scope, args: Mapping[str, str]) -> Any:
    return dict(await asyncio.to_thread(scope.ports.files, bool(args.get("ignored"))))


async def _models(scope: Scope, args: Mapping[str, str]) -> Any:
    if args.get("default") and scope.ports.keep_model is not None:
        await asyncio.to_thread(scope.ports.keep_model, args["default"])
    return list(await scope.ports.models())


async def _terminals(scope: Scope, _: Mapping[str, str]) -> Any:
    return [_placed(scope, row) for row in scope.ports.toolbox.terminals()]


def _placed(scope: Scope, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A terminal with where it runs, how, and how much it wrote."""
    call = scope.session.fold.calls.get(row["call_id"])
    started = call.started if call is not None else None
    with suppress(OSError):  # nothing was written yet, or the file is gone
        row = {**row, "size_bytes": _output_file(scope, row["ref"]).stat().st_size}
    return {**row, "cwd": started.cwd, "sandbox": started.sandbox} if started is not None else row


async def _transcript(scope: Scope, args: Mapping[str, str]) -> Any:
    return [event async for event in scope.session.stored(_number(args.get("after"), 0))]


async def _request(scope: Scope, _: Mapping[str, str]) -> Any:
    body = scope.ports.model.body(request_of(scope, view_of(scope)))
    return body.decode("utf-8", errors="replace")


async def _edit(scope: Scope, args: Mapping[str, str]) -> Any:
    tool, arguments = _proposed(scope, args)
    found = await scope.ports.toolbox.texts(tool, arguments, scope.ports.gate.policy())
    if isinstance(found, str):
        raise InspectionError(found)
    return dict(found)


async def _edited(scope: Scope, args: Mapping[str, str]) -> str:
    tool, arguments = _proposed(scope, args)
    texts, policy = json.loads(args["texts"]), scope.ports.gate.policy()
    found = await scope.ports.toolbox.rewritten(tool, arguments, texts, policy)
    if isinstance(found, str):
        raise InspectionError(found)
    return json.dumps(found, ensure_ascii=False)


def _proposed(scope: Scope, args: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
    """The tool and the arguments of a call."""
    call = scope.session.fold.calls.get(args.get("call", ""))
    if call is None:
        raise InspectionError(f"there is no call `{args.get('call', '')}`")
    arguments = scope.ports.toolbox.check(call.proposed.tool, call.proposed.arguments)
    if isinstance(arguments, str):
        raise InspectionError(arguments)
    return call.proposed.tool, arguments


async def _output(scope: Scope, args: Mapping[str, str]) -> Any:
    return await asyncio.to_thread(_read_output, scope, args)


async def _context(scope: Scope, _: Mapping[str, str]) -> dict[str, Any]:
    breakdown = scope.meter.breakdown(view_of(scope))
    window = window_of(scope)
    total = breakdown.total
    percent = min(100, round(total * 100 / window.size))
    return {
        **asdict(breakdown),
        "total": total,
        "window": window.size,
        "percent": percent,
        "limit": window.soft,
    }


async def _cost(scope: Scope, _: Mapping[str, str]) -> dict[str, Any]:
    return scope.session.fold.costs.shown()


async def _grants(scope: Scope, args: Mapping[str, str]) -> list[Mapping[str, Any]]:
    remove = args.get("remove", "")
    if remove:
        if not scope.ports.gate.revoke(remove):
            raise InspectionError(f"there is no grant `{remove}`")
        await scope.session.commit(GrantRemoved(grant_id=remove, reason="taken back by you"))
    found = list(scope.ports.gate.grants())
    if "ended_by" not in args:
        return found
    ended = grants_ended(scope.session, await checkpoint_of(scope, args["ended_by"]))
    return [each for each in found if each["id"] in ended]


def _output_file(scope: Scope, ref: str) -> Path:
    kept = scope.session.fold.artifacts.get(ref)
    name = kept.path.name if kept is not None else Path(f"{ref.removeprefix('out/')}.out").name
    return scope.artifacts / name  # a copy of a session has the files in its own directory


def _read_output(scope: Scope, args: Mapping[str, str]) -> str:
    """Lines of a spooled output; a reference names a file of the session's directory and no other."""
    ref = args.get("ref", "")
    path = _output_file(scope, ref)
    if not path.resolve().is_relative_to(scope.artifacts.resolve()) or not path.is_file():
        raise InspectionError(f"there is no output `{ref}`")
    with path.open("rb") as spool:
        lines = spool.read(MAX_OUTPUT_BYTES).decode("utf-8", errors="replace").splitlines()
    first = max(1, _number(args.get("start_line"), 1))
    known = scope.session.fold.artifacts.get(ref)
    damage = damage_of(known, path) if known is not None else ""
    told = [f"[{damage}]"] if damage else []
    return "\n".join([*told, *lines[first - 1 : _number(args.get("end_line"), len(lines))]])


async def _settings(scope: Scope, _: Mapping[str, str]) -> dict[str, Any]:
    """Every setting, those of the session as they are now. What guards the machine is asked of the gate: a
    setting that an earlier process of the session stored may hold no more."""
    config, fold, gate = scope.config, scope.session.fold, scope.ports.gate
    policy = gate.policy()
    values = {
        "model": scope.ports.model.info.name,
        "sandbox": str(policy.mode),
        "network": policy.network,
        "approval": str(gate.approval()),
        "cd": str(config.workspace),
    }
    values |= {key: value for key, value in config.told.items() if key not in values}
    shown = {
        key: {"value": value, "origin": config.origins.get(key, "default")} for key, value in values.items()
    }
    at_start = {"sandbox": config.sandbox, "network": config.network, "approval": config.approval}
    changed = {key: values[key] for key, value in at_start.items() if values[key] != value}
    changed |= {key: value for key, value in fold.settings.items() if key not in OF_GATE}
    return shown | {key: {"value": value, "origin": "session"} for key, value in changed.items()}


_ANSWERS: Mapping[Subject, Callable[[Scope, Mapping[str, str]], Awaitable[Any]]] = {
    Subject.CHECKPOINTS: _checkpoints,
    Subject.KEPT: _kept,
    Subject.ROLLBACK_PLAN: _plan,
    Subject.DIFF: _diff,
    Subject.SESSIONS: _sessions,
    Subject.WATCH: _watch,
    Subject.CONTEXT: _context,
    Subject.COST: _cost,
    Subject.GRANTS: _grants,
    Subject.TERMINALS: _terminals,
    Subject.OUTPUT: _output,
    Subject.FILES: _files,
    Subject.MODELS: _models,
    Subject.SETTINGS: _settings,
    Subject.TRANSCRIPT: _transcript,
    Subject.EDIT: _edit,
    Subject.EDITED: _edited,
    Subject.REQUEST: _request,
}
