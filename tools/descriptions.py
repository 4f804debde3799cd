"""The text that tells the model of a tool: the `.md` file beside its module."""

from pathlib import Path


def description(tool: str) -> str:
    """Without the line end of the file; changing a byte costs every user's prompt cache."""
    return Path(__file__).with_name(f"{tool}.md").read_text(encoding="utf-8").rstrip("\n")
