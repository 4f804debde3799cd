"""One script step as the bytes each dialect streams for it.

A step is an object; every key is optional:

- `text`, `reasoning`: what the model says and thinks; `signature` signs the thinking (messages),
  `encrypted` goes with the reasoning (responses).
- `calls`: list of `{"tool", "arguments" (object, or text sent as it is), "id"}`.
- `piece` (characters a frame, 24), `delay_s` (between frames), `before_s` (before the head).
- `gate`: wait until the test releases it, before the head; `text_gate`: before the second half of the text.
- `usage`: `{"input", "output", "cache_read", "cache_write", "reasoning"}`; None sends no usage.
- `stop`: the dialect's own finish reason in place of the usual one.
- `status`, `headers`, `body`: an HTTP error.
- `cut`: `connect`, `first`, `text`, `arguments`, `call`, `finish`; with `cut_cleanly` the body ends as if
  whole. `stall`: with `cut`, go silent there and keep the connection.
- `raw`: list of texts sent as they are, one frame each; an object picks them by dialect.
- `whole`: answer with one JSON document instead of a stream.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Step = dict[str, Any]


@dataclass
class Frame:
    data: bytes
    kind: str = ""  # start, text, reasoning, arguments, call (its end), finish, end
    gate: str = ""


@dataclass
class Played:
    frames: list[Frame] = field(default_factory=list)
    whole: bytes | None = None
    issued: dict[str, dict[str, Any]] = field(default_factory=dict)


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


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def arguments_text(call: dict[str, Any]) -> str:
    arguments = call.get("arguments", {})
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def usage_of(step: Step) -> dict[str, int] | None:
    usage = step.get("usage", {"input": 100, "output": 10})
    return None if usage is None else {"cache_read": 0, "cache_write": 0, "reasoning": 0, **usage}


def error_body(dialect: str, kind: str, message: str) -> bytes:
    error = {"type": kind, "message": message}
    return json.dumps(
        {"type": "error", "error": error} if dialect == "messages" else {"error": error}
    ).encode()


def data_frame(value: dict[str, Any], kind: str = "", event: str = "") -> Frame:
    head = f"event: {event}\n" if event else ""
    return Frame(f"{head}data: {json.dumps(value)}\n\n".encode(), kind)


# --- chat completions --------------------------------------------------------------------------


def chat(step: Step, number: int, body: dict[str, Any]) -> Played:
    calls = step.get("calls", [])
    size = step.get("piece", 24)
    finish = step.get("stop", "tool_calls" if calls else "stop")
    if step.get("whole"):
        return Played(whole=json.dumps(_chat_whole(step, number, body, finish)).encode())
    frames = [_chunk(number, body, {"role": "assistant", "content": ""}, "start")]
    for piece in pieces(step.get("reasoning", ""), size):
        frames.append(_chunk(number, body, {"reasoning_content": piece}, "reasoning"))
    for piece in pieces(step.get("text", ""), size):
        frames.append(_chunk(number, body, {"content": piece}, "text"))
    for index, call in enumerate(calls):
        function = {"name": call["tool"], "arguments": ""}
        head = {"index": index, "id": call.get("id", f"call_{number}_{index}"), "type": "function"}
        frames.append(_chunk(number, body, {"tool_calls": [{**head, "function": function}]}))
        parts = pieces(arguments_text(call), size)
        for place, piece in enumerate(parts):
            delta = {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            kind = "call" if place == len(parts) - 1 else "arguments"
            frames.append(_chunk(number, body, delta, kind))
    frames.append(_chunk(number, body, {}, "finish", finish=finish))
    usage = usage_of(step)
    if usage is not None and body.get("stream_options", {}).get("include_usage"):
        frames.append(data_frame({**_chat_head(number, body), "choices": [], "usage": _chat_usage(usage)}))
    frames.append(Frame(b"data: [DONE]\n\n", "end"))
    return Played(frames=frames)


def _chat_head(number: int, body: dict[str, Any]) -> dict[str, Any]:
    model = body.get("model", "")
    return {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 0, "model": model}


def _chunk(
    number: int, body: dict[str, Any], delta: dict[str, Any], kind: str = "", finish: str | None = None
) -> Frame:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return data_frame({**_chat_head(number, body), "choices": [choice]}, kind)


def _chat_usage(usage: dict[str, int]) -> dict[str, Any]:
    return {
        "prompt_tokens": usage["input"],
        "completion_tokens": usage["output"],
        "total_tokens": usage["input"] + usage["output"],
        "prompt_tokens_details": {"cached_tokens": usage["cache_read"]},
        "completion_tokens_details": {"reasoning_tokens": usage["reasoning"]},
    }


def _chat_whole(step: Step, number: int, body: dict[str, Any], finish: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": step.get("text")}
    if step.get("calls"):
        message["tool_calls"] = [
            {
                "id": call.get("id", f"call_{number}_{index}"),
                "type": "function",
                "function": {"name": call["tool"], "arguments": arguments_text(call)},
            }
            for index, call in enumerate(step["calls"])
        ]
    choice = {"index": 0, "message": message, "finish_reason": finish}
    answer = {**_chat_head(number, body), "object": "chat.completion", "choices": [choice]}
    usage = usage_of(step)
    return answer if usage is None else {**answer, "usage": _chat_usage(usage)}


PLAYERS = {"chat": chat}
