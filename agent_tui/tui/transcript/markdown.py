"""Markdown of the model to lines: headings, lists, tables, code. Parsed by markdown-it, never HTML.

Links are shown with their address and never followed; raw HTML is shown as text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from agent_tui.tui.transcript import code
from agent_tui.tui.transcript.lines import BLANK, Line, Span, line, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


_LINE_END = re.compile(r"\r\n?|\n")  # what the parser counts as one (CommonMark 2.1)


class TopBlock(NamedTuple):
    """A top-level block: its tokens and the offset in characters at which it starts."""

    tokens: Sequence["Token"]
    start: int


def render(text: str, look: Look) -> list[Line]:
    """All lines, indented by two, without blank lines at the ends."""
    rows: list[Line] = []
    for block in blocks(text):
        produced = lines_of(block.tokens, look)
        if rows and produced:
            rows.append(BLANK)
        rows += produced
    return rows


def blocks(text: str) -> list[TopBlock]:
    """The top-level blocks of `text` in order."""
    starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
    result = []
    for group in _groups(_parser().parse(text)):
        first = group[0].map
        result.append(TopBlock(group, starts[first[0]] if first else 0))
    return result


def lines_of(tokens: Sequence["Token"], look: Look) -> list[Line]:
    """Lines of one top-level block."""
    return _block(tokens, look, "  ")


def _groups(tokens: Sequence["Token"]) -> Iterator[list["Token"]]:
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []
    if group:
        yield group


def _block(group: Sequence["Token"], look: Look, indent: str, marker: Line = ()) -> list[Line]:
    """Lines of one block; `marker` stands in place of the indent on the first row."""
    head = group[0]
    lead, rest = marker or line(indent), line(indent)
    if head.type in ("fence", "code_block"):
        return _code(head, look, indent)
    if head.type == "hr":
        return [(Span(indent), Span(look.glyphs.rule * 3, "rule"))]
    if head.type == "table_open":
        return _table(group, look, indent)
    if head.type in ("bullet_list_open", "ordered_list_open"):
        return _list(group, look, indent)
    if head.type == "blockquote_open":
        return _quote(group, look, indent)
    inline = [token for token in group if token.type == "inline"]
    role = "strong" if head.type == "heading_open" else "text"
    spans = [span for token in inline for span in _inline(token, role)]
    if not inline and head.content:
        spans = untrusted(head.content.rstrip("\n"))
    return wrap(spans, look.prose, first=lead, rest=rest)


def _inline(token: "Token", role: str) -> list[Span]:
    spans: list[Span] = []
    strong, link = 0, ""
    for child in token.children or []:
        current = "strong" if strong else role
        if child.type in ("strong_open", "strong_close"):
            strong += child.nesting
        elif child.type == "text":
            spans += untrusted(child.content, "link" if link else current)
        elif child.type == "code_inline":
            spans += untrusted(f"`{child.content}`", current)
        elif child.type == "softbreak":
            spans.append(Span(" ", current))
        elif child.type == "hardbreak":
            spans.append(Span("\n", current))
        elif child.type == "link_open":
            link = str(child.attrGet("href") or "")
        elif child.type == "link_close":
            if link and not _shows(spans, link):
                spans += untrusted(f" ({link})", "muted", strict=True)
            link = ""
        elif child.type == "image":
            spans += untrusted(f"[image: {child.content}] ({child.attrGet('src') or ''})", current)
        elif child.type in ("html_inline",):
            spans += untrusted(child.content, current)
        elif child.type in ("em_open", "em_close"):
            continue
        elif child.type in ("s_open", "s_close"):
            spans.append(Span("~~", current))
    return spans


def _shows(spans: Sequence[Span], link: str) -> bool:
    """Whether the text of a link already is its address."""
    tail = ""
    for span in reversed(spans):
        if span.role != "link":
            break
        tail = span.text + tail
    return link in (tail, f"mailto:{tail}")


def _code(token: "Token", look: Look, indent: str) -> list[Line]:
    language = token.info.split()[0] if token.info.strip() else ""
    lead = line(indent + "  ")
    rows: list[Line] = []
    for spans in code.highlighted(token.content.rstrip("\n"), language):
        rows += wrap(spans, look.width, first=lead, rest=lead) or [lead]
    label = untrusted(language, "muted")
    if rows and language and width_of(rows[0]) + width_of(label) + 2 <= look.width - 1:
        gap = look.width - 1 - width_of(rows[0]) - width_of(label)
        rows[0] = (*rows[0], Span(" " * gap), *label)
    return rows


def _children(group: Sequence["Token"]) -> Iterator[list["Token"]]:
    """Blocks one level below the opening token of `group`."""
    level = group[0].level + 1
    inner: list[Token] = []
    for token in group[1:-1]:
        inner.append(token)
        if token.level == level and token.nesting <= 0:
            yield inner
            inner = []


def _list(group: Sequence["Token"], look: Look, indent: str) -> list[Line]:
    rows: list[Line] = []
    ordered = group[0].type == "ordered_list_open"
    number = int(group[0].attrGet("start") or 1)
    for index, item in enumerate(_children(group)):
        mark = f"{number + index}. " if ordered else "- "
        inner = indent + " " * len(mark)
        marker: Line = (Span(indent), Span(mark, "text"))
        for block in _children(item):
            if rows and not marker and _is_loose(block):
                rows.append(BLANK)
            produced = _block(block, look, inner, marker)
            if marker and produced and produced[0][: len(marker)] != marker:
                rows.append(marker)
            rows += produced
            marker = ()
        if marker:
            rows.append(marker)
    return rows


def _is_loose(block: Sequence["Token"]) -> bool:
    return block[0].type == "paragraph_open" and not block[0].hidden


def _quote(group: Sequence["Token"], look: Look, indent: str) -> list[Line]:
    rows: list[Line] = []
    lead = (Span(indent), Span(look.glyphs.output + " ", "rule"))
    for block in _children(group):
        if rows:
            rows.append(lead)
        rows += [(*lead, *row[1:]) for row in _block(block, look, indent + "  ")]
    return rows


def _table(group: Sequence["Token"], look: Look, indent: str) -> list[Line]:
    rows = _cells(group)
    columns = max(len(row) for row in rows)
    rows = [row + [[]] * (columns - len(row)) for row in rows]
    widths = [max(width_of(row[column]) for row in rows) for column in range(columns)]
    if sum(widths) + 3 * columns + 1 + len(indent) > look.width - 1:
        return _key_values(rows, look, indent)
    bar = Span("|", "rule")
    lines = [_table_row(row, widths, indent, bar) for row in rows]
    ruler = (Span(indent), Span("|" + "|".join("-" * (width + 2) for width in widths) + "|", "rule"))
    return [lines[0], ruler, *lines[1:]]


def _cells(group: Sequence["Token"]) -> list[list[list[Span]]]:
    rows: list[list[list[Span]]] = []
    heading = False
    for token in group:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            heading = token.type == "th_open"
        elif token.type == "inline":
            rows[-1].append(_inline(token, "strong" if heading else "text"))
    return rows


def _table_row(row: list[list[Span]], widths: list[int], indent: str, bar: Span) -> Line:
    spans: list[Span] = [Span(indent), bar]
    for cell, width in zip(row, widths, strict=True):
        spans += [Span(" "), *cell, Span(" " * (width - width_of(cell) + 1)), bar]
    return tuple(spans)


def _key_values(rows: list[list[list[Span]]], look: Look, indent: str) -> list[Line]:
    """A table wider than the screen: one group of `key: value` for each row."""
    result: list[Line] = []
    for row in rows[1:]:
        if result:
            result.append(BLANK)
        for key, value in zip(rows[0], row, strict=True):
            result += wrap(
                [*key, Span(": "), *value], look.width - 1, first=line(indent), rest=line(indent + "  ")
            )
    return result
