"""Chat Completions, incoming: chunks to parts, from any server that calls itself compatible.

Reasoning is taken from `reasoning_content`, `reasoning`, `reasoning_details` and think tags; usage from
wherever it stands; an end without a finish reason and without `[DONE]` is a cut.
"""

from collections.abc import Iterator
from typing import Any

from agent_tui.models import wire
from agent_tui.models.base import Completed, ReasoningDelta, StreamPart, TextDelta
from agent_tui.models.collect import CallCollector, TextFlow, ThinkTags, mend
from agent_tui.models.remote import MalformedError, StreamReportedError
from agent_tui.models.usage import estimated_usage, number
from context.items import ModelOrigin, Part, ReasoningPart, StopReason, TextPart, Usage

_STOPS = {
    "stop": StopReason.END,
    "eos": StopReason.END,
    "tool_calls": StopReason.CALLS,
    "function_call": StopReason.CALLS,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
}


class ChatReader:
    """Implements `remote.ResponseReader`."""

    def __init__(self, origin: ModelOrigin, sent_bytes: int) -> None:
        self._origin = origin
        self._sent_bytes = sent_bytes
        self._text = TextFlow(TextDelta)
        self._reasoning = TextFlow(ReasoningDelta)
        self._details: list[dict[str, Any]] = []
        self._calls = CallCollector()
        self._tags = ThinkTags()
        self._finish = ""
        self._usage: dict[str, Any] = {}
        self._response_id = ""
        self.is_done = False

    @property
    def may_end(self) -> bool:
        """A finish reason was seen."""
        return bool(self._finish)

    def read(self, name: str, data: dict[str, Any]) -> Iterator[StreamPart]:
        """See `remote.ResponseReader`; also takes `[DONE]`."""
        if name == "[DONE]":
            self.is_done = True
            yield from self._tail()
            return
        if data.get("error") or name == "error":
            raise StreamReportedError(data)
        self._response_id = self._response_id or str(data.get("id") or "")
        self._note_usage(data)
        for choice in _choices_of(data):
            if not choice.get("index"):
                yield from self._choice(choice)

    def whole(self, document: dict[str, Any]) -> Iterator[StreamPart]:
        """A server that does not stream: the message stands where the delta would."""
        yield from self.read("", document)
        yield from self._tail()
        self.is_done = self.is_done or bool(document.get("choices"))

    def _choice(self, choice: dict[str, Any]) -> Iterator[StreamPart]:
        self._note_usage(choice)
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            yield from self._delta(delta)
        if isinstance(choice.get("finish_reason"), str) and choice["finish_reason"]:
            self._finish = choice["finish_reason"]
            yield from self._tail()

    def _delta(self, delta: dict[str, Any]) -> Iterator[StreamPart]:
        yield from self._reasoning.feed(_reasoning_of(delta))
        details = delta.get("reasoning_details")
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict):
                self._merge_detail(detail)
        content = _content_of(delta.get("content"))
        if content:
            reasoning, text = self._tags.feed(content)
            yield from self._reasoning.feed(reasoning)
            yield from self._text.feed(text)
        if isinstance(delta.get("refusal"), str):
            yield from self._text.feed(delta["refusal"])
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                yield self._calls.feed(piece)
        if isinstance(delta.get("function_call"), dict):  # the form before tools
            yield self._calls.feed({"index": 0, "function": delta["function_call"]})

    def _tail(self) -> Iterator[StreamPart]:
        reasoning, text = self._tags.end()
        yield from self._reasoning.feed(reasoning)
        yield from self._text.feed(text)

    def _merge_detail(self, detail: dict[str, Any]) -> None:
        """Pieces of one detail come one after another with the same type and index."""
        last = self._details[-1] if self._details else {}
        if not last or any(last.get(key) != detail.get(key) for key in ("type", "index", "id")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in ("text", "summary", "data") and isinstance(value, str):
                last[key] = (last.get(key) or "") + value
            elif value is not None:
                last[key] = value

    def _note_usage(self, holder: dict[str, Any]) -> None:
        found = holder.get("usage")
        extra = holder.get("x_groq")
        if not found and isinstance(extra, dict):
            found = extra.get("usage")
        if isinstance(found, dict):
            self._usage |= {key: value for key, value in found.items() if value is not None}

    def completed(self) -> Completed:
        """See `remote.ResponseReader`."""
        parts: list[Part] = []
        if self._reasoning.chars or self._details:
            raw = mend(wire.dumps(self._details)) if self._details else None
            parts.append(ReasoningPart(text=self._reasoning.text, raw=raw))
        if self._text.chars:
            parts.append(TextPart(text=self._text.text))
        parts += self._calls.finish()
        return Completed(
            parts=tuple(parts),
            stop=self._stop(),
            usage=self._usage_read(),
            origin=self._origin,
            response_id=self._response_id,
        )

    def _stop(self) -> StopReason:
        stop = _STOPS.get(self._finish, StopReason.END)
        if stop in (StopReason.LENGTH, StopReason.REFUSAL):
            return stop
        if self._calls.is_cut:
            return StopReason.LENGTH
        return StopReason.CALLS if self._calls else StopReason.END

    def _usage_read(self) -> Usage:
        usage = self._usage
        if not number(usage.get("prompt_tokens")) and not number(usage.get("completion_tokens")):
            written = self._text.chars + self._reasoning.chars + self._calls.chars
            return estimated_usage(self._sent_bytes, written)
        into = usage.get("prompt_tokens_details")
        out = usage.get("completion_tokens_details")
        into = into if isinstance(into, dict) else {}
        out = out if isinstance(out, dict) else {}
        # DeepSeek says `prompt_cache_hit_tokens`, Moonshot `cached_tokens` at the top.
        cached = (into.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"))
        return Usage(
            input_tokens=number(usage.get("prompt_tokens")),
            output_tokens=number(usage.get("completion_tokens")),
            cache_read_tokens=next((number(value) for value in cached if number(value)), 0),
            cache_write_tokens=number(into.get("cache_write_tokens")),
            reasoning_tokens=number(out.get("reasoning_tokens")),
        )


def _choices_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    choices = data.get("choices")
    if choices is None:
        return []
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise MalformedError(f"`choices` is no list of objects: `{str(choices)[:80]}`")
    return choices


def _reasoning_of(delta: dict[str, Any]) -> str:
    for key in ("reasoning_content", "reasoning", "reasoning_text"):
        value = delta.get(key)
        if isinstance(value, str) and value:
            return value
    content = delta.get("content")
    if isinstance(content, list):  # Mistral streams thinking as a part with texts inside
        inner = [part.get("thinking") for part in content if isinstance(part, dict)]
        return "".join(_content_of(texts) for texts in inner)
    details = delta.get("reasoning_details")
    texts = [
        detail.get("text") or detail.get("summary")
        for detail in (details if isinstance(details, list) else ())
        if isinstance(detail, dict)
    ]
    return "".join(text for text in texts if isinstance(text, str))


def _content_of(content: Any) -> str:
    """Text, also from a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(
        part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
    )
