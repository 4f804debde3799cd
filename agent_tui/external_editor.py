"""A text in the person's own editor, `$VISUAL` or `$EDITOR`."""

import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Run = Callable[[Sequence[str]], int]


class EditorError(Exception):
    """The text stays as it was; the message says why."""


class NoEditorError(EditorError):
    """There is none to start."""


def edited(text: str, run: Run) -> str | None:
    """The text after the editor, which `run` starts and waits for, giving its exit code; None when it failed.

    What the editor left alone comes back as it was, also characters that a file cannot hold: a caller may
    take any difference for a decision. Raises EditorError, also for an editor that does not start.
    """
    written = text.encode("utf-8", errors="replace")
    files = edited_files({"draft.md": written}, run)
    if files is None:
        return None
    (left,) = files.values()
    if left.rstrip(b"\n") == written.rstrip(b"\n"):
        return text.rstrip("\n")
    return left.decode("utf-8", errors="replace").rstrip("\n")


def changed(texts: Mapping[str, str], run: Run) -> dict[str, str]:
    """Those of the texts of a call, by path, that the editor changed. Raises EditorError, as `edited`, also
    where it changed none."""
    written = {path: text.encode("utf-8", errors="replace") for path, text in texts.items()}
    left = edited_files(written, run)
    if left is None:
        raise EditorError("the editor ended with an error; nothing was edited, the call waits")
    try:
        found = {path: data.decode() for path, data in left.items() if data != written[path]}
    except UnicodeDecodeError as error:
        raise EditorError("the editor left no UTF-8; nothing was edited, the call waits") from error
    if not found:
        raise EditorError("nothing was edited; the call waits as it was")
    return found


def edited_files(files: Mapping[str, bytes], run: Run) -> dict[str, bytes] | None:
    """Contents by path after one start of the editor with copies of all files, which have the names and the
    directories of the paths below a private one; None when it failed. Raises EditorError, as `edited`."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if not editor:
        raise NoEditorError("no editor: set $VISUAL or $EDITOR")
    try:
        argv = shlex.split(editor)
    except ValueError as error:  # a quote without its end
        raise EditorError(f"`{editor}` is no command; mend $VISUAL or $EDITOR") from error
    with tempfile.TemporaryDirectory(prefix="agent-tui-") as directory:
        copies = {path: _copy(Path(directory), path) for path in files}
        for path, copy in copies.items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(files[path])
        try:
            if run([*argv, *map(str, copies.values())]) != 0:
                return None
        except OSError as error:
            raise EditorError(f"`{argv[0]}` did not start: {error.strerror}") from error
        try:
            return {path: copy.read_bytes() for path, copy in copies.items()}
        except OSError as error:  # deleted, or something else put in its place
            raise EditorError(
                f"`{editor}` left no file to read: {error.strerror}; the text stays as it was"
            ) from error


def _copy(directory: Path, path: str) -> Path:
    """Its place: inside, whatever the path."""
    return directory.joinpath(*(part for part in Path(path).parts if part not in ("/", "//", "..")))
