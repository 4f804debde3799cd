"""What the person types into live terminals: stored, and told to the model before its next step.

Keys that come close together become one record. What was typed where a terminal shows nothing of it, as at
the prompt for a password, is in no record and in no notice: only that something was.
"""

import asyncio

from agent_tui.engine.commands import TerminalInput
from agent_tui.engine.events import TerminalTyped
from agent_tui.engine.session import Part, Session
from agent_tui.engine.typed import add, notice_of
from context.items import NoticeItem


class ByHand:
    """What was typed since it was stored last; `store` is called twice a second, and before each step."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._records: list[TerminalTyped] = []

    def note(self, body: TerminalInput, *, is_hidden: bool) -> None:
        """Take what a terminal has taken."""
        if body.chars:
            chars = "" if is_hidden else body.chars
            add(self._records, TerminalTyped(terminal=body.terminal, chars=chars, hidden=is_hidden))
        if body.signal:
            add(self._records, TerminalTyped(terminal=body.terminal, signal=body.signal))

    async def store(self) -> None:
        """One record for what belongs together; stored also when whoever asked is cancelled meanwhile."""
        records, self._records = self._records, []
        if records:
            await asyncio.shield(self._session.settle(*records))

    async def tell(self) -> None:
        """Tell the model what it has not been told. Raises RecordsError."""
        await self.store()
        await self._session.transact(self._notice)

    def _notice(self) -> list[Part] | None:
        typed = self._session.fold.typed
        if not typed:
            return None
        return [NoticeItem(id=self._session.item_id("n"), text=notice_of(typed))]
