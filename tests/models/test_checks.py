"""The model server's own judgement: each rule of the list in the hard cases has a request that breaks it."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.model_server import checks

Body = dict[str, Any]
USE = {"type": "tool_use", "id": "a", "name": "t", "input": {}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s1"}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
CALL = {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}

GOOD: dict[str, Body] = {
    "chat": {
        "model": "m",
        "stream": True,
        "tools": [{"type": "function", "function": {"name": "t", "parameters": {}}}],
        "messages": [
            {"role": "system", "content": "rules"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ],
    },
    "responses": {
        "model": "m",
        "stream": True,
        "store": False,
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "reasoning", "summary": [], "encrypted_content": "e1"},
            {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "ok"},
        ],
    },
    "messages": {
        "model": "m",
        "stream": True,
        "max_tokens": 10,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [THOUGHT, USE]},
            {"role": "user", "content": [RESULT, {"type": "text", "text": "and"}]},
        ],
    },
}
ISSUED = {
    "encrypted:e1": {"model": "m", "summary": [], "next": "a"},
    "signed:s1": {"model": "m", "block": THOUGHT},
    "use:a": {"model": "m", "blocks": [THOUGHT]},
}


def judge(dialect: str, body: Body, **options: Any) -> list[str]:
    return checks.check(dialect, json.dumps(body).encode(), options=options, issued=ISSUED)


@pytest.mark.parametrize("dialect", GOOD)
def test_a_good_request_passes(dialect: str) -> None:
    assert judge(dialect, GOOD[dialect]) == []


def put(*path: Any, value: Any) -> Callable[[Body], None]:
    def change(body: Body) -> None:
        for key in path[:-1]:
            body = body[key]
        body[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Body], None]:
    def change(body: Body) -> None:
        for key in path[:-1]:
            body = body[key]
        del body[path[-1]]

    return change


def add(*path: Any, at: int, value: Any) -> Callable[[Body], None]:
    def change(body: Body) -> None:
        for key in path:
            body = body[key]
        body.insert(at, value)  # type: ignore[attr-defined]  # a list by now

    return change


SPOKEN = {"role": "user", "content": "wait"}


def choose_without_tools(body: Body) -> None:
    del body["tools"]
    body["tool_choice"] = "none"


CASES: list[tuple[str, str, Callable[[Body], None], str]] = [
    ("chat", "no result", drop("messages", 3), "have no result"),
    ("chat", "another role before the result", add("messages", at=3, value=SPOKEN), "before the results"),
    (
        "chat",
        "a result too many",
        add("messages", at=4, value=GOOD["chat"]["messages"][3]),
        "expected `None`",
    ),
    ("chat", "an id twice", put("messages", 2, "tool_calls", value=[CALL, CALL]), "used twice"),
    ("chat", "blank text", put("messages", 1, "content", value=" \n"), "blank text"),
    ("chat", "neither text nor call", drop("messages", 2, "tool_calls"), "neither text nor calls"),
    (
        "chat",
        "bad arguments",
        put("messages", 2, "tool_calls", 0, "function", "arguments", value="{"),
        "JSON object",
    ),
    (
        "chat",
        "a list as arguments",
        put("messages", 2, "tool_calls", 0, "function", "arguments", value="[]"),
        "JSON object",
    ),
    ("chat", "NUL", put("messages", 1, "content", value="a\0"), "NUL"),
    ("chat", "a lone surrogate", put("messages", 1, "content", value="\ud800"), "surrogate"),
    ("chat", "an unknown parameter", put("temprature", value=1), "unknown parameter"),
    (
        "chat",
        "a late system text",
        add("messages", at=2, value={"role": "system", "content": "x"}),
        "not first",
    ),
    ("chat", "no tools but a choice", choose_without_tools, "`tool_choice` without tools"),
    (
        "chat",
        "assistant last",
        add("messages", at=4, value={"role": "assistant", "content": "x"}),
        "last message",
    ),
    ("responses", "no result", drop("input", 3), "have no result"),
    ("responses", "another result", put("input", 3, "call_id", value="b"), "answers `b`"),
    (
        "responses",
        "a result of another family",
        put("input", 3, "type", value="custom_tool_call_output"),
        "expected",
    ),
    ("responses", "stored", put("store", value=True), "`store` must be false"),
    ("responses", "reasoning alone", drop("input", slice(2, 4)), "not followed by what it led to"),
    ("responses", "reasoning of another model", put("model", value="y"), "made by `m`"),
    (
        "responses",
        "reasoning that was changed",
        put("input", 1, "encrypted_content", value="e2"),
        "was changed",
    ),
    (
        "responses",
        "reasoning with another summary",
        put("input", 1, "summary", value=[1]),
        "summary was changed",
    ),
    ("responses", "a long id", put("input", 2, "call_id", value="x" * 65), "too long"),
    ("responses", "blank output", put("input", 3, "output", value=""), "blank output"),
    (
        "responses",
        "user before the result",
        add("input", at=3, value={"role": "user", "content": "x"}),
        "before the results",
    ),
    ("messages", "no result", drop("messages", 2), "have no result"),
    (
        "messages",
        "text before the result",
        add("messages", 2, "content", at=0, value={"type": "text", "text": "x"}),
        "first blocks",
    ),
    (
        "messages",
        "two of one role",
        add("messages", at=1, value=GOOD["messages"]["messages"][0]),
        "take turns",
    ),
    (
        "messages",
        "an empty text block",
        put("messages", 0, "content", 0, "text", value=""),
        "blank text block",
    ),
    ("messages", "a colon in an id", put("messages", 1, "content", 1, "id", value="a:0"), "malformed"),
    (
        "messages",
        "thinking changed",
        put("messages", 1, "content", 0, "thinking", value="hmm"),
        "was changed",
    ),
    ("messages", "thinking of another model", put("model", value="y"), "goes to `y`"),
    (
        "messages",
        "thinking left out",
        drop("messages", 1, "content", 0),
        "thinking before call `a` is missing",
    ),
    ("messages", "input as text", put("messages", 1, "content", 1, "input", value="{}"), "bad name or input"),
    ("messages", "no limit", drop("max_tokens"), "`max_tokens` is missing"),
    (
        "messages",
        "a budget above the limit",
        put("thinking", value={"type": "enabled", "budget_tokens": 2000}),
        "budget",
    ),
    (
        "messages",
        "five marks",
        put("system", value=[{"type": "text", "text": "x", "cache_control": {}}] * 5),
        "5 cache marks",
    ),
]


@pytest.mark.parametrize(
    ("dialect", "name", "change", "breach"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES]
)
def test_a_broken_rule_is_found(dialect: str, name: str, change: Callable[[Body], None], breach: str) -> None:
    body = copy.deepcopy(GOOD[dialect])
    change(body)
    found = judge(dialect, body)
    assert any(breach in line for line in found), found


@pytest.mark.parametrize("dialect", GOOD)
def test_size_and_promised_texts_are_checked(dialect: str) -> None:
    assert any("window" in line for line in judge(dialect, GOOD[dialect], window=10))
    assert any("missing" in line for line in judge(dialect, GOOD[dialect], must_contain=["Use tabs."]))
    assert judge(dialect, GOOD[dialect], window=10_000, must_contain=["go"]) == []
