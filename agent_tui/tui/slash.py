"""The slash commands: what each is called, says, needs, and does. Only those that work are listed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_tui import additions, exporting
from agent_tui.engine import commands
from agent_tui.engine.commands import Set, Subject
from agent_tui.engine.types import InputKind
from agent_tui.errors import UsageError
from agent_tui.frozen import frozen
from agent_tui.safe_text import one_line
from agent_tui.short_path import short_path
from agent_tui.tui import palette
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript import blocks, render
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.transcript.look import Look
from tools.types import STOP

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp
    from agent_tui.tui.screens.rollback import RollbackMode

MODES: dict[str, "RollbackMode"] = {"files": "files", "conversation": "conversation", "both": "both"}


@frozen
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
    name, _, argument = text[1:].strip().partition(" ")
    item = next((each for each in TABLE if each.name == ALIASES.get(name, name)), None)
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


# --- settings of the session ---------------------------------------------------------------------


def _set(key: str, usage: str) -> Callable[["AgentApp", str], None]:
    def act(app: "AgentApp", argument: str) -> None:
        if argument:
            app.link.send(Set(key=key, value=argument))
        else:
            notice(app, usage)

    return act


def _rename(app: "AgentApp", argument: str) -> None:
    _set("title", "/rename TITLE")(app, argument)
    if argument:
        app.say(f"named `{one_line(argument)}`", 4.0)


def _approvals(app: "AgentApp", argument: str) -> None:
    if argument:
        app.link.send(Set(key="approval", value=argument))
    else:
        app.views.grants()


def _sandbox(app: "AgentApp", argument: str) -> None:
    word, _, rest = argument.partition(" ")
    if word == "add" and rest.strip():
        app.link.send(Set(key="add_dir", value=rest.strip()))
    elif word in ("read-only", "workspace-write", "off"):
        app.link.send(Set(key="sandbox", value=word))
    elif word in ("network", "net") and rest.strip() in ("on", "off"):
        app.link.send(Set(key="network", value=rest.strip()))
    else:
        notice(
            app, "/sandbox read-only, workspace-write or off; /sandbox network on or off; /sandbox add PATH"
        )


def _model(app: "AgentApp", argument: str) -> None:
    if argument:
        app.link.send(Set(key="model", value=argument))
    else:
        app.views.model()


def _theme(app: "AgentApp", argument: str) -> None:
    if argument in palette.THEMES:
        app.look_theme = palette.on_background(argument, app.is_dark)
        app.set_look()
        app.draw_fixed()
    else:
        now = app.look_theme.partition("-")[0]
        notice(app, f"/theme {', '.join(palette.THEMES[:-1])} or {palette.THEMES[-1]}; now {now}")


# --- messages ------------------------------------------------------------------------------------


def _queue(app: "AgentApp", argument: str) -> None:
    if argument:
        kind = InputKind.QUEUE if app.session.busy else InputKind.PROMPT
        app.link.send(commands.Submit(text=argument, kind=kind))


def _now(app: "AgentApp", argument: str) -> None:
    if argument:
        kind = InputKind.STEER if app.session.busy else InputKind.PROMPT
        app.link.send(commands.Submit(text=argument, kind=kind, now=True))


def _init(app: "AgentApp", argument: str) -> None:
    app.link.send(commands.Submit(text=commands.INIT))


def _image(app: "AgentApp", argument: str) -> None:
    app.attaching.file(argument)


def _compact(app: "AgentApp", argument: str) -> None:
    undo = argument.strip() == "undo"
    app.link.send(commands.Compact(focus="" if undo else argument, undo=undo))


# --- going back ----------------------------------------------------------------------------------


def _rollback(app: "AgentApp", argument: str) -> None:
    target, _, mode = argument.partition(" ")
    if argument in MODES:  # no checkpoint: it is picked in the list, where the mode is a key
        target, mode = "", argument
    if not target:
        app.views.checkpoints()
    elif not mode or mode in MODES:
        app.views.rollback(target, MODES.get(mode, "both"))
    else:
        notice(app, "/rollback [ID] [MODE]: the mode is one of files, conversation, both")


def _redo(app: "AgentApp", argument: str) -> None:
    app.views.redo()


def _diff(app: "AgentApp", argument: str) -> None:
    if not argument or argument in ("turn", "session"):
        name = argument or "turn"
        app.views.diff(name, {name: "1"})
    else:
        app.views.diff(f"since {argument}", {"checkpoint": argument}, before=argument, after="now")


# --- looking -------------------------------------------------------------------------------------


def _status(app: "AgentApp", argument: str) -> None:
    from agent_tui.tui.widgets import status

    line = status.line(app.session.status, 10_000, app.glyphs)
    rest = [f"\nat the start: {one_line(text)}" for text in app.feed.opening.rest]
    between = own_words(" · ", app.glyphs)
    facts = [f"session {app.session.session_id}", app.session.title, plain(line).strip()]
    notice(app, between.join(filter(None, facts)) + "".join(rest))


def _plan(app: "AgentApp", argument: str) -> None:
    plan = next((each for each in reversed(app.transcript.blocks) if isinstance(each, blocks.Plan)), None)
    if plan is None:
        notice(app, "No plan yet. The model writes one for longer tasks")
    else:
        app.feed.add(blocks.Plan(steps=plan.steps, explanation=plan.explanation))
        app.flush()


def _stop(app: "AgentApp", argument: str) -> None:
    names = [each.terminal for each in app.session.live_terminals]
    wanted = argument or (names[0] if len(names) == 1 else "")
    if wanted in names:
        app.link.send(commands.TerminalInput(terminal=wanted, signal=STOP))
    else:
        notice(app, f"/stop TERMINAL; live: {', '.join(names)}" if names else "No terminal is live")


def _copy(app: "AgentApp", argument: str) -> None:
    app.copy_to_clipboard(app.session.last_answer)
    app.say("copied the last answer" if app.session.last_answer else "no answer yet")


def _export(app: "AgentApp", argument: str) -> None:
    """The transcript as text; never over a file that exists."""
    look = Look(width=100)
    pieces = ["\n".join(plain(row) for row in render.render(block, look)) for block in app.transcript.blocks]
    try:
        file = exporting.write(app.config, app.session.session_id, argument, "\n\n".join(pieces) + "\n")
    except UsageError as error:
        notice(app, str(error))
    else:
        notice(app, f"the transcript is in `{short_path(file)}`")


def _memory(app: "AgentApp", argument: str) -> None:
    notice(app, "\n".join(one_line(row, strict=True) for row in additions.memory(app.config)))


def _mouse(app: "AgentApp", argument: str) -> None:
    app.acts.do("mouse")


ALIASES = {"sessions": "resume"}  # words of the command line and of `--plain`

TABLE: list[Slash] = [
    Slash(
        name="approvals",
        argument="[MODE]",
        help="what asks first; what was allowed beyond one call",
        run=_approvals,
    ),
    Slash(
        name="checkpoints",
        help="restore points of this workspace",
        run=lambda app, _: app.views.checkpoints(),
    ),
    Slash(
        name="compact",
        argument="[focus|undo]",
        help="make the view smaller now, or take the last time back",
        anytime=False,
        run=_compact,
    ),
    Slash(
        name="context",
        help="what fills the window",
        run=lambda app, _: app.views.facts("context", Subject.CONTEXT),
    ),
    Slash(name="copy", help="copy the last answer", run=_copy),
    Slash(
        name="cost",
        help="tokens and money, by step",
        run=lambda app, _: app.views.facts("cost", Subject.COST),
    ),
    Slash(name="diff", argument="[turn|session|ID]", help="what changed", run=_diff),
    Slash(
        name="doctor",
        help="check everything in detail",
        run=lambda app, _: app.outside.doctor(),
        anytime=False,
    ),
    Slash(
        name="effort",
        argument="LEVEL",
        help="how long the model thinks",
        run=_set("effort", "/effort minimal, low, medium or high"),
    ),
    Slash(name="export", argument="[FILE]", help="the transcript as a text file", run=_export),
    Slash(
        name="fork",
        help="continue a copy of this session",
        anytime=False,
        run=lambda app, _: app.outside.switch(app.session.session_id, fork=True),
    ),
    Slash(name="help", help="keys, commands, glyphs", run=lambda app, _: app.views.help()),
    Slash(name="image", argument="FILE", help="attach an image to the next message", run=_image),
    Slash(name="init", help="have the model write AGENTS.md", run=_init, anytime=False),
    Slash(
        name="mcp", help="MCP servers: none in this version", run=lambda app, _: notice(app, additions.NO_MCP)
    ),
    Slash(name="memory", help="instruction files in effect", run=_memory),
    Slash(name="model", argument="[NAME]", help="choose the model", run=_model),
    Slash(name="mouse", help="mouse on, off", run=_mouse),
    Slash(
        name="new",
        help="leave this session for an empty one",
        run=lambda app, _: app.outside.new(),
        anytime=False,
    ),
    Slash(name="now", argument="TEXT", help="steer now", run=_now),
    Slash(name="plan", help="show the plan again", run=_plan),
    Slash(name="ps", help="terminals", run=lambda app, _: app.views.terminals()),
    Slash(name="queue", argument="TEXT", help="a message for the next turn", run=_queue),
    Slash(name="quit", help="leave; the session is kept", run=lambda app, _: app.acts.quit()),
    Slash(name="redo", help="take the last rollback back", run=_redo, anytime=False),
    Slash(name="rename", argument="TITLE", help="name this session", run=_rename),
    Slash(name="resume", help="another session", run=lambda app, _: app.views.sessions(), anytime=False),
    Slash(
        name="rewind",
        help="go back to before a message or call",
        run=lambda app, _: app.views.rewind(),
        anytime=False,
    ),
    Slash(
        name="rollback",
        argument="[ID] [MODE]",
        help="go back to a checkpoint, with preview",
        run=_rollback,
        anytime=False,
    ),
    Slash(name="sandbox", argument="[MODE|add PATH]", help="what commands may touch", run=_sandbox),
    Slash(
        name="settings",
        help="every setting and where it is from",
        run=lambda app, _: app.views.settings(),
    ),
    Slash(
        name="skills",
        help="skills: none in this version",
        run=lambda app, _: notice(app, additions.NO_SKILLS),
    ),
    Slash(name="status", help="this session in one line", run=_status),
    Slash(name="stop", argument="[TERMINAL]", help="end a terminal", run=_stop),
    Slash(name="theme", argument="[NAME]", help="dark, light, ansi or mono", run=_theme),
    Slash(name="transcript", help="everything, with all output", run=lambda app, _: app.views.transcript()),
]
