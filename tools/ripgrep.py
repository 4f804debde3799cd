"""Whether ripgrep is installed."""

import shutil


def find_ripgrep() -> str | None:
    """The installed ripgrep, or None."""
    return shutil.which("rg")
