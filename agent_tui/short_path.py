"""Paths as a person reads and writes them."""

import os
from pathlib import Path


def short_path(path: Path | str) -> str:
    """A path with the home directory as `~`."""
    text = os.fspath(path)
    base = os.path.expanduser("~")  # noqa: PTH111 - the environment's HOME, as the shell would write it
    return "~" + text[len(base) :] if base != "/" and (text == base or text.startswith(base + "/")) else text


def long_path(text: str) -> Path:
    """A path whose leading `~` is taken as a shell does: of no user that exists it is a name like others."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - the method of a path raises for such a user
