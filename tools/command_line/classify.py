"""The class of a command line: each sub-command by itself, the line as strict as its strictest part."""

from collections.abc import Mapping
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.policy import Mode
from tools.command_line.display import make_visible
from tools.command_line.hard_line import Ground, hard_line
from tools.command_line.keys import env_words, line_keys, named_scripts
from tools.command_line.outline import notes, outline
from tools.command_line.parse import parse
from tools.command_line.parts import Part, Setting, parts_of
from tools.command_line.syntax import Syntax, Wrap
from tools.types import CallClass, Grant

MAX_SUBCOMMANDS = 50  # a longer line is asked about whatever its parts are
MAX_SHOWN_CHARS = 300  # of the variables that a call sets
MAX_BYTES = 128 * 1024 - 1  # the kernel's limit for one argument (MAX_ARG_STRLEN)

# After one of these the words that follow mean something else, so the line has no parts.
_STATEFUL = frozenset(
    "cd pushd popd export declare typeset local readonly unset alias unalias eval source . exec trap shopt "
    "enable hash read mapfile readarray getopts let umask ulimit builtin set".split()
)
_FREE_STATEFUL = frozenset(("set",))  # passes `reads` only in forms that change no meaning


@frozen
class Classified:
    """A whole line."""

    call_class: CallClass
    reason: str
    read_only: bool
    grant: Grant
    grant_is_automatic: bool
    hard_line: bool
    parts: tuple[Part, ...]
    keys: tuple[str, ...]
    scripts: tuple[Path, ...] = ()
    unknown: tuple[str, ...] = ()
    parsed: str = ""
    notes: tuple[tuple[int, str], ...] = ()  # line, what a person should see there


def classify(command: str, setting: Setting) -> Classified:
    """Class, grant and keys of a line; pure but for looking up programs and links; never raises."""
    refusal = _refusal(command)
    if refusal:
        return _rejected(command, refusal)
    syntax, preset = parse(command), parse(" ".join(env_words(setting.env)))
    parts = parts_of(syntax, setting)
    ground = Ground(workspace=setting.workspace, cwd=setting.cwd, boxed=setting.mode is not Mode.OFF)
    danger = hard_line(syntax, ground) or hard_line(preset, ground)
    reads_only = _is_settled(syntax, setting) and all(part.reads_only for part in parts)
    is_here = setting.is_readable(setting.cwd)
    is_auto = (
        reads_only and is_here and not danger and all(part.call_class is CallClass.AUTO for part in parts)
    )
    grant, automatic = _grant(syntax, parts, setting)
    free = [] if is_auto else _free(syntax, parts)
    return Classified(
        call_class=CallClass.AUTO if is_auto else CallClass.ASK,
        reason="only reads" if is_auto else danger or _reason(syntax, parts, setting, grant, automatic),
        read_only=reads_only,
        grant=grant,
        grant_is_automatic=automatic,
        hard_line=bool(danger),
        parts=parts,
        keys=line_keys(syntax, separable=_is_separable(syntax), free=free, env=setting.env, preset=preset),
        scripts=named_scripts(syntax, setting.cwd),
        unknown=tuple(f"{each.what} on line {each.line}" for each in syntax.unknown),
        parsed=outline(syntax),
        notes=notes(syntax, ground),
    )


def _free(syntax: Syntax, parts: tuple[Part, ...]) -> list[int]:
    """Sub-commands that need no cover beside others that do; a `sh -c` stands for what is in it."""
    return [
        index
        for index, part in enumerate(parts)
        if part.call_class is CallClass.AUTO and syntax.commands[index].wrap is not Wrap.SHELL
    ]


def _refusal(command: str) -> str:
    if "\0" in command:
        return "it holds a NUL character, which no command line can carry"
    if not command.strip():
        return "it is empty"
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError:
        return "it holds half of a character (a lone surrogate)"
    if size > MAX_BYTES:
        return f"it is {size:,} bytes long, and the system takes at most {MAX_BYTES:,}"
    return ""


def _rejected(command: str, reason: str) -> Classified:
    return Classified(
        call_class=CallClass.REJECT,
        reason=reason,
        read_only=False,
        grant=Grant.NONE,
        grant_is_automatic=False,
        hard_line=False,
        parts=(),
        keys=(f"line {command}",),
    )


def _is_settled(syntax: Syntax, setting: Setting) -> bool:
    """Whether nothing about the line is left open."""
    return (
        syntax.is_flat
        and not syntax.is_background
        and not setting.env
        and 0 < len(syntax.commands) <= MAX_SUBCOMMANDS
    )


def _is_separable(syntax: Syntax) -> bool:
    """Whether each sub-command means by itself what it means in the line."""
    stateful = (
        command.name in _STATEFUL - _FREE_STATEFUL or not command.words for command in syntax.commands
    )
    return (
        syntax.is_flat
        and not syntax.is_background
        and len(syntax.commands) <= MAX_SUBCOMMANDS
        and not any(stateful)
    )


def _grant(syntax: Syntax, parts: tuple[Part, ...], setting: Setting) -> tuple[Grant, bool]:
    needed = {part.grant for part in parts}
    if Grant.NETWORK in needed:
        return Grant.NETWORK, False
    if Grant.GIT_LANE not in needed:
        return Grant.NONE, False
    is_here = setting.cwd.is_relative_to(setting.workspace)
    return Grant.GIT_LANE, is_here and _is_settled(syntax, setting) and all(part.in_lane for part in parts)


# --- words -------------------------------------------------------------------------------------


def _reason(syntax: Syntax, parts: tuple[Part, ...], setting: Setting, grant: Grant, automatic: bool) -> str:
    if syntax.unknown:
        first = syntax.unknown[0]
        return f"the command could not be understood completely: {first.what} on line {first.line}"
    if len(syntax.commands) > MAX_SUBCOMMANDS:
        return f"it has {len(syntax.commands)} sub-commands, more than {MAX_SUBCOMMANDS}"
    if setting.env:
        return f"sets {_settings(setting.env)} for the command"
    if not setting.is_readable(setting.cwd):
        return f"runs outside the workspace: {setting.cwd}"
    if automatic:
        return "commits to git: only known git write commands"
    asking = next((part for part in parts if part.grant is grant and grant is not Grant.NONE), None)
    if asking is not None:
        return _grant_reason(asking, grant)
    return next((part.reason for part in parts if part.reason), "") or _shape_reason(syntax)


def _settings(env: Mapping[str, str]) -> str:
    """Variables and values as a person is shown them, cut to a bound."""
    shown = ", ".join(f"`{make_visible(f'{name}={value}')}`" for name, value in sorted(env.items()))
    return shown if len(shown) <= MAX_SHOWN_CHARS else f"{shown[:MAX_SHOWN_CHARS]} …"


def _grant_reason(part: Part, grant: Grant) -> str:
    if grant is Grant.NETWORK:
        return f"sends something out that cannot be taken back: {part.text}"
    if part.in_lane:
        return f"changes the repository together with other commands: {part.text}"
    return f"changes the repository in a way that asks first: {part.text}"


def _shape_reason(syntax: Syntax) -> str:
    if not syntax.commands:
        return "there is no command in it"
    if syntax.is_background:
        return "leaves something running in the background"
    return "has a loop, a function or a substitution"
