"""`@` file mentions: where one begins in a draft, and which paths fit it best."""

import re

SHOWN = 50
_MENTION = re.compile(r"(?:^|[\s(])@(\S*)\Z")


def mentioned(before_caret: str) -> int | None:
    """Offset of the `@` that is being written, None when there is none."""
    found = _MENTION.search(before_caret)
    return None if found is None else found.start(1) - 1


def parted(written: str) -> tuple[str, bool]:
    """What is looked for behind an `@`, and whether among the ignored files too (`@!`)."""
    return written.removeprefix("!"), written.startswith("!")


def best(query: str, files: list[str]) -> list[str]:
    """Paths in the order of how well they fit, at most 50.

    Substrings first, those in the file name before those in a directory, short before long; only
    when few hold the query are the others scored, so that 50,000 paths stay under 50 ms.
    """
    wanted = query.lower()
    if not wanted:
        return sorted(files, key=lambda path: (path.count("/"), path))[:SHOWN]
    hits = [path for path in files if wanted in path.lower()]
    hits.sort(key=lambda path: (wanted not in path.rpartition("/")[2].lower(), len(path), path))
    return hits[:SHOWN] if len(hits) >= SHOWN or len(wanted) < 2 else _fuzzy(wanted, files, hits)


def _fuzzy(wanted: str, files: list[str], hits: list[str]) -> list[str]:
    from rapidfuzz import fuzz, process

    known = set(hits)
    letters = re.compile(".*?".join(map(re.escape, wanted)), re.IGNORECASE)
    others = [path for path in files if path not in known and letters.search(path)]
    scored = process.extract(wanted, others, scorer=fuzz.ratio, limit=SHOWN - len(hits))
    return hits + [path for path, _, _ in scored]
