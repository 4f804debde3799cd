"""One script step as an Anthropic Messages stream."""

import json
from typing import Any

from tests.model_server.wire_base import Frame, Played, Step, arguments_text, data_frame, pieces, usage_of


def play(step: Step, number: int, body: dict[str, Any]) -> Played:
    """Frames in the order the provider documents, with a ping as real streams have."""
    blocks = _blocks(step, number)
    calls = any(block["type"] == "tool_use" for block in blocks)
    stop = step.get("stop", "tool_use" if calls else "end_turn")
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(step, first=True),
    }
    if step.get("whole"):
        content = [{key: value for key, value in block.items() if key != "raw"} for block in blocks]
        whole = {**message, "content": content, "stop_reason": stop, "usage": _usage(step, first=False)}
        return Played(whole=json.dumps(whole).encode())
    frames = [
        _event("message_start", {"message": message}, "start"),
        _event("ping", {}),
    ]
    for index, block in enumerate(blocks):
        frames += _block(index, block, step.get("piece", 24))
    delta = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": _usage(step, first=False)}
    frames += [_event("message_delta", delta, "finish"), _event("message_stop", {}, "end")]
    return Played(frames=frames, issued=_issued(blocks, message["model"]))


def _event(kind: str, value: dict[str, Any], frame: str = "") -> Frame:
    return data_frame({"type": kind, **value}, frame, event=kind)


def _usage(step: Step, *, first: bool) -> dict[str, Any]:
    usage = usage_of(step)
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0} if first else {}
    value = {"output_tokens": 1 if first else usage["output"]}
    cached = usage["cache_read"] + usage["cache_write"]
    return {
        "input_tokens": usage["input"] - cached,
        "cache_read_input_tokens": usage["cache_read"],
        "cache_creation_input_tokens": usage["cache_write"],
        **value,
    }


def _blocks(step: Step, number: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if "redacted" in step:
        blocks.append({"type": "redacted_thinking", "data": step["redacted"]})
    if "reasoning" in step:
        signature = step.get("signature", f"signed-{number}")
        blocks.append({"type": "thinking", "thinking": step["reasoning"], "signature": signature})
    if step.get("text"):
        blocks.append({"type": "text", "text": step["text"]})
    for index, call in enumerate(step.get("calls", [])):
        raw = arguments_text(call)
        ident = call.get("id", f"toolu_{number}_{index}")
        use = {"type": "tool_use", "id": ident, "name": call["tool"], "input": _parsed(raw), "raw": raw}
        blocks.append(use)
    return blocks


def _parsed(raw: str) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return {}


def _block(index: int, block: dict[str, Any], size: int) -> list[Frame]:
    kind = block["type"]
    opening: dict[str, Any] = {
        "text": {"type": "text", "text": ""},
        "thinking": {"type": "thinking", "thinking": "", "signature": ""},
        "redacted_thinking": block,
        "tool_use": {"type": "tool_use", "id": block.get("id"), "name": block.get("name"), "input": {}},
    }[kind]
    frames = [_event("content_block_start", {"index": index, "content_block": opening})]
    field, delta, label = {
        "text": ("text", "text_delta", "text"),
        "thinking": ("thinking", "thinking_delta", "reasoning"),
        "redacted_thinking": ("", "", ""),
        "tool_use": ("raw", "input_json_delta", "arguments"),
    }[kind]
    for piece in pieces(block.get(field, ""), size):
        key = "partial_json" if kind == "tool_use" else field
        value = {"index": index, "delta": {"type": delta, key: piece}}
        frames.append(_event("content_block_delta", value, label))
    if kind == "thinking":
        signed = {"type": "signature_delta", "signature": block["signature"]}
        frames.append(_event("content_block_delta", {"index": index, "delta": signed}))
    frames.append(_event("content_block_stop", {"index": index}, "call" if kind == "tool_use" else ""))
    return frames


def _issued(blocks: list[dict[str, Any]], model: str) -> dict[str, dict[str, Any]]:
    signed = [block for block in blocks if block["type"] in ("thinking", "redacted_thinking")]
    issued = {
        f"signed:{block.get('signature', block.get('data'))}": {"model": model, "block": block}
        for block in signed
    }
    for block in blocks:
        if block["type"] == "tool_use" and signed:
            issued[f"use:{block['id']}"] = {"model": model, "blocks": signed}
    return issued
