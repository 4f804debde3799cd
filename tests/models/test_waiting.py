"""Waiting for a provider in the interface: the wait is shown, Esc ends it (A37, A38)."""

from tests.e2e.screen import Screen, start
from tests.model_server.fixture import ModelServer
from tests.program import Program


def ask(screen: Screen, text: str, *, where: str = "ready") -> None:
    screen.shows(where)
    screen.say(text)


def test_a_wait_is_shown_and_escape_ends_it(program: Program, model_server: ModelServer) -> None:  # A37
    limit = {
        "status": 429,
        "headers": {"retry-after": "100"},
        "body": {"error": {"message": "slow down, friend"}},
    }
    model_server.script([limit, {"text": "here again"}])
    with start(program, model_server) as screen:
        ask(screen, "go")
        screen.shows("slow down, friend", "retry")
        screen.type("\x1b")
        screen.shows("interrupted by you")
        ask(screen, "once more", where="paused")
        screen.shows("here again", "● done")
        screen.leave()
    assert len(model_server.requests) == 2


def test_a_wait_too_long_to_sit_out_is_told_at_once(
    program: Program, model_server: ModelServer
) -> None:  # A37
    body = {"error": {"message": "come back in twenty minutes"}}
    model_server.script(
        [{"status": 429, "headers": {"retry-after": "1152"}, "body": body}, {"text": "here again"}]
    )
    with start(program, model_server) as screen:
        ask(screen, "go")
        screen.shows("come back in twenty minutes")
        ask(screen, "once more", where="paused")
        screen.shows("here again", "● done")
        screen.leave()


def test_escape_ends_an_answer_that_went_silent(program: Program, model_server: ModelServer) -> None:  # A38
    model_server.script(
        [
            {"text": "I begin to say this.", "piece": 5, "cut": "text", "stall": True},
            {"text": "All of it."},
        ]
    )
    with start(program, model_server) as screen:
        ask(screen, "go")
        screen.shows("I begin")
        screen.type("\x1b")
        screen.shows("interrupted by you")
        ask(screen, "once more", where="paused")
        screen.shows("All of it.", "● done")
        screen.leave()
    sent = model_server.requests[-1].body.decode()
    assert "I begin" in sent and "interrupted" in sent.lower()


def test_a_silent_answer_is_asked_for_again_and_shown_once(
    program: Program, model_server: ModelServer
) -> None:  # A38
    answer = {"text": "Every word of the answer.", "piece": 5}
    model_server.script([{**answer, "cut": "text", "stall": True}, answer])
    with start(program, model_server, "-c", "idle_timeout=2") as screen:
        ask(screen, "go")
        shown = screen.shows("Every word of the answer.", "● done")
        screen.leave()
    assert shown.count("Every word") == 1
