"""Project instructions of the directories that work moves into: told once, and never hidden."""

import asyncio

from agent_tui.engine.events import NoticeRaised
from agent_tui.engine.scope import Scope
from context.items import NoticeItem


async def guide(scope: Scope, step: int) -> None:
    """After a step: tell the model of instruction files next to what its calls read or wrote.

    A sticky notice is protected from compaction, so it stays in force. Raises RecordsError.
    """
    fold = scope.session.fold
    touched = {
        path
        for fact in fold.facts_of(step)
        for path in ((fact.target,) if fact.kind == "read" else (change.path for change in fact.changes))
    }
    if not touched:
        return
    found = await asyncio.to_thread(scope.ports.nested_instructions, sorted(touched))
    for name, text in found:
        key = f"instructions.{name}"
        if key in fold.notices:
            continue
        await scope.session.commit(
            NoticeItem(
                id=scope.session.item_id("n"),
                text=f"Project instructions for files below the directory of `{name}`:\n\n{text}",
                sticky=True,
            ),
            NoticeRaised(text=f"instructions of `{name}` apply from here", to_model=True, key=key),
        )
