"""The blocks of a session that is continued, rebuilt from its stored events."""

import asyncio
from collections.abc import Iterable
from itertools import takewhile

from agent_tui.engine import events
from agent_tui.tui import cutting
from agent_tui.tui.feed import Feed
from agent_tui.tui.state import State
from agent_tui.tui.transcript.blocks import Block

PIECE = 200  # events between two chances for a key


async def rebuild(stored: Iterable[events.Event], before: int) -> tuple[list[Block], Feed]:
    """Blocks up to the event `before` and the feed that made them, without stopping the screen for long."""
    feed = Feed(State())
    return await extended(feed, [], takewhile(lambda event: event.seq < before, stored)), feed


async def extended(feed: Feed, blocks: list[Block], stored: Iterable[events.Event]) -> list[Block]:
    """The blocks of the feed with what more events make of them, without stopping the screen for long."""
    for number, event in enumerate(stored, start=1):
        feed.apply(event)
        blocks = take(feed, blocks)
        if number % PIECE == 0:
            await asyncio.sleep(0)
    return blocks


def take(feed: Feed, blocks: list[Block]) -> list[Block]:
    """The blocks with what the feed has new."""
    cuts, feed.cuts = feed.cuts, []
    for cut in cuts:
        blocks = cutting.apply(blocks, cut)
    added, _ = feed.drain()
    blocks += added
    return blocks
