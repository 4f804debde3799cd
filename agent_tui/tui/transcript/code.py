"""Syntax colours for code and diffs, from Pygments; text that it does not know stays plain."""

from functools import lru_cache

from agent_tui.tui.transcript.lines import Span, untrusted

HIGHLIGHT_LIMIT = 20_000  # characters; longer code stays plain, so that one block cannot stall a frame


@lru_cache(maxsize=256)
def highlighted(text: str, language: str) -> tuple[tuple[Span, ...], ...]:
    """One tuple of spans for each line of `text`; `language` is a name or alias of a lexer."""
    if not language or len(text) > HIGHLIGHT_LIMIT:
        return tuple(tuple(untrusted(row)) for row in text.split("\n"))
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return tuple(tuple(untrusted(row)) for row in text.split("\n"))
    rows: list[list[Span]] = [[]]
    for token, value in lexer.get_tokens(text):
        role = _role(str(token))
        first, *others = value.split("\n")
        rows[-1] += untrusted(first, role)
        for other in others:
            rows.append(untrusted(other, role))
    return tuple(tuple(row) for row in rows[: text.count("\n") + 1])


def _role(token: str) -> str:
    for prefix, role in _ROLES:
        if token.startswith(prefix):
            return role
    return "text"


_ROLES = (
    ("Token.Comment", "syntax.comment"),
    ("Token.Keyword", "syntax.keyword"),
    ("Token.Operator.Word", "syntax.keyword"),
    ("Token.Literal.String", "syntax.string"),
    ("Token.Literal.Number", "syntax.number"),
    ("Token.Name.Function", "syntax.name"),
    ("Token.Name.Class", "syntax.name"),
    ("Token.Name.Decorator", "syntax.name"),
)


def language_of(path: str) -> str:
    """Alias of the lexer for a file name, empty when none is known."""
    from pygments.lexers import find_lexer_class_for_filename

    lexer = find_lexer_class_for_filename(path)
    return lexer.aliases[0] if lexer is not None and lexer.aliases else ""
