"""What is known of a call that started and has no outcome, after the process that ran it died.

Reads files, `/proc` and the checkpoint; decides nothing.
"""

import hashlib
import os
import signal
from enum import StrEnum
from pathlib import Path

from agent_tui.engine.fold import Call
from agent_tui.frozen import frozen
from checkpoints.identity import start_ticks
from tools.types import Spawned

MAX_OUTPUT_BYTES = 4_096  # of the spool, from its end


class Written(StrEnum):
    """How far a file write came."""

    APPLIED = "applied"
    NOT_APPLIED = "not applied"
    UNCLEAR = "unclear"
    UNKNOWN = "unknown"  # the call is no file write


def reconcile(call: Call, workspace: Path) -> Written:
    """Compare the files a write named with what they were and what they should become."""
    started = call.started
    if started is None or not started.written_after:
        return Written.UNKNOWN
    now = {path: sha256_of(workspace / path) for path in started.written_after}
    if now == dict(started.written_after):
        return Written.APPLIED
    return Written.NOT_APPLIED if now == dict(started.written_before or {}) else Written.UNCLEAR


def sha256_of(path: Path) -> str:
    """Hash of a file's content, '' where there is no plain file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return ""


def is_alive(process: Spawned, boot_id: str) -> bool:
    """Whether exactly this process still runs: boot, pid and start time must match."""
    return process.boot_id == boot_id and start_ticks(process.pid) == process.started_at_ticks


def kill_if_ours(process: Spawned, boot_id: str) -> bool:
    """Kill a surviving process group; never one that only has the same number."""
    if not is_alive(process, boot_id):
        return False
    try:
        os.killpg(process.process_group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def output_so_far(call: Call) -> str:
    """The end of what the call had printed; the spool survives the process."""
    if call.started is None:
        return ""
    try:
        with Path(call.started.spool).open("rb") as spool:
            spool.seek(0, os.SEEK_END)
            spool.seek(max(0, spool.tell() - MAX_OUTPUT_BYTES))
            return spool.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


@frozen
class Evidence:
    """The facts of a lost result, for the card and for the model."""

    process: str
    output: str

    @property
    def text(self) -> str:
        """All of it."""
        printed = f"output so far:\n{self.output}" if self.output else "it had printed nothing"
        return f"{self.process}; {printed}"


def evidence_of(call: Call, boot_id: str) -> Evidence:
    """Process and output of a lost call."""
    alive = [process.pid for process in call.processes if is_alive(process, boot_id)]
    if alive:
        process = f"its process {', '.join(map(str, alive))} still runs"
    else:
        process = "its process is gone" if call.processes else "no process of it was recorded"
    return Evidence(process=process, output=output_so_far(call))
