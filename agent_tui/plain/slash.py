"""The slash commands of plain mode: parsing, and the text of their answers."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_tui import additions
from agent_tui.engine.commands import (
    INIT,
    CommandBody,
    Compact,
    Inspect,
    Interrupt,
    Set,
    Subject,
    Submit,
    TerminalInput,
)
from agent_tui.engine.types import InputKind
from agent_tui.frozen import frozen
from agent_tui.plain import facts
from agent_tui.safe_text import one_line
from tools.types import STOP

_KEY = re.compile(r"\^[@-_?]")


@frozen
class Parsed:
    """What a line means: a command to send, words to print, or leaving."""

    body: CommandBody | None = None
    text: str = ""
    show: Callable[[Any], Sequence[str]] | None = None  # renders the data of an Inspect
    leave: bool = False
    menu: str = ""  # asks on: a name of `menus.Menus`, with the rest of the line
    rest: str = ""
    about: str = ""  # something that line mode itself knows: `status`, `plan`, `doctor`


@frozen
class Slash:
    """One slash command."""

    usage: str
    does: str
    parse: Callable[[str], Parsed]
    anytime: bool = True  # whether it may run while the agent works


def _inspect(subject: Subject, show: Callable[[Any], Sequence[str]], **args: str) -> Parsed:
    return Parsed(body=Inspect(subject=subject, args=args), show=show)


def _approvals(rest: str) -> Parsed:
    if rest.startswith("remove "):
        return _inspect(Subject.GRANTS, facts.grants, remove=rest.removeprefix("remove ").strip())
    if rest:
        return Parsed(body=Set(key="approval", value=rest))
    return _inspect(Subject.GRANTS, facts.grants)


def _compact(rest: str) -> Parsed:
    return Parsed(body=Compact(undo=True) if rest == "undo" else Compact(focus=rest))


def _setting(key: str) -> Callable[[str], Parsed]:
    def parse(rest: str) -> Parsed:
        if not rest:
            return _inspect(Subject.SETTINGS, lambda data: facts.pairs({key: data.get(key, "not set")}))
        return Parsed(body=Set(key=key, value=rest))

    return parse


def _sandbox(rest: str) -> Parsed:
    if rest.startswith("add "):
        return Parsed(body=Set(key="add_dir", value=rest.removeprefix("add ").strip()))
    word, _, state = rest.partition(" ")
    if word in ("network", "net"):
        return Parsed(body=Set(key="network", value=state.strip()))
    return _setting("sandbox")(rest)


def _menu(name: str) -> Callable[[str], Parsed]:
    return lambda rest: Parsed(menu=name, rest=rest)


def _about(name: str) -> Callable[[str], Parsed]:
    return lambda rest: Parsed(about=name, rest=rest)


def _type(rest: str) -> Parsed:
    terminal, _, text = rest.partition(" ")
    if not terminal:
        return Parsed(text="/type TERMINAL TEXT, or a key such as ^C; /ps lists them")
    return Parsed(body=TerminalInput(terminal=terminal, chars=text if _KEY.fullmatch(text) else text + "\r"))


def _message(kind: InputKind, usage: str, *, now: bool = False) -> Callable[[str], Parsed]:
    def parse(rest: str) -> Parsed:
        return Parsed(body=Submit(text=rest, kind=kind, now=now)) if rest else Parsed(text=usage)

    return parse


def _not_here(why: str) -> Callable[[str], Parsed]:
    return lambda _: Parsed(text=why)


def _stop(rest: str) -> Parsed:
    return Parsed(body=TerminalInput(terminal=rest, signal=STOP) if rest else Interrupt())


def _help(_: str) -> Parsed:
    lines = [
        f"{slash.usage}: {slash.does}{'' if slash.anytime else ' (when idle)'}" for slash in COMMANDS.values()
    ]
    lines += [
        "",
        "!COMMAND runs a command, !!COMMAND keeps it from the model.",
        "@ and Tab name a file, @! one that is ignored; / and Tab complete a command.",
        "Ctrl+J, or a backslash and Enter, begins a new line; Ctrl+G opens the draft in your editor.",
        "A line typed while work runs is a steer, /queue TEXT waits for the next turn.",
        "An empty line goes on with a paused run. Ctrl+C interrupts, twice leaves; Ctrl+D leaves.",
    ]
    return Parsed(text="\n".join(lines))


COMMANDS: Mapping[str, Slash] = {
    "help": Slash(usage="/help", does="this list", parse=_help),
    "status": Slash(usage="/status", does="this session in a few lines", parse=_about("status")),
    "settings": Slash(
        usage="/settings",
        does="every setting and where it is from",
        parse=lambda _: _inspect(Subject.SETTINGS, facts.pairs),
    ),
    "queue": Slash(
        usage="/queue TEXT",
        does="send it when this turn has ended",
        parse=_message(InputKind.QUEUE, "/queue TEXT sends it when this turn has ended"),
    ),
    "image": Slash(usage="/image FILE", does="send a picture with the next message", parse=_menu("image")),
    "init": Slash(
        usage="/init",
        does="have the model write AGENTS.md",
        parse=lambda _: Parsed(body=Submit(text=INIT)),
        anytime=False,
    ),
    "now": Slash(
        usage="/now TEXT",
        does="steer now: calls not started are skipped",
        parse=_message(InputKind.STEER, "/now TEXT steers now: calls not started are skipped", now=True),
    ),
    "take": Slash(usage="/take", does="take a message back that waits", parse=_menu("take")),
    "stop": Slash(usage="/stop [TERMINAL]", does="interrupt, or end a terminal", parse=_stop),
    "type": Slash(
        usage="/type TERMINAL TEXT", does="type a line, or a key such as ^C, into a terminal", parse=_type
    ),
    "diff": Slash(usage="/diff [turn|session|ID [ID]]", does="what changed", parse=_menu("diff")),
    "plan": Slash(usage="/plan", does="the plan again", parse=_about("plan")),
    "checkpoints": Slash(
        usage="/checkpoints",
        does="list what can be gone back to",
        parse=_menu("checkpoints"),
    ),
    "rollback": Slash(
        usage="/rollback [ID] [files|conversation|both] [PATH]",
        does="go back to before that point, with preview",
        parse=_menu("rollback"),
        anytime=False,
    ),
    "rewind": Slash(
        usage="/rewind",
        does="go back to before a message or call of this session",
        parse=_menu("rewind"),
        anytime=False,
    ),
    "redo": Slash(
        usage="/redo", does="undo the last rollback, with preview", parse=_menu("redo"), anytime=False
    ),
    "compact": Slash(
        usage="/compact [FOCUS|undo]",
        does="make room in the window, or take the last time back",
        parse=_compact,
        anytime=False,
    ),
    "context": Slash(
        usage="/context", does="what fills the window", parse=lambda _: _inspect(Subject.CONTEXT, facts.pairs)
    ),
    "cost": Slash(usage="/cost", does="tokens and cost", parse=lambda _: _inspect(Subject.COST, facts.costs)),
    "approvals": Slash(
        usage="/approvals [MODE|remove ID]", does="list, set or remove approvals", parse=_approvals
    ),
    "sandbox": Slash(
        usage="/sandbox [MODE|network on|off|add PATH]", does="what commands may touch", parse=_sandbox
    ),
    "model": Slash(
        usage="/model [NAME [default]]", does="choose the model, also for later starts", parse=_menu("model")
    ),
    "effort": Slash(usage="/effort [LEVEL]", does="reasoning effort", parse=_setting("effort")),
    "rename": Slash(usage="/rename TITLE", does="name the session", parse=_setting("title")),
    "ps": Slash(usage="/ps", does="terminals", parse=lambda _: _inspect(Subject.TERMINALS, facts.terminals)),
    "output": Slash(usage="/output TERMINAL", does="all that a terminal wrote", parse=_menu("output")),
    "resume": Slash(usage="/resume [ID]", does="another session", parse=_menu("resume"), anytime=False),
    "sessions": Slash(
        usage="/sessions [all|rename ID TITLE|rm ID]",
        does="other sessions, here or in every directory",
        parse=_menu("sessions"),
        anytime=False,
    ),
    "watch": Slash(usage="/watch ID", does="follow a session that is open elsewhere", parse=_menu("watch")),
    "fork": Slash(
        usage="/fork [ID]", does="continue a copy of a session", parse=_menu("fork"), anytime=False
    ),
    "new": Slash(usage="/new", does="leave this session for an empty one", parse=_menu("new"), anytime=False),
    "transcript": Slash(usage="/transcript", does="all that was said", parse=_menu("transcript")),
    "export": Slash(usage="/export [FILE]", does="the session as a text file", parse=_menu("export")),
    "memory": Slash(usage="/memory", does="instruction files in effect", parse=_about("memory")),
    "mcp": Slash(
        usage="/mcp", does="MCP servers: none in this version", parse=_not_here(f"{additions.NO_MCP}.")
    ),
    "skills": Slash(
        usage="/skills", does="skills: none in this version", parse=_not_here(f"{additions.NO_SKILLS}.")
    ),
    "doctor": Slash(usage="/doctor", does="check everything in detail", parse=_about("doctor")),
    "copy": Slash(
        usage="/copy",
        does="not in line mode",
        parse=_not_here("Line mode leaves the clipboard to your terminal; /export writes a file."),
    ),
    "mouse": Slash(
        usage="/mouse",
        does="not in line mode",
        parse=_not_here("Line mode leaves the mouse to your terminal."),
    ),
    "theme": Slash(
        usage="/theme", does="not in line mode", parse=_not_here("Line mode has no colours of its own.")
    ),
    "quit": Slash(usage="/quit", does="leave; the session is kept", parse=lambda _: Parsed(leave=True)),
}


def is_command(line: str) -> bool:
    """Whether a line is meant as a command; one that begins with a path, such as `/etc/x is odd`, is a
    message."""
    name = line[1:].partition(" ")[0]
    return line.startswith("/") and (name in COMMANDS or name.replace("-", "").isalpha())


def parse(line: str, *, busy: bool) -> Parsed:
    """What a command means now; unknown ones name the nearest."""
    name, _, rest = line[1:].partition(" ")
    slash = COMMANDS.get(name)
    if slash is not None:
        if busy and not slash.anytime:
            return Parsed(text=f"/{name} waits until the turn is over; Ctrl+C interrupts it")
        return slash.parse(rest.strip())
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"; did you mean /{near[0]}?" if near else "; /help lists them"
    return Parsed(text=f"No command /{one_line(name, strict=True)}{hint}")
