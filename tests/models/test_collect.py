"""Case A33: the same two calls, from servers that number and name them in their own way."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.models.base import TextDelta
from agent_tui.models.collect import CallCollector, TextFlow, ThinkTags, is_cut

ONE, TWO = '{"cmd":"echo 1"}', '{"cmd":"echo 2"}'


def piece(name: str | None = None, arguments: Any = "", **fields: Any) -> dict[str, Any]:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {**fields, "function": function}


def halves(name: str, arguments: str, first: dict[str, Any], later: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        piece(name, "", **first),
        piece(None, arguments[:6], **later),
        piece(None, arguments[6:], **later),
    ]


E = "exec_command"


def streams(one: str, two: str) -> dict[str, list[dict[str, Any]]]:
    """Two calls with these arguments, in every shape that was met."""
    return {
        "id only in the first piece": [
            *halves(E, one, {"index": 0, "id": "a"}, {"index": 0}),
            *halves(E, two, {"index": 1, "id": "b"}, {"index": 1}),
        ],
        "no index": [*halves(E, one, {"id": "a"}, {}), *halves(E, two, {"id": "b"}, {})],
        "no id": [*halves(E, one, {"index": 0}, {"index": 0}), *halves(E, two, {"index": 1}, {"index": 1})],
        "no id and no index": [*halves(E, one, {}, {}), *halves(E, two, {}, {})],
        "index 0 for both": [
            *halves(E, one, {"index": 0, "id": "a"}, {"index": 0}),
            *halves(E, two, {"index": 0, "id": "b"}, {"index": 0}),
        ],
        "index 0 for both and no id": [
            *halves(E, one, {"index": 0}, {"index": 0}),
            *halves(E, two, {"index": 0}, {"index": 0}),
        ],
        "indexes 0 and 5": [
            *halves(E, one, {"index": 0, "id": "a"}, {"index": 0}),
            *halves(E, two, {"index": 5, "id": "b"}, {"index": 5}),
        ],
        "whole call in one piece": [piece(E, one, index=0, id="a"), piece(E, two, index=1, id="b")],
        "whole call in one piece, nothing else": [piece(E, one), piece(E, two)],
        "whole call in one piece, index 0": [piece(E, one, index=0, id="a"), piece(E, two, index=0, id="b")],
        "empty id in later pieces": [
            *halves(E, one, {"index": 0, "id": "a"}, {"index": 0, "id": ""}),
            *halves(E, two, {"index": 1, "id": "b"}, {"index": 1, "id": ""}),
        ],
        "id in each piece": [
            *halves(E, one, {"index": 0, "id": "a"}, {"index": 0, "id": "a"}),
            *halves(E, two, {"index": 1, "id": "b"}, {"index": 1, "id": "b"}),
        ],
        "id and name in each piece": [
            piece(E, one[:6], index=0, id="a"),
            piece(E, one[6:], index=0, id="a"),
            piece(E, two[:6], index=1, id="b"),
            piece(E, two[6:], index=1, id="b"),
        ],
        "name in each piece and no id": [
            piece(E, one[:6], index=0),
            piece(E, one[6:], index=0),
            piece(E, two[:6], index=1),
            piece(E, two[6:], index=1),
        ],
        "arguments missing or null": [
            {"index": 0, "id": "a", "function": {"name": E}},
            piece(None, None, index=0),
            piece(None, one, index=0),
            {"index": 1, "id": "b", "function": {"name": E, "arguments": None}},
            piece(None, two, index=1),
        ],
        "name split over two pieces": [
            piece("exec_", "", index=0, id="a"),
            piece("command", "", index=0),
            piece(None, one, index=0),
            piece("exec_", "", index=1, id="b"),
            piece("command", two, index=1),
        ],
        "no function at all in a piece": [
            piece(E, one, index=0, id="a"),
            {"index": 0},
            piece(E, two, index=1, id="b"),
        ],
        "arguments as an object": [
            piece(E, json.loads(one), index=0, id="a"),
            piece(E, json.loads(two), index=1, id="b"),
        ],
        "pieces of both calls mixed": [
            piece(E, "", index=0, id="a"),
            piece(E, "", index=1, id="b"),
            piece(None, two[:5], index=1),
            piece(None, one, index=0),
            piece(None, two[5:], index=1),
        ],
        "ids without index, mixed": [
            piece(E, one[:5], id="a"),
            piece(E, two[:5], id="b"),
            piece(None, one[5:], id="a"),
            piece(None, two[5:], id="b"),
        ],
    }


STREAMS = streams(ONE, TWO)


@pytest.mark.parametrize("name", STREAMS)
def test_two_calls_come_out_as_two_calls(name: str) -> None:
    collector = CallCollector()
    for entry in STREAMS[name]:
        collector.feed(entry)
    calls = list(collector.finish())
    assert [call.tool for call in calls] == [E, E]
    assert [call.arguments.replace(" ", "") for call in calls] == [ONE.replace(" ", ""), TWO.replace(" ", "")]
    assert len({call.provider_id for call in calls}) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"patch": "*** Begin', True),
        ('{"cmd": "ls"', True),
        ('{"cmd": ', True),
        ("{", True),
        ('{"a": [1, 2', True),
        ('{"a": tru', True),
        ('{"cmd": ls"}', False),
        ('{"cmd": "ls"}', False),
        ("", False),
        ("  ", False),
        ("5", False),
        ('"{\\"cmd\\": 1}"', False),
        ("{'cmd': 1}", False),
    ],
)
def test_cut_arguments_are_told_from_bad_ones(arguments: str, expected: bool) -> None:
    assert is_cut(arguments) is expected


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.booleans(), min_size=1))
def test_every_true_prefix_of_an_object_counts_as_cut(value: dict[str, Any]) -> None:
    import json

    whole = json.dumps(value)
    assert all(is_cut(whole[:end]) for end in range(1, len(whole)))


@pytest.mark.parametrize(
    ("answer", "reasoning", "text"),
    [
        ("<think>why</think>\n\nBecause", "why", "Because"),
        ("\n<thinking>why</thinking>Because", "why", "Because"),
        ("Because <think>not</think> so", "", "Because <think>not</think> so"),
        ("<think>never closed", "never closed", ""),
        ("<thin", "", "<thin"),
        ("<b>bold</b>", "", "<b>bold</b>"),
        ("<think></think>Because", "", "Because"),
        ("<think>a</b></think>c", "a</b>", "c"),
    ],
)
def test_think_tags_at_the_start_are_reasoning(answer: str, reasoning: str, text: str) -> None:
    for size in (1, 2, 3, 7, 100):
        tags = ThinkTags()
        got = [tags.feed(answer[start : start + size]) for start in range(0, len(answer), size)]
        got.append(tags.end())
        assert ("".join(r for r, _ in got), "".join(t for _, t in got)) == (reasoning, text), size


@given(st.text(max_size=20), st.integers(1, 5))
def test_halves_of_a_character_are_joined(text: str, size: int) -> None:
    units = text.encode("utf-16-le")
    chars = "".join(chr(int.from_bytes(units[i : i + 2], "little")) for i in range(0, len(units), 2))
    flow = TextFlow(TextDelta)
    parts = [part for start in range(0, len(chars), size) for part in flow.feed(chars[start : start + size])]
    assert "".join(part.text for part in parts) == flow.text == text
    assert [part.offset for part in parts] == [
        sum(len(before.text) for before in parts[:index]) for index in range(len(parts))
    ]
