"""Paths as a person reads them."""

import os
from pathlib import Path


def short_path(path: Path | str) -> str:
    """A path with the home directory as `~`."""
    text = os.fspath(path)
    base = os.path.expanduser("~")  # noqa: PTH111 - the environment's HOME, as the shell would write it
    return "~" + text[len(base) :] if base != "/" and (text == base or text.startswith(base + "/")) else text
