"""A command line in a few words: its programs in order, and the lines that a person should look at."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from tools.command_line.hard_line import Ground, dangers
from tools.command_line.syntax import SimpleCommand, Syntax

MOST_NAMES = 12


def outline(syntax: Syntax) -> str:
    """`set · for (git, python) · curl | sh · cp ×20 · 6 more`; what stands in a pipeline is joined by `|`."""
    commands = [command for command in syntax.commands if command.words]
    names: list[str] = []
    for (number, word), inside in groupby(commands, key=lambda command: command.loop):
        found = _names(inside)
        names += [f"{word} ({_cut(found, ', ')})"] if number else found
    return _cut(names, " · ")


def _cut(names: Sequence[str], gap: str) -> str:
    more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return gap.join([*names[:MOST_NAMES], *more])


def _names(commands: Iterable[SimpleCommand]) -> list[str]:
    """One entry for each command or pipeline, and for equal ones in a row."""
    pipelines = groupby(commands, key=lambda command: command.pipeline or -id(command))
    names = [(" | " if number > 0 else "").join(map(_name, each)) for number, each in pipelines]
    return [_counted(name, len(list(same))) for name, same in groupby(names)]


def _name(command: SimpleCommand) -> str:
    return command.name or command.words[0].source


def _counted(name: str, times: int) -> str:
    return f"{name} ×{times}" if times > 1 else name


def notes(syntax: Syntax, ground: Ground) -> tuple[tuple[int, str], ...]:
    """Lines with what is dangerous in them, and with what was not understood."""
    unknown = [(place.line, f"cannot be understood: {place.what}") for place in syntax.unknown]
    return tuple(sorted(dict.fromkeys([*dangers(syntax, ground), *unknown]), key=lambda note: note[0]))
