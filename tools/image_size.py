"""Width and height of an image by its header: a model's server refuses what is broken or far too large,
and would refuse every later request of the session with it."""

import struct

MAX_SIDE = 8_000  # pixels; the smallest limit of the providers

_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # JPEG markers (ITU-T T.81, table B.1)
_BARE_MARKERS = {0x01, *range(0xD0, 0xD9)}  # without a length


def image_size(data: bytes) -> tuple[int, int] | None:
    """Pixels across and down of a PNG, JPEG, GIF or WebP image; None where the header is damaged."""
    try:
        width, height = _size(data)
    except (struct.error, IndexError, ValueError):
        return None
    return (width, height) if width and height else None


def _size(data: bytes) -> tuple[int, int]:
    if data.startswith(b"\x89PNG"):
        if data[12:16] != b"IHDR":
            raise ValueError("no header chunk")
        return struct.unpack_from(">II", data, 16)
    if data.startswith(b"GIF8"):
        return struct.unpack_from("<HH", data, 6)
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    return _webp(data)


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        if data[at] != 0xFF:
            raise ValueError("no marker")
        marker = data[at + 1]
        if marker in _START_OF_FRAME:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        if marker == 0xFF:  # filling
            at += 1
        elif marker in _BARE_MARKERS:
            at += 2
        else:
            at += 2 + int(struct.unpack_from(">H", data, at + 2)[0])


def _webp(data: bytes) -> tuple[int, int]:
    """The three forms of its first chunk (RFC 9649, section 2)."""
    kind = data[12:16]
    if kind == b"VP8X":
        across, down = (int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
        if len(data) < 30:
            raise ValueError("cut")
        return across + 1, down + 1
    if kind == b"VP8L":
        bits = int(struct.unpack_from("<I", data, 21)[0])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise ValueError("no known chunk")
