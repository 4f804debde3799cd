"""Names that must outlive a compaction: found by code, never left to a summary."""

import re
from collections.abc import Iterable, Sequence

from context.facts import CallFact
from context.items import UserItem

_IN_USER_TEXT = re.compile(
    r"`(?P<ticked>[^`\n]{1,200})`"
    r"|\"(?P<quoted>[^\"\n]{1,200})\""
    r"|(?P<url>https?://[^\s<>\"'`)\]]+)"
    r"|(?P<hash>\b[0-9a-f]{7,64}\b)"
    r"|(?P<version>\bv?\d+(?:\.\d+)+[\w.-]*)"
    r"|(?P<port>(?<=:)\d{2,5}\b)"
    r"|(?P<code>\b[A-Z]{1,5}-?\d{2,6}\b)"
    r"|(?P<amount>\b\d[\d,.]*\s?(?:ms|s|min|h|KB|MB|GB|KiB|MiB|GiB|bytes|%|px|tokens)(?![\w%]))"
)


def hard_entities(
    users: Iterable[UserItem], facts: Iterable[CallFact], live: Sequence[str]
) -> tuple[str, ...]:
    """Identifiers that must occur word for word in the new view, in order of appearance.

    Written paths, what the person quoted or named exactly, failing tests, checkpoint ids, and
    `live`: ids of terminals and plan items.
    """
    found: dict[str, None] = {}
    for user in users:
        for match in _IN_USER_TEXT.finditer(user.text):
            text = next(group for group in match.groups() if group is not None).strip()
            if text:
                found.setdefault(text)
    for fact in facts:
        for change in fact.changes:
            found.setdefault(change.path)
        for test in fact.failing_tests:
            found.setdefault(test)
    for name in live:
        found.setdefault(name)
    return tuple(found)


def missing(names: Sequence[str], text: str) -> tuple[str, ...]:
    """Those of `names` that do not occur verbatim in `text`."""
    pieces = "\n".join(dict.fromkeys(text.split()))  # texts repeat much, and most names hold no blank
    return tuple(name for name in names if name not in (pieces if name.split() == [name] else text))


def retained_list(names: Sequence[str], limit_bytes: int) -> str:
    """The lines appended to a ledger for identifiers that got lost; empty for none. Those after
    `limit_bytes` are counted: a list without end would leave no room for work."""
    if not names:
        return ""
    shown: list[str] = []
    for name in names:
        limit_bytes -= len(name.encode("utf-8", errors="surrogatepass")) + 3
        if limit_bytes < 0:
            break
        shown.append(f"- {name}")
    more = [f"- and {len(names) - len(shown)} more"] if len(shown) < len(names) else []
    return "\n\n## Retained identifiers\n" + "\n".join([*shown, *more])
