"""What a starter says of the program it starts: its options, and the reader of a plain one."""

from collections.abc import Callable, Sequence

from agent_tui.frozen import frozen
from tools.command_line.syntax import Word, Wrap


@frozen
class Inner:
    """What a command starts: commands as words, and shell scripts (None: not known)."""

    wrap: Wrap = Wrap.NONE
    commands: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[str | None, ...] = ()


NOTHING = Inner()
UNSEEN = Inner(wrap=Wrap.OTHER, scripts=(None,))
UNKNOWN_WORD = Word(source="…", text=None)


@frozen
class Options:
    """Options of a wrapper, before the command it starts."""

    flags: str = ""  # letters without a value
    valued: str = ""
    long: frozenset[str] = frozenset()  # without the dashes; `name=` takes its value with `=`
    operands: int = 0  # words before the command that are neither


Reader = Callable[[Sequence[Word]], Inner]


def skip(words: Sequence[Word], options: Options) -> int | None:
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


def _step(text: str, options: Options) -> int | None:
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


def plain_starter(options: Options, wrap: Wrap = Wrap.PLAIN) -> Reader:
    """A reader: the options, then the command."""

    def read(words: Sequence[Word]) -> Inner:
        start = skip(words, options)
        if start is None:
            return UNSEEN
        skipped = words[1:start]
        if start >= len(words):
            return NOTHING
        known = all(word.is_literal for word in skipped)
        return Inner(wrap=wrap if known else Wrap.OTHER, commands=(tuple(words[start:]),))

    return read


def never_known(words: Sequence[Word]) -> Inner:
    """It runs what its words say in a way that is not followed."""
    return UNSEEN if len(words) > 1 else NOTHING
