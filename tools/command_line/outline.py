"""A command line in a few words: its programs in order, and the lines that a person should look at."""

from collections.abc import Iterator
from itertools import groupby

from tools.command_line.hard_line import Ground, dangers
from tools.command_line.syntax import SimpleCommand, Syntax

MOST_NAMES = 12


def outline(syntax: Syntax) -> str:
    """`set · git · curl | sh · cp ×20 · 6 more`; what stands in a pipeline is joined by `|`."""
    names = [_counted(name, len(list(same))) for name, same in groupby(_names(syntax))]
    more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return " · ".join([*names[:MOST_NAMES], *more])


def _names(syntax: Syntax) -> Iterator[str]:
    """One entry for each command, or for each pipeline."""
    programs = [command for command in syntax.commands if command.words]
    for number, commands in groupby(programs, key=lambda command: command.pipeline or -id(command)):
        yield (" | " if number > 0 else "").join(_name(command) for command in commands)


def _name(command: SimpleCommand) -> str:
    return command.name or command.words[0].source


def _counted(name: str, times: int) -> str:
    return f"{name} ×{times}" if times > 1 else name


def notes(syntax: Syntax, ground: Ground) -> tuple[tuple[int, str], ...]:
    """Lines with what is dangerous in them, and with what was not understood."""
    unknown = [(place.line, f"cannot be understood: {place.what}") for place in syntax.unknown]
    return tuple(sorted(dict.fromkeys([*dangers(syntax, ground), *unknown]), key=lambda note: note[0]))
