"""Messages of the person on their way into the log: durable, ordered, delivered exactly once.

A message leaves the inbox in the transaction that appends it to the log, or is returned.
"""

from collections.abc import Sequence

from agent_tui.engine.commands import EditPending, Submit
from agent_tui.engine.drift import settings_notice
from agent_tui.engine.events import (
    Body,
    InputAccepted,
    InputDelivered,
    InputEdited,
    InputReturned,
)
from agent_tui.engine.session import Part, Session
from agent_tui.engine.types import InputKind
from checkpoints.records import RecordsError
from context.items import Image, Origin, UserItem

MAX_MESSAGES = 100
MAX_BYTES = 1_000_000
NOT_PENDING = "this message is not pending any more"

_ORIGINS = {
    InputKind.PROMPT: Origin.PROMPT,
    InputKind.STEER: Origin.STEER,
    InputKind.QUEUE: Origin.QUEUED,
}


def refusal(session: Session, text: str, images: Sequence[Image]) -> str:
    """Why a message cannot be accepted now; empty: it can."""
    if not text.strip() and not images:
        return "the message is empty"
    pending = session.fold.inbox.values()
    size = sum(_size(one.text, one.images) for one in pending) + _size(text, images)
    if len(pending) >= MAX_MESSAGES:
        return f"{MAX_MESSAGES} messages are waiting; wait until some are delivered"
    if pending and size > MAX_BYTES:
        return "the waiting messages hold 1 MB; wait until some are delivered"
    return ""


def _size(text: str, images: Sequence[Image]) -> int:
    return len(text.encode("utf-8", errors="surrogatepass")) + sum(len(image.data) for image in images)


async def accept(session: Session, message: Submit, kind: InputKind, cause: str, *, now: bool) -> None:
    """Store a message; it is in the inbox when this returns. `now`: calls that run are stopped for it."""
    accepted = InputAccepted(
        input_id=f"i{session.fold.inputs + 1}", kind=kind, text=message.text, images=message.images, now=now
    )
    await session.commit(accepted, cause=cause)


async def edit(session: Session, change: EditPending, cause: str) -> str:
    """Change, move or take back a pending message; returns a refusal or ''."""
    input_id, before = change.input_id, change.before
    old = session.fold.inbox.get(input_id)
    if old is None:
        return NOT_PENDING
    body: Body = InputReturned(input_id=input_id, text=old.text, reason="taken back")
    if change.text is not None:
        body = InputEdited(input_id=input_id, text=change.text, kind=change.kind or old.kind, before=before)

    def is_pending() -> bool:
        inbox = session.fold.inbox
        return input_id in inbox and (not before or before in inbox)

    return "" if await session.commit(body, cause=cause, when=is_pending) else NOT_PENDING


def steers(session: Session) -> list[InputAccepted]:
    """What the running turn takes at its next boundary, in order."""
    return [one for one in session.fold.inbox.values() if one.kind is not InputKind.QUEUE]


def next_turn(session: Session) -> list[InputAccepted]:
    """What the next turn starts with: steers and prompts that are left, else the first of the queue."""
    left = steers(session)
    return left or list(session.fold.inbox.values())[:1]


def delivery(session: Session, messages: Sequence[InputAccepted], step: int, ahead: int) -> list[Part]:
    """The parts that move messages into the log, one user item each, seen by step number `step`; `ahead`
    items come before them in the same transaction."""
    parts: list[Part] = []
    for place, message in enumerate(messages, ahead):
        item_id = session.item_id("u", ahead=place)
        parts.append(
            UserItem(id=item_id, text=message.text, origin=_ORIGINS[message.kind], images=message.images)
        )
        parts.append(InputDelivered(input_id=message.input_id, item_id=item_id, step=step))
    return parts


async def deliver(session: Session, step: int) -> bool:
    """Move waiting steers into the log, seen by step number `step`, behind what the model is to be told
    of settings; False when there were none."""
    found: list[InputAccepted] = []

    def parts() -> list[Part] | None:
        found[:] = steers(session)
        told = settings_notice(session)
        return [*told, *delivery(session, found, step, ahead=len(told))] or None

    await session.transact(parts)
    return bool(found)


async def give_back(session: Session, reason: str, cause: str = "") -> None:
    """Give every pending message back to the editor, also when the store refuses."""
    try:
        await session.transact(lambda: returns(session, reason) or None, cause)
    except RecordsError:
        await session.settle(*returns(session, reason), cause=cause)


def returns(session: Session, reason: str) -> list[Body]:
    """The events that give every pending message back."""
    return [
        InputReturned(input_id=one.input_id, text=one.text, reason=reason)
        for one in session.fold.inbox.values()
    ]
