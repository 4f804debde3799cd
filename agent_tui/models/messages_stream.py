"""Anthropic Messages, incoming: events to parts; usage is cumulative, thinking is kept as it came."""

import json
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from agent_tui.frozen import mutable
from agent_tui.models import wire
from agent_tui.models.base import CallProgress, Completed, ReasoningDelta, StreamPart, TextDelta
from agent_tui.models.collect import TextFlow, is_cut, mend
from agent_tui.models.remote import StreamReportedError
from agent_tui.models.usage import estimated_usage, number
from context.items import CallPart, ModelOrigin, OpaquePart, Part, ReasoningPart, StopReason, TextPart, Usage

_STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSED,
}
_KIND_OF_DELTA = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "tool_use"}


@mutable
class _Block:
    """One content block under way; `pieces` are its text, thinking or partial JSON."""

    start: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    chars: int = 0
    signature: str = ""
    citations: list[Any] = field(default_factory=list)

    @property
    def joined(self) -> str:
        return mend("".join(self.pieces))


class MessagesReader:
    """Implements `remote.ResponseReader`."""

    def __init__(self, origin: ModelOrigin, sent_bytes: int) -> None:
        self._origin = origin
        self._sent_bytes = sent_bytes
        self._blocks: list[_Block] = []
        self._open: dict[Any, _Block] = {}
        self._text = TextFlow(TextDelta)
        self._reasoning = TextFlow(ReasoningDelta)
        self._usage: dict[str, Any] = {}
        self._stop_reason = ""
        self._response_id = ""
        self.is_done = False

    @property
    def may_end(self) -> bool:
        """The stop reason was seen."""
        return bool(self._stop_reason)

    def read(self, name: str, data: dict[str, Any]) -> Iterator[StreamPart]:
        """See `remote.ResponseReader`."""
        kind = data.get("type") or name
        if kind == "error" or (data.get("error") and kind not in _KNOWN):
            raise StreamReportedError(data)
        if kind == "message_start":
            self._started(_dict(data.get("message")))
        elif kind == "content_block_start":
            yield from self._block_started(data)
        elif kind == "content_block_delta":
            yield from self._delta(data)
        elif kind == "content_block_stop":
            self._open.pop(data.get("index"), None)
        elif kind == "message_delta":
            self._note_usage(data)
            reason = _dict(data.get("delta")).get("stop_reason")
            self._stop_reason = reason if isinstance(reason, str) and reason else self._stop_reason
        elif kind == "message_stop" or name == "[DONE]":
            self.is_done = True

    def whole(self, document: dict[str, Any]) -> Iterator[StreamPart]:
        """A server that does not stream."""
        if document.get("type") == "error" or document.get("error"):
            raise StreamReportedError(document)
        self._started(document)
        content = document.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            yield from self._block_started({"index": index, "content_block": block})
        self._stop_reason = str(document.get("stop_reason") or "")
        self.is_done = bool(self._stop_reason)

    def _started(self, message: dict[str, Any]) -> None:
        self._response_id = str(message.get("id") or "")
        self._note_usage(message)

    def _block_started(self, data: dict[str, Any]) -> Iterator[StreamPart]:
        block = self._add(data.get("index"), _dict(data.get("content_block")))
        kind = block.start.get("type")
        if kind == "text":
            yield from self._say(block, _str(block.start.get("text")))
        elif kind == "thinking":
            yield from self._think(block, _str(block.start.get("thinking")))
            block.signature = _str(block.start.get("signature"))
        elif kind == "tool_use":
            yield self._progress(block)

    def _add(self, index: Any, start: dict[str, Any]) -> _Block:
        block = _Block(start=start)
        self._blocks.append(block)
        self._open[index] = block
        return block

    def _delta(self, data: dict[str, Any]) -> Iterator[StreamPart]:
        delta = _dict(data.get("delta"))
        kind = delta.get("type")
        block = self._open.get(data.get("index"))
        if block is None:  # a server that announces no blocks
            block = self._add(data.get("index"), {"type": _KIND_OF_DELTA.get(_str(kind), "text")})
        if kind == "text_delta":
            yield from self._say(block, _str(delta.get("text")))
        elif kind == "thinking_delta":
            yield from self._think(block, _str(delta.get("thinking")))
        elif kind == "signature_delta":
            block.signature += _str(delta.get("signature"))
        elif kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        elif kind == "input_json_delta":
            piece = _str(delta.get("partial_json"))
            block.pieces.append(piece)
            block.chars += len(piece)
            yield self._progress(block)

    def _say(self, block: _Block, text: str) -> Iterator[StreamPart]:
        for delta in self._text.feed(text):
            block.pieces.append(delta.text)
            yield delta

    def _think(self, block: _Block, text: str) -> Iterator[StreamPart]:
        block.pieces.append(text)  # as it came: the signature is over these bytes
        yield from self._reasoning.feed(text)

    def _progress(self, block: _Block) -> CallProgress:
        index = sum(1 for other in self._blocks if other.start.get("type") == "tool_use") - 1
        return CallProgress(index=index, tool=_str(block.start.get("name")), arguments_chars=block.chars)

    def _note_usage(self, holder: dict[str, Any]) -> None:
        found = _dict(holder.get("usage"))
        self._usage |= {key: value for key, value in found.items() if value is not None}

    def completed(self) -> Completed:
        """See `remote.ResponseReader`."""
        parts = [
            part for index, block in enumerate(self._blocks) if (part := _part(block, index)) is not None
        ]
        return Completed(
            parts=tuple(parts),
            stop=self._stop(parts),
            usage=self._usage_read(),
            origin=self._origin,
            response_id=self._response_id,
        )

    def _stop(self, parts: list[Part]) -> StopReason:
        stop = _STOPS.get(self._stop_reason, StopReason.END)
        calls = [part for part in parts if isinstance(part, CallPart)]
        if stop not in (StopReason.END, StopReason.CALLS):
            return stop
        if calls and is_cut(calls[-1].arguments):
            return StopReason.LENGTH
        return StopReason.CALLS if calls else StopReason.END

    def _usage_read(self) -> Usage:
        usage = self._usage
        read = number(usage.get("cache_read_input_tokens"))
        written = number(usage.get("cache_creation_input_tokens"))
        into = number(usage.get("input_tokens")) + read + written  # theirs leaves cached ones out
        out = number(usage.get("output_tokens"))
        if not into and not out:
            chars = sum(len(piece) for block in self._blocks for piece in block.pieces)
            return estimated_usage(self._sent_bytes, chars)
        thought = number(_dict(usage.get("output_tokens_details")).get("thinking_tokens"))
        return Usage(
            input_tokens=into,
            output_tokens=out,
            cache_read_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=thought,
        )


_KNOWN = frozenset(
    ("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta")
)


def _part(block: _Block, index: int) -> Part | None:
    kind = block.start.get("type")
    if kind == "text":
        return TextPart(text=block.joined) if block.pieces else None
    if kind == "thinking":
        return _thinking(block)
    if kind == "redacted_thinking":
        return ReasoningPart(text="", raw=wire.dumps(block.start))
    if kind == "tool_use":
        ident = _str(block.start.get("id")) or f"call_{index}"
        name = _str(block.start.get("name"))
        return CallPart(call_id=ident, provider_id=ident, tool=name, arguments=_arguments(block))
    if not kind:
        return None
    server_side = dict(block.start)
    if block.pieces:
        server_side["input"] = wire.arguments_object(block.joined)
    return OpaquePart(raw=mend(wire.dumps(server_side)))


def _thinking(block: _Block) -> ReasoningPart | None:
    """Without a signature nobody takes it back, so `raw` is left out."""
    text = block.joined
    if not block.signature:
        return ReasoningPart(text=text) if text else None
    whole = {**block.start, "thinking": text, "signature": block.signature}
    return ReasoningPart(text=text, raw=wire.dumps(whole))


def _arguments(block: _Block) -> str:
    started = block.start.get("input")
    if block.pieces or not started:
        return block.joined
    return mend(json.dumps(started, ensure_ascii=False))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
