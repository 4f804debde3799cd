"""How a session begins and ends in a process: opened from its records, closed within seconds."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agent_tui.engine import inbox, room
from agent_tui.engine.drift import drift_parts
from agent_tui.engine.events import NoticeRaised, SessionClosed, SessionStarted
from agent_tui.engine.framing import view_of, window_of
from agent_tui.engine.limits import named_limits
from agent_tui.engine.lookout import Lookout, ended_terminals
from agent_tui.engine.ports import Ports
from agent_tui.engine.resume import crash_parts, kill_lost_terminals
from agent_tui.engine.settings import SettingError, apply, assumption_parts
from agent_tui.engine.types import SandboxStatus, TaskStatus
from agent_tui.engine.work import Work
from context.items import NoticeItem

SHUTDOWN_S = 1.0  # for the running turn to end; after it what still runs is killed (2 s in all)


async def open_session(
    work: Work, start: SessionStarted, sandbox: SandboxStatus, notices: Sequence[NoticeRaised]
) -> None:
    """Store what this start is, tell what became of an earlier process and of its calls, and begin to watch.

    `sandbox` is what this machine can do. Raises RecordsError when not even the start can be stored."""
    session = work.session
    for asked, decided in session.fold.grants:
        work.ports.gate.restore(asked, decided)
    if session.fold.first is None:
        await session.commit(start, *named_limits(work.config, {}), cause=start.session_id)
        unusable: list[str] = []
    else:
        await _store_return(work, start)
        unusable = _restore_settings(work)
        work.recall_sizes()
        await work.recovery.begin()
    told = [*notices, *(NoticeRaised(text=text, level="warning") for text in unusable)]
    if unread := session.unreadable:
        text = f"{unread} records of this session cannot be read by this version"
        told.append(NoticeRaised(text=text, level="warning", about="records"))
    for notice in told:
        await session.commit(notice)
    if assumed := assumption_parts(session, work.ports):
        await session.commit(*assumed)
    _show_status(work, sandbox)
    lookout = Lookout(session, work.ports, work.by_hand)
    work.aside(lookout.run())
    work.aside(lookout.follow_terminals())
    if work.config.interactive and not session.fold.log and work.ports.branch():
        work.aside(lookout.count_changes())


async def _store_return(work: Work, start: SessionStarted) -> None:
    """Of a session that has records: what the earlier process left, and what this start says otherwise."""
    session, config = work.session, work.config
    kill_lost_terminals(session, start.boot_id)
    paused = session.fold.task_status is TaskStatus.PAUSED
    again = replace(start, resumed=True, system="", project="", paused=paused)
    limits = named_limits(config, session.fold.settings)
    crash = crash_parts(work.scope(), reads_again=work.recovery.reads_again)
    items = sum(isinstance(part, NoticeItem) for part in crash)
    drift = drift_parts(session, again.settings or {}, ahead=items, names_model=config.names("model"))
    await session.commit(again, *crash, *drift, *limits)


def _restore_settings(work: Work) -> list[str]:
    """Model and effort go on as they were, unless this start names a model; what guards the machine is
    as this start says. Returns why one cannot."""
    unusable = []
    for key in ("model", "effort"):
        value = work.session.fold.settings.get(key, "")
        if value and not (key == "model" and work.config.names("model")):
            try:
                work.use(apply(work.ports, key, value))
            except SettingError as error:
                unusable.append(f"the session's {key} `{value}` cannot be used: {error}")
    return unusable


def _show_status(work: Work, sandbox: SandboxStatus) -> None:
    scope, fold, ports = work.scope(), work.session.fold, work.ports
    used = scope.meter.tokens(view_of(scope)) if fold.log else None
    work.session.show(
        replace(
            room.of_window(window_of(scope), used),
            sandbox=sandbox_in_force(ports, sandbox),
            undo=ports.checkpointer.health(),
            model=ports.model.info.name,
            approval=str(ports.gate.approval()),
            cost_usd=fold.spent.cost_usd if fold.log else None,
            branch=ports.branch(),
            activity="",
        )
    )


def sandbox_in_force(ports: Ports, sandbox: SandboxStatus) -> SandboxStatus:
    """What this machine can do, and what is set now."""
    now = ports.gate.policy()
    return replace(sandbox, mode=now.mode, network=now.network, extra_roots=len(now.extra_roots))


async def close_session(work: Work, why: str) -> None:
    """Within a few seconds: stop what runs, end what it started, say goodbye."""
    session = work.session
    if work.task is not None:
        work.stop.interrupt(why, closing=True)
        _, pending = await asyncio.wait({work.task}, timeout=SHUTDOWN_S)
        if pending:
            work.stop.interrupt(why, force=True)
            await asyncio.wait({work.task}, timeout=SHUTDOWN_S)
    for task in (asides := tuple(work.asides)):
        task.cancel()
    await _end_terminals(work)
    if asides:  # what a title took so far is stored
        await asyncio.wait(asides, timeout=SHUTDOWN_S)
    await work.by_hand.store()
    await inbox.give_back(session, "the session was closed")
    if not await session.settle():  # what is still in memory has its last chance here
        text = "the end of this session could not be stored; a resume begins before it"
        await session.settle(NoticeRaised(text=text, level="error"))
    await session.settle(SessionClosed(reason=why, kept=not session.fold.is_unused))
    await session.close()
    await work.ports.checkpointer.close()  # may wait for a long checkpoint; the session is safe by now


async def _end_terminals(work: Work) -> None:
    """What lives on after its call ends with the process; the model learns of it when the session goes on."""
    session, ports = work.session, work.ports
    await session.settle(*ended_terminals(session, ports))  # those that had ended by themselves
    await ports.toolbox.close()
    if ended := ended_terminals(session, ports):
        names = ", ".join(f"{one.terminal} ({one.command})" for one in ended)
        text = f"The session was closed, and these terminals were ended with it: {names}"
        await session.settle(*ended, NoticeItem(id=session.item_id("n"), text=text))
