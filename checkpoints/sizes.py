"""Sizes for people, the same everywhere."""

_UNITS = (("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000))


def size_text(size: int) -> str:
    """A number of bytes: `252 bytes`, `14 KB`, `3.2 MB`, `14 MB`, `1.2 GB`."""
    for unit, scale in _UNITS:
        if size >= 0.9995 * scale:  # below it rounds to a thousand of the smaller unit
            is_small = scale > 1_000 and size < 9.95 * scale
            return f"{size / scale:.1f} {unit}" if is_small else f"{size / scale:.0f} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"
