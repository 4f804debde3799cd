"""The value of a word: quotes and escapes resolved, or None where only the shell can know it."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.command_line.syntax import Word

if TYPE_CHECKING:
    from tree_sitter import Node

WORD_TYPES = frozenset(
    (
        "word",
        "number",
        "string",
        "raw_string",
        "concatenation",
        "ansi_c_string",
        "simple_expansion",
        "expansion",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "brace_expression",
    )
)

_HIGH_BYTE = re.compile("[\x80-\xff]")
_LETTER_PAIR = re.compile("[\xc0-\xc7][\xe0-\xef]")
_GLOB = frozenset("*?[")
_NEVER_BARE = frozenset(" \t\n;|&<>()\"'`$")  # in a bare word of ours: the grammar was misled
_BRACES = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_PLAIN_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[?#$!0-9]|\{[A-Za-z_]\w*\})\Z")
_QUOTED_ESCAPE = re.compile(r'\\([$`"\\\n])')
_DOLLAR_TEXT = re.compile(r"\$(?=$|[ \t\n|)./,:\\\]])")  # a dollar that begins no expansion


@dataclass(slots=True)
class _Value:
    """Parts of one word as they are put together."""

    parts: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)  # what is unquoted; quoted text as a blank letter
    known: bool = True
    only_variables: bool = True  # of what is not known
    quoted: bool = False

    def add(self, text: str, *, bare: bool) -> None:
        self.parts.append(text)
        self.bare.append(text if bare else "q" * bool(text))

    def lose(self, *, variable: bool = False) -> None:
        self.known = False
        self.only_variables = self.only_variables and variable


def source_for_grammar(line: str) -> bytes:
    """The line in letters below U+0100, as UTF-8.

    The grammar's own scanner asks the C library about each character as if it were a byte
    (`isdigit` on the code point): a character from further up reads outside of a table and may end
    the process. Bash sees bytes and takes those above 0x7f for ordinary letters, so each of them
    becomes two letters here. `text_of` turns them back.
    """
    raw = line.encode("utf-8", errors="surrogatepass").decode("latin-1")
    return _HIGH_BYTE.sub(_two_letters, raw).encode("utf-8")


def _two_letters(match: re.Match[str]) -> str:
    high, low = divmod(ord(match[0]) - 0x80, 16)
    return chr(0xC0 + high) + chr(0xE0 + low)


def _one_byte(match: re.Match[str]) -> str:
    return chr(0x80 + (ord(match[0][0]) - 0xC0) * 16 + ord(match[0][1]) - 0xE0)


def text_of(node: "Node") -> str:
    """The source of a node as it stands in the line."""
    text = (node.text or b"").decode("utf-8")
    if text.isascii():
        return text
    raw = _LETTER_PAIR.sub(_one_byte, text).encode("latin-1")
    return raw.decode("utf-8", errors="surrogateescape")


def word_of(node: "Node") -> Word:
    """The word that a node stands for."""
    value = _Value()
    _add(node, value)
    bare = "".join(value.bare)
    if _BRACES.search(bare) or "=~" in bare or ":~" in bare:
        value.lose()
    return Word(
        source=text_of(node),
        text="".join(value.parts) if value.known else None,
        glob=value.known and not _GLOB.isdisjoint(bare),
        tilde=value.known and bare.startswith("~"),
        quoted=value.quoted,
        variables=not value.known and value.only_variables,
    )


def _add(node: "Node", value: _Value) -> None:
    kind = node.type
    if kind in ("word", "number") and not node.children:
        _add_bare(text_of(node), value)
    elif kind == "raw_string":
        value.quoted = True
        value.add(text_of(node)[1:-1], bare=False)
    elif kind == "string":
        _add_string(node, value)
    elif kind == "concatenation":
        for child in node.children:
            _add(child, value)
    elif kind in ("simple_expansion", "expansion"):
        value.lose(variable=bool(_PLAIN_VARIABLE.match(text_of(node))))
    else:
        value.lose()


def _add_bare(text: str, value: _Value) -> None:
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\\":
            value.quoted = True
            following = text[position + 1 : position + 2]
            if following not in ("", "\n"):
                value.add(following, bare=False)
            position += 2
            continue
        if char in _NEVER_BARE or not char.isprintable():
            value.lose()
        value.add(char, bare=True)
        position += 1


def _add_string(node: "Node", value: _Value) -> None:
    value.quoted = True
    for child in node.children:
        if child.type in ("string_content", '"', "$"):
            continue
        static = static_document(child)
        if static is not None and len(node.named_children) == 1 and text_of(node)[1:-1] == text_of(child):
            value.add(static, bare=False)
            return
        variable = child.type in ("simple_expansion", "expansion")
        value.lose(variable=variable and bool(_PLAIN_VARIABLE.match(text_of(child))))
    if value.known:
        _add_quoted(text_of(node)[1:-1], value)


def _add_quoted(text: str, value: _Value) -> None:
    """The inside of double quotes without any expansion that the grammar saw."""
    plain = _DOLLAR_TEXT.sub("", re.sub(r"\\.", "", text, flags=re.DOTALL))
    if "$" in plain or "`" in plain or '"' in plain:
        value.lose()
    value.add(_QUOTED_ESCAPE.sub(lambda match: match[1].strip("\n"), text), bare=False)


def static_document(node: "Node") -> str | None:
    """The text of `$(cat <<'E' … E)`, the way models write long messages; None for all else."""
    if node.type != "command_substitution" or not text_of(node).startswith("$("):
        return None
    statement = node.named_children[0] if len(node.named_children) == 1 else None
    if statement is None or statement.type != "redirected_statement" or len(statement.children) != 2:
        return None
    command, document = statement.children
    kinds = [child.type for child in document.children]
    if text_of(command) != "cat" or kinds != ["<<", "heredoc_start", "heredoc_body", "heredoc_end"]:
        return None
    start, body = text_of(document.children[1]), text_of(document.children[2])
    if len(start) < 3 or start[0] != "'" or start[-1] != "'" or "'" in start[1:-1]:
        return None
    return body.rstrip("\n")
