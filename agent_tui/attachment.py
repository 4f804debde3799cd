"""A picture that a person attaches to a message: its kinds, its size, its one reader."""

import base64
import os
import stat
from pathlib import Path

from agent_tui.errors import UsageError
from agent_tui.frozen import frozen
from context.items import Image
from tools.file_kind import image_type
from tools.image_size import MAX_SIDE, image_size

MAX_BYTES = 5_000_000  # what the strictest of the three vendors takes for one image
HEAD_CHARS = 400_000  # of base64, in which the header of a picture ends


@frozen
class Facts:
    """What a person may want to know of an attached picture; `pixels` is (0, 0) where it cannot be told."""

    pixels: tuple[int, int]  # across and down
    size_bytes: int
    tokens: int  # about


def read_image(path: Path) -> Image:
    """The picture in a file; what it is, is seen by its bytes. Raises UsageError, also for a pipe or a
    device, which would never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = file.read(MAX_BYTES + 1) if is_plain else b""
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(f"`{path}` cannot be read: {why}") from error
    return image_of(data, path.name, f"`{path}`")


def image_of(data: bytes, name: str, where: str) -> Image:
    """The picture that some bytes are; `where` names it in the UsageError for what a server would refuse."""
    kind = image_type(data)
    if not kind:
        raise UsageError(f"{where} is no PNG, JPEG, GIF or WebP picture")
    if len(data) > MAX_BYTES:
        raise UsageError(f"{where} is larger than {MAX_BYTES // 1_000_000} MB; make it smaller first")
    pixels = image_size(data)
    if pixels is None:
        raise UsageError(f"{where} is a damaged picture: its header cannot be read")
    if max(pixels) > MAX_SIDE:
        size = f"{pixels[0]:,}×{pixels[1]:,}"
        raise UsageError(f"{where} has {size} pixels, at most {MAX_SIDE:,} a side; make it smaller first")
    return Image(media_type=kind, data=base64.b64encode(data).decode(), name=name)


def facts_of(image: Image) -> Facts:
    """Its size in pixels, bytes and tokens."""
    from context.estimate import TOKENS_PER_IMAGE

    head = base64.b64decode(image.data[:HEAD_CHARS])
    size = len(image.data) * 3 // 4 - image.data[-2:].count("=")
    return Facts(pixels=image_size(head) or (0, 0), size_bytes=size, tokens=TOKENS_PER_IMAGE)
