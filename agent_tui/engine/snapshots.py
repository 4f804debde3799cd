"""Checkpoints of a turn: when one is taken, and what to do when it cannot be had."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agent_tui.engine.events import Body, CallChanged, CheckpointTaken, NoticeRaised, StatusChanged
from agent_tui.engine.lookout import undo_notice
from agent_tui.engine.prepare import Prepared, card_text
from agent_tui.engine.scope import Scope
from agent_tui.engine.types import CallState
from agent_tui.engine.waves import is_empty
from agent_tui.frozen import frozen
from checkpoints.types import Author, Cause, Checkpoint, CheckpointError, FileChange, Phase
from context.items import UserItem

MAX_SUMMARY_CHARS = 200
FIRST_WAIT_S = 2.0
TELL_AFTER_S = 0.5  # of waiting for the checkpoint of a turn's start
STOPPED_WAIT_S = 0.3  # for checkpoints of a turn that was told to stop


@frozen
class Taken:
    """A checkpoint, or why there is none; `error` is empty where none was needed."""

    checkpoint: Checkpoint | None = None
    error: str = ""

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The event to store with what follows."""
        return (CheckpointTaken(checkpoint=self.checkpoint),) if self.checkpoint else ()


def is_writer(call: Prepared) -> bool:
    """Whether a call needs a checkpoint before it: all that is not provably read-only."""
    return call.assessment is not None and not call.assessment.read_only and not is_empty(call.effects.writes)


class Snapshots:
    """The checkpoints of one turn."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._first: asyncio.Task[Taken] | None = None
        self._wrote = False

    def begin(self) -> None:
        """Start the checkpoint of what the person said: at the turn's start, and again with each message
        that came while it ran. The next writer waits for it."""
        if self._enabled:
            cause = self._cause(Phase.TURN_START, self._scope.session.fold.steps, ())
            cause = replace(cause, summary=self._message())
            self._first = asyncio.create_task(self._begin(cause, self._first))

    async def before(self, calls: Sequence[Prepared], step: int) -> Taken:
        """The checkpoint before a wave that has a writer. Raises StoppedError: an order to stop does
        not wait for one."""
        writers = [call for call in calls if is_writer(call)]
        if not writers or not self._enabled:
            return Taken()
        await self.first(writers)
        taken = await self._scope.stop.guard(self._take(self._cause(Phase.BEFORE_CALL, step, writers)))
        self._wrote = True
        return taken

    async def first(self, calls: Sequence[Prepared]) -> None:
        """Wait with writers for the checkpoint of the turn's start; where that takes a while, they say so.
        Raises StoppedError."""
        writers = [call for call in calls if is_writer(call)]
        if self._first is None or not writers:
            return
        self._scope.ports.checkpointer.hurry()
        await self._scope.stop.guard(asyncio.wait({self._first}, timeout=TELL_AFTER_S))
        if not self._first.done():
            detail = "for the first checkpoint"
            await self._scope.session.commit(
                *(
                    CallChanged(call_id=one.call_id, state=CallState.VALIDATED, detail=detail)
                    for one in writers
                )
            )
            await self._scope.stop.guard(asyncio.wait({self._first}))

    async def after(self, calls: Sequence[Prepared], step: int) -> Taken:
        """The checkpoint after the writers of a wave; its changes are theirs."""
        return await self._take(self._cause(Phase.AFTER_CALL, step, calls))

    async def end(self) -> None:
        """The checkpoint of the turn's end, where something may have been written.

        That of its start is waited for a little, so that its event comes before the end of the run;
        a long first import is not. A turn that was told to stop hardly waits at all.
        """
        if self._first is None:
            return
        self._scope.ports.checkpointer.hurry()
        is_stopped = self._scope.stop.now.is_set()
        await asyncio.wait({self._first}, timeout=STOPPED_WAIT_S if is_stopped else FIRST_WAIT_S)
        if self._first.done() and self._wrote:
            cause = self._cause(Phase.TURN_END, self._scope.session.fold.steps, ())
            taken = await self._take(cause, STOPPED_WAIT_S if is_stopped else None)
            if taken.checkpoint is not None:
                await self._scope.session.commit(*taken.bodies)

    @property
    def _enabled(self) -> bool:
        return self._scope.ports.checkpointer.health().state != "off"

    def _message(self) -> str:
        """The message that was let in here, on one line; a continued turn has none."""
        fold = self._scope.session.fold
        began = fold.turn_starts.get((fold.tasks, fold.steps), len(fold.log))
        said = next((item.text for item in fold.log[began:] if isinstance(item, UserItem)), "")
        return " ".join(said.split())[:MAX_SUMMARY_CHARS]

    async def _begin(self, cause: Cause, earlier: asyncio.Task[Taken] | None) -> Taken:
        if earlier is not None:
            await earlier
        taken = await self._take(cause)
        if taken.checkpoint is not None:
            # a turn may be over before the watch looks
            health = self._scope.ports.checkpointer.health()
            await self._scope.session.warn_once(undo_notice(health))
            self._scope.session.show(StatusChanged(undo=health))
            await self._scope.session.settle(*taken.bodies)
        elif taken.error and "undo.failed" not in self._scope.session.fold.notices:
            notice = NoticeRaised(text=f"no undo: {taken.error}", level="warning", key="undo.failed")
            await self._scope.session.settle(notice)
        return taken

    async def _take(self, cause: Cause, within_s: float | None = None) -> Taken:
        try:
            async with asyncio.timeout(within_s):
                return Taken(checkpoint=await self._scope.ports.checkpointer.take(cause))
        except CheckpointError as error:
            return Taken(error=str(error))
        except TimeoutError:
            return Taken(error=f"it took longer than {within_s} s")

    def _cause(self, phase: Phase, step: int, calls: Sequence[Prepared]) -> Cause:
        session = self._scope.session
        first = calls[0] if calls else None
        return Cause(
            phase=phase,
            session=session.id,
            turn=session.fold.tasks,
            step=step,
            call_id=first.call_id if first else "",
            tool=first.tool if first else "",
            summary=_summary(first),
            model=self._scope.ports.model.info.model,
            touched=tuple(str(p) for call in calls if call.assessment for p in call.assessment.files),
            only_touched=bool(calls) and all(_names_all_it_writes(call) for call in calls),
            terminals=tuple(
                str(terminal["id"])
                for terminal in self._scope.ports.toolbox.terminals()
                if terminal.get("state") == "live"
            ),
        )


def _summary(call: Prepared | None) -> str:
    """The command, or the file of a patch or how many it has, on one line."""
    if call is None or call.assessment is None:
        return ""
    named = " ".join(card_text(call, "").split())
    if call.assessment.action == "edit":
        several = len(call.assessment.files) > 1
        named = f"patch {named.partition(': ')[0] if several else named}"
    return named[:MAX_SUMMARY_CHARS]


def _names_all_it_writes(call: Prepared) -> bool:
    """Whether a call can change no file but those its assessment names."""
    writes = call.effects.writes
    named = call.assessment.files if call.assessment else ()
    return not writes.everything and {str(path) for path in writes.paths} <= {str(path) for path in named}


def share_out(
    calls: Sequence[Prepared], written: dict[str, set[str]], changes: Sequence[FileChange]
) -> tuple[dict[str, tuple[FileChange, ...]], tuple[FileChange, ...]]:
    """Changes by call id, and those of others. One writer gets all that is not external; several
    get what each says it wrote, `written` by call id, the first of them the rest."""
    external = tuple(change for change in changes if change.author is Author.EXTERNAL)
    own = [change for change in changes if change.author is not Author.EXTERNAL]
    shares: dict[str, list[FileChange]] = {call.call_id: [] for call in calls}
    for change in own:
        owner = next(
            (c.call_id for c in calls if change.path in written.get(c.call_id, ())), calls[0].call_id
        )
        shares[owner].append(change)
    return {call_id: tuple(share) for call_id, share in shares.items()}, external
