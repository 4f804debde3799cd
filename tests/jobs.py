"""What a shell does for a program that can be stopped and continued."""

import os
import signal
from pathlib import Path

from tests.waiting import until


def be_a_job_of_mine() -> None:
    """As an interactive shell does: returns in a child that has the terminal, in a group of its own."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    os.setpgid(job, job)
    os.tcsetpgrp(0, job or os.getpid())
    if job:
        _, status = os.waitpid(job, 0)
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)


def job_of(leader: int) -> int:
    """The process that such a shell started."""
    children = Path(f"/proc/{leader}/task/{leader}/children")
    until(lambda: children.read_text())
    return int(children.read_text())


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal (proc(5): state `T`)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
