"""One script step as a Responses stream."""

import json
from typing import Any

from tests.model_server.wire_base import Frame, Played, Step, arguments_text, data_frame, pieces, usage_of


def play(step: Step, number: int, body: dict[str, Any]) -> Played:
    """Frames in the order the provider documents; every output item is added, filled and done."""
    stream = _Stream(step, number, body)
    if step.get("whole"):
        return Played(whole=json.dumps(stream.response("completed", stream.output())).encode())
    stream.event("response.created", {"response": stream.response("in_progress", [])}, "start")
    for index, item in enumerate(stream.output()):
        stream.item(index, item)
    stream.finish()
    return Played(frames=stream.frames, issued=stream.issued())


class _Stream:
    def __init__(self, step: Step, number: int, body: dict[str, Any]) -> None:
        self.step = step
        self.number = number
        self.model = body.get("model", "")
        self.frames: list[Frame] = []
        self._sequence = 0

    def event(self, kind: str, value: dict[str, Any], frame: str = "") -> None:
        self.frames.append(
            data_frame({"type": kind, "sequence_number": self._sequence, **value}, frame, event=kind)
        )
        self._sequence += 1

    def response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        usage = usage_of(self.step)
        value: dict[str, Any] = {
            "id": f"resp_{self.number}",
            "object": "response",
            "status": status,
            "model": self.model,
            "output": output,
            "error": None,
            "incomplete_details": None,
        }
        if status != "in_progress" and usage is not None:
            value["usage"] = {
                "input_tokens": usage["input"],
                "input_tokens_details": {
                    "cached_tokens": usage["cache_read"],
                    "cache_write_tokens": usage["cache_write"],
                },
                "output_tokens": usage["output"],
                "output_tokens_details": {"reasoning_tokens": usage["reasoning"]},
                "total_tokens": usage["input"] + usage["output"],
            }
        return value

    def output(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if "reasoning" in self.step:
            reasoning = {
                "type": "reasoning",
                "id": f"rs_{self.number}",
                "summary": [{"type": "summary_text", "text": self.step["reasoning"]}],
                "encrypted_content": self.step.get("encrypted", f"sealed-{self.number}"),
            }
            items.append(reasoning)
        if self.step.get("text"):
            content = [{"type": "output_text", "text": self.step["text"], "annotations": []}]
            message = {"type": "message", "id": f"msg_{self.number}", "role": "assistant"}
            items.append({**message, "status": "completed", "content": content})
        for index, call in enumerate(self.step.get("calls", [])):
            items.append(
                {
                    "type": "function_call",
                    "id": f"fc_{self.number}_{index}",
                    "call_id": call.get("id", f"call_{self.number}_{index}"),
                    "name": call["tool"],
                    "arguments": arguments_text(call),
                    "status": "completed",
                }
            )
        return items

    def item(self, index: int, item: dict[str, Any]) -> None:
        place = {"output_index": index, "item_id": item["id"]}
        empty = {**item, "status": "in_progress"}
        if item["type"] == "function_call":
            empty["arguments"] = ""
        elif item["type"] == "message":
            empty["content"] = []
        else:
            empty["summary"] = []
        self.event("response.output_item.added", {"output_index": index, "item": empty})
        if item["type"] == "reasoning":
            self._deltas("response.reasoning_summary_text", place, item["summary"][0]["text"], "reasoning")
        elif item["type"] == "message":
            self._deltas("response.output_text", place, item["content"][0]["text"], "text")
        else:
            self._deltas("response.function_call_arguments", place, item["arguments"], "arguments")
        kind = "call" if item["type"] == "function_call" else ""
        self.event("response.output_item.done", {"output_index": index, "item": item}, kind)

    def _deltas(self, event: str, place: dict[str, Any], text: str, kind: str) -> None:
        part = {"summary_index": 0} if kind == "reasoning" else {"content_index": 0} if kind == "text" else {}
        for piece in pieces(text, self.step.get("piece", 24)):
            self.event(f"{event}.delta", {**place, **part, "delta": piece}, kind)
        done = {"arguments": text} if kind == "arguments" else {"text": text}
        self.event(f"{event}.done", {**place, **part, **done})

    def finish(self) -> None:
        stop = self.step.get("stop")
        if stop:
            response = self.response("incomplete", self.output())
            response["incomplete_details"] = {"reason": stop}
            self.event("response.incomplete", {"response": response}, "finish")
        else:
            self.event(
                "response.completed", {"response": self.response("completed", self.output())}, "finish"
            )

    def issued(self) -> dict[str, dict[str, Any]]:
        output = self.output()
        if not output or output[0]["type"] != "reasoning":
            return {}
        following = output[1] if len(output) > 1 else {}
        return {
            f"encrypted:{output[0]['encrypted_content']}": {
                "model": self.model,
                "summary": output[0]["summary"],
                "next": following.get("call_id", following.get("type", "")),
            }
        }
