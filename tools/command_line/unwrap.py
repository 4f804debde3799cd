"""Programs that start other programs: what a command with such a name runs inside."""

import re
from collections.abc import Sequence

from tools.command_line.code_words import CODE_READERS, variable_scripts
from tools.command_line.starters import STARTERS
from tools.command_line.starting import (
    NOTHING,
    UNKNOWN_WORD,
    UNSEEN,
    Inner,
    Options,
    Reader,
    plain_starter,
    skip,
)
from tools.command_line.syntax import SimpleCommand, Word, Wrap

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash"))

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def unwrap(command: SimpleCommand) -> Inner:
    """What the command starts; `wrap` is NONE where it starts nothing that is named in it."""
    reader = _READERS.get(command.name)
    return reader(command.words) if reader else NOTHING


def _nice(words: Sequence[Word]) -> Inner:
    """`nice -5 CMD` and `nice -n 5 CMD`."""
    if len(words) > 2 and re.fullmatch(r"-\d+", words[1].text or ""):
        return Inner(wrap=Wrap.PLAIN, commands=(tuple(words[2:]),))
    return plain_starter(Options(valued="n", long=frozenset(("adjustment=",))))(words)


def _command(words: Sequence[Word]) -> Inner:
    """`command CMD`; `command -v NAME` only looks it up."""
    if len(words) > 1 and words[1].text in ("-v", "-V"):
        return NOTHING
    return plain_starter(Options())(words)


def _env(words: Sequence[Word]) -> Inner:
    options = Options(flags="i0v", valued="uC", long=frozenset(("ignore-environment", "unset=", "chdir=")))
    start = skip(words, options)
    if start is None:
        return UNSEEN
    first = start
    while start < len(words) and _ASSIGNMENT.match(words[start].text or words[start].source):
        start += 1
    scripts = variable_scripts(words[first:start])
    commands = (tuple(words[start:]),) if start < len(words) else ()
    return Inner(wrap=Wrap.OTHER, commands=commands, scripts=scripts) if commands or scripts else NOTHING


def _shell(words: Sequence[Word]) -> Inner:
    """`sh -c 'SCRIPT'`; a script in a file is not looked into."""
    for index, word in enumerate(words[1:], start=1):
        if not word.is_literal or word.text is None:
            return UNSEEN
        if not word.text.startswith(("-", "+")) or word.text == "--":
            return Inner(wrap=Wrap.OTHER)
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", word.text):
            return _script(words, index, plain=index == 1 and word.text == "-c")
        if word.text in ("-o", "+o", "-O", "+O") or word.text in ("--rcfile", "--init-file"):
            return UNSEEN
    return UNSEEN  # reads its script from standard input


def _script(words: Sequence[Word], index: int, *, plain: bool) -> Inner:
    rest = words[index + 1 :]
    if not rest or (rest[0].text or "").startswith(("-", "+")):
        return UNSEEN
    only = plain and len(rest) == 1
    script = rest[0].text if rest[0].is_literal else None
    return Inner(wrap=Wrap.SHELL if only and script is not None else Wrap.OTHER, scripts=(script,))


def _xargs(words: Sequence[Word]) -> Inner:
    """The words it adds come from its input, so the started command always ends in unknown ones."""
    options = Options(
        flags="0rtpox",
        valued="nPsLIEda",
        long=frozenset(("null", "no-run-if-empty", "verbose", "max-args=", "max-procs=", "delimiter=")),
    )
    start = skip(words, options)
    if start is None:
        return UNSEEN
    if start >= len(words):
        return NOTHING
    place = _replaced(words[1:start])
    started = [UNKNOWN_WORD if place and place in (word.text or place) else word for word in words[start:]]
    return Inner(wrap=Wrap.OTHER, commands=((*started, UNKNOWN_WORD),))


def _replaced(options: Sequence[Word]) -> str:
    """What `xargs -I` puts its input in place of, or nothing."""
    for index, word in enumerate(options):
        found = re.fullmatch(r"-[0rtpox]*I(.*)", word.text or "", re.DOTALL)
        if found:
            following = options[index + 1].text if index + 1 < len(options) else None
            return found[1] or following or ""
    return ""


def _find(words: Sequence[Word]) -> Inner:
    """`-exec CMD … ;` and its kin; `{}` is only known when it runs."""
    commands: list[tuple[Word, ...]] = []
    current: list[Word] | None = None
    for word in words[1:]:
        if current is None and word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            current = []
        elif current is not None and word.text in (";", "+"):
            commands.append(tuple(current))
            current = None
        elif current is not None:
            current.append(UNKNOWN_WORD if "{}" in (word.text or "{}") else word)
    if current is not None:
        commands.append(tuple(current))
    return Inner(wrap=Wrap.OTHER, commands=tuple(commands)) if commands else NOTHING


def _fd(words: Sequence[Word]) -> Inner:
    """`fd -x CMD …`: everything after it."""
    marks = ("-x", "--exec", "-X", "--exec-batch")
    for index, word in enumerate(words):
        if word.text in marks and index + 1 < len(words):
            return Inner(wrap=Wrap.OTHER, commands=((*words[index + 1 :], UNKNOWN_WORD),))
    return NOTHING


def _eval(words: Sequence[Word]) -> Inner:
    """The words joined are read as a line again."""
    if len(words) < 2:
        return NOTHING
    texts = [word.text if word.is_literal else None for word in words[1:]]
    script = None if None in texts else " ".join(text for text in texts if text is not None)
    return Inner(wrap=Wrap.OTHER, scripts=(script,))


def _trap(words: Sequence[Word]) -> Inner:
    action = next((word for word in words[1:] if not (word.text or "x").startswith("-")), None)
    if action is None or action.text == "":
        return NOTHING
    return Inner(wrap=Wrap.OTHER, scripts=(action.text if action.is_literal else None,))


def _multi(words: Sequence[Word]) -> Inner:
    """`busybox APPLET …`."""
    return Inner(wrap=Wrap.OTHER, commands=(tuple(words[1:]),)) if len(words) > 1 else NOTHING


_TIMEOUT = Options(
    flags="fpv",
    valued="ks",
    long=frozenset(("foreground", "preserve-status", "verbose", "signal=", "kill-after=")),
    operands=1,
)
_READERS: dict[str, Reader] = {
    "time": plain_starter(Options(flags="p")),
    "timeout": plain_starter(_TIMEOUT),
    "nice": _nice,
    "ionice": plain_starter(Options(flags="t", valued="cn")),
    "stdbuf": plain_starter(Options(valued="ioe", long=frozenset(("input=", "output=", "error=")))),
    "command": _command,
    "builtin": plain_starter(Options()),
    "nohup": plain_starter(Options(), Wrap.OTHER),  # leaves nohup.out behind
    "setsid": plain_starter(Options(flags="cfw", long=frozenset(("ctty", "fork", "wait"))), Wrap.OTHER),
    "exec": plain_starter(Options(flags="cl", valued="a"), Wrap.OTHER),
    "env": _env,
    "sudo": plain_starter(Options(flags="AbEHknPSis", valued="ugpCDhRrTt"), Wrap.OTHER),
    "doas": plain_starter(Options(flags="Lns", valued="uC"), Wrap.OTHER),
    "busybox": _multi,
    "toybox": _multi,
    "xargs": _xargs,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "eval": _eval,
    "trap": _trap,
    **STARTERS,
    **CODE_READERS,
    **dict.fromkeys(SHELLS, _shell),
}
