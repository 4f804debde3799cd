"""Whatever is in the view, the body is one that the strictest provider takes, and it only grows."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui.models.base import ModelRequest
from agent_tui.models.catalog import Quirks
from agent_tui.models.route import find_route
from agent_tui.models.router import dialect_of
from context.items import (
    CallPart,
    Image,
    ModelOrigin,
    NoticeItem,
    Origin,
    Part,
    ReasoningPart,
    ResponseItem,
    ResultItem,
    StopReason,
    TextPart,
    UserItem,
)
from context.view import ExchangeUnit, FinalUnit, NoticeUnit, SummaryUnit, Unit, UserUnit
from tests.model_server import checks
from tests.models.views import DIALECTS, call, exchange, final, notice, origin, request, thought, user

SIGNED = '{"type":"thinking","thinking":"hm","signature":"s1"}'
SEALED = '{"type":"reasoning","id":"rs1","summary":[],"encrypted_content":"e1"}'
RAW = {"messages": SIGNED, "responses": SEALED, "chat": None}


def body_of(dialect: str, asked: ModelRequest, **table: Any) -> bytes:
    providers = {"test": {"api": dialect, "base_url": "http://127.0.0.1:1/v1", **table}}
    route = find_route("test/m", providers=providers)
    return dialect_of(route.api).build(asked, route.info, route.quirks).body


def sent(dialect: str, asked: ModelRequest, **table: Any) -> Any:
    body = json.loads(body_of(dialect, asked, **table))
    return body["input"] if dialect == "responses" else body["messages"]


def breaches(dialect: str, body: bytes) -> list[str]:
    issued = {
        "encrypted:e1": {"model": "m", "summary": [], "next": ""},
        "signed:s1": {"model": "m", "block": json.loads(SIGNED)},
    }
    found = checks.check(dialect, body, options={}, issued=issued)
    return [breach for breach in found if "not followed by what it led to" not in breach]


# --- any view ----------------------------------------------------------------------------------

texts = st.text(max_size=12) | st.sampled_from(["", "  \n", "nul \0", "half \ud83d", "ünï ✓", "ok"])
arguments = st.sampled_from(
    [
        '{"cmd":"ls"}',
        "{",
        "",
        "5",
        '"{\\"a\\":1}"',
        '{"a":"\\u0000\\ud800"}',
        "[1]",
        '{"b": 1, "a": "é"}',
        "nul\0",
    ]
)
idents = st.sampled_from(["", "call_1", "exec_command:0", "call_1_2", "ä" * 9, "x" * 80, "a\0b"])
names = st.sampled_from(["exec_command", "", "no such tool!", "n" * 99])
images = st.lists(st.just(Image(media_type="image/png", data="AA==", name="a.png")), max_size=1).map(tuple)
notices = st.lists(texts.map(lambda text: NoticeItem(id="n", text=text)), max_size=2).map(tuple)


@st.composite
def responses_of(draw: st.DrawFn, dialect: str, calls: int) -> ResponseItem:
    parts: list[Part] = []
    made_by = draw(st.sampled_from([origin(dialect), origin(dialect, "other"), origin("chat", "x", "y")]))
    if draw(st.booleans()):
        parts.append(ReasoningPart(text=draw(texts), raw=RAW[dialect] if made_by.model == "m" else None))
    parts += [TextPart(text=text) for text in draw(st.lists(texts, max_size=2))]
    for number in range(calls):
        parts.append(
            CallPart(
                call_id=f"c{number}",
                provider_id=draw(idents),
                tool=draw(names),
                arguments=draw(arguments),
            )
        )
    stop = draw(st.sampled_from(list(StopReason)))
    return ResponseItem(id="r", step_id="s", parts=tuple(parts), origin=made_by, stop=stop)


@st.composite
def units_of(draw: st.DrawFn, dialect: str) -> Unit:
    kind = draw(st.sampled_from(["user", "exchange", "final", "notice"]))
    if kind == "user":
        spoken_as = draw(st.sampled_from(list(Origin)))
        item = UserItem(id="u", text=draw(texts), origin=spoken_as, images=draw(images))
        return UserUnit(item=item, notices=draw(notices))
    if kind == "notice":
        return NoticeUnit(notice=NoticeItem(id="n", text=draw(texts)))
    if kind == "final":
        return FinalUnit(response=draw(responses_of(dialect, 0)), notices=draw(notices))
    response = draw(responses_of(dialect, draw(st.integers(1, 3))))
    results = tuple(
        ResultItem(
            id="o",
            response_item_id="r",
            call_id=made.call_id,
            text=draw(texts),
            is_error=draw(st.booleans()),
            images=draw(images),
        )
        for made in response.calls
    )
    return ExchangeUnit(response=response, results=results, notices=draw(notices))


def speakable(unit: Unit) -> bool:
    return isinstance(unit, UserUnit) and bool(unit.item.text.strip() or unit.item.images)


many = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@pytest.mark.parametrize("dialect", DIALECTS)
@many
@given(data=st.data())
def test_any_view_makes_a_valid_request(dialect: str, data: st.DataObject) -> None:
    middle = data.draw(st.lists(units_of(dialect), max_size=6))
    summary = data.draw(st.lists(st.just(SummaryUnit(id="s", text="before")), max_size=1))
    asked = request(*summary, user("first"), *middle, user("last"), project=data.draw(texts))
    assert breaches(dialect, body_of(dialect, asked)) == []


@pytest.mark.parametrize("dialect", DIALECTS)
@many
@given(data=st.data())
def test_each_request_is_a_prefix_of_the_next(dialect: str, data: st.DataObject) -> None:
    units = [user("first"), *data.draw(st.lists(units_of(dialect), max_size=6)), user("last")]
    ends = [
        index + 1 for index, unit in enumerate(units) if speakable(unit) or isinstance(unit, ExchangeUnit)
    ]
    bodies = [flat(dialect, body_of(dialect, request(*units[:end]))) for end in ends]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter)


def flat(dialect: str, body: bytes) -> str:
    """The sent bytes without what closes them; marks move and neighbours join in `messages`, so by block."""
    if dialect != "messages":
        return body.decode().removesuffix("]}")
    value = json.loads(body)
    blocks = [
        (m["role"], {k: v for k, v in b.items() if k != "cache_control"})
        for m in value["messages"]
        for b in m["content"]
    ]
    rest = {key: item for key, item in value.items() if key != "messages"}
    return json.dumps([rest, *blocks]).removesuffix("]")


# --- single rules ------------------------------------------------------------------------------


def test_chat_keeps_an_exchange_together_and_notices_after_it() -> None:
    unit = exchange(TextPart(text="Hi"), call("a"), call("b"), results=["1", "2"], notices=["budget"])
    asked = request(user("go"), unit, user("also", origin=Origin.STEER), project="Use tabs.")
    assert [(m["role"], m.get("content")) for m in sent("chat", asked)] == [
        ("system", "You are a test."),
        ("user", "<project-instructions>\nUse tabs.\n</project-instructions>"),
        ("user", "go"),
        ("assistant", "Hi"),
        ("tool", "1"),
        ("tool", "2"),
        ("user", "<notice>\nbudget\n</notice>"),
        ("user", "also"),
    ]


def test_messages_put_notices_and_steers_after_the_results() -> None:
    unit = exchange(call("a"), call("b"), results=["1", ""], notices=["budget"])
    messages = sent("messages", request(user("go"), unit, user("also", origin=Origin.STEER)))
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block.get("text", block.get("content")) for block in messages[2]["content"]] == [
        "1",
        "(no output)",
        "<notice>\nbudget\n</notice>",
        "also",
    ]


def call_ids(dialect: str, made_by: str) -> list[str]:
    """What a dialect sends for two calls with one id, given by a model of `made_by`."""
    twins = [exchange(call(name, provider_id="exec:0"), made_by=origin(made_by)) for name in ("c1.1", "c2.1")]
    body = sent(dialect, request(user("go"), *twins))
    if dialect == "chat":
        return [m["tool_call_id"] for m in body if m["role"] == "tool"]
    if dialect == "responses":
        return [i["call_id"] for i in body if i["type"] == "function_call_output"]
    return [b["tool_use_id"] for m in body for b in m["content"] if b["type"] == "tool_result"]


def test_equal_ids_are_told_apart_in_every_dialect() -> None:
    assert call_ids("chat", "chat") == ["exec:0", "exec:0_2"]
    assert call_ids("responses", "responses") == ["exec_0", "exec_0_2"]
    assert call_ids("messages", "messages") == ["exec_0", "exec_0_2"]


def test_ids_of_another_model_are_replaced_by_our_own() -> None:
    assert call_ids("chat", "responses") == ["c1.1", "c2.1"]
    assert call_ids("responses", "messages") == ["c1_1", "c2_1"]
    assert call_ids("messages", "chat") == ["c1_1", "c2_1"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_bad_arguments_travel_as_an_empty_object(dialect: str) -> None:
    text = body_of(dialect, request(user("go"), exchange(call("a", '{"cmd": ls"}')))).decode()
    assert "cmd" not in text


def test_good_arguments_travel_as_the_model_wrote_them() -> None:
    written = '{ "b": 1,  "a": "é" }'
    messages = sent("chat", request(user("go"), exchange(call("a", written))))
    assert messages[-2]["tool_calls"][0]["function"]["arguments"] == written


def test_reasoning_goes_back_inside_the_running_turn_where_it_is_wanted() -> None:
    old = exchange(thought("old"), call("a"))
    new = exchange(thought("new"), call("b"))
    units = (user("one"), old, final("done"), user("two"), new)
    wanted = sent("chat", request(*units), quirks={"reasoning_back": "reasoning_content"})
    assert [m["reasoning_content"] for m in wanted if "reasoning_content" in m] == ["new"]
    assert not any("reasoning_content" in m for m in sent("chat", request(*units)))


def test_reasoning_details_go_back_as_they_came() -> None:
    raw = '[{"type":"reasoning.encrypted","data":"x"}]'
    unit = exchange(thought("", raw=raw), call("a"))
    messages = sent("chat", request(user("go"), unit), quirks={"reasoning_back": "reasoning_details"})
    assert messages[-2]["reasoning_details"] == json.loads(raw)


def test_sealed_reasoning_is_sent_only_before_what_it_led_to() -> None:
    made_by = origin("responses")
    both = exchange(thought("", raw=SEALED), call("a"), made_by=made_by)
    alone = FinalUnit(
        response=ResponseItem(id="r", step_id="s", parts=(thought("", raw=SEALED),), origin=made_by)
    )
    items = sent("responses", request(user("go"), alone, both))
    assert [item["type"] for item in items] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert items[1] == {"type": "reasoning", "summary": [], "encrypted_content": "e1"}


def test_thinking_is_dropped_for_another_model_and_the_budget_with_it() -> None:
    options = {"models": {"m": {"max_output": 20_000, "quirks": {"effort": "budget"}}}}
    own = exchange(thought("hm", raw=SIGNED), call("a"), made_by=origin("messages"))
    other = exchange(thought("hm", raw=SIGNED), call("b"), made_by=origin("messages", "x"))
    with_own = json.loads(body_of("messages", request(user("go"), own, effort="high"), **options))
    with_other = json.loads(body_of("messages", request(user("go"), own, other, effort="high"), **options))
    assert with_own["thinking"] == {"type": "enabled", "budget_tokens": 16_384}
    assert "thinking" not in with_other
    later = request(user("go"), other, final("done"), user("next"), effort="high")
    assert "thinking" in json.loads(body_of("messages", later, **options))


def test_thinking_alone_is_no_message() -> None:
    parts = (thought("hm", raw=SIGNED), TextPart(text=" "))
    alone = FinalUnit(response=ResponseItem(id="r", step_id="s", parts=parts, origin=origin("messages")))
    messages = sent("messages", request(user("go"), alone, user("again")))
    assert [message["role"] for message in messages] == ["user"]


def test_effort_of_an_adaptive_model() -> None:
    body = json.loads(
        body_of("messages", request(user("go"), effort="minimal", output_schema='{"type":"object"}'))
    )
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"]["effort"] == "low"
    assert body["output_config"]["format"]["schema"] == {"type": "object"}


def marks(body: bytes) -> list[int]:
    blocks = [block for message in json.loads(body)["messages"] for block in message["content"]]
    return [index for index, block in enumerate(blocks) if "cache_control" in block]


def test_cache_marks_are_few_and_close_to_the_tail() -> None:
    units = [exchange(call(f"c{number}")) for number in range(40)]
    body = body_of("messages", request(user("go"), *units))
    last = len([b for m in json.loads(body)["messages"] for b in m["content"]]) - 1
    assert marks(body) == [last - 15, last]
    value = json.loads(body)
    assert "cache_control" in value["system"][0] and "cache_control" in value["tools"][-1]


def test_a_mark_stays_on_the_summary() -> None:
    units = [exchange(call(f"c{number}")) for number in range(40)]
    body = body_of("messages", request(SummaryUnit(id="s", text="before"), user("go"), *units))
    last = len([b for m in json.loads(body)["messages"] for b in m["content"]]) - 1
    assert marks(body) == [0, last]


def test_after_a_step_of_many_calls_a_mark_still_reaches_the_one_before() -> None:
    wide = exchange(*(call(f"c{number}") for number in range(20)))
    body = body_of("messages", request(SummaryUnit(id="s", text="before"), user("go"), wide))
    assert marks(body) == [0, 26, 41]


def test_pictures_of_results_follow_the_results() -> None:
    picture = Image(media_type="image/png", data="AA==", name="a.png")
    unit = exchange(call("a"))
    shown = ExchangeUnit(
        response=unit.response,
        results=(ResultItem(id="o", response_item_id="r", call_id="a", text="1x1", images=(picture,)),),
    )
    able = {"models": {"m": {"images": True}}}
    chat = sent("chat", request(user("go"), shown), **able)
    assert [m["role"] for m in chat[-3:]] == ["assistant", "tool", "user"]
    assert chat[-1]["content"][1]["image_url"]["url"] == "data:image/png;base64,AA=="
    blind = body_of("chat", request(user("go"), shown)).decode()
    assert "AA==" not in blind and "reads text only" in blind
    for dialect in DIALECTS:
        assert breaches(dialect, body_of(dialect, request(user("go"), shown), **able)) == []


def test_quirks_of_single_vendors() -> None:
    unit = exchange(call("a", provider_id="call_abc"), notices=["n"])
    messages = sent("chat", request(user("go"), unit), quirks={"bridge": True, "call_ids": "alnum9"})
    assert [m["role"] for m in messages[-3:]] == ["tool", "assistant", "user"]
    assert len(messages[-3]["tool_call_id"]) == 9 and messages[-3]["tool_call_id"].isalnum()
    own = {"max_tokens_field": "max_completion_tokens", "effort": "reasoning_object", "cache_key": True}
    asked = request(user("go"), effort="low", max_output_tokens=5, cache_key="s")
    body = json.loads(body_of("chat", asked, quirks=own))
    assert (body["max_completion_tokens"], body["reasoning"], body["prompt_cache_key"]) == (
        5,
        {"effort": "low"},
        "s",
    )
    assert Quirks().cache_key is False


def test_the_same_notice_reads_the_same_everywhere() -> None:
    unit = NoticeUnit(notice=notice("hello"))
    texts_sent = {
        body_of(dialect, request(user("go"), unit)).decode().count("<notice>\\nhello") for dialect in DIALECTS
    }
    assert texts_sent == {1}
    assert ModelOrigin(provider="p", model="m", api="chat").api == "chat"
