"""Rule keys: what a rule or a grant must name to cover a call, one for each sub-command.

    run  make publish INDEX=x     this sub-command, all words known; redirections are words of it
    line …                        this whole line, exactly: its parts do not stand for themselves
    in   rm x                     runs inside another one, or needs no cover; ask and deny rules see it
    edit | read | write PATH, host NAME:PORT, tool NAME

Words are bare or in single quotes. `<?>` stands for what is only known when the shell runs.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tools.command_line.syntax import Redirection, SimpleCommand, Syntax, Word

UNKNOWN_WORD = "<?>"

_BARE = r"[\w@%+=:,./^#-]+\Z"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*\Z"
_ELLIPSIS = "..."


def quote(text: str) -> str:
    """One word of a key; always the same form for the same value."""
    if re.match(_BARE, text, re.ASCII) and text != _ELLIPSIS and not text.startswith("#"):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def path_key(kind: Literal["edit", "read", "write"], path: Path, workspace: Path) -> str:
    """The key of a file, relative to the workspace where it lies in it."""
    inside = path.is_relative_to(workspace)
    return f"{kind} {path.relative_to(workspace) if inside else path}"


def run_words(command: "SimpleCommand") -> str:
    """The words of one sub-command in the form of a key."""
    words = [*map(_assignment, command.assignments), *_program(command), *map(_argument, command.words[1:])]
    return " ".join([*words, *map(_redirection, command.redirections)])


def _assignment(word: "Word") -> str:
    if word.text is None:
        return UNKNOWN_WORD
    name, _, value = word.text.partition("=")
    return f"{name}={quote(value) if value else ''}"


def _program(command: "SimpleCommand") -> tuple[str, ...]:
    if not command.words:
        return ()
    text = command.program
    if text is None:
        return (UNKNOWN_WORD,)
    return (f"'{text}'" if "=" in text and "'" not in text else quote(text),)


def _argument(word: "Word") -> str:
    return quote(word.text) if word.is_literal and word.text is not None else UNKNOWN_WORD


def _redirection(redirection: "Redirection") -> str:
    if redirection.is_document:
        return f"<<{UNKNOWN_WORD}"
    if redirection.target is None:
        return redirection.operator
    return redirection.operator + _argument(redirection.target)


def is_whole(command: "SimpleCommand") -> bool:
    """Whether the key of a sub-command says all of it."""
    words = (*command.words, *(each.target for each in command.redirections if each.target is not None))
    return (
        bool(command.words)
        and all(word.is_literal for word in words)
        and all(word.text is not None for word in command.assignments)
        and not any(each.is_document for each in command.redirections)
    )


def line_keys(
    syntax: "Syntax", *, separable: bool, free: Iterable[int], env: Mapping[str, str], preset: "Syntax"
) -> tuple[str, ...]:
    """The keys of a line. `free` are the indices of commands that need no cover; `env` is set for all
    of them, and `preset` is what that starts."""
    free = frozenset(free)
    set_before = "".join(f"{word} " for word in env_words(env))
    known = (
        separable
        and not env
        and bool(syntax.commands)
        and all(is_whole(each) for each in syntax.commands if not each.within)
    )
    keys = [] if known else [_line_key(syntax.source, env)]
    for index, command in enumerate(syntax.commands):
        kind = "run" if known and index not in free and not command.within else "in"
        keys.append(f"{kind} {set_before}{run_words(command)}")
    keys += [f"in {run_words(command)}" for command in preset.commands if command.words]
    if syntax.unknown or preset.unknown or len(env_words(env)) < len(env):
        keys.append(f"in {UNKNOWN_WORD}")
    return tuple(dict.fromkeys(keys))


def env_words(env: Mapping[str, str]) -> tuple[str, ...]:
    """Variables as assignments; those that no shell could set have no such form."""
    return tuple(f"{name}={quote(value)}" for name, value in sorted(env.items()) if re.match(_NAME, name))


def _line_key(source: str, env: Mapping[str, str]) -> str:
    prefix = "".join(f"{name}={quote(value)} " for name, value in sorted(env.items()))
    return f"line {prefix}{source}"


def named_scripts(syntax: "Syntax", cwd: Path) -> tuple[Path, ...]:
    """Files that the line runs as programs: their content is part of what is approved."""
    found = [path for command in syntax.commands for path in _scripts_of(command, cwd)]
    return tuple(dict.fromkeys(found))


_FILE_RUNNERS = frozenset("sh bash dash zsh ksh python python3 node perl ruby php source .".split())


def _scripts_of(command: "SimpleCommand", cwd: Path) -> list[Path]:
    program = command.program or ""
    if "/" in program:
        return [_path(program, cwd)]
    if command.name not in _FILE_RUNNERS or not all(word.is_literal for word in command.words):
        return []
    texts = [word.text or "" for word in command.words[1:]]
    operand = next((text for text in texts if not text.startswith(("-", "+"))), None)
    has_code = any(re.match(r"-[A-Za-z]*[cem]\b", text) for text in texts)
    return [_path(operand, cwd)] if operand and not has_code else []


def _path(text: str, cwd: Path) -> Path:
    return Path(os.path.normpath(cwd / text))
