"""The slash commands: what each is called, says, needs, and does. Only those that work are listed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tui.engine import commands
from agent_tui.tui.transcript import blocks

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp


@dataclass(frozen=True, slots=True, kw_only=True)
class Slash:
    """One command; `anytime` ones may run while the agent works."""

    name: str
    help: str
    run: Callable[["AgentApp", str], None]
    argument: str = ""
    anytime: bool = True


def matching(start: str) -> list[Slash]:
    """Commands whose name begins with `start`, then those that hold it."""
    first = [item for item in TABLE if item.name.startswith(start)]
    return first + [item for item in TABLE if start in item.name and item not in first]


def run(app: "AgentApp", text: str) -> bool:
    """Run `text` when it is a command; a path such as `/etc/x is odd` is a message."""
    if not text.startswith("/"):
        return False
    name, _, argument = text[1:].partition(" ")
    item = next((each for each in TABLE if each.name == name), None)
    if item is None:
        if not name.replace("-", "").isalpha():
            return False
        notice(app, f"no command `/{name}`; / lists them")
        return True
    if app.session.busy and not item.anytime:
        notice(app, f"/{name} waits until the turn is over; Esc interrupts it")
    else:
        item.run(app, argument.strip())
    return True


def notice(app: "AgentApp", text: str) -> None:
    """A line of the interface itself."""
    app.feed.add(blocks.Notice(text=text, information=True))
    app.flush()


def _quit(app: "AgentApp", argument: str) -> None:
    app.acts.quit()


def _compact(app: "AgentApp", argument: str) -> None:
    app.link.send(commands.Compact(focus=argument))


def _redo(app: "AgentApp", argument: str) -> None:
    app.link.send(commands.Redo())


def _copy(app: "AgentApp", argument: str) -> None:
    app.copy_to_clipboard(app.session.last_answer)
    app.say("copied the last answer")


TABLE: list[Slash] = [
    Slash(name="compact", argument="[focus]", help="make the view smaller now", run=_compact, anytime=False),
    Slash(name="copy", help="copy the last answer", run=_copy),
    Slash(name="quit", help="leave; the session is kept", run=_quit),
    Slash(name="redo", help="take the last rollback back", run=_redo, anytime=False),
]
