"""What is said of a model that fails, and at the end of a turn."""

import io
from dataclasses import replace
from typing import Literal

import pytest

from agent_tui.engine import events
from agent_tui.engine.sentence import Facts, Trouble, sentence
from agent_tui.engine.types import EndReason
from agent_tui.headless.progress import Progress
from agent_tui.plain.wording import Narrator
from agent_tui.tui.feed import Feed
from agent_tui.tui.state import State, Status
from agent_tui.tui.transcript import blocks
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.transcript.look import Look
from agent_tui.tui.transcript.render import render
from tests.tui import scenes


def retry(attempt: int, error: str = "try later") -> events.RetryScheduled:
    return events.RetryScheduled(
        attempt=attempt, attempts=6, delay_s=1.0, error=error, kind="overloaded", http_status=503
    )


def ended(reason: EndReason, error: str) -> events.TurnEnded:
    told = sentence(reason, Facts(provider="openai", trouble=Trouble(tries=6, seconds=130.0)))
    return events.TurnEnded(
        run_id="r1", reason=reason, sentence=told, exit_code=1, usage=scenes.USAGE, cost_usd=None, steps=1,
        duration_s=1.0, error=error,
    )  # fmt: skip


def test_a_second_answer_stands_below_what_told_of_the_cut_in_place_of_the_first() -> None:
    feed = Feed(State(status=Status(model="openai/gpt-5.1")))
    cut = events.RetryScheduled(attempt=2, attempts=6, delay_s=1.0, error="cut", kind="cut")
    thought = events.ReasoningStreamed(step_id="s1", text="hm", offset=0)

    def shown(*bodies: events.Body) -> list[str]:
        for body in bodies:
            feed.apply(events.Event(seq=1, at=9.0, run_id="r1", body=body))
        added = feed.added
        return [plain(row) for block in added for row in render(block, Look(width=100))]

    assert shown(*scenes.step(1), thought, *scenes.text(1, "Half an"), cut)[1:] == [
        "  Half an",
        "! cut. Nothing was lost; the same request is sent again",
    ]
    assert shown(*scenes.text(1, "All of it."), *scenes.response(1, "All of it."))[1:] == [
        "! cut. Nothing was lost; the same request is sent again",
        "  All of it.",
    ]


def test_a_provider_is_named_with_its_status_and_how_often_it_was_asked() -> None:
    feed = Feed(State(status=Status(model="openai/gpt-5.1")))
    failed = ended(EndReason.MODEL_UNAVAILABLE, "try later")
    step = events.StepStarted(step_id="s1", number=1, view_id="")
    said = "openai answers 503 (overloaded): try later. Nothing was lost; the same request is sent again"
    for at, body, text in (
        (1_000.0, step, ""),
        (1_002.0, retry(2), said),  # how long one try took says nothing
        (1_047.0, retry(5), f"{said}. Tried 4 times in 0:47."),
        (1_060.0, retry(6, "no answer"), ""),
        (1_130.0, failed, ""),
    ):
        feed.apply(events.Event(seq=1, at=at, run_id="r1", body=body))
        notices = [block for block in feed.added if isinstance(block, blocks.Notice)]
        assert not text or [notice.text for notice in notices] == [text]
    notice, end = feed.added
    assert isinstance(notice, blocks.Notice) and isinstance(end, blocks.TurnEnd)
    assert notice.text.endswith(
        "no answer. Nothing was lost; the same request is sent again. Tried 5 times in 1:00."
    )
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


@pytest.mark.parametrize(
    ("rejected", "told", "said"),
    [
        (
            "key",
            "openai refused the key in OPENAI_API_KEY (401)",
            "openai refused the key in OPENAI_API_KEY (401). Fix it and press Enter, or /model for another "
            "provider",
        ),
        (
            "model",
            "no model: `ollama/qwen3-coder:30b` is not installed any more",
            "no model: `ollama/qwen3-coder:30b` is not installed any more; the session is kept. /model picks "
            "another",
        ),
    ],
)
def test_a_refused_key_and_a_model_that_is_gone_say_what_to_do(
    rejected: Literal["key", "model"], told: str, said: str
) -> None:
    feed = Feed(State(status=Status(model="openai/gpt-5.1")))
    body = replace(
        ended(EndReason.MODEL_REJECTED, "as \x1bthe server says"), sentence=told, rejected=rejected
    )
    feed.apply(events.Event(seq=1, at=1.0, run_id="r1", body=body))
    (end,) = feed.added
    assert isinstance(end, blocks.TurnEnd) and end.words == said
    shown = "\n".join(plain(row) for row in render(end, Look(width=200)))
    assert shown.startswith(f"✗ {said}\n") and shown.endswith("server says\n  1 step · 0:01")
    assert "\x1b" not in shown
    line, error = Narrator().lines(body)[1:]
    assert line == f"{'Refused: o' if rejected == 'key' else 'N'}{said[1:]}. 1 step, 1.0 second."
    assert error.startswith("Error: as ") and "\x1b" not in error


@pytest.mark.parametrize(
    ("reason", "line", "hint"),
    [
        (
            EndReason.COST_UNKNOWN,
            "limit reached: cost is limited and the price of this model is not known",
            "set `price_input` and `price_output` of the model, or leave the limit out",
        ),
        (
            EndReason.INTERNAL_ERROR,
            "internal error; the session is safe",
            "agent-tui --debug shows where",
        ),
    ],
)
def test_what_to_do_is_said_in_every_front_end(reason: EndReason, line: str, hint: str) -> None:
    body = ended(reason, "")
    feed = Feed(State())
    feed.apply(events.Event(seq=1, at=1.0, run_id="r1", body=body))
    (end,) = feed.added
    assert isinstance(end, blocks.TurnEnd) and (end.words, end.hint) == (line, hint)
    told = Narrator().lines(body)
    assert told[1].lower().startswith(line) and told[-1] == f"What to do: {hint}."
    stream = io.StringIO()
    Progress(stream).show(events.Event(seq=1, at=1.0, run_id="r1", body=body))
    assert stream.getvalue().startswith(f"agent-tui: {line}; {hint} · 1 step")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (EndReason.COMPLETED_UNVERIFIED, "done, not verified: make test was not run after the last change"),
        (EndReason.CONTRACT_UNMET, "not met: make test fails (exit 2) after 3 tries"),
    ],
)
def test_a_check_that_the_sentence_names_is_not_told_again(reason: EndReason, words: str) -> None:
    body = replace(
        ended(EndReason.COMPLETED, ""), reason=reason, sentence=words, last_check="make test",
        check_result="passed before the last change",
    )  # fmt: skip
    feed, out = Feed(State()), io.StringIO()
    feed.apply(events.Event(seq=1, at=1.0, run_id="r1", body=body))
    Progress(out).show(events.Event(seq=1, at=1.0, run_id="r1", body=body))
    shown = "".join(plain(row) for row in render(feed.added[-1], Look(width=200)))
    for text in (shown, "".join(Narrator().lines(body)), out.getvalue()):
        assert text.count("make test") == 1
    assert replace(body, sentence="done").tells_check
