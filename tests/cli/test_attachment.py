"""Pictures that a person attaches: what is told of them, and what no server would take."""

import base64
import struct
from pathlib import Path

import pytest

from agent_tui.attachment import MAX_BYTES, facts_of, image_of, read_image
from agent_tui.errors import UsageError


def png(across: int, down: int, size: int = 64) -> bytes:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", across, down)
    return head.ljust(size, b"\0")


def test_its_pixels_bytes_and_tokens_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(1_280, 720, 700_001))
    image = read_image(tmp_path / "a.png")
    assert (image.name, image.media_type) == ("a.png", "image/png")
    facts = facts_of(image)
    assert (facts.pixels, facts.size_bytes, facts.tokens) == ((1_280, 720), 700_001, 1_600)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GIF", "it is no PNG, JPEG, GIF or WebP picture"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\r", "it is a damaged picture"),
        (png(8_001, 2), "it has 8,001×2 pixels, at most 8,000 a side"),
        (png(10, 10, MAX_BYTES + 1), "it is larger than 5 MB"),
    ],
)
def test_what_a_server_would_refuse_is_not_attached(data: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        image_of(data, "a.png", "it")


def test_a_picture_whose_header_is_lost_is_still_shown() -> None:
    image = image_of(png(10, 10), "a.png", "it")
    broken = type(image)(media_type="image/png", data=base64.b64encode(b"AAAA").decode(), name="a.png")
    assert facts_of(broken).pixels == (0, 0)
