"""Text from others in every event and list of line mode: it is shown, and it moves and hides nothing."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from agent_tui.engine import events
from agent_tui.engine.types import Config, Decision
from agent_tui.plain import facts, questions
from agent_tui.plain.calls import Calls
from agent_tui.plain.retelling import Retelling
from agent_tui.plain.standing import Standing

BAD = "\x1b[2J\x1b]0;t\x07\x9b31m\u202ec\u2066\U000e0041\r\b"
HARMFUL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)


def made(kind: Any) -> Any:
    """A value of a type, with hostile text wherever text can be."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return made(next(each for each in inner if each is not NoneType))
    if origin is Literal:
        return inner[0]
    if origin in (tuple, list, Sequence):
        return tuple(made(each) for each in inner if each is not ...)
    if origin in (dict, Mapping):
        return {made(inner[0]): made(inner[1])}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{each.name: made(hints[each.name]) for each in fields(kind) if each.init})
    simple = {int: 1, float: 1.0, bool: True, Path: Path(BAD)}
    return simple.get(kind, BAD)


def assert_harmless(lines: Sequence[str]) -> None:
    assert not [line for line in lines if HARMFUL.search(line)]


@pytest.mark.parametrize("kind", get_args(events.Body), ids=lambda kind: kind.__name__)
def test_no_event_is_told_with_what_could_harm(kind: type, tmp_path: Path) -> None:
    body = made(kind)
    event = events.Event(seq=1, at=0.0, run_id="r1", body=body)
    told = Retelling()
    assert_harmless(told.lines([event]))
    standing = Standing(
        config=Config(workspace=tmp_path, state_dir=tmp_path, config_dir=tmp_path, model=None)
    )
    standing.take(body)
    assert_harmless([*standing.lines(), *standing.farewell()])
    calls = Calls()
    for each in (events.CallProposed, kind):
        calls.lines(made(each))
    assert_harmless([rest for _, rest in calls.under_way().values()])


@pytest.mark.parametrize("kind", [events.ApprovalAsked, events.QuestionAsked, events.LostResultAsked])
def test_no_question_is_put_with_what_could_harm(kind: type) -> None:
    question = made(kind)
    heading, body, known = questions.parts(question, 1, 1)
    assert_harmless([heading, *body, *known, *(choice.label for choice in questions.choices(question))])
    if isinstance(question, events.ApprovalAsked):
        offered = questions.grants(question)
        for decision in (Decision.RULE, Decision.DENY_RULE):
            assert_harmless(questions.rule_lines(question, decision, question.cwd))
        assert_harmless([*map(questions.grant_words, offered)])
        assert_harmless([line for each in offered for line in questions.grant_facts(question, each)])


_NAMES = (
    "id title workspace ended forked_from command state cwd tail signal rule scope action allows grant name"
)
ROW = dict.fromkeys(_NAMES.split(), BAD)
PLAN = {
    "conflicts": [{"path": BAD, "reason": BAD}],
    "operations": [{"action": BAD, "path": BAD, "detail": BAD}],
    "kept": [BAD],
    "uncovered": [{"path": BAD, "reason": BAD}],
    "head_moved": BAD,
}
POINT = {"id": BAD, "created_at": 0.0, "cause": {"phase": BAD, "summary": BAD}}
COSTS = {name: dict.fromkeys(
    ("requests", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost_usd"), 1
) for name in ("turn", BAD)} | {"models": {}}  # fmt: skip


@pytest.mark.parametrize(
    ("show", "data"),
    [
        (facts.text, BAD),
        (facts.spoken_diff, f"+{BAD}\n-{BAD}"),
        (facts.pairs, {BAD: {"value": BAD, "origin": BAD}, "more": BAD}),
        (facts.pairs, [{BAD: BAD}, BAD]),
        (facts.costs, COSTS),
        (facts.checkpoints, [POINT]),
        (facts.plan, PLAN),
        (facts.terminals, [ROW, ROW | {"state": "ended"}]),
        (facts.grants, [ROW]),
        (lambda data: [facts.session(data, everywhere=True), facts.offer(data)], ROW),
    ],
)
def test_no_fact_is_listed_with_what_could_harm(show: Callable[[Any], Sequence[str]], data: object) -> None:
    assert_harmless(show(data))
