"""What a command line says, as plain data: the simple commands of it and what is not understood."""

from enum import StrEnum

from agent_tui.frozen import frozen


@frozen
class Word:
    """One word of a command. `text` is its value after quoting, None where only the shell knows."""

    source: str
    text: str | None
    glob: bool = False  # `*`, `?`, `[` unquoted: `text` is the pattern
    tilde: bool = False  # begins with an unquoted `~`: `text` still holds it
    quoted: bool = False  # some of it stands in quotes or behind a backslash
    variables: bool = False  # not known only because of plain `$NAME`, `${NAME}`, `$?`

    @property
    def is_literal(self) -> bool:
        """Exactly one word, with a value that is known."""
        return self.text is not None and not self.glob and not self.tilde


@frozen
class Redirection:
    """One redirection; `target` is None for a duplicated or closed descriptor."""

    operator: str  # as written, with the descriptor: `2>`, `<`, `&>`, `<<'E'`
    target: Word | None
    is_document: bool = False  # here-document or here-string


class Wrap(StrEnum):
    """Whether a command starts the commands that follow it with `within` set to its name."""

    NONE = "none"
    PLAIN = "plain"  # `timeout 5 CMD`: adds nothing to what CMD does
    SHELL = "shell"  # `bash -c 'SCRIPT'`
    OTHER = "other"  # with another environment, arguments from elsewhere, other rights


@frozen
class SimpleCommand:
    """A program with its words, or a redirection or assignment alone (no words)."""

    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()  # `NAME=value`, whole
    redirections: tuple[Redirection, ...] = ()
    line: int = 1
    pipeline: int = 0  # equal numbers: one pipeline, in order; 0: none
    within: str = ""  # the command that gets this one's output as words, or that starts it
    wrap: Wrap = Wrap.NONE
    loop: tuple[int, str] = (0, "")  # number and first word of the outermost loop it stands in; 0: none

    @property
    def program(self) -> str | None:
        """Name as the shell will look it up; None where it is not known."""
        return self.words[0].text if self.words and self.words[0].is_literal else None

    @property
    def name(self) -> str:
        """The program without its directory, empty where it is not known."""
        return (self.program or "").rpartition("/")[2]


@frozen
class Unknown:
    """A place that is not understood."""

    what: str
    line: int


@frozen
class Syntax:
    """A whole command line, commands in the order they stand in, inner ones after outer ones."""

    source: str
    commands: tuple[SimpleCommand, ...]
    unknown: tuple[Unknown, ...] = ()
    is_flat: bool = True  # lists, pipelines, groups and `if` of simple commands, nothing else
    is_background: bool = False
    is_cut: bool = False  # it is longer or deeper than is followed: anything may stand in the rest
    self_calls: tuple[str, ...] = ()  # functions that call themselves more than once or in the background
