"""A text in the person's own editor, `$VISUAL` or `$EDITOR`."""

import os
import shlex
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path


class EditorError(Exception):
    """The text stays as it was; the message says why."""


def edited(text: str, run: Callable[[Sequence[str]], int], *, suffix: str = ".md") -> str | None:
    """The text after the editor, which `run` starts and waits for, giving its exit code; None when it failed.

    What the editor left alone comes back as it was, also characters that a file cannot hold: a caller may
    take any difference for a decision. Raises EditorError, also for an editor that does not start.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if not editor:
        raise EditorError("no editor: set $VISUAL or $EDITOR")
    try:
        argv = shlex.split(editor)
    except ValueError as error:  # a quote without its end
        raise EditorError(f"`{editor}` is no command; mend $VISUAL or $EDITOR") from error
    with tempfile.TemporaryDirectory(prefix="agent-tui-") as directory:
        file = Path(directory) / f"draft{suffix}"
        written = text.encode("utf-8", errors="replace")
        file.write_bytes(written)
        try:
            if run([*argv, str(file)]) != 0:
                return None
        except OSError as error:
            raise EditorError(f"`{argv[0]}` did not start: {error.strerror}") from error
        try:
            left = file.read_bytes()
        except OSError as error:  # deleted, or something else put in its place
            raise EditorError(
                f"`{editor}` left no file to read: {error.strerror}; the text stays as it was"
            ) from error
    if left.rstrip(b"\n") == written.rstrip(b"\n"):
        return text.rstrip("\n")
    return left.decode("utf-8", errors="replace").rstrip("\n")
