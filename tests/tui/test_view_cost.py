"""What a long transcript costs."""

import gc
from pathlib import Path

from agent_tui.tui.transcript.blocks import UserMessage
from agent_tui.tui.transcript.view import KEPT_EACH
from tests.tui.driving import driven


async def test_blocks_that_stay_are_not_looked_over_by_every_collection(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        view = it.app.transcript
        blocks = [UserMessage(text=f"message {number}") for number in range(2 * KEPT_EACH)]
        for block in blocks:
            view.add(block)
        looked_over = {id(each) for each in gc.get_objects()}
        young = sum(id(block) in looked_over for block in blocks)
    assert young <= KEPT_EACH
