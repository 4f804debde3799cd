"""OpenAI Responses, outgoing: the view as `input` items.

Stateless: nothing is stored with the provider, reasoning travels sealed. A reasoning item goes only to
the model that made it and only together with what followed it in its response, so the items of one
response stay whole and in order. Item ids of the server are left out, always: without storage they
name nothing.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent_tui.models import wire
from agent_tui.models.base import ModelInfo, ModelRequest
from agent_tui.models.catalog import Quirks
from agent_tui.models.remote import Built, ResponseReader
from agent_tui.models.responses_stream import ResponsesReader
from context.items import (
    CallPart,
    Image,
    ModelOrigin,
    OpaquePart,
    Part,
    ReasoningPart,
    ResponseItem,
    ResultItem,
    TextPart,
)
from context.view import ExchangeUnit, FinalUnit, SummaryUnit, Unit, UserUnit

Item = dict[str, Any]

MIN_OUTPUT_TOKENS = 16  # the API refuses less


class ResponsesDialect:
    """Implements `remote.Dialect`."""

    def build(self, request: ModelRequest, info: ModelInfo, quirks: Quirks) -> Built:
        """The body, its input last: with no compaction it is a prefix of the next one."""
        units, left_out = wire.sound_units(request.view)
        body: dict[str, Any] = {"model": request.model, "stream": quirks.stream, "store": False}
        body |= _settings(request, info, quirks)
        if request.view.system.strip():
            body["instructions"] = wire.clean(request.view.system)
        if request.view.tools:
            body["tools"] = [_tool(tool) for tool in request.view.tools]
            if request.tool_choice == "none" and quirks.tool_choice_none:
                body["tool_choice"] = "none"
        projection = _Projection(_origin(info), info)
        items = [item for unit in units for item in projection.items(unit)]
        if request.view.project.strip():
            items.insert(0, _said(wire.project_text(request.view.project)))
        body["input"] = items
        return Built(body=wire.to_bytes(body), left_out=left_out)

    def reader(self, info: ModelInfo, sent_bytes: int) -> ResponseReader:
        """A reader for the response."""
        return ResponsesReader(_origin(info), sent_bytes)


def _origin(info: ModelInfo) -> ModelOrigin:
    return ModelOrigin(provider=info.provider, model=info.model, api="responses")


def _settings(request: ModelRequest, info: ModelInfo, quirks: Quirks) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if info.reasoning or request.effort:
        settings["include"] = ["reasoning.encrypted_content"]
        effort = {"effort": request.effort} if request.effort else {}
        settings["reasoning"] = {**effort, "summary": "auto"}
    if request.max_output_tokens:
        settings["max_output_tokens"] = max(MIN_OUTPUT_TOKENS, request.max_output_tokens)
    if request.output_schema:
        schema = json.loads(request.output_schema)
        settings["text"] = {"format": {"type": "json_schema", "name": "answer", "schema": schema}}
    if quirks.cache_key and request.cache_key:
        settings["prompt_cache_key"] = request.cache_key
    return settings


def _tool(tool: Any) -> Item:
    parameters = json.loads(tool.parameters)
    named = {"type": "function", "name": tool.name, "description": tool.description}
    return {**named, "parameters": parameters, "strict": False}


def _said(text: str) -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


class _Projection:
    """Units to input items; holds the ids given so far."""

    def __init__(self, origin: ModelOrigin, info: ModelInfo) -> None:
        self._origin = origin
        self._takes_images = info.images
        self._ids = wire.CallIds("[^a-zA-Z0-9_-]", 64)

    def items(self, unit: Unit) -> Iterator[Item]:
        match unit:
            case UserUnit(item=item):
                text = [{"type": "input_text", "text": wire.clean(item.text)}] if item.text.strip() else []
                content = [*text, *self._images(item.images)]
                if content:
                    yield {"type": "message", "role": "user", "content": content}
            case ExchangeUnit(response=response, results=results):
                is_own = response.origin == self._origin
                ids = [self._ids.give(call, is_own=is_own) for call in response.calls]
                yield from self._response(response, ids)
                for call, ident, result in zip(response.calls, ids, results, strict=True):
                    family = "custom_tool_call_output" if call.family == "custom" else "function_call_output"
                    yield {"type": family, "call_id": ident, "output": self._output(result)}
            case FinalUnit(response=response):
                yield from self._response(response, [])
            case SummaryUnit():
                yield _said(wire.summary_text(unit))
        for notice in wire.notices_of(unit):
            yield _said(wire.notice_text(notice))

    def _images(self, images: tuple[Image, ...]) -> list[Item]:
        if not self._takes_images:
            return [{"type": "input_text", "text": wire.image_stand_in(image)} for image in images]
        return [
            {"type": "input_image", "image_url": f"data:{image.media_type};base64,{image.data}"}
            for image in images
        ]

    def _output(self, result: ResultItem) -> str | list[Item]:
        text = wire.result_text(result)
        if not result.images:
            return text
        return [{"type": "input_text", "text": text}, *self._images(result.images)]

    def _response(self, response: ResponseItem, ids: list[str]) -> Iterator[Item]:
        is_own = response.origin == self._origin
        waiting: list[Item] = []  # reasoning is sent only together with the item it led to
        calls = iter(ids)
        for part in response.parts:
            item = self._part(part, calls, is_own=is_own)
            if item is None:
                continue
            if item["type"] == "reasoning":
                waiting.append(item)
                continue
            yield from waiting
            waiting = []
            yield item

    def _part(self, part: Part, ids: Iterator[str], *, is_own: bool) -> Item | None:
        match part:
            case ReasoningPart(raw=raw):
                return _sealed(raw) if raw and is_own else None
            case TextPart():
                return _message(part, is_own=is_own)
            case CallPart():
                return _call(part, next(ids))
            case OpaquePart(raw=raw):
                return _replayed(raw) if is_own else None


def _sealed(raw: str) -> Item | None:
    item = _replayed(raw)
    return item if item.get("encrypted_content") or item.get("content") else None


def _replayed(raw: str) -> Item:
    """A provider's item as it came, without what only its storage knows."""
    item: Item = json.loads(raw)
    return {key: value for key, value in item.items() if key not in ("id", "status") and value is not None}


def _message(part: TextPart, *, is_own: bool) -> Item | None:
    if not part.text.strip():
        return None
    if part.raw and is_own:
        return _replayed(part.raw)
    content = [{"type": "output_text", "text": wire.clean(part.text)}]
    return {"type": "message", "role": "assistant", "content": content}


def _call(call: CallPart, ident: str) -> Item:
    if call.family == "custom":
        named = {"type": "custom_tool_call", "call_id": ident, "name": wire.tool_name(call)}
        return {**named, "input": wire.clean(call.arguments)}
    arguments = wire.arguments_text(call.arguments)
    return {"type": "function_call", "call_id": ident, "name": wire.tool_name(call), "arguments": arguments}
