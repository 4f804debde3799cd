"""Recorded odd streams: each file of `tests/fixtures/streams` is a documented shape of some server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.models.base import Completed, Failed, ModelError, ReasoningDelta, TextDelta
from agent_tui.models.remote import RemoteModel
from agent_tui.models.route import find_route
from agent_tui.models.router import dialect_of
from context.items import CallPart, OpaquePart, ReasoningPart, TextPart
from tests.models.views import request, user

STREAMS = Path(__file__).parents[1] / "fixtures" / "streams"


@dataclass
class FakeTransport:
    """Gives the chunks it was made with."""

    chunks: list[bytes]

    @asynccontextmanager
    async def post(self, body: bytes, *, idle_timeout_s: float) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._give()

    async def _give(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk

    def prepare(self) -> None:
        pass

    def redacted(self, error: ModelError) -> ModelError:
        return error

    async def aclose(self) -> None:
        pass


async def read(dialect: str, chunks: list[bytes]) -> dict[str, Any]:
    """What came out, as plain values: streamed text and reasoning, parts, stop, usage, or the failure."""
    table = {"test": {"api": dialect, "base_url": "http://127.0.0.1:1/v1"}}
    route = find_route("test/m", providers=table)
    model = RemoteModel(
        info=route.info,
        quirks=route.quirks,
        dialect=dialect_of(route.api),
        transport=FakeTransport(chunks),
    )
    parts = [part async for part in model.stream(request(user("go")))]
    last = parts[-1]
    streamed = "".join(part.text for part in parts if isinstance(part, TextDelta))
    thought = "".join(part.text for part in parts if isinstance(part, ReasoningDelta))
    assert not any(isinstance(part, Completed | Failed) for part in parts[:-1])
    if isinstance(last, Failed):
        return {"failed": str(last.error.kind), "window": last.error.context_window}
    assert isinstance(last, Completed)
    assert streamed == "".join(part.text for part in last.parts if isinstance(part, TextPart))
    return {
        "text": streamed,
        "reasoning": thought,
        "parts": [plain(part) for part in last.parts],
        "stop": str(last.stop),
        "usage": (last.usage.input_tokens, last.usage.output_tokens, last.usage.cache_read_tokens),
        "estimated": last.usage.estimated,
    }


def plain(part: Any) -> Any:
    match part:
        case TextPart(text=text):
            return text
        case ReasoningPart(text=text, raw=raw):
            return ("thought", text, raw)
        case CallPart(provider_id=ident, tool=tool, arguments=arguments):
            return (ident, tool, arguments)
        case OpaquePart(raw=raw):
            return ("opaque", raw)


DETAIL = '[{"type":"reasoning.text","text":"first think","index":0,"format":"x","signature":"sig"}]'
SEALED = (
    '{"type":"reasoning","id":"rs1","summary":[{"type":"summary_text","text":"one"},'
    '{"type":"summary_text","text":"two"}],"encrypted_content":"sealed"}'
)
CALL = ("call_1", "t", '{"a":1}')
USE = ("toolu_1", "t", '{"a":1}')
SIGNED = '{"type":"thinking","thinking":"one two","signature":"sign"}'
SEARCH = '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}'

EXPECTED: dict[str, dict[str, Any]] = {
    "chat/plain": {"text": "Hello", "stop": "end", "usage": (9, 2, 4), "estimated": False},
    "chat/crlf_comments_pings": {"text": "Héllo ✓", "stop": "end", "estimated": True},
    "chat/no_space_after_colon": {"text": "tight", "stop": "end"},
    "chat/no_done_mark": {"text": "over", "stop": "end"},
    "chat/no_finish_reason": {"text": "over", "stop": "end"},
    "chat/done_without_blank_line": {"text": "over", "stop": "end"},
    "chat/reasoning_content": {"reasoning": "first think", "text": "then talk"},
    "chat/reasoning_field": {"reasoning": "first think", "text": "then talk"},
    "chat/reasoning_details": {"parts": [("thought", "first think", DETAIL), "then talk"]},
    "chat/think_tags": {"reasoning": "first think", "text": "then talk"},
    "chat/content_parts": {"reasoning": "first think", "text": "then talk"},
    "chat/empty_deltas": {"text": "still here", "stop": "end"},
    "chat/usage_in_choice": {"usage": (5, 1, 3), "estimated": False},
    "chat/usage_cumulative": {"usage": (5, 3, 2), "estimated": False},
    "chat/groq_usage": {"usage": (5, 1, 0), "estimated": False},
    "chat/stop_with_calls": {"parts": [("a", "t", "{}")], "stop": "calls"},
    "chat/old_function_call": {"parts": [("call_1", "t", '{"a":1}')], "stop": "calls"},
    "chat/length_in_arguments": {"parts": [("a", "t", '{"patch": "*** Be')], "stop": "length"},
    "chat/tool_calls_but_cut_arguments": {"stop": "length"},
    "chat/bad_arguments": {"parts": [("a", "t", '{"cmd": ls"}')], "stop": "calls"},
    "chat/content_filter": {"text": "I", "stop": "refusal"},
    "chat/message_in_place_of_delta": {"text": "whole", "stop": "end"},
    "chat/error_object": {"failed": "unavailable"},
    "chat/error_event": {"failed": "overloaded"},
    "chat/overflow_error": {"failed": "context_overflow", "window": 32768},
    "chat/not_json": {"failed": "malformed"},
    "chat/not_an_object": {"failed": "malformed"},
    "chat/cut_in_text": {"failed": "cut"},
    "chat/cut_inside_an_event": {"failed": "cut"},
    "chat/empty": {"failed": "cut"},
    "chat/split_surrogates": {"text": "a😀b", "stop": "end"},
    "chat/whole_document": {"parts": ["whole", ("a", "t", "{}")], "stop": "calls", "usage": (5, 1, 0)},
    "chat/whole_error": {"failed": "unavailable"},
    "chat/whole_of_another_shape": {"failed": "malformed"},
    "chat/choices_of_another_shape": {"failed": "malformed"},
    "chat/second_choice_is_ignored": {"text": "yes"},
    "chat/eos_finish": {"text": "yes", "stop": "end"},
    "responses/plain": {"text": "Hello", "parts": ["Hello"], "stop": "end", "usage": (9, 2, 4)},
    "responses/reasoning_and_call": {
        "reasoning": "one\n\ntwo",
        "parts": [("thought", "one\n\ntwo", SEALED), CALL],
        "stop": "calls",
    },
    "responses/no_items_done": {
        "text": "Hello",
        "parts": [("thought", "one\n\ntwo", SEALED), "Hello", CALL],
        "stop": "calls",
    },
    "responses/deltas_alone": {"parts": ["Hello"], "stop": "end", "estimated": True},
    "responses/no_event_names": {"text": "Hello", "stop": "end"},
    "responses/incomplete": {"text": "Hello", "stop": "length"},
    "responses/filtered": {"stop": "refusal"},
    "responses/refusal": {"text": "I cannot", "stop": "end"},
    "responses/failed": {"failed": "rate_limit"},
    "responses/error_event": {"failed": "unavailable"},
    "responses/overflow": {"failed": "context_overflow", "window": None},
    "responses/cut": {"failed": "cut"},
    "responses/cut_before_completed": {"failed": "cut"},
    "responses/server_tool": {"text": "Hello", "stop": "end"},
    "responses/custom_tool": {"parts": [("call_2", "t", "raw text")], "stop": "calls"},
    "responses/no_usage": {"text": "Hello", "estimated": True},
    "responses/whole_document": {"parts": ["Hello", CALL], "stop": "calls"},
    "messages/plain": {"text": "Hello", "stop": "end", "usage": (9, 2, 3)},
    "messages/thinking_and_call": {"parts": [("thought", "one two", SIGNED), USE], "stop": "calls"},
    "messages/redacted_thinking": {
        "parts": [("thought", "", '{"type":"redacted_thinking","data":"xyz"}'), "Hello"]
    },
    "messages/unsigned_thinking": {"parts": [("thought", "hm", None), "Hello"]},
    "messages/call_without_arguments": {"parts": [("toolu_1", "t", "")], "stop": "calls"},
    "messages/input_in_the_start": {"parts": [("toolu_1", "t", '{"a": 1}')], "stop": "calls"},
    "messages/max_tokens_in_arguments": {"stop": "length"},
    "messages/refusal": {"stop": "refusal"},
    "messages/paused": {"parts": [("opaque", SEARCH)], "stop": "paused"},
    "messages/window_exceeded": {"stop": "length"},
    "messages/overloaded": {"failed": "overloaded"},
    "messages/cut": {"failed": "cut"},
    "messages/no_message_stop": {"text": "Hello", "stop": "end"},
    "messages/no_block_starts": {"text": "Hello", "stop": "end"},
    "messages/index_reused": {"parts": ["Hello", USE], "stop": "calls"},
    "messages/no_usage": {"text": "Hello", "estimated": True},
    "messages/cumulative_usage": {"usage": (80, 2, 30)},
    "messages/whole_document": {"parts": ["Hello", ("toolu_1", "t", '{"a": 1}')], "stop": "calls"},
    "chat/same_id_twice": {"parts": [("a", "t", '{"a":1}'), ("a", "t", '{"a":2}')], "stop": "calls"},
    "chat/no_ids": {"parts": [("call_1", "t", '{"a":1}'), ("call_2", "t", '{"a":2}')], "stop": "calls"},
    "chat/null_fields": {"parts": ["Hello"], "stop": "end", "usage": (9, 2, 0)},
    "chat/error_in_the_middle": {"failed": "unavailable"},
    "chat/error_in_a_choice": {"failed": "unavailable"},
    "chat/reasoning_in_both_fields": {"reasoning": "think", "text": "talk"},
    "chat/think_tag_split": {"reasoning": "first", "text": "then"},
    "chat/usage_zeros": {"text": "Hello", "estimated": True},
    "chat/usage_null": {"text": "Hello", "estimated": True},
    "chat/finish_twice": {"parts": ["Hello"], "stop": "end"},
    "chat/pretty_printed": {"parts": ["Hello"], "stop": "end"},
    "chat/byte_order_mark": {"parts": ["Hello"], "stop": "end"},
    "chat/cr_alone": {"parts": ["Hello"], "stop": "end"},
    "responses/same_id_twice": {
        "parts": [("call_1", "t", '{"a":1}'), ("call_1", "t", '{"a":2}')],
        "stop": "calls",
    },
    "responses/no_ids": {"parts": [("call_0", "t", '{"a":1}'), ("call_1", "t", '{"a":2}')], "stop": "calls"},
    "responses/arguments_in_fragments": {"parts": [CALL], "stop": "calls"},
    "responses/arguments_done_alone": {"parts": [CALL], "stop": "calls"},
    "responses/text_done_alone": {"parts": ["Hello"], "stop": "end"},
    "responses/comments_and_pings": {"parts": ["Hello"], "stop": "end"},
    "responses/done_mark_after": {"parts": ["Hello"], "stop": "end"},
    "responses/error_in_the_middle": {"failed": "unavailable"},
    "responses/error_object": {"failed": "unavailable"},
    "responses/whole_error": {"failed": "overloaded"},
    "responses/empty": {"failed": "cut"},
    "responses/not_json": {"failed": "malformed"},
    "responses/incomplete_in_arguments": {"stop": "length"},
    "responses/reasoning_text": {"reasoning": "raw thought", "text": "Hello", "stop": "end"},
    "messages/same_id_twice": {
        "parts": [("toolu_1", "t", '{"a":1}'), ("toolu_1", "t", '{"a":2}')],
        "stop": "calls",
    },
    "messages/no_ids": {"parts": [("call_0", "t", '{"a":1}'), ("call_1", "t", '{"a":2}')], "stop": "calls"},
    "messages/arguments_in_fragments": {"parts": [USE], "stop": "calls"},
    "messages/comments_and_pings": {"parts": ["Hel", "lo"], "stop": "end"},
    "messages/no_event_names": {"parts": ["Hello"], "stop": "end"},
    "messages/error_in_the_middle": {"failed": "unavailable"},
    "messages/rate_limit": {"failed": "rate_limit"},
    "messages/overflow": {"failed": "context_overflow", "window": 200000},
    "messages/whole_error": {"failed": "overloaded"},
    "messages/empty": {"failed": "cut"},
    "messages/not_json": {"failed": "malformed"},
    "messages/no_stop_reason": {"parts": ["Hello"], "stop": "end"},
    "messages/tool_use_but_cut_arguments": {"stop": "length"},
    "messages/stop_with_calls": {"parts": [USE], "stop": "calls"},
    "messages/stop_sequence": {"parts": ["Hello"], "stop": "end"},
    "messages/reasoning_between": {
        "parts": [
            ("thought", "a", '{"type":"thinking","thinking":"a","signature":"s1"}'),
            "Hello",
            ("thought", "b", '{"type":"thinking","thinking":"b","signature":"s2"}'),
            USE,
        ],
        "stop": "calls",
    },
}


def test_every_recorded_stream_has_an_expectation() -> None:
    assert {path.relative_to(STREAMS).with_suffix("").as_posix() for path in STREAMS.rglob("*.sse")} == set(
        EXPECTED
    )


def recorded(name: str) -> bytes:
    return (STREAMS / f"{name}.sse").read_bytes()


@pytest.mark.parametrize("name", EXPECTED)
async def test_a_recorded_stream_reads_as_it_should(name: str) -> None:
    got = await read(name.split("/", maxsplit=1)[0], [recorded(name)])
    assert {key: got.get(key) for key in EXPECTED[name]} == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
async def test_bytes_one_by_one_read_the_same(name: str) -> None:
    data = recorded(name)
    dialect = name.split("/", maxsplit=1)[0]
    assert await read(dialect, [data[i : i + 1] for i in range(len(data))]) == await read(dialect, [data])


@given(st.data())
async def test_splits_anywhere_read_the_same(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(EXPECTED)))
    whole = recorded(name)
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    edges = [0, *places, len(whole)]
    chunks = [whole[start:end] for start, end in pairwise(edges)]
    dialect = name.split("/")[0]
    assert await read(dialect, chunks) == await read(dialect, [whole])


@given(st.data())
async def test_a_stream_cut_anywhere_never_raises_and_never_counts_too_early(data: st.DataObject) -> None:
    name = data.draw(
        st.sampled_from(["chat/plain", "responses/reasoning_and_call", "messages/thinking_and_call"])
    )
    whole = recorded(name)
    end = data.draw(st.integers(0, len(whole) // 2))
    got = await read(name.split("/")[0], [whole[:end]])
    assert got.get("failed") in ("cut", "malformed")
