"""The session as a text file: where `/export` puts it, in both front ends."""

import time
from pathlib import Path

from agent_tui.engine.types import Config
from agent_tui.errors import UsageError
from agent_tui.short_path import long_path, short_path


def write(config: Config, session_id: str, named: str, text: str) -> Path:
    """Write the file and return where it is.

    A name counts from the workspace. Without one the file goes beside the stored sessions, since the
    project is not ours to put files into. Raises UsageError; no file that exists is written over.
    """
    if named:
        file = config.workspace / long_path(named)
    elif config.ephemeral:
        raise UsageError("nothing of this session is stored; /export FILE says where it may go")
    else:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        file = config.state_dir / "exports" / f"{session_id}-{stamp}.txt"
    try:
        if not named:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8", errors="replace") as out:
            out.write(text)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        place = short_path(file)
        raise UsageError(f"`{place}` cannot be written: {why}; /export FILE names another") from error
    return file
