"""Title and notifications: what is said, when, and to whom not."""

from collections.abc import Callable

import pytest

from agent_tui.engine import events
from agent_tui.engine.types import EndReason
from agent_tui.tui.notify import Notifier, sequence
from agent_tui.tui.state import Asked, State
from tests.test_outstanding import TWO

TERMINALS = ("TMUX", "TERM_PROGRAM", "TERM", "WT_SESSION", "VTE_VERSION")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that takes OSC 9."""
    for name in TERMINALS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM_PROGRAM", "WezTerm")


def asked() -> Asked:
    event = events.QuestionAsked(question_id="q", call_id="c", text="rm -rf /?", options=(), free_text=True)
    return Asked(event=event)


def told(
    *moments: tuple[State | None, float], focused: bool | None = False, key_at: float = 0.0
) -> list[str]:
    """What is written for a session that goes through these states, without the escape codes."""
    written: list[str] = []
    due: list[tuple[float, Callable[[], None]]] = []
    clock = [0.0]
    notifier = Notifier("slugkit", written.append, lambda s, do: due.append((clock[0] + s, do)))
    notifier.focused, notifier.key_at = focused, key_at
    for state, now in [*moments, (None, float("inf"))]:
        while due and due[0][0] <= now:
            due.pop(0)[1]()
        if state is not None:
            clock[0] = now
            notifier.update(state, now)
    return [text.replace("\x1b]2;", "title ").replace("\x1b]9;", "").rstrip("\x07") for text in written]


def working(since: float = 100.0) -> State:
    return State(busy=True, turn_started_at=since)


def ended(reason: EndReason = EndReason.COMPLETED, files: int = 2, since: float = 100.0) -> State:
    state = State(ended=reason, ended_files=files, turn_started_at=since)
    for body in TWO:  # of the whole session
        state.changed.take(body)
    return state


def test_a_prompt_is_told_once_and_names_nothing_of_it() -> None:
    waits = State(asked=[asked()])
    assert told((State(), 100.0), (waits, 101.0), (waits, 150.0)) == [
        "title slugkit",
        "agent-tui: slugkit needs your approval",
        "title ! slugkit needs you",
    ]


def test_a_long_turn_is_told_when_it_is_over() -> None:
    assert told((working(100.0), 100.0), (ended(), 125.0)) == [
        "title slugkit working",
        "agent-tui: slugkit is done (2 files)",
        "title slugkit done",
    ]


def test_a_short_turn_is_not_told() -> None:
    assert told((working(100.0), 100.0), (ended(), 105.0)) == ["title slugkit working", "title slugkit"]


@pytest.mark.parametrize("reason", [each for each in EndReason if not each.startswith("completed")])
def test_a_stop_is_told_however_short_and_never_as_done(reason: EndReason) -> None:
    found = told((working(), 100.0), (ended(reason), 101.0))
    assert found[1].startswith("agent-tui: slugkit stopped: ") and found[2] == "title ! slugkit stopped"


def test_a_stop_names_its_cause() -> None:
    found = told((working(), 100.0), (ended(EndReason.MODEL_UNAVAILABLE), 101.0))
    assert found[1] == "agent-tui: slugkit stopped: provider down"


def test_the_end_of_a_turn_whose_begin_was_not_drawn_is_told() -> None:
    found = told((State(), 99.0), (ended(EndReason.MODEL_REJECTED), 100.5))
    assert found[1:] == ["agent-tui: slugkit stopped: request refused", "title ! slugkit stopped"]


def test_the_title_changes_at_most_once_a_second_to_the_newest() -> None:
    waits = State(busy=True, turn_started_at=100.0, asked=[asked()])
    moments = [(working(), 100.0), (waits, 100.2), (working(), 100.4), (waits, 100.6), (working(), 105.0)]
    found = told(*moments, focused=True)
    assert found == ["title slugkit working", "title ! slugkit needs you", "title slugkit working"]
    assert told(*moments[:3], focused=True) == ["title slugkit working"]


def test_the_title_is_said_again_once_another_program_gave_the_terminal_back() -> None:
    written: list[str] = []
    notifier = Notifier("slugkit", written.append, lambda _, do: do())
    notifier.update(State(), 100.0)
    notifier.update(State(), 102.0)
    notifier.came_back(State(), 103.0)
    assert written == ["\x1b]2;slugkit\x07"] * 2


@pytest.mark.parametrize(("focused", "key_at", "said"), [(True, 0.0, 0), (None, 95.0, 0), (None, 80.0, 1)])
def test_who_looks_is_not_told(focused: bool | None, key_at: float, said: int) -> None:
    found = told((State(asked=[asked()]), 100.0), focused=focused, key_at=key_at)
    assert sum(text.startswith("agent-tui:") for text in found) == said


def test_two_within_five_seconds_are_one() -> None:
    one, two = State(asked=[asked()]), State(asked=[asked(), asked()])
    found = told((one, 100.0), (two, 103.0), (State(), 104.0), (one, 110.0))
    assert sum(text.startswith("agent-tui:") for text in found) == 2


def test_a_prompt_right_behind_another_event_is_told() -> None:
    found = told((working(), 100.0), (ended(EndReason.COST_UNKNOWN), 101.0), (State(asked=[asked()]), 103.0))
    assert [text for text in found if text.startswith("agent-tui:")] == [
        "agent-tui: slugkit stopped: limit reached",
        "agent-tui: slugkit needs your approval",
    ]


@pytest.mark.parametrize(
    ("environment", "written"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b]9;hi\x07"),
        ({"WT_SESSION": "1"}, "\x1b]9;hi\x07"),
        ({"VTE_VERSION": "7600"}, "\x1b]777;notify;agent-tui;hi\x07"),
        ({"TERM": "xterm-256color"}, "\x07"),
        ({"TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/t,1,0"}, "\x07"),
    ],
)
def test_each_terminal_gets_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], written: str
) -> None:
    monkeypatch.delenv("TERM_PROGRAM")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert sequence("hi") == written


@pytest.mark.parametrize(
    ("around", "written"),
    [
        (None, "\x07"),  # nothing is let through
        ("xterm-256color iTerm2 3.5.0", "\x1bPtmux;\x1b\x1b]9;hi\x07\x1b\\"),
        ("xterm-kitty", "\x1bPtmux;\x1b\x1b]9;hi\x07\x1b\\"),
        ("xterm-256color VTE(7600)", "\x1bPtmux;\x1b\x1b]777;notify;agent-tui;hi\x07\x1b\\"),
        ("xterm-256color", "\x07"),
    ],
)
def test_tmux_passes_on_to_the_terminal_around_it(
    monkeypatch: pytest.MonkeyPatch, around: str | None, written: str
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/t,1,0")
    assert sequence("hi", around) == written
