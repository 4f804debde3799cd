"""Two search paths: the one that was given to us, for commands and what follows us, and our own, without
what the model's commands can write to."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.environment import trusted_path

_given: dict[str, str] = {}  # our own path → the one it was made from


def keep_out(roots: Iterable[Path]) -> None:
    """From here on no program is looked for in these places either, such as a virtual environment of the
    project."""
    before = _given_path()
    closed = trusted_path(os.environ.get("PATH", os.defpath), roots)
    os.environ["PATH"] = closed
    _given[closed] = before


def given() -> Mapping[str, str]:
    """The environment as it was given to us."""
    return {**os.environ, "PATH": _given_path()}


def _given_path() -> str:
    path = os.environ.get("PATH", os.defpath)
    return _given.get(path, path)
