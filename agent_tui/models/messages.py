"""Anthropic Messages, outgoing: the view as alternating messages of blocks.

An exchange is the assistant's blocks in their order and a user message whose first blocks are the
results; notices, steers and whatever the person says next are text blocks after them in that same
message. Thinking goes back byte for byte, to the model that made it and to no other.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent_tui.models import wire
from agent_tui.models.base import ModelInfo, ModelRequest
from agent_tui.models.catalog import Quirks
from agent_tui.models.messages_stream import MessagesReader
from agent_tui.models.remote import Built, ResponseReader
from context.items import (
    CallPart,
    Image,
    ModelOrigin,
    OpaquePart,
    Part,
    ReasoningPart,
    ResponseItem,
    ResultItem,
    StopReason,
    TextPart,
)
from context.view import ExchangeUnit, FinalUnit, SummaryUnit, Unit, UserUnit

Block = dict[str, Any]
Message = dict[str, Any]

MARK = {"type": "ephemeral"}
MARK_SPAN = 15  # blocks; the provider looks back 20 from a mark for a cached prefix
MAX_MARKS = 4  # of a request
BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 49_152}
MIN_BUDGET = 1_024


class MessagesDialect:
    """Implements `remote.Dialect`."""

    def build(self, request: ModelRequest, info: ModelInfo, quirks: Quirks) -> Built:
        """The body; marks move, everything else of it only grows while there is no compaction."""
        units, left_out = wire.sound_units(request.view)
        body: dict[str, Any] = {"model": request.model, "stream": quirks.stream}
        limit = request.max_output_tokens or info.max_output
        body["max_tokens"] = limit
        is_own = _thinks_throughout(units, _origin(info))
        body |= _settings(request, quirks, limit, may_think=is_own)
        if request.view.tools:
            body["tools"] = [_tool(tool) for tool in request.view.tools]
            if request.tool_choice == "none" and quirks.tool_choice_none:
                body["tool_choice"] = {"type": "none"}
        if request.view.system.strip():
            body["system"] = [_text(wire.clean(request.view.system))]
        body["messages"] = _messages(request, units, info)
        has_summary = bool(units) and isinstance(units[0], SummaryUnit)
        _mark(body, int(bool(request.view.project.strip())) if has_summary else None)
        return Built(body=wire.to_bytes(body), left_out=left_out)

    def reader(self, info: ModelInfo, sent_bytes: int) -> ResponseReader:
        """A reader for the response."""
        return MessagesReader(_origin(info), sent_bytes)


def _origin(info: ModelInfo) -> ModelOrigin:
    return ModelOrigin(provider=info.provider, model=info.model, api="messages")


def _settings(request: ModelRequest, quirks: Quirks, limit: int, *, may_think: bool) -> dict[str, Any]:
    config: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    if request.effort and quirks.effort == "budget":
        budget = min(BUDGETS.get(request.effort, BUDGETS["medium"]), limit - 1)
        if may_think and budget >= MIN_BUDGET:
            settings["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif request.effort:
        settings["thinking"] = {"type": "adaptive"}
        config["effort"] = "low" if request.effort == "minimal" else request.effort
    if request.output_schema:
        config["format"] = {"type": "json_schema", "schema": json.loads(request.output_schema)}
    return {**settings, "output_config": config} if config else settings


def _thinks_throughout(units: list[Unit], origin: ModelOrigin) -> bool:
    """Every exchange of the running turn begins with thinking of this model.

    With a thinking budget the provider refuses a running tool loop that has none, which is so after a
    change of the model in mid-turn.
    """
    running = units[wire.running_turn_start(units) :]
    exchanges = [unit.response for unit in running if isinstance(unit, ExchangeUnit)]
    return all(_sendable(response.parts[0], is_own=response.origin == origin) for response in exchanges)


def _sendable(part: Part, *, is_own: bool) -> bool:
    return isinstance(part, ReasoningPart) and part.raw is not None and is_own


def _tool(tool: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": json.loads(tool.parameters)}


def _messages(request: ModelRequest, units: list[Unit], info: ModelInfo) -> list[Message]:
    """Blocks in order, neighbours of one role in one message: roles must take turns."""
    messages: list[Message] = []
    for role, blocks in _Projection(_origin(info), info).turns(request, units):
        if not blocks:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


class _Projection:
    """Units to blocks; holds the ids given so far."""

    def __init__(self, origin: ModelOrigin, info: ModelInfo) -> None:
        self._origin = origin
        self._takes_images = info.images
        self._ids = wire.CallIds("[^a-zA-Z0-9_-]", 64)

    def turns(self, request: ModelRequest, units: list[Unit]) -> Iterator[tuple[str, list[Block]]]:
        if request.view.project.strip():
            yield "user", [_text(wire.project_text(request.view.project))]
        for unit in units:
            yield from self._unit(unit)
            yield "user", [_text(wire.notice_text(notice)) for notice in wire.notices_of(unit)]

    def _unit(self, unit: Unit) -> Iterator[tuple[str, list[Block]]]:
        match unit:
            case UserUnit(item=item):
                text = [_text(wire.clean(item.text))] if item.text.strip() else []
                yield "user", [*text, *self._images(item.images)]
            case ExchangeUnit(response=response, results=results):
                is_own = response.origin == self._origin
                ids = [self._ids.give(call, is_own=is_own) for call in response.calls]
                yield "assistant", self._response(response, ids)
                yield "user", [self._result(r, ident) for r, ident in zip(results, ids, strict=True)]
            case FinalUnit(response=response):
                yield "assistant", self._response(response, [])
            case SummaryUnit():
                yield "user", [_text(wire.summary_text(unit))]

    def _images(self, images: tuple[Image, ...]) -> list[Block]:
        if not self._takes_images:
            return [_text(wire.image_stand_in(image)) for image in images]
        return [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": image.media_type, "data": image.data},
            }
            for image in images
        ]

    def _result(self, result: ResultItem, ident: str) -> Block:
        text = wire.result_text(result)
        content = [_text(text), *self._images(result.images)] if result.images else text
        block = {"type": "tool_result", "tool_use_id": ident, "content": content}
        return {**block, "is_error": True} if result.is_error else block

    def _response(self, response: ResponseItem, ids: list[str]) -> list[Block]:
        is_own = response.origin == self._origin
        calls = iter(ids)
        found = (self._part(part, calls, is_own=is_own) for part in response.parts)
        blocks = [block for block in found if block is not None]
        while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            del blocks[-1]  # thinking alone is no message
        if response.stop is StopReason.INTERRUPTED and blocks and blocks[-1]["type"] == "text":
            blocks[-1] = _text(blocks[-1]["text"].rstrip())
        return blocks

    def _part(self, part: Part, ids: Iterator[str], *, is_own: bool) -> Block | None:
        match part:
            case ReasoningPart(raw=raw) | OpaquePart(raw=raw):
                replayed: Block | None = json.loads(raw) if raw and is_own else None
                return replayed
            case TextPart(text=text):
                return _text(wire.clean(text)) if text.strip() else None
            case CallPart():
                arguments = wire.arguments_object(part.arguments)
                return {"type": "tool_use", "id": next(ids), "name": wire.tool_name(part), "input": arguments}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _mark(body: dict[str, Any], summary_at: int | None) -> None:
    """Cache marks on tools, system, summary, and with what is left of the four near the tail.

    The provider looks for a cached prefix a few blocks before a mark only. So the marks of the tail
    stand a span apart: after a step of many calls the older one still finds what was written before it.
    """
    messages = body["messages"]
    grown = sum(len(message["content"]) for message in messages[-2:])
    if "tools" in body and (summary_at is None or grown <= MARK_SPAN):
        body["tools"][-1]["cache_control"] = MARK
    if "system" in body:
        body["system"][0]["cache_control"] = MARK
    if summary_at is not None:
        messages[0]["content"][summary_at]["cache_control"] = MARK
    left = MAX_MARKS - ("system" in body) - (summary_at is not None)
    left -= "tools" in body and "cache_control" in body["tools"][-1]
    blocks = [block for message in messages for block in message["content"]]
    place = len(blocks) - 1
    while left > 0 and place >= 0:
        if blocks[place]["type"] in ("thinking", "redacted_thinking"):
            place -= 1  # these cannot carry a mark
            continue
        blocks[place]["cache_control"] = MARK
        place, left = place - MARK_SPAN, left - 1
