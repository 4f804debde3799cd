"""Puts the terminal back when this process is killed without a chance to: a waiting `sh` beside it.

The shell holds the read end of a pipe. The line `restored` means that all was restored; an end without
it means that nobody did it. Another line names the session, for the words it leaves. It is in a session
of its own, so that no signal to ours reaches it, and changes the line settings through a descriptor it
was given.
"""

import contextlib
import os
import subprocess
import sys

from agent_tui.tui.driver import RESET, stty_state

_SCRIPT = """
kept=""
while read -r word; do
    [ "$word" = restored ] && exit 0
    kept="  continue   agent-tui resume $word\\n"
done
printf "%b" "$1" >&3; stty "$2" <&3; printf "%s\\n%b" "$3" "$kept" >&3
"""
_WORDS = "agent-tui was killed; the terminal is restored"


class Guardian:
    """Watches from `watch` until `dismiss`."""

    def __init__(self, descriptor: int) -> None:
        self._state = stty_state(descriptor)
        self._terminal = descriptor
        self._process: subprocess.Popen[bytes] | None = None
        self._named = ""

    def watch(self) -> None:
        """Start it; without `sh` there is none."""
        reset = RESET.replace("\x1b", "\\033")
        terminal = os.dup(self._terminal)
        try:
            self._process = subprocess.Popen(
                [
                    "/bin/sh",
                    "-c",
                    f"exec 3<&{terminal}; {_SCRIPT}",
                    "agent-tui-guardian",
                    reset,
                    self._state,
                    _WORDS,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(terminal,),
                start_new_session=True,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
            )
        except OSError as error:
            print(f"agent-tui: no guardian for the terminal: {error}", file=sys.__stderr__)
        finally:
            os.close(terminal)

    def name(self, session_id: str) -> None:
        """The session that can be resumed if this process is killed."""
        if self._process is None or self._process.stdin is None or session_id == self._named:
            return
        self._named = session_id
        with contextlib.suppress(OSError):  # it was killed itself; nothing is lost but its words
            self._process.stdin.write(f"{session_id}\n".encode())
            self._process.stdin.flush()

    def dismiss(self) -> None:
        """All is restored."""
        if self._process is None:
            return
        with contextlib.suppress(OSError):
            self._process.communicate(b"restored\n", timeout=2)
