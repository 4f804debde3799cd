"""Finds the command on a line and parses its arguments. Knows no command's work."""

import argparse
import importlib
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, NoReturn

from agent_tui import __version__
from agent_tui.config.options import EXEC_OPTIONS, RUN_OPTIONS, Option
from agent_tui.errors import UsageError


class CommandSpec(NamedTuple):
    """A command: its module in `agent_tui.cli`, a line of help, and the settings it takes as flags."""

    module: str
    summary: str
    options: tuple[Option, ...]
    usage: str


_PLACE = tuple(o for o in RUN_OPTIONS if o.name in ("cd", "profile", "debug"))
_SANDBOX = tuple(
    o for o in RUN_OPTIONS if o.name in ("cd", "add_dir", "sandbox", "network", "profile", "debug")
)
_HEADLESS = tuple(o for o in RUN_OPTIONS if o.name != "plain") + EXEC_OPTIONS

INTERACTIVE = CommandSpec("interactive", "start the interface here", RUN_OPTIONS, "[OPTIONS] [PROMPT]")
COMMANDS: dict[str, CommandSpec] = {
    "exec": CommandSpec("exec", "run once to the end, without a person", _HEADLESS, "[OPTIONS] [PROMPT | -]"),
    "resume": CommandSpec("resume", "continue a session", RUN_OPTIONS, "[OPTIONS] [ID | --last]"),
    "sessions": CommandSpec(
        "sessions", "stored sessions", _PLACE, "[OPTIONS] [list | show ID | export ID | rm ID]"
    ),
    "checkpoints": CommandSpec(
        "checkpoints",
        "recorded states of the workspace",
        _PLACE,
        "[OPTIONS] [list | show ID | diff ID [ID2] | prune]",
    ),
    "rollback": CommandSpec("rollback", "go back to a checkpoint", _PLACE, "[OPTIONS] [ID | --redo]"),
    "sandbox": CommandSpec("sandbox", "run a command as `exec_command` does", _SANDBOX, "[OPTIONS] -- CMD …"),
    "doctor": CommandSpec("doctor", "check what works here", RUN_OPTIONS, "[OPTIONS]"),
    "demo": CommandSpec("demo", "a guided run with a scripted model", _PLACE, "[OPTIONS]"),
    "debug": CommandSpec(
        "debug", "look inside", RUN_OPTIONS, "[OPTIONS] request [ID] | classify 'COMMAND LINE'"
    ),
    "config": CommandSpec(
        "config", "effective settings and their layers", RUN_OPTIONS, "[show | path | init]"
    ),
    "completions": CommandSpec("completions", "completion script of a shell", (), "bash | zsh | fish"),
}


# argparse's own words, with and without quotes around the choices
_NO_CHOICE = r"argument (?P<what>\S+): invalid choice: '(?P<value>.*)' \(choose from (?P<choices>.*)\)"
_TAKES_VALUE = {f for o in (*RUN_OPTIONS, *EXEC_OPTIONS) if o.kind != "flag" for f in o.flags} | {"-c"}


class _Help(argparse.RawDescriptionHelpFormatter):
    """Names a flag's value once, in every version of Python."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        metavar = self._get_default_metavar_for_optional(action)
        return f"{', '.join(action.option_strings)} {self._format_args(action, metavar)}"


class _Parser(argparse.ArgumentParser):
    """Reports a usage error as ours: one line."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.removeprefix("agent-tui").strip()
        told = self._unknown(message) or f"{self._no_choice(message) or message}; {self._help()}"
        raise UsageError(f"{name + ': ' if name else ''}{told}")

    def _help(self) -> str:
        return f"`{self.prog} --help` shows what there is"

    def _unknown(self, message: str) -> str:
        head, _, found = message.partition("unrecognized arguments: ")
        if head or not found:
            return ""
        flags = [word for word in found.split() if word.startswith("-")]
        if not flags:
            hint = "quote a prompt of several words" if self._takes_prompt() else self._help()
            return f"`{found}` is too much; {hint}"

        from agent_tui.near import nearest

        flag = flags[0].partition("=")[0]
        near = nearest(flag, self._option_string_actions)
        return f"no option `{flag}`; " + (f"did you mean `{near}`?" if near else self._help())

    def _no_choice(self, message: str) -> str:
        found = re.fullmatch(_NO_CHOICE, message)
        if found is None:
            return ""
        what = found["what"]
        hint = "; `/rename TITLE` inside a session names it" if found["value"] == "rename" else ""
        choices = found["choices"].replace("'", "")
        return f"no {what} `{found['value']}`; choose from {choices}{hint}"

    def _takes_prompt(self) -> bool:
        return any(action.dest == "prompt" for action in self._actions)


def parse(argv: Sequence[str]) -> tuple[CommandSpec, argparse.Namespace]:
    """The command and its arguments; raises UsageError, and SystemExit for `--help`."""
    name, rest = split_command(argv)
    if not name:
        _refuse_slip(rest)
    spec = COMMANDS[name] if name else INTERACTIVE
    parser = build(name)
    arguments = parser.parse_args(rest if name == "sandbox" else _options_first(parser, rest))
    arguments.command_name = name
    return spec, arguments


def _options_first(parser: argparse.ArgumentParser, argv: Sequence[str]) -> list[str]:
    """The line with its options before its words: argparse would give a word that may be left out up at
    the first option. What `sandbox` runs has options of its own, so its line stays as it is."""
    takes_value = {flag for a in parser._actions if a.nargs != 0 for flag in a.option_strings}
    options: list[str] = []
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            words += ["--", *rest]
        elif word.startswith("-") and word != "-":
            value = list(islice(rest, 1)) if word in takes_value else []
            if word in takes_value and not value:
                return list(argv)  # it is missing, which argparse tells
            options += [word, *value]
        else:
            words.append(word)
    return options + words


def _refuse_slip(argv: Sequence[str]) -> None:
    """A word that is nearly a command is not sent to a model as a prompt. Raises UsageError."""
    word = next((word for word in _words(argv)), "")
    if not word.isalpha():
        return

    from agent_tui.near import is_slip

    names = (*COMMANDS, *(f"--{flag}" for flag in ("help", "version") if flag == word))
    meant = next((name for name in names if is_slip(word, name.removeprefix("--"))), "")
    if meant:
        raise UsageError(
            f"`{word}` is no command; did you mean `agent-tui {meant}`? "
            "a prompt of this one word goes after `--`"
        )


def _words(argv: Sequence[str]) -> Iterator[str]:
    """The words of a line that are neither flags nor their values, up to `--`."""
    skip = False
    for word in argv:
        if word == "--":
            return
        if skip or (word.startswith("-") and word != "-"):
            skip = not skip and word in _TAKES_VALUE
        else:
            yield word


def split_command(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The command's name, empty for the interface, and the line without it.

    The command is the first word that is neither a flag nor a flag's value.
    """
    skip = False
    for index, word in enumerate(argv):
        if skip or (word.startswith("-") and word not in ("-", "--")):
            skip = not skip and word in _TAKES_VALUE
        elif word in COMMANDS:
            return word, [*argv[:index], *argv[index + 1 :]]
        else:
            break
    return "", list(argv)


def build(name: str) -> argparse.ArgumentParser:
    """The parser of one command, the interface's for the empty name."""
    spec = COMMANDS[name] if name else INTERACTIVE
    prog = f"agent-tui {name}".strip()
    parser = _Parser(
        prog=prog,
        usage=f"{prog} {spec.usage}",
        description=None if name else "A coding agent that lives in the terminal.",
        epilog=None if name else _overview(),
        formatter_class=_Help,
        allow_abbrev=False,
    )
    if not name:
        parser.add_argument("--version", "-V", action="version", version=f"agent-tui {__version__}")
    importlib.import_module(f"agent_tui.cli.{spec.module}").add_arguments(parser)
    settings = parser.add_argument_group("settings")
    for option in spec.options:
        add_option(settings, option)
    if spec.options:
        settings.add_argument(
            "-c", dest="assignments", metavar="KEY=VALUE", action="append", default=[], help="any setting"
        )
    return parser


def add_option(group: argparse._ArgumentGroup, option: Option) -> None:
    """A setting as a flag; its value stays text (or True) until the layers check it."""
    choices = f": {', '.join(option.choices)}" if option.choices else ""
    help_text = (option.help + choices).replace("%", "%%")
    dest = f"setting_{option.name}"
    if option.kind == "flag":
        group.add_argument(*option.flags, dest=dest, action="store_const", const="true", help=help_text)
    elif option.kind == "list":
        group.add_argument(*option.flags, dest=dest, metavar=option.metavar, action="append", help=help_text)
    else:
        group.add_argument(
            *option.flags, dest=dest, metavar=option.metavar or option.name.upper(), help=help_text
        )


def _overview() -> str:
    width = max(len(name) for name in COMMANDS) + 2
    lines = [f"  {name:<{width}}{spec.summary}" for name, spec in COMMANDS.items()]
    return "commands:\n" + "\n".join(lines) + "\n\n`agent-tui COMMAND --help` tells more."
