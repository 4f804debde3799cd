"""Nodes of the syntax tree that stand for one thing: assignments, redirections, the words of a test."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tools.command_line.syntax import Redirection, Word
from tools.command_line.words import WORD_TYPES, text_of, word_of

if TYPE_CHECKING:
    from tree_sitter import Node

_GAP = re.compile(rb"(?:(?:\\\n)*[ \t\n](?:[ \t\n]|\\\n)*)?\Z")  # a continued line alone joins two words
_DESCRIPTOR = re.compile(r"\d+-?\Z|-\Z")


def leaves_of(root: "Node") -> Iterator["Node"]:
    cursor = root.walk()
    while True:
        if not cursor.goto_first_child():
            if cursor.node is not None:
                yield cursor.node
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return


def strange_gap(root: "Node", source: bytes) -> int | None:
    """The line of a byte that no token holds and that is no blank: the grammar read past it."""
    end = 0
    for leaf in leaves_of(root):
        if not _GAP.match(source[end : leaf.start_byte]):
            return source.count(b"\n", 0, end) + 1
        end = max(end, leaf.end_byte)
    return None if _GAP.match(source[end:]) else source.count(b"\n", 0, end) + 1


def shown(node: "Node") -> str:
    text = " ".join(text_of(node).split())
    return f"`{text[:24]}…`" if len(text) > 25 else f"`{text}`"


def assignment_of(node: "Node") -> Word:
    """`NAME=value` as one word; its text is known only for a plain name and a literal value."""
    parts = node.children
    source = text_of(node)
    if [part.type for part in parts[:2]] != ["variable_name", "="] or len(parts) > 3:
        return Word(source=source, text=None)
    value = word_of(parts[2]) if len(parts) == 3 and parts[2].type in WORD_TYPES else None
    if len(parts) == 3 and (value is None or not value.is_literal):
        return Word(source=source, text=None)
    return Word(source=source, text=f"{text_of(parts[0])}={value.text if value else ''}")


def declared_text(node: "Node") -> str | None:
    if node.type == "variable_assignment":
        return assignment_of(node).text
    return word_of(node).text if node.type in WORD_TYPES else text_of(node)


def redirections_of(node: "Node") -> tuple[Redirection, ...] | None:
    """The redirections that a node stands for, a here-document may hold further ones; None where the
    grammar took words of the command for targets."""
    if node.type != "file_redirect":
        operator = text_of(node).split("\n", 1)[0]
        inner = [child for child in node.children if child.type == "file_redirect"]
        nested = [redirections_of(child) for child in inner]
        if None in nested:
            return None
        document = Redirection(operator=operator, target=None, is_document=True)
        return (document, *(each for group in nested if group for each in group))
    targets = [child for child in node.children if child.type in WORD_TYPES]
    operator = "".join(text_of(child) for child in node.children if child.type not in WORD_TYPES)
    if not targets and operator.endswith("-"):
        return (Redirection(operator=operator, target=None),)
    if len(targets) != 1:
        return None
    target = word_of(targets[0])
    if operator.endswith("&") and target.text is not None and _DESCRIPTOR.match(target.text):
        return (Redirection(operator=operator + target.text, target=None),)
    return (Redirection(operator=operator, target=target),)


def words_of_test(node: "Node") -> tuple[Word, ...]:
    """The words of `[ … ]` or `[[ … ]]`, the opening bracket first."""
    words = [Word(source=text_of(node.children[0]), text=text_of(node.children[0]))]
    pending = list(reversed(node.children[1:-1]))
    while pending:
        part = pending.pop()
        if part.type in WORD_TYPES:
            words.append(word_of(part))
        elif part.children:
            pending.extend(reversed(part.children))
        elif part.type in ("regex", "extglob_pattern"):
            words.append(Word(source=text_of(part), text=None))
        else:
            words.append(Word(source=text_of(part), text=text_of(part)))
    return tuple(words)


def with_targets_last(root: "Node", source: bytes) -> bytes | None:
    """The source with the words that the grammar took for further targets put before the redirection.

    In `rm -r >log a b` bash redirects to `log` and passes `a b`; the grammar sees three targets. Both
    orders mean the same. None where no redirection has words behind its target.
    """
    for node in _inner_nodes(root):
        targets = [child for child in node.children if child.type in WORD_TYPES]
        if node.type == "file_redirect" and len(targets) > 1:
            start, cut, end = node.start_byte, targets[0].end_byte, node.end_byte
            return b"".join(
                (source[:start], source[cut:end].strip(b" \t\n"), b" ", source[start:cut], b" ", source[end:])
            )
    return None


def _inner_nodes(root: "Node") -> Iterator["Node"]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(child for child in reversed(node.children) if child.children)
