"""Pictures through the whole program: seen by a model that can see, refused for one that cannot, and not kept
for ever."""

import json
import struct
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    for number in range(5):
        (program.workspace / f"p{number}.png").write_bytes(png(number))
    return program


def png(grey: int) -> bytes:
    """One pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head, pixel = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0), zlib.compress(bytes([0, grey]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def execute(program: Program, server: ModelServer, *argv: str, images: bool = True) -> Ran:
    model = f"{{ context_window = 16000, max_output = 2000, images = {str(images).lower()} }}"
    program.config(f"[providers.compatible.models]\nscripted = {model}\n")
    ran = program.run("exec", "--json", *model_flags("chat", server.base_url()), *argv)
    assert ran.code == 0, ran.err
    return ran


def pictures(server: ModelServer) -> list[str]:
    """Addresses of all pictures in the newest request."""
    parts = [
        part
        for message in server.requests[-1].json["messages"]
        for part in (message["content"] if isinstance(message["content"], list) else ())
    ]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def test_a_model_sees_a_picture_or_is_told_that_it_cannot(
    program: Program, model_server: ModelServer
) -> None:
    look: list[dict[str, Any]] = [{"calls": [call("view_image", path="p1.png")]}, {"text": "seen"}]
    model_server.script(look)
    execute(program, model_server, "look")
    assert len(pictures(model_server)) == 1
    model_server.script(look)
    execute(program, model_server, "look", images=False)
    assert pictures(model_server) == []
    assert "takes no images" in json.dumps(model_server.requests[-1].json["messages"][-1])


def test_of_five_pictures_only_the_newest_is_sent_under_pressure(
    program: Program, model_server: ModelServer
) -> None:
    for number in range(5):
        model_server.script([{"text": f"answer {number}", "usage": None}], window=16_000)
        how = ("--last",) if number else ()
        ran = execute(program, model_server, *how, "-i", f"p{number}.png", f"question {number}")
    assert '"compaction"' in ran.out
    assert pictures(model_server) == [f"data:image/png;base64,{b64encode(png(4)).decode()}"]
    sent = model_server.requests[-1].body.decode()
    assert all(f"question {number}" in sent and f"answer {number - 1}" in sent for number in range(1, 5))
