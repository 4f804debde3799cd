"""Reads one settings file into checked values, each with the line it stands in."""

import errno
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from agent_tui.config.options import OPTIONS, Key, Value, dotted, find, is_table, siblings
from agent_tui.config.values import BadValueError, from_toml
from agent_tui.errors import UsageError
from agent_tui.frozen import frozen
from agent_tui.near import nearest
from agent_tui.short_path import short_path
from agent_tui.toml_text import toml_table

_HEADER = r"^\s*\[\[?(?P<name>[^\]]+)\]\]?"
_ASSIGNMENT = r"^\s*(?P<name>[\w.\-\"' ]+?)\s*="
_SEGMENT = r"\"([^\"]*)\"|'([^']*)'|([\w-]+)"
MAX_BYTES = 1_000_000  # a settings file is written by hand


@frozen
class FileSettings:
    """What one file sets: key → value, and profile name → the same."""

    values: Mapping[Key, Value]
    profiles: Mapping[str, Mapping[Key, Value]]


def read_file(path: Path) -> FileSettings | None:
    """None where there is no such file; raises UsageError that names file and line."""
    try:
        data = content(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{short_path(path)}: cannot be read: {error.strerror}") from error
    return parse(data, path)


def content(path: Path) -> bytes:
    """The bytes of a plain file, up to one more than `MAX_BYTES`; raises OSError, also for a pipe or a
    device, which a project may hold and which would never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no plain file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def parse(data: bytes, path: Path) -> FileSettings:
    """The settings in the content of a file; raises UsageError that names file and line."""
    place = short_path(path)
    if len(data) > MAX_BYTES:
        raise UsageError(f"{place}: larger than {MAX_BYTES:,} bytes; a settings file is short")
    try:
        text = data.decode("utf-8")
        table = toml_table(text)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageError(f"{place}:{line}: not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_syntax_problem(place, text, str(error))) from error
    reader = _Reader(place, _lines_of(text))
    profiles = table.pop("profiles", {})
    if not isinstance(profiles, dict) or not all(isinstance(p, dict) for p in profiles.values()):
        raise UsageError(
            f"{reader.at(('profiles',))}: `profiles` must hold tables, such as `[profiles.NAME]`"
        )
    return FileSettings(
        values=dict(reader.flatten(table)),
        profiles={name: dict(reader.flatten(table, ("profiles", name))) for name, table in profiles.items()},
    )


def parse_assignment(text: str) -> tuple[Key, Value]:
    """The `KEY=VALUE` of `-c`: TOML, or plain text where VALUE is no TOML. Raises UsageError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"-c `{text}`: must be KEY=VALUE, such as `-c effort=high`")
    try:
        table = toml_table(f"{name} = {value}")
    except tomllib.TOMLDecodeError:
        try:
            table = tomllib.loads(f"{name} = ''")
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"-c `{text}`: `{name}` is no key") from error
        table = _with_text(table, value.strip())
    found = list(_Reader("-c", {}).flatten(table))
    if len(found) != 1:
        raise UsageError(f"-c `{text}`: must set one value")
    return found[0]


class _Reader:
    """Flattens a parsed table by the option table; knows where each key stands."""

    def __init__(self, place: str, lines: Mapping[Key, int]) -> None:
        self._place = place
        self._lines = lines

    def at(self, key: Key) -> str:
        """`file:line`; the line of the nearest key above where an inline table holds it."""
        while key and key not in self._lines:
            key = key[:-1]
        return f"{self._place}:{self._lines[key]}" if key else self._place

    def flatten(self, table: Mapping[str, object], prefix: Key = ()) -> Iterator[tuple[Key, Value]]:
        """Checked values below `prefix`, which is part of the place but not of the keys."""
        for key, value in _leaves(table):
            where = self.at((*prefix, *key))
            option = find(key)
            if option is None:
                raise UsageError(f"{where}: {_unknown(key)}")
            if option.name == "api_key":
                raise UsageError(f"{where}: a key is never kept in a file; set `AGENT_TUI_API_KEY` instead")
            try:
                yield key, from_toml(option, value)
            except BadValueError as problem:
                raise UsageError(f"{where}: `{dotted(key)}` {problem}") from problem


def _leaves(table: Mapping[str, object], above: Key = ()) -> Iterator[tuple[Key, object]]:
    for name, value in table.items():
        key = (*above, name)
        if isinstance(value, dict) and find(key) is None and is_table(key):
            yield from _leaves(value, key)
        else:
            yield key, value


def _unknown(key: Key) -> str:
    if is_table(key):
        return f"`{dotted(key)}` is a table, such as `[{dotted(key)}]`"
    while len(key) > 1 and not is_table(key[:-1]):
        key = key[:-1]
    return f"unknown key `{dotted(key)}`; {_hint(key)}"


def _hint(key: Key) -> str:
    """The known key that was meant: a sibling, or one of that name elsewhere; else where all are listed."""
    near = nearest(key[-1], siblings(key))
    if near:
        return f"did you mean `{dotted((*key[:-1], near))}`?"
    elsewhere = {option.key[-1]: option.name for option in reversed(OPTIONS) if option.key[-1] != "*"}
    near = nearest(key[-1], elsewhere)
    if near:
        return f"did you mean `{elsewhere[near].replace('*', 'NAME')}`?"
    return "`agent-tui config show` lists the known ones"


def _with_text(table: dict[str, object], text: str) -> dict[str, object]:
    return {
        name: _with_text(value, text) if isinstance(value, dict) else text for name, value in table.items()
    }


def _syntax_problem(place: str, text: str, message: str) -> str:
    found = re.search(r"\(at line (\d+), column \d+\)", message)
    line = int(found.group(1)) if found else text.count("\n") + 1
    reason = re.sub(r"\s*\(at [^)]*\)$", "", message)
    return f"{place}:{line}: not valid TOML: {reason[:1].lower()}{reason[1:]}"


def _lines_of(text: str) -> Mapping[Key, int]:
    """Key → line of its header or assignment. A heuristic for messages only: tomllib has no positions."""
    lines: dict[Key, int] = {}
    table: Key = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(_HEADER, line):
            table = _segments(header.group("name"))
            lines.setdefault(table, number)
        elif assignment := re.match(_ASSIGNMENT, line):
            lines.setdefault((*table, *_segments(assignment.group("name"))), number)
    return lines


def _segments(name: str) -> Key:
    return tuple(a or b or c for a, b, c in re.findall(_SEGMENT, name))
