"""What a rollback of the conversation does to the blocks: a muted line stands for the hidden part."""

from collections.abc import Sequence

from agent_tui.engine.events import RolledBack as RolledBackEvent
from agent_tui.frozen import frozen
from agent_tui.tui import words
from agent_tui.tui.transcript.blocks import Block, Muted, RolledBack, UserMessage
from context.items import Image


@frozen
class Cut:
    """Hide what came after a block (None: everything); `back` hides an earlier rollback and all behind it,
    and shows what that hid; `redo` takes the last cut back. The record learns how many items that are."""

    record: RolledBack
    after: Block | None = None
    redo: bool = False
    back: RolledBack | None = None


def record_of(body: RolledBackEvent, *, before: str, back_to: float, returned: int) -> RolledBack:
    """The block that tells of a rollback or redo; `before` says what it went back to before, `back_to` is
    when the rollback was that a redo takes back, `returned` counts messages in the editor."""
    files = body.files
    return RolledBack(
        mode=body.mode,
        target=body.checkpoint_id,
        before=before,
        undo=files.undo if files else "",
        changed=files.changed if files else (),
        kept=files.kept if files else (),
        mismatches=files.mismatches if files else (),
        markers=files.merged_with_markers if files else (),
        merged=files.merged if files else (),
        is_redo=bool(body.redo_of),
        back_to=back_to if body.redo_of else 0.0,
        returned=returned,
    )


def apply(blocks: Sequence[Block], cut: Cut) -> list[Block]:
    """The blocks after a rollback or redo."""
    if cut.redo:
        return _restored(blocks, cut.record)
    hidden = _hidden(blocks, cut)
    cut.record.items = len(hidden)
    if not hidden:
        return list(blocks)
    before = list(blocks[: len(blocks) - len(hidden)])
    brought = before[-1] if cut.back is not None and before else None
    text = f"{words.count(len(hidden), 'item')} hidden by rollback · Ctrl+T shows them"
    line = Muted(text=text, hidden=hidden)
    if isinstance(brought, Muted):
        before[-1:] = brought.hidden
        line.in_place_of = brought
    return [*before, line]


def behind(blocks: Sequence[Block], before: Block | None) -> list[Block]:
    """The blocks after one of them; all for None, none where it is not among them."""
    if before is None:
        return list(blocks)
    count = next((count for count, each in enumerate(reversed(blocks)) if each is before), 0)
    return list(blocks[len(blocks) - count :])


def since(blocks: Sequence[Block], record: RolledBack) -> list[Block]:
    """A rollback and what came after it; nothing where it is not among the blocks."""
    return [record, *behind(blocks, record)] if record in blocks else []


def pictures(blocks: Sequence[Block], cut: Cut) -> list[Image]:
    """Pictures of the messages that a rollback hides: they go with the text that is back in the editor."""
    hidden = [] if cut.redo else _hidden(blocks, cut)
    return [image for each in hidden if isinstance(each, UserMessage) for image in each.images]


def _hidden(blocks: Sequence[Block], cut: Cut) -> list[Block]:
    return behind(blocks, cut.after) if cut.back is None else since(blocks, cut.back)


def _restored(blocks: Sequence[Block], record: RolledBack) -> list[Block]:
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        if isinstance(block, Muted) and block.hidden:
            record.items = len(block.hidden)
            before, brought = list(blocks[:at]), block.in_place_of
            if brought is not None:
                before[len(before) - len(brought.hidden) :] = [brought]
            return [*before, *block.hidden, *blocks[at + 1 :]]
    return list(blocks)
