"""Takes files, the conversation, or both back to a checkpoint, and takes that back again.

Files first, then the record: a crash between the two leaves the story longer than the files, which
the checkpoint taken before the rollback still tells.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import takewhile
from typing import assert_never

from agent_tui.engine import inbox
from agent_tui.engine.commands import Redo, Rollback
from agent_tui.engine.events import GrantRemoved, RolledBack
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Part, Session
from agent_tui.errors import AgentError
from checkpoints.types import Cause, Checkpoint, CheckpointError, Choice, Phase, RollbackResult
from context.items import CompactionItem, Item, NoticeItem, Origin, ResponseItem, RollbackItem, UserItem
from context.units import visibility_of


async def roll_back(scope: Scope, asked: Rollback, cause: str) -> str:
    """Do it and store `RolledBack`; returns a refusal or ''."""
    session, checkpointer = scope.session, scope.ports.checkpointer
    if asked.mode != "conversation" and not asked.force and (refusal := _may_be_written(scope)):
        return refusal
    files: RollbackResult | None = None
    try:
        target = await checkpoint_of(scope, asked.checkpoint_id)
        if asked.mode != "conversation":
            if (
                asked.default_choice == "abort"
                and (await checkpointer.plan(target.id, asked.paths)).conflicts
            ):
                return "files changed meanwhile by others stand in the way; choose `keep` or `take`"
            files = await checkpointer.rollback(
                target.id,
                paths=asked.paths,
                choices=known(asked.choices),
                default="keep" if asked.default_choice == "abort" else asked.default_choice,
                session=session.id,
            )
    except CheckpointError as error:
        return str(error)
    parts = rollback_parts(session, asked, target, files)
    await session.commit(*parts, cause=cause)
    for part in parts:
        if isinstance(part, GrantRemoved):
            with suppress(AgentError):  # of the file of saved rules, none of which is meant
                scope.ports.gate.revoke(part.grant_id)
    return ""


def _may_be_written(scope: Scope) -> str:
    """Why no file goes back now, or ''."""
    is_live = any(terminal.get("state") == "live" for terminal in scope.ports.toolbox.terminals())
    return "a terminal is live and may write; stop it first (`/stop`)" if is_live else ""


async def redo(scope: Scope, asked: Redo, cause: str) -> str:
    """Take the last rollback back, files and conversation; returns a refusal or ''."""
    session = scope.session
    last = session.fold.rollbacks[-1] if session.fold.rollbacks else None
    if last is None or last.redo_of:
        return "there is no rollback to undo"
    if last.files is not None and not asked.force and (refusal := _may_be_written(scope)):
        return refusal
    files: RollbackResult | None = None
    try:
        if last.files is not None:
            files = await scope.ports.checkpointer.redo(session.id)
    except CheckpointError as error:
        return str(error)
    await session.commit(*redo_parts(session, last, files), cause=cause)
    return ""


def redo_parts(session: Session, last: RolledBack, files: RollbackResult | None) -> list[Part]:
    """What a redo of that rollback stores; files are back already."""
    parts: list[Part] = []
    item_id = ""
    if files is not None and last.mode == "files":  # the conversation still tells of the rollback
        text = f"The user took the rollback to checkpoint {last.checkpoint_id} back"
        parts.append(_notice(session, text, files))
    if last.item_id:
        item_id = session.item_id("b")
        parts.append(RollbackItem(id=item_id, hidden=(), undone=last.item_id))
        earlier = takewhile(lambda item: item.id != last.item_id, session.fold.log)
        again = _hidden_by(session, last.checkpoint_id)
        if _in_force(earlier, again):  # else it had brought nothing back
            parts.append(RollbackItem(id=session.item_id("b", ahead=1), hidden=again))
    body = RolledBack(
        checkpoint_id=files.target if files else last.checkpoint_id,
        mode=last.mode,
        files=files,
        item_id=item_id,
        redo_of=last.checkpoint_id,
    )
    return [*parts, body]


async def checkpoint_of(scope: Scope, checkpoint_id: str) -> Checkpoint:
    """The checkpoint by id, or the newest one that a turn of this session began with; raises
    CheckpointError."""
    taken = await scope.ports.checkpointer.list()
    for one in taken:
        if checkpoint_id == one.id:
            return one
    own = [one for one in taken if one.session == scope.session.id and one.cause.phase == "turn_start"]
    if not checkpoint_id and own:
        return min((one for one in own if one.cause.turn == own[0].cause.turn), key=lambda one: one.seq)
    raise CheckpointError(f"there is no checkpoint `{checkpoint_id}`; `agent-tui checkpoints` lists them")


def known(choices: Mapping[str, str]) -> dict[str, Choice]:
    """What was chosen for files in conflict, without what is no choice."""
    return {path: one for path, one in choices.items() if one in ("keep", "take", "merge")}  # type: ignore[misc]  # checked


def rollback_parts(
    session: Session, asked: Rollback, target: Checkpoint, files: RollbackResult | None
) -> list[Part]:
    """What a rollback stores; files are back already."""
    parts: list[Part] = []
    item_id, messages = "", tuple[str, ...]()
    if asked.mode == "files":
        parts.append(_notice(session, f"The user took files back to checkpoint {target.id}", files))
    else:
        hidden, messages = hidden_from(session, target)
        item_id = session.item_id("b")
        parts.append(RollbackItem(id=item_id, hidden=hidden))
        for ahead, back in enumerate(_in_force(session.fold.log, _hidden_by(session, target.id)), start=1):
            parts.append(RollbackItem(id=session.item_id("b", ahead=ahead), hidden=(), undone=back.id))
        parts += inbox.returns(session, "rolled back")
        parts += [
            GrantRemoved(grant_id=grant_id, reason="given after the point of the rollback")
            for grant_id in grants_ended(session, target)
        ]
    return [
        *parts,
        RolledBack(
            checkpoint_id=target.id,
            mode=asked.mode,
            files=files,
            item_id=item_id,
            messages=messages,
            paths=tuple(asked.paths),
        ),
    ]


def grants_ended(session: Session, target: Checkpoint) -> list[str]:
    """Ids of the grants of this session that were given after that point: a rollback of the conversation
    ends them."""
    return [
        asked.approval_id
        for asked, _ in session.fold.grants
        if _step_of_call(asked.call_id) >= max(1, target.cause.step)
    ]


def hidden_from(session: Session, target: Checkpoint) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of the items from the step of the checkpoint on, whole units, and what the person said in them.

    A checkpoint of a turn's start hides the message that began the turn; one before a call hides
    the response that made the call; any other what came after it. Results and notices go with their
    response. A compaction that came later is hidden too: the view is again what it was, and no text of a
    ledger tells what was rolled back.
    """
    log = session.fold.log
    gone = visibility_of(log).rolled_back
    start = _start_of(session, target)
    hidden = [item for item in log[start:] if item.id not in gone and not isinstance(item, RollbackItem)]
    said = (item for item in hidden if isinstance(item, UserItem) and item.origin is not Origin.ANSWER)
    return tuple(item.id for item in hidden), tuple(item.text for item in said)


def _start_of(session: Session, target: Checkpoint) -> int:
    """Index in the log of the first item after the checkpoint, whole units."""
    fold, cause = session.fold, target.cause
    end = len(fold.log)
    if target.session != session.id:
        return end
    match cause.phase:
        case Phase.TURN_START:
            return fold.turn_starts.get((cause.turn, cause.step), end)
        case Phase.TURN_END:
            later = [place for begun, place in fold.turn_starts.items() if begun >= (cause.turn, cause.step)]
            return _ahead_of_compactions(session, min(later, default=end))
        case Phase.BEFORE_CALL | Phase.AFTER_CALL:
            return _place_of_call(session, cause, end)
        case Phase.BEFORE_ROLLBACK:
            return fold.rollback_places.get(target.id, end)
        case Phase.AFTER_ROLLBACK:
            return fold.rollback_places.get(f"{session.id}/{target.seq - 1}", end)
    assert_never(cause.phase)


def _ahead_of_compactions(session: Session, place: int) -> int:
    """Before those that directly precede a place in the log: the person asked for them after a turn."""
    while place and isinstance(session.fold.log[place - 1], CompactionItem):
        place -= 1
    return place


def _place_of_call(session: Session, cause: Cause, end: int) -> int:
    """Before the response that made a call, or after its unit."""
    log = session.fold.log
    call = session.fold.calls.get(cause.call_id)
    step_id = call.proposed.step_id if call else ""
    places = (n for n, item in enumerate(log) if isinstance(item, ResponseItem) and item.step_id == step_id)
    place = next(places, None)
    if place is None:
        return end
    if cause.phase is Phase.BEFORE_CALL:
        return place
    after = (n for n, item in enumerate(log) if n > place and isinstance(item, UserItem | ResponseItem))
    return next(after, end)


def _hidden_by(session: Session, checkpoint_id: str) -> tuple[str, ...]:
    """What the rollback hid that began with this checkpoint: going back to it brings that back."""
    fold = session.fold
    ids = {one.item_id for one in fold.rollbacks if one.files and one.files.undo == checkpoint_id}
    found = (item.hidden for item in fold.log if isinstance(item, RollbackItem) and item.id in ids)
    return next(found, ())


def _in_force(log: Iterable[Item], hidden: tuple[str, ...]) -> list[RollbackItem]:
    """The records of a log that hide exactly these items and were not taken back in it."""
    records = [item for item in log if isinstance(item, RollbackItem)]
    undone = {record.undone for record in records}
    return [record for record in records if hidden and record.hidden == hidden and record.id not in undone]


def _step_of_call(call_id: str) -> int:
    """The step number in a call id `c<step>.<n>`; 0 for others."""
    head = call_id[1:].partition(".")[0]
    return int(head) if head.isdigit() else 0


def _notice(session: Session, what: str, files: RollbackResult | None) -> NoticeItem:
    paths = ", ".join(f"{change.kind} {change.path}" for change in files.changed[:40]) if files else ""
    return NoticeItem(
        id=session.item_id("n"),
        text=f"{what}; changed now: {paths or 'nothing'}. "
        "The conversation was kept: look at a file before you rely on it",
    )
