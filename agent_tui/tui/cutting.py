"""What a rollback of the conversation does to the blocks: a muted line stands for the hidden part."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.tui import words
from agent_tui.tui.transcript.blocks import Block, Muted


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Hide what came after a block (None: everything); `redo` shows the last hidden part again."""

    after: Block | None = None
    redo: bool = False


def apply(blocks: Sequence[Block], cut: Cut) -> list[Block]:
    """The blocks after a rollback or redo."""
    if cut.redo:
        return _restored(blocks)
    keep = (
        0
        if cut.after is None
        else next((at + 1 for at, each in enumerate(blocks) if each is cut.after), len(blocks))
    )
    hidden = list(blocks[keep:])
    if not hidden:
        return list(blocks)
    text = f"{words.count(len(hidden), 'item')} hidden by rollback · Ctrl+T shows them"
    return [*blocks[:keep], Muted(text=text, hidden=hidden)]


def _restored(blocks: Sequence[Block]) -> list[Block]:
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        if isinstance(block, Muted) and block.hidden:
            return [*blocks[:at], *block.hidden, *blocks[at + 1 :]]
    return list(blocks)


def whole(blocks: Sequence[Block]) -> list[Block]:
    """Every block, also the hidden ones, each hidden part after the line that stands for it."""
    result: list[Block] = []
    for block in blocks:
        result.append(block)
        if isinstance(block, Muted) and block.hidden:
            result += whole(block.hidden)
    return result
