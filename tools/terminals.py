"""The table of live commands: small ids that are never used twice, also not by a later process."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui.frozen import mutable
from tools.rows import append_row, read_rows
from tools.types import TerminalNews

if TYPE_CHECKING:
    from tools.terminal import Terminal

MAX_LIVE = 32
MAX_ENDED = 64
_MAX_NEWS = 256  # pieces of live output nobody fetched; ends are never dropped


@mutable
class Entry:
    """One command that outlived its call, or that an earlier process left behind."""

    id: str
    call_id: str
    command: str
    ref: str
    started_at: float  # UTC seconds
    terminal: "Terminal | None" = None  # None: lost with an earlier process
    last_used: float = field(default_factory=time.monotonic)
    told_end: bool = False  # the model was given its exit state
    empty_polls: int = 0  # in a row, looks that found nothing new
    stopping: asyncio.Task[None] | None = None  # asked to end, by signals in turn
    stopping_at: float = 0.0  # since when, UTC seconds
    ended_at: float = 0.0  # UTC seconds

    @property
    def is_live(self) -> bool:
        """Whether anything of it still runs."""
        return self.terminal is not None and not self.terminal.gone.is_set()


class Terminals:
    """Holds at most `MAX_LIVE` live ones; ended ones stay for a while, so that late polls are answered."""

    def __init__(self, artifacts: Path) -> None:
        self._journal = artifacts / "terminals.jsonl"
        self._entries: dict[str, Entry] = {}
        self._starting = 0
        self._news: list[TerminalNews] = []
        self._stir = asyncio.Event()
        self._count = 0
        self._read_journal()

    def _read_journal(self) -> None:
        """What an earlier process left: those without an end are lost."""
        for row in read_rows(self._journal):
            self._count = max(self._count, int(row["id"].removeprefix("t")))
            if row.get("ended"):
                self._entries.pop(row["id"], None)
            else:
                self._entries[row["id"]] = Entry(**row)

    @property
    def live(self) -> list[Entry]:
        """In the order in which they were added."""
        return [entry for entry in self._entries.values() if entry.is_live]

    def reserve(self) -> bool:
        """Claim room for one more live command; False at the limit. `release` gives it back."""
        if len(self.live) + self._starting >= MAX_LIVE:
            return False
        self._starting += 1
        return True

    def release(self) -> None:
        """The claim was used or is not needed."""
        self._starting -= 1

    def add(self, terminal: "Terminal", *, call_id: str, command: str, started_at: float) -> Entry:
        """Give a live command an id."""
        self._count += 1
        entry = Entry(
            id=f"t{self._count}",
            call_id=call_id,
            command=command,
            ref=terminal.collector.spool.ref,
            started_at=started_at,
            terminal=terminal,
        )
        self._entries[entry.id] = entry
        row = {"id": entry.id, "call_id": call_id, "command": command, "ref": entry.ref}
        append_row(self._journal, {**row, "started_at": started_at})
        terminal.show = lambda text: self._output(entry, text)
        terminal.on_waiting = lambda waits: self._waits(entry, waits)
        terminal.on_gone = lambda: self._gone(entry)
        self._prune()
        return entry

    def get(self, terminal_id: str) -> Entry | None:
        """The entry of an id that is or was in use."""
        entry = self._entries.get(terminal_id)
        if entry is not None:
            entry.last_used = time.monotonic()
        return entry

    def _output(self, entry: Entry, text: str) -> None:
        if len(self._news) < _MAX_NEWS:
            self._news.append(TerminalNews(terminal=entry.id, call_id=entry.call_id, text=text))
        self._stir.set()

    def _waits(self, entry: Entry, waits: bool) -> None:
        self._news.append(TerminalNews(terminal=entry.id, call_id=entry.call_id, awaits_input=waits))
        self._stir.set()

    def _gone(self, entry: Entry) -> None:
        assert entry.terminal is not None
        end = entry.terminal.exit
        entry.ended_at = time.time()
        append_row(self._journal, {"id": entry.id, "ended": True})
        self._news.append(
            TerminalNews(
                terminal=entry.id,
                call_id=entry.call_id,
                ended=True,
                exit_code=end.code if end else None,
                signal=end.signal if end else None,
            )
        )
        self._stir.set()

    def _prune(self) -> None:
        """Forget the ended ones that were not used for longest; live ones never."""
        ended = sorted(
            (entry for entry in self._entries.values() if not entry.is_live), key=lambda one: one.last_used
        )
        for entry in ended[: max(0, len(ended) - MAX_ENDED)]:
            del self._entries[entry.id]

    async def news(self) -> AsyncIterator[TerminalNews]:
        """Output and ends of commands that outlived their call, as they come; for one reader."""
        while True:
            await self._stir.wait()
            self._stir.clear()
            pending, self._news = self._news, []
            for piece in pending:
                yield piece

    def stop(self, entry: Entry) -> None:
        """Ask a live one to end: INT, TERM and KILL in turn, until it and all it started is gone."""
        if entry.terminal is not None and entry.stopping is None:
            entry.stopping, entry.stopping_at = asyncio.create_task(entry.terminal.stop()), time.time()

    def listing(self) -> list[Mapping[str, Any]]:
        """Live and recently ended ones, for people and for the notice at a turn's start."""
        return [_row(entry) for entry in self._entries.values()]

    async def close(self) -> None:
        """End all of them; KILL, since the session is over."""
        for entry in self.live:
            assert entry.terminal is not None
            entry.terminal.kill()
        for entry in self.live:
            assert entry.terminal is not None
            await entry.terminal.gone.wait()


def _row(entry: Entry) -> Mapping[str, Any]:
    end = entry.terminal.exit if entry.terminal else None
    state = "lost" if entry.terminal is None else "live" if entry.is_live else "ended"
    return {
        "id": entry.id,
        "command": entry.command,
        "state": state,
        "started_at": entry.started_at,
        "ended_at": entry.ended_at,
        "stopping_at": entry.stopping_at if entry.is_live else 0.0,
        "call_id": entry.call_id,
        "tail": entry.terminal.tail if entry.terminal else "",
        "awaits_input": entry.terminal is not None and entry.terminal.awaits_input,
        "takes_input": entry.terminal is not None and entry.terminal.running.stdin is not None,
        "exit_code": end.code if end else None,
        "signal": end.signal if end else None,
        "ref": entry.ref,
    }
