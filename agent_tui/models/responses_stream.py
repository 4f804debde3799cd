"""OpenAI Responses, incoming: events to parts.

Finished items (`response.output_item.done`) count; servers that send none are read from the final
response, and where that is empty too, from the deltas.
"""

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

_TEXT = ("response.output_text.delta", "response.refusal.delta")
_REASONING = (
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.reasoning.delta",
)
_ARGUMENTS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")
_WHOLE = {  # what comes in one piece where no delta came before
    "response.output_text.done": "text",
    "response.refusal.done": "refusal",
    "response.function_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
}
_ENDS = ("response.completed", "response.incomplete", "response.done")


@mutable
class _Output:
    """One output item under way."""

    item: dict[str, Any] = field(default_factory=dict)
    is_whole: bool = False
    text: list[str] = field(default_factory=list)
    chars: int = 0
    section: Any = 0  # of a reasoning summary


class ResponsesReader:
    """Implements `remote.ResponseReader`."""

    def __init__(self, origin: ModelOrigin, sent_bytes: int) -> None:
        self._origin = origin
        self._sent_bytes = sent_bytes
        self._outputs: dict[int, _Output] = {}
        self._text = TextFlow(TextDelta)
        self._reasoning = TextFlow(ReasoningDelta)
        self._response: dict[str, Any] = {}
        self._end = ""
        self.is_done = False

    @property
    def may_end(self) -> bool:
        """Only the final event ends a response."""
        return self.is_done

    def read(self, name: str, data: dict[str, Any]) -> Iterator[StreamPart]:
        """See `remote.ResponseReader`."""
        kind = data.get("type") or name
        if kind == "error" or (data.get("error") and not str(kind).startswith("response.")):
            raise StreamReportedError(data)
        if kind == "response.failed":
            raise StreamReportedError(_response_of(data).get("error") or data)
        if kind in _TEXT:
            yield from _into(self._output(data), self._text, _str(data.get("delta")))
        elif kind in _REASONING:
            yield from self._think(data)
        elif kind in _ARGUMENTS:
            yield from self._arguments(data)
        elif kind in _WHOLE and not self._output(data).text:
            yield from self._whole_piece(data, _str(data.get(_WHOLE[kind])))
        elif kind == "response.output_item.added":
            self._output(data).item = _dict(data.get("item"))
        elif kind == "response.output_item.done":
            yield from self._item_done(data)
        elif kind in _ENDS:
            yield from self._ended(str(kind), _response_of(data))

    def whole(self, document: dict[str, Any]) -> Iterator[StreamPart]:
        """A server that does not stream."""
        if document.get("error") or document.get("status") == "failed":
            raise StreamReportedError(document.get("error") or document)
        if isinstance(document.get("output"), list):
            kind = "response.incomplete" if document.get("status") == "incomplete" else "response.completed"
            yield from self._ended(kind, document)

    def _output(self, data: dict[str, Any]) -> _Output:
        index = data.get("output_index")
        if not isinstance(index, int):
            index = max(self._outputs, default=0)
        return self._outputs.setdefault(index, _Output())

    def _think(self, data: dict[str, Any]) -> Iterator[StreamPart]:
        output = self._output(data)
        section = data.get("summary_index", 0)
        gap = "\n\n" if output.text and section != output.section else ""
        output.section = section
        yield from _into(output, self._reasoning, gap + _str(data.get("delta")))

    def _arguments(self, data: dict[str, Any]) -> Iterator[StreamPart]:
        output = self._output(data)
        delta = _str(data.get("delta"))
        output.text.append(delta)
        output.chars += len(delta)
        index = sum(1 for other in self._outputs.values() if "name" in other.item) - 1
        name = _str(output.item.get("name"))
        yield CallProgress(index=max(0, index), tool=name, arguments_chars=output.chars)

    def _whole_piece(self, data: dict[str, Any], piece: str) -> Iterator[StreamPart]:
        output = self._output(data)
        if "name" in output.item:
            yield from self._arguments({**data, "delta": piece})
        else:
            yield from _into(output, self._text, piece)

    def _item_done(self, data: dict[str, Any]) -> Iterator[StreamPart]:
        output = self._output(data)
        output.item, output.is_whole = _dict(data.get("item")), True
        yield from self._unsaid(output)

    def _unsaid(self, output: _Output) -> Iterator[StreamPart]:
        """Text of an item that came without deltas."""
        flow, text = self._text, _message_text(output.item)
        if output.item.get("type") == "reasoning":
            flow, text = self._reasoning, _reasoning_text(output.item)
        is_said = bool(output.text) or flow.text.endswith(text)
        if not is_said:
            yield from _into(output, flow, text)

    def _ended(self, kind: str, response: dict[str, Any]) -> Iterator[StreamPart]:
        self._response, self._end, self.is_done = response, kind, True
        output = response.get("output")
        if not isinstance(output, list) or any(entry.is_whole for entry in self._outputs.values()):
            return
        if output:
            # No item was finished on the way: the final list is the truth, the deltas were for display.
            self._outputs = {i: _Output(item=_dict(item), is_whole=True) for i, item in enumerate(output)}
        for entry in self._outputs.values():
            yield from self._unsaid(entry)

    def completed(self) -> Completed:
        """See `remote.ResponseReader`."""
        outputs = [self._outputs[index] for index in sorted(self._outputs)]
        parts = [part for index, output in enumerate(outputs) if (part := _part(output, index)) is not None]
        return Completed(
            parts=tuple(parts),
            stop=self._stop(parts),
            usage=self._usage(outputs),
            origin=self._origin,
            response_id=_str(self._response.get("id")),
        )

    def _stop(self, parts: list[Part]) -> StopReason:
        if self._end == "response.incomplete":
            reason = _dict(self._response.get("incomplete_details")).get("reason")
            return StopReason.REFUSAL if reason == "content_filter" else StopReason.LENGTH
        calls = [part for part in parts if isinstance(part, CallPart)]
        if calls and is_cut(calls[-1].arguments) and calls[-1].family == "function":
            return StopReason.LENGTH
        return StopReason.CALLS if calls else StopReason.END

    def _usage(self, outputs: list[_Output]) -> Usage:
        usage = _dict(self._response.get("usage"))
        if not number(usage.get("input_tokens")) and not number(usage.get("output_tokens")):
            written = sum(len(piece) for output in outputs for piece in output.text)
            return estimated_usage(self._sent_bytes, written)
        into, out = _dict(usage.get("input_tokens_details")), _dict(usage.get("output_tokens_details"))
        return Usage(
            input_tokens=number(usage.get("input_tokens")),
            output_tokens=number(usage.get("output_tokens")),
            cache_read_tokens=number(into.get("cached_tokens")),
            cache_write_tokens=number(into.get("cache_write_tokens")),
            reasoning_tokens=number(out.get("reasoning_tokens")),
        )


def _into(output: _Output, flow: TextFlow, piece: str) -> Iterator[StreamPart]:
    for delta in flow.feed(piece):
        output.text.append(delta.text)
        yield delta


def _part(output: _Output, index: int) -> Part | None:
    item, streamed = output.item, "".join(output.text)
    kind = item.get("type")
    raw = mend(wire.dumps(item)) if output.is_whole else None
    if kind == "reasoning":
        return ReasoningPart(text=_reasoning_text(item) or streamed, raw=raw)
    if kind in ("function_call", "custom_tool_call"):
        return _call(item, streamed, index)
    if kind == "message" or (kind is None and streamed):
        text = (_message_text(item) if output.is_whole else "") or streamed
        return TextPart(text=text, raw=raw) if text else None
    return OpaquePart(raw=raw) if kind and raw else None


def _call(item: dict[str, Any], streamed: str, index: int) -> CallPart:
    is_custom = item["type"] == "custom_tool_call"
    sent = _str(item.get("input" if is_custom else "arguments"))
    ident = _str(item.get("call_id")) or _str(item.get("id")) or f"call_{index}"
    return CallPart(
        call_id=ident,
        provider_id=ident,
        tool=_str(item.get("name")),
        arguments=mend(sent or streamed),
        family="custom" if is_custom else "function",
    )


def _message_text(item: dict[str, Any]) -> str:
    content = item.get("content")
    parts = content if isinstance(content, list) else ()
    texts = (_str(p.get("text")) or _str(p.get("refusal")) for p in parts if isinstance(p, dict))
    return mend("".join(texts))


def _reasoning_text(item: dict[str, Any]) -> str:
    for key in ("summary", "content"):
        parts = item.get(key)
        texts = [_str(p.get("text")) for p in parts if isinstance(p, dict)] if isinstance(parts, list) else []
        if any(texts):
            return mend("\n\n".join(texts))
    return ""


def _response_of(data: dict[str, Any]) -> dict[str, Any]:
    return _dict(data.get("response"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
