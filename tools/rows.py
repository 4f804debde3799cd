"""Journals of the toolbox: a JSON value a line, appended as it happens, read when a session opens again."""

import json
from pathlib import Path
from typing import Any


def read_rows(journal: Path) -> list[Any]:
    """All that was appended, without a line that a killed process left half written. Raises OSError."""
    try:
        lines = journal.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return rows


def append_row(journal: Path, row: object) -> None:
    """One line more, apart from one before it that was cut. Raises OSError."""
    journal.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with journal.open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(row, ensure_ascii=True))
