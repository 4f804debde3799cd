"""Images for the next message: from a file, or from the clipboard."""

import base64
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.tui import slash, words
from context.items import Image

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

LIMIT_BYTES = 5_000_000  # what the strictest of the three vendors takes for one image
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_CLIPBOARDS = (
    ["wl-paste", "--no-newline", "--type", "image/png"],
    ["xclip", "-selection", "clipboard", "-t", "image/png", "-o"],
)


class Attaching:
    """Keeps what was attached until a message is sent."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._images: list[Image] = []

    def take(self) -> tuple[Image, ...]:
        """The images for a message that is being sent."""
        taken, self._images = tuple(self._images), []
        return taken

    def file(self, name: str) -> None:
        """Attach a file, named relative to the workspace."""
        path = self._app.config.workspace / Path(name).expanduser()
        kind = TYPES.get(path.suffix.lower())
        if not name or kind is None:
            slash.notice(self._app, "/image FILE takes a PNG, JPEG, GIF or WebP file")
            return
        try:
            data = path.read_bytes() if path.stat().st_size <= LIMIT_BYTES else None
        except OSError as error:
            slash.notice(self._app, f"`{path}` cannot be read: {error.strerror}")
            return
        if data is None:
            slash.notice(
                self._app, f"`{path}` is larger than {words.size(LIMIT_BYTES)}; make it smaller first"
            )
            return
        self._add(Image(media_type=kind, data=base64.b64encode(data).decode(), name=path.name), len(data))

    def clipboard(self) -> None:
        """Ctrl+V: a picture in the clipboard of the desktop."""
        argv = next((each for each in _CLIPBOARDS if shutil.which(each[0])), None)
        if argv is None:
            self._app.say(
                "no image from the clipboard: install wl-clipboard or xclip, or use /image FILE", 4.0
            )
            return
        try:
            data = subprocess.run(argv, capture_output=True, timeout=3).stdout
        except (OSError, subprocess.TimeoutExpired):
            data = b""
        if not data.startswith(b"\x89PNG") or len(data) > LIMIT_BYTES:
            self._app.say("the clipboard holds no image; text comes by the terminal's own paste", 4.0)
            return
        self._add(
            Image(media_type="image/png", data=base64.b64encode(data).decode(), name="clipboard.png"),
            len(data),
        )

    def _add(self, image: Image, size: int) -> None:
        self._images.append(image)
        self._app.say(f"{image.name} · {words.size(size)} goes with the next message", 4.0)
