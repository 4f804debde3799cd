"""What the three dialects share: frames, and the parts of a step that mean the same in all."""

import json
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


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def arguments_text(call: dict[str, Any]) -> str:
    arguments = call.get("arguments", {})
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def usage_of(step: Step) -> dict[str, int] | None:
    usage = step.get("usage", {"input": 100, "output": 10})
    return None if usage is None else {"cache_read": 0, "cache_write": 0, "reasoning": 0, **usage}


def data_frame(value: dict[str, Any], kind: str = "", event: str = "") -> Frame:
    head = f"event: {event}\n" if event else ""
    return Frame(f"{head}data: {json.dumps(value)}\n\n".encode(), kind)
