"""Tells readers what changes without a call: ended terminals, the health of checkpoints."""

import asyncio
from dataclasses import replace

from agent_tui.engine.by_hand import ByHand
from agent_tui.engine.events import CallOutput, InputAwaited, StatusChanged, TerminalChanged
from agent_tui.engine.ports import Ports
from agent_tui.engine.session import Session
from checkpoints.types import Health

PERIOD_S = 0.5


def undo_notice(health: Health) -> str:
    """What a person has to know of checkpoints here; empty when nothing is unusual, or nothing is
    known yet. A failure is told where a call has to run without one."""
    if health.state == "file_tools_only":
        return f"undo covers only what file tools change here: {health.detail}"
    return f"undo: {health.detail}" if health.state == "ok" and health.detail else ""


def ended_terminals(session: Session, ports: Ports) -> list[TerminalChanged]:
    """The event of each terminal that has ended since it was stored as live."""
    found = []
    for terminal in ports.toolbox.terminals():
        known = session.fold.terminals.get(str(terminal.get("id")))
        if known is not None and known.state == "live" and terminal.get("state") != "live":
            code, signal = terminal.get("exit_code"), terminal.get("signal")
            found.append(replace(known, state="ended", exit_code=code, signal=signal))
    return found


class Lookout:
    """Looks twice a second; stores only what has changed."""

    def __init__(self, session: Session, ports: Ports, by_hand: ByHand) -> None:
        self._session = session
        self._by_hand = by_hand
        self._ports = ports
        self._health: Health | None = None
        self._live = 0

    async def follow_terminals(self) -> None:
        """Show what terminals print between calls, that they wait for input, and their ends at once; until
        cancelled."""
        async for news in self._ports.toolbox.terminal_news():
            if news.text:
                self._session.show(
                    CallOutput(call_id=news.call_id, text=news.text, terminal=news.terminal),
                    cause=news.call_id,
                )
            if news.awaits_input is not None:
                waiting = InputAwaited(call_id=news.call_id, waits=news.awaits_input, terminal=news.terminal)
                self._session.show(waiting, cause=news.call_id)
            if news.ended:
                await self.look()

    async def count_changes(self) -> None:
        """Tell once how much git does not have; may take a while."""
        found = await asyncio.to_thread(self._ports.files, False)
        self._session.show(StatusChanged(changed_files=sum(map(bool, found.values()))))

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(PERIOD_S)

    async def look(self) -> None:
        """Once."""
        await self._by_hand.store()
        if ended := ended_terminals(self._session, self._ports):
            await self._session.settle(*ended)
        live = sum(one.get("state") == "live" for one in self._ports.toolbox.terminals())
        health = self._ports.checkpointer.health()
        if (health, live) != (self._health, self._live):
            await self._session.warn_once(undo_notice(health))
            self._health, self._live = health, live
            self._session.show(StatusChanged(undo=health, terminals=live))
