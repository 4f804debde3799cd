"""One script step as the bytes each dialect streams for it.

A step is an object; every key is optional:

- `text`, `reasoning`: what the model says and thinks; `signature` signs the thinking (messages),
  `encrypted` goes with the reasoning (responses).
- `calls`: list of `{"tool", "arguments" (object, or text sent as it is), "id"}`.
- `piece` (characters a frame, 24), `delay_s` (between frames), `before_s` (before the head).
- `gate`: wait until the test releases it, before the head; `text_gate`: before the second half of the text.
- `usage`: `{"input", "output", "cache_read", "cache_write", "reasoning"}`; None sends no usage.
- `stop`: the dialect's own finish reason in place of the usual one.
- `status`, `headers`, `body`: an HTTP error; `date+SECONDS` as a header is the date it is then.
- `cut`: `connect`, `first`, `text`, `arguments`, `call`, `finish`; with `cut_cleanly` the body ends as if
  whole. `stall`: with `cut`, go silent there and keep the connection.
- `raw`: list of texts sent as they are, one frame each; an object picks them by dialect.
- `whole`: answer with one JSON document instead of a stream.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.model_server import wire_chat, wire_messages, wire_responses
from tests.model_server.wire_base import Frame, Played, Step


def play(dialect: str, step: Step, *, number: int, body: dict[str, Any]) -> Played:
    """The frames of one step; `number` makes ids, `body` is the request."""
    if "raw" in step:
        raw = step["raw"][dialect] if isinstance(step["raw"], dict) else step["raw"]
        return Played(frames=[Frame(text.encode()) for text in raw])
    played = PLAYERS[dialect](step, number, body)
    pieces = [frame for frame in played.frames if frame.kind == "text"]
    if step.get("text_gate") and pieces:
        pieces[len(pieces) // 2].gate = step["text_gate"]
    return played


def until_cut(frames: list[Frame], cut: str | None) -> Iterator[Frame]:
    """Frames up to the cut."""
    end = len(frames)
    places = [index for index, frame in enumerate(frames) if frame.kind == cut]
    if cut in ("first", "empty"):
        end = 0
    elif cut in ("text", "arguments"):
        end = places[len(places) // 2] if places else 0
    elif cut is not None:
        end = (places[-1] if cut == "finish" else places[0]) + 1
    yield from frames[:end]


def error_body(dialect: str, kind: str, message: str) -> bytes:
    error = {"type": kind, "message": message}
    return json.dumps(
        {"type": "error", "error": error} if dialect == "messages" else {"error": error}
    ).encode()


PLAYERS = {"chat": wire_chat.play, "responses": wire_responses.play, "messages": wire_messages.play}
