"""Commands as JSON lines."""

import pytest

from agent_tui.engine.commands import (
    Answer,
    CommandBody,
    Continue,
    Decide,
    Interrupt,
    Pause,
    Settle,
    Submit,
)
from agent_tui.engine.types import Decision, InputKind
from agent_tui.headless.orders import OrderError, parse


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ('{"type": "prompt", "text": "go"}', Submit(text="go")),
        ('{"type": "steer", "text": "no", "now": true}', Submit(text="no", kind=InputKind.STEER, now=True)),
        ('{"type": "queue", "text": "then"}', Submit(text="then", kind=InputKind.QUEUE)),
        ('{"type": "answer", "id": "q1", "text": "blue"}', Answer(question_id="q1", text="blue")),
        ('{"type": "answer", "id": "q1"}', Answer(question_id="q1", text=None)),
        (
            '{"type": "decide", "id": "a1", "decision": "deny", "digest": "d", "feedback": "why"}',
            Decide(approval_id="a1", decision=Decision.DENY, digest="d", feedback="why"),
        ),
        (
            '{"type": "decide", "id": "a1", "decision": "once", "digest": "d", "grant": "network"}',
            Decide(approval_id="a1", decision=Decision.ONCE, digest="d", grant="network"),
        ),
        ('{"type": "settle", "id": "l1", "choice": "keep"}', Settle(question_id="l1", choice="keep")),
        ('{"type": "interrupt"}', Interrupt()),
        ('{"type": "interrupt", "force": true}', Interrupt(force=True)),
        ('{"type": "pause"}', Pause()),
        ('{"type": "continue"}', Continue()),
    ],
)
def test_a_line_is_a_command(line: str, command: CommandBody) -> None:
    assert parse(line) == command


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[1]", "not an object"),
        ("{}", "unknown type `None`"),
        ('{"type": "shutdown"}', "unknown type `shutdown`"),
        ('{"type": "steer", "text": " "}', "`text` must be a text that is not empty"),
        ('{"type": "prompt", "text": 3}', "`text` must be a text that is not empty"),
        (
            '{"type": "decide", "id": "a", "decision": "yes", "digest": "d"}',
            "`decision` must be one of once,",
        ),
        ('{"type": "settle", "id": "l", "choice": "maybe"}', "`choice` must be one of keep,"),
    ],
)
def test_a_line_that_is_none_says_why(line: str, problem: str) -> None:
    with pytest.raises(OrderError) as caught:
        parse(line)
    assert problem in str(caught.value)
