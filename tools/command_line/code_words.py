"""Code that stands in words: variables that are run, words that a builtin evaluates, names that move."""

import re
from collections.abc import Sequence

from tools.command_line.starting import NOTHING, UNSEEN, Inner, Reader, never_known
from tools.command_line.syntax import SimpleCommand, Word, Wrap

_RUN_VARIABLES = frozenset(
    """
    PROMPT_COMMAND EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE RIPGREP_CONFIG_PATH
    GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS
    GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS RSYNC_RSH
    """.split()
)
_UNSEEN_VARIABLES = frozenset("BASH_ENV ENV MAKEFILES GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS".split())
# Builtins that evaluate subscripts and numbers: `a[$(code)]` in a quoted word runs the code.
_EVALUATORS = frozenset(
    """
    test [ [[ let read unset declare typeset local export readonly mapfile readarray getopts wait
    """.split()
)


def is_code(text: str) -> bool:
    """Whether text that is evaluated again would run something."""
    return "$(" in text or "`" in text or "<(" in text


def variable_scripts(assignments: Sequence[Word]) -> tuple[str | None, ...]:
    """Scripts in `NAME=value` words: of variables that are run, or that hold a substitution as text."""
    found: list[str | None] = []
    for word in assignments:
        name, equals, value = (word.text if word.text is not None else word.source).partition("=")
        name = name.removesuffix("+").partition("[")[0]
        known = word.text is not None
        if equals and name in _RUN_VARIABLES:
            found.append(value if known else None)
        elif equals and (name in _UNSEEN_VARIABLES or (known and is_code(value))):
            found.append(None)
    return tuple(found)


def evaluated_word(command: SimpleCommand) -> bool:
    """Whether a builtin evaluates a word that holds code, or a name that is only known when it runs."""
    words = command.words[1:]
    texts = [word.text for word in words]
    names = command.name == "printf" and bool(texts) and (texts[0] or "").startswith("-v")
    if command.name in ("test", "[", "[["):
        names = "-v" in texts or "-R" in texts
    if names and any(word.text is None for word in (words[:2] if command.name == "printf" else words)):
        return True
    return (names or command.name in _EVALUATORS) and any(is_code(text or "") for text in texts)


def _source(words: Sequence[Word]) -> Inner:
    """A script in a plain file is not looked into; anything else may be code from the line."""
    operands = [word for word in words[1:] if word.text != "--"]
    if not operands or not operands[0].is_literal:
        return UNSEEN if operands else NOTHING
    return UNSEEN if is_stream(operands[0].text or "") else NOTHING


def is_stream(path: str) -> bool:
    """Whether a path is no plain file: standard input or a descriptor."""
    return path == "-" or path.startswith(("/dev/", "/proc/"))


def _alias(words: Sequence[Word]) -> Inner:
    """A name that means something else from here on; what it means is read too."""
    scripts = [(word.text or "").partition("=")[2] for word in words[1:] if "=" in (word.text or word.source)]
    return Inner(wrap=Wrap.OTHER, scripts=(*filter(None, scripts), None)) if scripts else NOTHING


def _callback(words: Sequence[Word]) -> Inner:
    """`mapfile -C CODE` runs the code for each line."""
    calls = any(word.text is None or re.match(r"-[A-Za-z]*C", word.text) for word in words[1:])
    return UNSEEN if calls else NOTHING


def _hash(words: Sequence[Word]) -> Inner:
    """`hash -p FILE NAME` gives a program another name."""
    moves = any(word.text is None or re.match(r"-[A-Za-z]*p", word.text) for word in words[1:])
    return UNSEEN if moves else NOTHING


CODE_READERS: dict[str, Reader] = {
    "source": _source,
    ".": _source,
    "alias": _alias,
    "mapfile": _callback,
    "readarray": _callback,
    "hash": _hash,
    **dict.fromkeys(("enable", "bind", "complete", "compgen"), never_known),
}
