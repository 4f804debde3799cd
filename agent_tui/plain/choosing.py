"""Lists to choose from by number, and what every menu needs of line mode."""

from collections.abc import Sequence
from typing import Any, Protocol

from agent_tui.engine.commands import CommandBody, Subject
from agent_tui.plain import facts, watching
from agent_tui.plain.standing import Standing

MOST_SHOWN = 20  # entries of a numbered list


class Terms(watching.Terms, Protocol):
    """What a menu needs of the line-mode interface."""

    standing: Standing

    def send(self, body: CommandBody) -> None:
        """To the engine."""

    async def facts(self, subject: Subject, **args: str) -> Any | None:
        """What an `Inspect` gives; None after its refusal was printed."""


def index_of(typed: str, count: int) -> int | None:
    """Index of the line of a numbered list whose number was typed; None where it has none of that number."""
    numbers = [str(number) for number in range(1, count + 1)]
    return numbers.index(typed.strip()) if typed.strip() in numbers else None


async def chosen(terms: Terms, lines: Sequence[str], prompt: str, empty: int | None = None) -> int | None:
    """Index of the chosen line, `empty` for an empty one; None where the person turned away."""
    terms.say(*facts.numbered(lines))
    while True:
        typed = await terms.ask(f"{prompt}, 1 to {len(lines)}, or nothing> ")
        if typed is None:
            return None
        if not typed.strip():
            return empty
        if (at := index_of(typed, len(lines))) is not None:
            return at
        terms.say(f"Type a number from 1 to {len(lines)}, or nothing.")


async def is_sure(terms: Terms, question: str) -> bool:
    """Whether the person typed a yes."""
    return (await terms.ask(f"{question}, yes or no> ") or "").strip().lower() in ("y", "yes")
