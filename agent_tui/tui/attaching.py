"""Images for the next message: from a file, or from the clipboard."""

import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.attachment import image_of, read_image
from agent_tui.errors import UsageError
from agent_tui.short_path import long_path
from agent_tui.tui import slash, words
from context.items import Image

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

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

    def give_back(self, images: Sequence[Image]) -> None:
        """Images of a message that was not delivered: for the next one."""
        self._images += images

    def file(self, name: str) -> None:
        """Attach a file, named relative to the workspace."""
        path = self._app.config.workspace / long_path(name)
        if not name:
            slash.notice(self._app, "/image FILE takes a PNG, JPEG, GIF or WebP file")
            return
        try:
            image = read_image(path)
        except UsageError as error:
            slash.notice(self._app, str(error))
            return
        self._add(image)

    def clipboard(self) -> None:
        """Ctrl+V: a picture in the clipboard of the desktop."""
        argv = next((each for each in _CLIPBOARDS if shutil.which(each[0])), None)
        if argv is None:
            self._app.say("no image: install wl-clipboard or xclip, or use /image FILE", 4.0)
            return
        try:
            data = subprocess.run(argv, capture_output=True, timeout=3).stdout
        except (OSError, subprocess.TimeoutExpired):
            data = b""
        if not data:
            self._app.say("the clipboard holds no image; text comes by the terminal's own paste", 4.0)
            return
        try:
            image = image_of(data, "clipboard.png", "what the clipboard holds")
        except UsageError as error:
            slash.notice(self._app, str(error))
            return
        self._add(image)

    def _add(self, image: Image) -> None:
        self._images.append(image)
        self._app.say(f"{image.name}  {words.picture(image)} · goes with the next message", 4.0)
