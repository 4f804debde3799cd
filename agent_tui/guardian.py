"""Puts the terminal back when this process is killed without a chance to: a waiting `sh` beside it.

The shell holds the read end of a pipe. The line `restored` means that all was restored; an end without
it means that nobody did it. Another line names the session, for the words it leaves. It is in a session
of its own, so that no signal to ours reaches it; the terminal is what it writes to.
"""

import contextlib
import subprocess
import sys
import termios

_SCRIPT = """
kept=""
while read -r word; do
    [ "$word" = restored ] && exit 0
    kept="  continue   agent-tui resume $word\\n"
done
printf "%b" "$1"; stty "$2" <&1; printf "%s\\n%b" "$3" "$kept"
"""
_WORDS = "agent-tui was killed; the terminal is restored"


class Guardian:
    """Watches from `watch` until `dismiss`."""

    def __init__(self, descriptor: int, reset: str) -> None:
        """`reset` is what undoes the modes that are set; the line settings are kept as they are now."""
        self._reset = reset.replace("\x1b", "\\033")
        self._state = stty_state(descriptor)
        self._terminal = descriptor
        self._process: subprocess.Popen[bytes] | None = None
        self._named = ""

    def watch(self) -> None:
        """Start it; without `sh` there is none."""
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "agent-tui-guardian", self._reset, self._state, _WORDS],
                stdin=subprocess.PIPE,
                stdout=self._terminal,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
            )
        except OSError as error:
            print(f"agent-tui: no guardian for the terminal: {error}", file=sys.__stderr__)

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


def stty_state(descriptor: int) -> str:
    """The line settings of a terminal in the form of `stty -g`."""
    flags = termios.tcgetattr(descriptor)
    head = ":".join(f"{flag:x}" for flag in flags[:4])
    characters = ":".join(
        f"{character[0] if isinstance(character, bytes) else character:x}" for character in flags[6]
    )
    return f"{head}:{characters}"
