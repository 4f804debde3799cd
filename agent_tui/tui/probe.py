"""What the terminal answers before the first paint: its background, and how wide our glyphs are.

The questions are written at once and read after the toolkit was imported, so that the answer costs
no time. Keys that were typed meanwhile are kept for the draft.
"""

import os
import re
import select
import termios
import time
import tty

from agent_tui.frozen import frozen

WAIT_S = 0.1
FAR_WAIT_S = 0.6  # over ssh: an answer that comes later would be read as keys
REST_S = 0.03  # for the rest of an answer that began to arrive
_BACKGROUND = re.compile(rb"\x1b\]11;rgb:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)(?:\x07|\x1b\\)")
_COLUMN = re.compile(rb"\x1b\[(\d+);(\d+)R")
_KITTY = re.compile(rb"\x1b\[\?\d+u")
_ATTRIBUTES = re.compile(rb"\x1b\[\?[\d;]*c")
_BEGUN = re.compile(rb"\x1b(?:\[[0-9;?]*|\][^\x07\x1b]*\x1b?)?\Z")
_ESCAPES = re.compile(
    rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-9;?]*[A-Za-z~]?|\x1b.?|[\x00-\x09\x0b-\x1f\x7f]"
)
_GLYPHS = "○─"


@frozen
class Answers:
    """None where the terminal did not answer."""

    background_is_dark: bool | None = None
    glyphs_fit: bool | None = None
    has_kitty_keys: bool | None = None  # the protocol that tells Shift+Enter and Ctrl+Enter from Enter
    typed: str = ""


class Probe:
    """Asks on construction; `answers` waits for what is left of the time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before = termios.tcgetattr(descriptor)
        self._data = b""
        self._until = time.monotonic() + (FAR_WAIT_S if os.environ.get("SSH_CONNECTION") else WAIT_S)
        tty.setcbreak(descriptor, termios.TCSANOW)
        question = f"\r{_GLYPHS}\x1b[6n\r\x1b[K\x1b]11;?\x07\x1b[?u\x1b[c"
        os.write(descriptor, question.encode())

    def answers(self) -> Answers:
        """Read what came, all of it: what is left unread would come in as keys.

        The line settings are as they were before.
        """
        try:
            while select.select([self._descriptor], [], [], self._left())[0]:
                piece = os.read(self._descriptor, 4_096)
                self._data += piece
                if not piece or (_ATTRIBUTES.search(self._data) and not _BEGUN.search(self._data)):
                    break
        finally:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)
        return parsed(self._data)

    def _left(self) -> float:
        """Seconds to wait: 0 reads what is there already, an answer that has begun gets to its end."""
        rest = REST_S if _BEGUN.search(self._data) else 0.0
        return max(self._until - time.monotonic(), rest)


def parsed(data: bytes) -> Answers:
    """What the bytes of a terminal say."""
    background = _BACKGROUND.search(data)
    column = _COLUMN.search(data)
    typed = data
    for answer in (_BACKGROUND, _ATTRIBUTES, _KITTY, _COLUMN, _ESCAPES):
        typed = answer.sub(b"", typed)
    return Answers(
        background_is_dark=None if background is None else _luminance(background) < 0.5,
        glyphs_fit=None if column is None else int(column[2]) == len(_GLYPHS) + 1,
        has_kitty_keys=True if _KITTY.search(data) else False if _ATTRIBUTES.search(data) else None,
        typed=typed.decode("utf-8", errors="ignore").rstrip("\n"),  # Enter there was for nothing on a screen
    )


def _luminance(found: "re.Match[bytes]") -> float:
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)


def wants_ascii(setting: str, term: str, locale: str, fits: bool | None) -> bool:
    """Whether glyphs have to be ASCII."""
    if setting in ("ascii", "unicode"):
        return setting == "ascii"
    plain = "utf" not in locale.lower().replace("-", "")
    return plain or term in ("linux", "dumb", "unknown", "") or fits is False
