"""The words of a question: bounded where a model can lengthen them, and in few words for a low screen."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.engine.question import MOST_WHY
from tests.engine.test_approvals import UNTRUSTED, Bench
from tools.types import Grant


def test_why_is_bounded_and_the_whole_reason_stands_in_the_assessment(tmp_path: Path) -> None:
    bench = Bench(tmp_path, approval=UNTRUSTED)
    path = "/" + "far/" * 900 + "away"
    asked = bench.ask(f"cat {path}")
    assert path in asked.assessment.reason
    assert asked.why == asked.assessment.reason[:MOST_WHY] + "…"


@pytest.mark.parametrize(
    ("grant", "detail", "words"),
    [
        (Grant.NONE, "", "workspace, net off"),
        (Grant.WRITE_PATH, "/cache", "workspace+1, net off"),
        (Grant.NETWORK, "", "workspace, net on"),
        (Grant.NO_SANDBOX, "", "none for this command"),
    ],
)
def test_the_sandbox_is_said_in_few_words_too(tmp_path: Path, grant: Grant, detail: str, words: str) -> None:
    bench = Bench(tmp_path, approval=UNTRUSTED)
    call = bench.run("make x")
    call = replace(call, assessment=replace(call.assessment, grant=grant, grant_detail=detail))
    assert bench.ask(call).sandbox_short == words
