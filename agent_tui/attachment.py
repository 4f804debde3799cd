"""A picture that a person attaches to a message, read from a file: its kinds, its size, its one reader."""

import base64
import os
import stat
from pathlib import Path

from agent_tui.errors import UsageError
from context.items import Image
from tools.file_kind import image_type

MAX_BYTES = 5_000_000  # what the strictest of the three vendors takes for one image


def read_image(path: Path) -> Image:
    """The picture in a file; what it is, is seen by its bytes. Raises UsageError, also for a pipe or a
    device, which would never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = file.read(MAX_BYTES + 1) if is_plain else b""
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from error
    kind = image_type(data)
    if not kind:
        raise UsageError(f"`{path}` is no PNG, JPEG, GIF or WebP picture")
    if len(data) > MAX_BYTES:
        raise UsageError(f"`{path}` is larger than {MAX_BYTES // 1_000_000} MB; make it smaller first")
    return Image(media_type=kind, data=base64.b64encode(data).decode(), name=path.name)
