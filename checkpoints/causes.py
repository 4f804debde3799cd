"""What follows from why a checkpoint is taken: whose the changes before it are, who may write after it."""

from checkpoints.catalog import Row
from checkpoints.types import Author, Cause, Phase


def author_between(cause: Cause, last: Row | None) -> tuple[Author, bool]:
    """Who made what changed since the last checkpoint of the session; and whether that holds for the
    touched paths only, all else being external."""
    if cause.phase is Phase.AFTER_ROLLBACK:
        return Author.ROLLBACK, False
    if last is not None and last.running:
        return Author.AGENT, cause.phase is Phase.AFTER_CALL and cause.only_touched
    terminals = cause.terminals or (last.cause.terminals if last else ())
    return (Author.TERMINAL if terminals else Author.EXTERNAL), False


def running_after(cause: Cause, last: Row | None) -> tuple[str, ...]:
    """Calls that may write after this checkpoint: calls run in waves, and one after the wave ends all."""
    if cause.phase is not Phase.BEFORE_CALL:
        return ()
    before = last.running if last is not None and last.cause.step == cause.step else ()
    return tuple(dict.fromkeys((*before, cause.call_id)))


def trailers(cause: Cause, author: Author) -> str:
    """The message of a checkpoint's commit."""
    facts = {
        "Session": cause.session, "Turn": cause.turn, "Step": cause.step, "Call": cause.call_id,
        "Tool": cause.tool, "Phase": cause.phase.value, "Model": cause.model, "Author": author.value,
    }  # fmt: skip
    lines = [f"{name}: {value}" for name, value in facts.items() if value not in ("", 0)]
    return "\n".join([cause.summary or cause.phase.value, "", *lines])
