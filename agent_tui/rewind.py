"""The stored conversation of a session, taken back by a command while no process has it open."""

import asyncio
from pathlib import Path
from typing import Literal, Self

from agent_tui.engine import undo
from agent_tui.engine.clock import SystemClock
from agent_tui.engine.commands import Rollback
from agent_tui.engine.session import Session
from agent_tui.errors import SessionBusyError
from checkpoints.index import NoSessionError, SessionPlace, find_session
from checkpoints.owner import OwnedError, Owner
from checkpoints.records import SessionRecords
from checkpoints.types import Checkpoint, RollbackResult
from context.items import UserItem

Mode = Literal["both", "files", "conversation"]


class Conversation:
    """One stored session; owned by this process unless it is only looked at."""

    def __init__(self, place: SessionPlace, session: Session, owner: Owner | None) -> None:
        self._place = place
        self._session = session
        self._owner = owner

    @classmethod
    def read(cls, place: SessionPlace, owner: Owner | None) -> Self:
        """Fold the records as they are now; raises RecordsError."""
        return cls(place, asyncio.run(_load(place)), owner)

    @property
    def can_redo(self) -> bool:
        """Whether its newest rollback was not taken back, and nothing was said since."""
        fold = self._session.fold
        if not fold.rollbacks or fold.rollbacks[-1].redo_of:
            return False
        hid = fold.rollbacks[-1].item_id
        ids = [item.id for item in fold.log]
        return not hid or not any(isinstance(item, UserItem) for item in fold.log[ids.index(hid) :])

    def would_hide(self, target: Checkpoint) -> tuple[int, int]:
        """How many items a rollback hides, and how many of them are messages of the person."""
        hidden, messages = undo.hidden_from(self._session, target)
        return len(hidden), len(messages)

    async def hide(self, target: Checkpoint, files: RollbackResult | None, mode: Mode) -> None:
        """Store a rollback whose files are back already; raises RecordsError."""
        asked = Rollback(checkpoint_id=target.id, mode=mode)
        records = await SessionRecords.open(self._place.store)
        session = await Session.load(records, SystemClock())
        try:
            await session.commit(*undo.rollback_parts(session, asked, target, files))
        finally:
            await session.close()

    async def unhide(self, files: RollbackResult | None) -> None:
        """Store that the newest rollback was taken back; raises RecordsError."""
        records = await SessionRecords.open(self._place.store)
        session = await Session.load(records, SystemClock())
        try:
            await session.commit(*undo.redo_parts(session, session.fold.rollbacks[-1], files))
        finally:
            await session.close()

    def close(self) -> None:
        """Let others have the session."""
        if self._owner is not None:
            self._owner.release()


def peek(state_dir: Path, session_id: str) -> Conversation | None:
    """The conversation to look at, open elsewhere or not; None when it is not stored."""
    place = _find(state_dir, session_id)
    return Conversation.read(place, None) if place else None


def own(state_dir: Path, session_id: str) -> Conversation | None:
    """The conversation to change; raises SessionBusyError while another process has it open."""
    place = _find(state_dir, session_id)
    if place is None:
        return None
    try:
        owner = Owner.take(place.directory)
    except OwnedError as error:
        raise SessionBusyError(str(error)) from error
    try:
        return Conversation.read(place, owner)
    except BaseException:
        owner.release()
        raise


def _find(state_dir: Path, session_id: str) -> SessionPlace | None:
    try:
        place = find_session(state_dir, session_id)
    except NoSessionError:
        return None
    return place if place.id == session_id and place.store.exists() else None


async def _load(place: SessionPlace) -> Session:
    records = await SessionRecords.open(place.store)
    try:
        return await Session.load(records, SystemClock())
    finally:
        await records.close()
