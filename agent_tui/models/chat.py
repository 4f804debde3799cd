"""Chat Completions, outgoing: the view as `messages`.

An exchange is one assistant message and its tool messages, contiguous and in the order of the calls;
notices and steers follow as user messages.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from agent_tui.models import wire
from agent_tui.models.base import ModelInfo, ModelRequest
from agent_tui.models.catalog import Quirks
from agent_tui.models.chat_stream import ChatReader
from agent_tui.models.remote import Built, ResponseReader
from context.items import CallPart, Image, ModelOrigin, ReasoningPart, ResponseItem, ResultItem, TextPart
from context.view import ExchangeUnit, FinalUnit, SummaryUnit, Unit, UserUnit

Message = dict[str, Any]

_BRIDGE: Message = {"role": "assistant", "content": "Understood."}
_NINE = re.compile("[a-zA-Z0-9]{9}")


class ChatDialect:
    """Implements `remote.Dialect`."""

    def build(self, request: ModelRequest, info: ModelInfo, quirks: Quirks) -> Built:
        """The body, its messages last: with no compaction it is a prefix of the next one."""
        units, left_out = wire.sound_units(request.view)
        body: dict[str, Any] = {"model": request.model, "stream": quirks.stream}
        if quirks.stream and quirks.stream_usage:
            body["stream_options"] = {"include_usage": True}
        body |= _settings(request, quirks)
        if request.view.tools:
            body["tools"] = [_tool(tool) for tool in request.view.tools]
            if request.tool_choice == "none" and quirks.tool_choice_none:
                body["tool_choice"] = "none"
        projection = _Projection(_origin(info), quirks, info)
        body["messages"] = [*_head(request, quirks), *projection.messages(units)]
        return Built(body=wire.to_bytes(body), left_out=left_out)

    def reader(self, info: ModelInfo, sent_bytes: int) -> ResponseReader:
        """A reader for the response."""
        return ChatReader(_origin(info), sent_bytes)


def _origin(info: ModelInfo) -> ModelOrigin:
    return ModelOrigin(provider=info.provider, model=info.model, api="chat")


def _settings(request: ModelRequest, quirks: Quirks) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if request.max_output_tokens:
        settings[quirks.max_tokens_field] = request.max_output_tokens
    if request.effort and quirks.effort == "reasoning_object":
        settings["reasoning"] = {"effort": request.effort}
    elif request.effort:
        settings["reasoning_effort"] = request.effort
    if request.output_schema:
        schema = {"name": "answer", "schema": json.loads(request.output_schema)}
        settings["response_format"] = {"type": "json_schema", "json_schema": schema}
    if quirks.cache_key and request.cache_key:
        settings["prompt_cache_key"] = request.cache_key
    return settings


def _tool(tool: Any) -> dict[str, Any]:
    parameters = json.loads(tool.parameters)
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _head(request: ModelRequest, quirks: Quirks) -> Iterator[Message]:
    if request.view.system.strip():
        yield {"role": quirks.system_role, "content": wire.clean(request.view.system)}
    if request.view.project.strip():
        yield {"role": "user", "content": wire.project_text(request.view.project)}


class _Projection:
    """Units to messages; holds the ids given so far."""

    def __init__(self, origin: ModelOrigin, quirks: Quirks, info: ModelInfo) -> None:
        self._origin = origin
        self._quirks = quirks
        self._takes_images = info.images
        self._ids = wire.CallIds("[\x00-\x1f]", 64)

    def messages(self, units: list[Unit]) -> Iterator[Message]:
        running_from = wire.running_turn_start(units)
        for index, unit in enumerate(units):
            follows_tools = False
            for message in self._unit(unit, is_running=index >= running_from):
                yield message
                follows_tools = message["role"] == "tool"
            # A word for the model stands between tool results and the next user message, where one comes.
            following = units[index + 1] if index + 1 < len(units) else None
            speaks = bool(wire.notices_of(unit)) or not isinstance(following, ExchangeUnit | FinalUnit | None)
            if self._quirks.bridge and follows_tools and speaks:
                yield _BRIDGE
            for notice in wire.notices_of(unit):
                yield {"role": "user", "content": wire.notice_text(notice)}

    def _unit(self, unit: Unit, *, is_running: bool) -> Iterator[Message]:
        match unit:
            case UserUnit(item=item):
                yield from self._spoken(item.text, item.images)
            case ExchangeUnit(response=response, results=results):
                yield from self._exchange(response, results, is_running=is_running)
            case FinalUnit(response=response):
                text = _text(response)
                if text is not None:
                    yield {"role": "assistant", "content": text}
            case SummaryUnit():
                yield {"role": "user", "content": wire.summary_text(unit)}

    def _spoken(self, text: str, images: tuple[Image, ...]) -> Iterator[Message]:
        parts = [
            *([{"type": "text", "text": wire.clean(text)}] if text.strip() else []),
            *self._images(images),
        ]
        if len(parts) == 1 and "text" in parts[0]:
            yield {"role": "user", "content": parts[0]["text"]}
        elif parts:
            yield {"role": "user", "content": parts}

    def _images(self, images: tuple[Image, ...]) -> list[dict[str, Any]]:
        if not self._takes_images:
            return [{"type": "text", "text": wire.image_stand_in(image)} for image in images]
        return [
            {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}"}}
            for image in images
        ]

    def _exchange(
        self, response: ResponseItem, results: tuple[ResultItem, ...], *, is_running: bool
    ) -> Iterator[Message]:
        message: Message = {"role": "assistant", "content": _text(response)}
        message |= self._reasoning(response, is_running=is_running)
        is_own = response.origin == self._origin
        ids = [self._call_id(call, is_own=is_own) for call in response.calls]
        message["tool_calls"] = [_call(call, ident) for call, ident in zip(response.calls, ids, strict=True)]
        yield message
        pictures: list[dict[str, Any]] = []
        for ident, result in zip(ids, results, strict=True):
            yield {"role": "tool", "tool_call_id": ident, "content": wire.result_text(result)}
            if result.images:
                pictures += [{"type": "text", "text": f"Pictures of result `{ident}`:"}]
                pictures += self._images(result.images)
        if pictures:  # tool messages hold text alone
            yield {"role": "user", "content": pictures}

    def _call_id(self, call: CallPart, *, is_own: bool) -> str:
        ident = self._ids.give(call, is_own=is_own)
        if self._quirks.call_ids == "alnum9" and not _NINE.fullmatch(ident):
            return hashlib.sha256(ident.encode()).hexdigest()[:9]
        return ident

    def _reasoning(self, response: ResponseItem, *, is_running: bool) -> Message:
        """What the provider wants back inside the running tool loop, to its own origin only."""
        field = self._quirks.reasoning_back
        parts = [part for part in response.parts if isinstance(part, ReasoningPart)]
        if not field or not is_running or not parts or response.origin != self._origin:
            return {}
        if field == "reasoning_details":
            details = [detail for part in parts if part.raw for detail in json.loads(part.raw)]
            return {field: details} if details else {}
        return {field: wire.clean("".join(part.text for part in parts))}


def _text(response: ResponseItem) -> str | None:
    text = "\n\n".join(
        part.text for part in response.parts if isinstance(part, TextPart) and part.text.strip()
    )
    return wire.clean(text) if text else None


def _call(call: CallPart, ident: str) -> dict[str, Any]:
    function = {"name": wire.tool_name(call), "arguments": wire.arguments_text(call.arguments)}
    return {"id": ident, "type": "function", "function": function}
