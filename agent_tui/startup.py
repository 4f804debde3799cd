"""The first and the last moments of a process that runs an engine: both are short on purpose."""

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress

LEFT_BEHIND = ("checkpoints", "_connection_worker_thread")  # ours and aiosqlite's, by name
COLLECT_AFTER_S = 2.0  # by then everything is imported


def occupy_streams() -> None:
    """Put the null device where stdin, stdout or stderr is closed: the next file that is opened would
    get its number, and be read or written as that stream by us and by every command."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != descriptor:
            os.dup2(opened, descriptor)
            os.close(opened)
        os.set_inheritable(descriptor, True)
        setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  # open to the end


def name_home() -> None:
    """Give `HOME` a value that can be used where it has none: what the system knows, else `/`, as
    containers do it for users without an entry."""
    if os.environ.get("HOME", "").startswith("/"):
        return

    import pwd

    try:
        os.environ["HOME"] = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        os.environ["HOME"] = "/"


def begin() -> None:
    """Import without garbage collection, which would look over thousands of new classes again and again
    and free nothing: a tenth of the time to the first request. `settle` turns it on."""
    gc.disable()


def settle() -> None:
    """Collect from now on; what was imported stays for good and is not looked over."""
    gc.freeze()
    gc.enable()


def leave(code: int) -> int:
    """End the process, or return `code` where something still runs that the interpreter waits for.

    Taking an SDK's thousands of modules apart takes 0.1 to 0.3 s that nobody has any use of. What was
    registered for the end runs, and what was printed is written. What a signal to end did not wait for
    is left behind, as a kill would: half a checkpoint counts as none, and a store that was not closed
    has a thread that waits for more work for ever.
    """
    running = (thread for thread in threading.enumerate() if not thread.daemon)
    others = [thread for thread in running if not any(name in thread.name for name in LEFT_BEHIND)]
    if others != [threading.main_thread()]:
        return code
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, gone, or never there
            stream.flush()
    os._exit(code)
