"""One script step as a Chat Completions stream."""

import json
from typing import Any

from tests.model_server.wire_base import Frame, Played, Step, arguments_text, data_frame, pieces, usage_of


def play(step: Step, number: int, body: dict[str, Any]) -> Played:
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
