"""What is said of a model that fails, and at the end of a turn."""

from agent_tui.engine import events
from agent_tui.engine.types import EndReason
from agent_tui.tui.feed import Feed
from agent_tui.tui.state import State, Status
from agent_tui.tui.transcript import blocks
from tests.tui import scenes


def retry(attempt: int, error: str = "try later") -> events.RetryScheduled:
    return events.RetryScheduled(
        attempt=attempt, attempts=6, delay_s=1.0, error=error, kind="overloaded", http_status=503
    )


def ended(reason: EndReason, error: str) -> events.TurnEnded:
    return events.TurnEnded(
        run_id="r1", reason=reason, sentence="", exit_code=1, usage=scenes.USAGE, cost_usd=None, steps=1,
        duration_s=1.0, error=error,
    )  # fmt: skip


def test_a_provider_is_named_with_its_status_and_how_often_it_was_asked() -> None:
    feed = Feed(State(status=Status(model="openai/gpt-5.1")))
    failed = ended(EndReason.MODEL_UNAVAILABLE, "try later")
    for at, body in ((1_000.0, retry(2)), (1_060.0, retry(6)), (1_130.0, failed)):
        feed.apply(events.Event(seq=1, at=at, run_id="r1", body=body))
    notice, end = feed.added
    assert isinstance(notice, blocks.Notice) and isinstance(end, blocks.TurnEnd)
    assert notice.text.startswith("openai answers 503 (overloaded): try later. Nothing was lost")
    assert end.words == "openai did not answer (6 tries, 2:10): try later"
    assert end.hint == "Enter tries again · /model changes the model"
    feed.apply(
        events.Event(seq=1, at=1_200.0, run_id="r1", body=ended(EndReason.MODEL_REJECTED, "no such key"))
    )
    last = feed.added[-1]
    assert isinstance(last, blocks.TurnEnd) and last.words == "openai refused the request: no such key"


def test_a_status_that_the_error_names_is_not_said_twice() -> None:
    feed = Feed(State(status=Status(model="openai/gpt-5.1")))
    feed.apply(events.Event(seq=1, at=1.0, run_id="r1", body=retry(2, "openai answers 503 (overloaded)")))
    notice = feed.added[0]
    assert isinstance(notice, blocks.Notice) and notice.text.startswith(
        "openai answers 503 (overloaded). Not"
    )
