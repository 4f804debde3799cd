"""Pictures for the next message of line mode."""

import base64
from pathlib import Path

from context.items import Image

LIMIT_BYTES = 5_000_000  # what the strictest of the three vendors takes for one image
_MAGIC = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}


def read(path: Path) -> Image | str:
    """The picture in a file, or why it is not taken."""
    try:
        data = path.read_bytes() if path.stat().st_size <= LIMIT_BYTES else None
    except OSError as error:
        return f"`{path}` cannot be read: {error.strerror}"
    if data is None:
        return f"`{path}` is larger than {LIMIT_BYTES // 1_000_000} MB; make it smaller first"
    kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), "")
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        kind = "image/webp"
    if not kind:
        return f"`{path}` is no PNG, JPEG, GIF or WebP picture"
    return Image(media_type=kind, data=base64.b64encode(data).decode(), name=path.name)
