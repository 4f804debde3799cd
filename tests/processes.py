"""Finds the processes of a test by a number that no other process of the machine has in its arguments."""

import itertools
import os
from contextlib import suppress
from pathlib import Path

_numbers = itertools.count(1)


def seconds() -> str:
    """For `sleep`: longer than any test, and of nobody else, be it another test or another run of them."""
    return f"{10_000_000 + os.getpid()}.{next(_numbers):05}"


def processes_with(word: str) -> list[int]:
    """Every process whose arguments hold that word, this one left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found
