"""What line mode, a run with one task and its events say of a compaction."""

import io
import json
from dataclasses import replace

import pytest

from agent_tui.engine.events import CompactionEnded, Event
from agent_tui.headless.jsonl import JsonLines
from agent_tui.headless.progress import Progress
from agent_tui.kept_whole import kept_whole
from agent_tui.plain.compaction import compacted
from context.items import KeptWhole

DONE = CompactionEnded(
    item_id="k1",
    cause="you asked for it",
    tokens_before=214_000,
    tokens_after=96_000,
    hidden_units=38,
    shortened_results=0,
    kept=KeptWhole(messages=6, steers=2, plan=True, files=17, steps=9),
)
WITHOUT = replace(DONE, no_summary="refused: empty", detail="the hidden part could not be stored", kept=None)
STOPPED = replace(DONE, item_id="", tokens_after=214_000, hidden_units=0, kept=None)


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (KeptWhole(), []),
        (KeptWhole(messages=1), ["your message"]),
        (KeptWhole(messages=1, steers=1), ["your steer"]),
        (KeptWhole(messages=2, steers=2), ["your 2 steers"]),
        (KeptWhole(messages=3), ["your 3 messages"]),
        (KeptWhole(messages=6, steers=2, plan=True), ["your 6 messages and steers", "plan"]),
        (KeptWhole(files=1, steps=1), ["1 changed file", "last step"]),
        (KeptWhole(files=17, steps=9), ["17 changed files", "last 9 steps"]),
    ],
)
def test_what_is_kept_whole_is_named_and_nothing_of_what_is_not(kept: KeptWhole, words: list[str]) -> None:
    assert kept_whole(kept) == words


def test_line_mode_tells_each_outcome_in_a_line_of_its_own() -> None:
    sizes = "38 exchanges hidden, about 214,000 tokens before, 96,000 after."
    assert compacted(DONE) == [
        f"Compacted: {sizes}",
        "Kept whole: your 6 messages and steers, plan, 17 changed files, last 9 steps.",
    ]
    assert compacted(WITHOUT) == [f"Compacted without a summary: {sizes} Summary refused: empty."]
    assert compacted(STOPPED) == ["Compaction stopped by you: the view is as before."]


def test_the_lines_of_a_run_with_one_task_tell_them_too() -> None:
    out = io.StringIO()
    for body in (DONE, WITHOUT, STOPPED):
        Progress(out).show(Event(seq=1, at=0.0, run_id="r1", body=body))
    assert out.getvalue().splitlines() == [
        "  compacted: 214,000 → 96,000 tokens",
        "  compacted without a summary: 214,000 → 96,000 tokens (summary refused: empty)",
        "  compaction stopped by you · the view is as before",
    ]


def test_the_events_tell_how_it_ended_and_why_there_is_no_summary() -> None:
    def item(body: CompactionEnded) -> dict[str, object]:
        (line,) = JsonLines().lines(Event(seq=7, at=0.0, run_id="r1", body=body))
        found: dict[str, object] = json.loads(line)["item"]
        return found

    assert (item(DONE)["status"], item(DONE)["detail"]) == ("completed", "")
    assert item(WITHOUT)["detail"] == (
        "the model's summary was refused: empty\nthe hidden part could not be stored"
    )
    assert (item(STOPPED)["status"], item(STOPPED)["id"]) == ("interrupted", "compaction7")
