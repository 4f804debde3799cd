"""All blocks of a session, with lines where what the model no longer sees begins and ends."""

from collections.abc import Mapping, Sequence

from agent_tui.frozen import frozen
from agent_tui.tui import words
from agent_tui.tui.transcript.blocks import (
    Answer,
    Block,
    Card,
    Compaction,
    Mark,
    Muted,
    Reasoning,
    UserMessage,
)
from agent_tui.tui.transcript.compaction import steps


@frozen
class _Epochs:
    """Which compaction hid what, those that were taken or rolled back left out."""

    by_step: Mapping[int, Compaction]
    by_message: Mapping[str, Compaction]

    def of(self, block: Block, before: Compaction | None) -> Compaction | None:
        """The one that hid a block; what is no part of the view, as the end of a turn, goes with the block
        `before` it."""
        if isinstance(block, UserMessage):
            return self.by_message.get(block.item_id)
        is_own = isinstance(block, Card) and not block.calls[0].step_id
        if isinstance(block, Answer | Reasoning | Card) and not is_own:
            return self.by_step.get(block.step)
        return None if block is before else before


def whole(blocks: Sequence[Block]) -> list[Block]:
    """Every block, also the hidden ones, each hidden part between its marks."""
    return _marked(blocks, _epochs(blocks))


def _epochs(blocks: Sequence[Block]) -> _Epochs:
    found = [block for block in blocks if isinstance(block, Compaction)]  # none behind a rollback
    undone = {block.ended.undone for block in found}
    by_step: dict[int, Compaction] = {}
    by_message: dict[str, Compaction] = {}
    for block in found:
        ended = block.ended
        if ended.item_id and not ended.undone and ended.item_id not in undone:
            spans = ended.spans or ([(ended.steps[0], ended.steps[-1])] if ended.steps else [])
            by_step |= {step: block for first, last in spans for step in range(first, last + 1)}
            by_message |= dict.fromkeys(ended.messages, block)
    return _Epochs(by_step=by_step, by_message=by_message)


def _marked(blocks: Sequence[Block], epochs: _Epochs) -> list[Block]:
    result: list[Block] = []
    part: list[Block] = []  # that one compaction hid, as far as it goes
    by: Compaction | None = None
    for block in blocks:
        is_cut = isinstance(block, Muted) and bool(block.hidden)
        owner = None if is_cut else epochs.of(block, by)
        if owner is not by:
            result += _between(part, by, is_followed=owner is not None)
            part, by = [], owner
        if isinstance(block, Muted) and block.hidden:
            items = words.count(len(block.hidden), "item")
            result.append(Mark(text=f"{items} hidden by rollback (shown here)"))
            result += [*_all(block.hidden), Mark(text="hidden by rollback to here", ends=True)]
        else:
            (part if by is not None else result).append(block)
    return result + _between(part, by, is_followed=False)


def _all(blocks: Sequence[Block]) -> list[Block]:
    """What a rollback hid, which counts no more, and what was hidden in it by another."""
    return _marked(blocks, _Epochs(by_step={}, by_message={}))


def _between(part: list[Block], by: Compaction | None, *, is_followed: bool) -> list[Block]:
    """A part and its marks; where another follows at once, its beginning is the end of this one."""
    if by is None:
        return part
    numbers = [block.step for block in part if block.step]
    told = f", {steps(min(numbers), max(numbers))}" if numbers else ""
    begin = Mark(text=f"hidden by compaction {words.time_of_day(by.at)}{told} (shown here)")
    return [begin, *part, *([] if is_followed else [Mark(text="hidden by compaction to here", ends=True)])]
