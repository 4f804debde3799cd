"""The one exception of this package."""


class SandboxError(Exception):
    """A command was not started, or its sandbox broke; the text is one line for a person."""
