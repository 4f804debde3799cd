"""Programs that start other programs: what a command with such a name runs inside."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.command_line.syntax import SimpleCommand, Word, Wrap

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """What a command starts: commands as words, and shell scripts (None: not known)."""

    wrap: Wrap = Wrap.NONE
    commands: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[str | None, ...] = ()


_NOTHING = Inner()
_UNKNOWN_WORD = Word(source="…", text=None)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def unwrap(command: SimpleCommand) -> Inner:
    """What the command starts; `wrap` is NONE where it starts nothing that is named in it."""
    reader = _READERS.get(command.name)
    return reader(command.words) if reader else _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """Options of a wrapper, before the command it starts."""

    flags: str = ""  # letters without a value
    valued: str = ""
    long: frozenset[str] = frozenset()  # without the dashes; `name=` takes its value with `=`
    operands: int = 0  # words before the command that are neither


def _skip(words: Sequence[Word], options: _Options) -> int | None:
    """Index of the started command's first word; None when an option is not known."""
    index = 1
    while index < len(words):
        text = words[index].text if words[index].is_literal else None
        if text is None or text == "-" or not text.startswith("-"):
            break
        if text == "--":
            index += 1
            break
        step = _step(text, options)
        if step is None:
            return None
        index += step
    return index + options.operands


def _step(text: str, options: _Options) -> int | None:
    """How many words an option takes."""
    if text.startswith("--"):
        name, equals, _ = text[2:].partition("=")
        return 1 if name + equals in options.long else None
    for position, letter in enumerate(text[1:], start=1):
        if letter in options.valued:
            return 1 if position + 1 < len(text) else 2
        if letter not in options.flags:
            return None
    return 1


def _plain(options: _Options, wrap: Wrap = Wrap.PLAIN) -> Callable[[Sequence[Word]], Inner]:
    def read(words: Sequence[Word]) -> Inner:
        start = _skip(words, options)
        if start is None:
            return Inner(wrap=Wrap.OTHER, scripts=(None,))
        skipped = words[1:start]
        if start >= len(words):
            return _NOTHING
        known = all(word.is_literal for word in skipped)
        return Inner(wrap=wrap if known else Wrap.OTHER, commands=(tuple(words[start:]),))

    return read


def _nice(words: Sequence[Word]) -> Inner:
    """`nice -5 CMD` and `nice -n 5 CMD`."""
    if len(words) > 2 and re.fullmatch(r"-\d+", words[1].text or ""):
        return Inner(wrap=Wrap.PLAIN, commands=(tuple(words[2:]),))
    return _plain(_Options(valued="n", long=frozenset(("adjustment=",))))(words)


def _command(words: Sequence[Word]) -> Inner:
    """`command CMD`; `command -v NAME` only looks it up."""
    if len(words) > 1 and words[1].text in ("-v", "-V"):
        return _NOTHING
    return _plain(_Options())(words)


def _env(words: Sequence[Word]) -> Inner:
    options = _Options(flags="i0v", valued="uC", long=frozenset(("ignore-environment", "unset=", "chdir=")))
    start = _skip(words, options)
    if start is None:
        return Inner(wrap=Wrap.OTHER, scripts=(None,))
    while start < len(words) and _ASSIGNMENT.match(words[start].text or words[start].source):
        start += 1
    if start >= len(words):
        return _NOTHING
    return Inner(wrap=Wrap.OTHER, commands=(tuple(words[start:]),))


def _shell(words: Sequence[Word]) -> Inner:
    """`sh -c 'SCRIPT'`; a script in a file is not looked into."""
    for index, word in enumerate(words[1:], start=1):
        if not word.is_literal or word.text is None:
            return Inner(wrap=Wrap.OTHER, scripts=(None,))
        if not word.text.startswith(("-", "+")) or word.text == "--":
            return Inner(wrap=Wrap.OTHER)
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", word.text):
            return _script(words, index, plain=index == 1 and word.text == "-c")
        if word.text in ("-o", "+o", "-O", "+O") or word.text in ("--rcfile", "--init-file"):
            return Inner(wrap=Wrap.OTHER, scripts=(None,))
    return Inner(wrap=Wrap.OTHER, scripts=(None,))  # reads its script from standard input


def _script(words: Sequence[Word], index: int, *, plain: bool) -> Inner:
    rest = words[index + 1 :]
    if not rest or (rest[0].text or "").startswith(("-", "+")):
        return Inner(wrap=Wrap.OTHER, scripts=(None,))
    only = plain and len(rest) == 1
    script = rest[0].text if rest[0].is_literal else None
    return Inner(wrap=Wrap.SHELL if only and script is not None else Wrap.OTHER, scripts=(script,))


def _xargs(words: Sequence[Word]) -> Inner:
    """The words it adds come from its input, so the started command always ends in unknown ones."""
    options = _Options(
        flags="0rtpox",
        valued="nPsLIEda",
        long=frozenset(("null", "no-run-if-empty", "verbose", "max-args=", "max-procs=", "delimiter=")),
    )
    start = _skip(words, options)
    if start is None:
        return Inner(wrap=Wrap.OTHER, scripts=(None,))
    if start >= len(words):
        return _NOTHING
    place = _replaced(words[1:start])
    started = [_UNKNOWN_WORD if place and place in (word.text or place) else word for word in words[start:]]
    return Inner(wrap=Wrap.OTHER, commands=((*started, _UNKNOWN_WORD),))


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
            current.append(_UNKNOWN_WORD if "{}" in (word.text or "{}") else word)
    if current is not None:
        commands.append(tuple(current))
    return Inner(wrap=Wrap.OTHER, commands=tuple(commands)) if commands else _NOTHING


def _fd(words: Sequence[Word]) -> Inner:
    """`fd -x CMD …`: everything after it."""
    marks = ("-x", "--exec", "-X", "--exec-batch")
    for index, word in enumerate(words):
        if word.text in marks and index + 1 < len(words):
            return Inner(wrap=Wrap.OTHER, commands=((*words[index + 1 :], _UNKNOWN_WORD),))
    return _NOTHING


def _eval(words: Sequence[Word]) -> Inner:
    """The words joined are read as a line again."""
    if len(words) < 2:
        return _NOTHING
    texts = [word.text if word.is_literal else None for word in words[1:]]
    script = None if None in texts else " ".join(text for text in texts if text is not None)
    return Inner(wrap=Wrap.OTHER, scripts=(script,))


def _trap(words: Sequence[Word]) -> Inner:
    action = next((word for word in words[1:] if not (word.text or "x").startswith("-")), None)
    if action is None or action.text == "":
        return _NOTHING
    return Inner(wrap=Wrap.OTHER, scripts=(action.text if action.is_literal else None,))


def _multi(words: Sequence[Word]) -> Inner:
    """`busybox APPLET …`."""
    return Inner(wrap=Wrap.OTHER, commands=(tuple(words[1:]),)) if len(words) > 1 else _NOTHING


def _never_known(words: Sequence[Word]) -> Inner:
    return Inner(wrap=Wrap.OTHER, scripts=(None,)) if len(words) > 1 else _NOTHING


_TIMEOUT = _Options(
    flags="fpv",
    valued="ks",
    long=frozenset(("foreground", "preserve-status", "verbose", "signal=", "kill-after=")),
    operands=1,
)
_READERS: dict[str, Callable[[Sequence[Word]], Inner]] = {
    "time": _plain(_Options(flags="p")),
    "timeout": _plain(_TIMEOUT),
    "nice": _nice,
    "ionice": _plain(_Options(flags="t", valued="cn")),
    "stdbuf": _plain(_Options(valued="ioe", long=frozenset(("input=", "output=", "error=")))),
    "command": _command,
    "builtin": _plain(_Options()),
    "nohup": _plain(_Options(), Wrap.OTHER),  # leaves nohup.out behind
    "setsid": _plain(_Options(flags="cfw", long=frozenset(("ctty", "fork", "wait"))), Wrap.OTHER),
    "exec": _plain(_Options(flags="cl", valued="a"), Wrap.OTHER),
    "env": _env,
    "sudo": _plain(_Options(flags="AbEHknPSis", valued="ugpCDhRrTt"), Wrap.OTHER),
    "doas": _plain(_Options(flags="Lns", valued="uC"), Wrap.OTHER),
    "busybox": _multi,
    "toybox": _multi,
    "xargs": _xargs,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "eval": _eval,
    "trap": _trap,
    "watch": _never_known,
    "parallel": _never_known,
    "script": _never_known,
    "su": _never_known,
    **dict.fromkeys(SHELLS, _shell),
}
