"""What a person sees of compactions, in the interface and in line mode."""

import re

import pytest

from tests.cli.terminal import Terminal
from tests.e2e.screen import Screen, start
from tests.e2e.test_compaction import program, reading, summariser, talk, with_summaries
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags
from tests.waiting import until

__all__ = ["program", "summariser"]  # fixtures

F2 = "\x1bOQ"
STOPPED = "▽ compaction stopped by you · the view is as before"


def oldest_of_pager(screen: Screen) -> str:
    screen.type(F2)
    screen.shows("── transcript", "100% ──")
    screen.type("g")
    shown = screen.shows("── transcript", "› first")
    screen.type("q")
    screen.shows("ready")
    return shown


def test_the_pager_marks_what_was_hidden_after_a_resume_and_in_a_copy_until_it_is_taken_back(
    program: Program, model_server: ModelServer
) -> None:
    steps = [talk({"calls": [reading(n)]}) for n in range(5)]
    model_server.script([talk({"text": "hello"}), *steps, talk({"text": "all read"})], window=16_000)
    flags = model_flags("chat", model_server.base_url())
    assert program.run("exec", *flags, "first").code == 0
    ran = program.run("exec", "--last", *flags, "read them")
    assert (ran.code, ran.err.count("compacted: ")) == (0, 1), ran.err
    with start(program, model_server, "resume", "--last") as screen:
        screen.shows("▽ compacted · view", "kept whole your 2 messages · last ", "all read", "ready")
        marked = oldest_of_pager(screen)
        parts = re.findall(
            r"  ┄ hidden by compaction (\d\d:\d\d, steps? [\d–]+) \(shown here\) ┄\n(.*)", marked
        )
        assert [told.split(", ")[1] for told, _ in parts] == ["step 1", "steps 2–3"], marked
        assert [words.split("  ")[0] for _, words in parts] == ["› first", "✓ read"]
        assert marked.count("  ┄ hidden by compaction to here ┄\n\n") == 2
        assert "kept whole your 2 messages · last 2 steps" in marked
        screen.leave()
    with start(program, model_server, "resume", "--last", "--fork") as screen:
        screen.shows("all read", "ready")
        copied = oldest_of_pager(screen)
        assert all(told in copied for told, _ in parts)
        screen.say("/compact undo")
        screen.shows("▽ compaction undone", "ready")
        assert "hidden by" not in oldest_of_pager(screen)
        screen.leave()


@pytest.mark.parametrize("mode", ["interface", "lines"])
def test_a_compaction_is_stopped_by_a_key_and_one_whose_summary_is_empty_says_so(
    program: Program, model_server: ModelServer, summariser: ModelServer, mode: str
) -> None:
    with_summaries(program, summariser)
    summariser.script([{"text": "never", "gate": "never"}, {"text": "ok"}], check=False)
    steps = [talk({"calls": [reading(n)]}) for n in range(3)]
    model_server.script([*steps, talk({"text": "all read"})], window=16_000)
    flags = model_flags("chat", model_server.base_url())
    assert program.run("exec", *flags, "read them").code == 0
    if mode == "interface":
        with start(program, model_server, "resume", "--last") as screen:
            screen.shows("all read", "ready")
            screen.say("/compact")
            screen.shows("compacting")
            until(lambda: summariser.requests)
            screen.type("\x1b")
            screen.shows(STOPPED, "ready")
            screen.say("/compact keep API design")
            shown = screen.shows(
                "▽ compacted without a summary · view", "(summary refused:", "kept whole your message · last "
            )
            assert STOPPED in shown
            screen.leave()
    else:
        with Terminal(program, "resume", "--last", "--plain", *flags) as lines:
            lines.expect("you>")
            lines.type("/compact\r")
            lines.expect("Compacting: Ctrl+C keeps the view as it is.")
            until(lambda: summariser.requests)
            lines.type("\x03")
            lines.expect("Compaction stopped by you: the view is as before.")
            lines.type("/compact keep API design\r")
            lines.expect("Compacted without a summary: ")
            lines.expect("Summary refused: empty.")
            lines.expect("Kept whole: your message, last ")
    summariser.release("never")
    assert [b"keep API design" in request.body for request in summariser.requests] == [False, True]
