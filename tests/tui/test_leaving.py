"""What stays in the shell's scrollback."""

import io
import sys
from pathlib import Path

import pytest

from agent_tui.engine import events
from agent_tui.plain.standing import Standing
from agent_tui.tui import leaving
from agent_tui.tui.feed import Feed
from agent_tui.tui.glyphs import ASCII, UNICODE
from agent_tui.tui.state import State
from tests.test_outstanding import TWO, went_back
from tests.tui import scenes
from tests.tui.driving import driven

STARTED = events.SessionStarted(session_id="s", workspace="/w", model="m")


def said(*bodies: events.Body) -> str:
    """The words of both front ends, which differ in one character."""
    feed, standing = Feed(State()), Standing(config=scenes.config(Path("/nowhere")))
    for seq, body in enumerate((STARTED, *bodies)):
        feed.apply(events.Event(seq=seq, at=0.0, run_id="", body=body))
        standing.take(body)
    plain = "\n".join(standing.farewell()[1:]).replace("kept, ", "kept · ")
    assert leaving.text(feed.state, UNICODE) == f"{plain}\n"
    return plain


def test_a_session_that_is_not_kept_promises_nothing() -> None:
    session = State(session_id="s", last_answer="Done.")
    for body in TWO:
        session.changed.take(body)
    assert leaving.text(session, UNICODE, is_kept=False) == "Done.\n"
    assert "resume s" in leaving.text(session, UNICODE)
    assert "rollback s/1" in leaving.text(session, UNICODE)


def test_the_files_that_are_said_are_those_that_the_rollback_takes_back() -> None:
    assert said(*TWO).splitlines() == [
        "agent-tui: session s kept · 3 files changed",
        "  continue   agent-tui resume s",
        "  take back  agent-tui rollback s/1",
    ]
    assert said(*TWO, went_back(4, 7, "b", "c")).splitlines()[0].endswith("kept · 2 files changed")
    assert said(*TWO, went_back(1, 7, "a", "b", "c")).splitlines() == [
        "agent-tui: session s kept",
        "  continue   agent-tui resume s",
    ]


def test_an_answer_is_broken_at_words_but_not_its_code_and_tables() -> None:
    answer = """\
Empty input now gives `n-a`, and `None` still raises.

- one item that goes on below its own start
  | a table | that is as wide as it is | and stays |

```
a line of code that is longer than the terminal
```"""
    session = State(session_id="s", last_answer=answer)
    assert leaving.text(session, UNICODE, is_kept=False, width=30).split("\n") == [
        "Empty input now gives `n-a`,",
        "and `None` still raises.",
        "",
        "- one item that goes on below",
        "  its own start",
        "  | a table | that is as wide as it is | and stays |",
        "",
        "```",
        "a line of code that is longer than the terminal",
        "```",
        "",
    ]
    assert leaving.text(session, UNICODE, is_kept=False) == answer + "\n"


def test_a_locale_without_the_letters_of_the_answer_gets_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    session, written = State(session_id="s", last_answer="Готово: done"), io.BytesIO()
    for body in TWO:
        session.changed.take(body)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    leaving.write(session, ASCII, is_kept=True)
    rows = written.getvalue().decode().splitlines()
    assert rows[0] == "??????: done" and "agent-tui: session s kept, 3 files changed" in rows


@pytest.mark.parametrize("key", ["escape", "enter"])
async def test_another_session_that_was_not_gone_on_to_is_not_begun_later(tmp_path: Path, key: str) -> None:
    live = events.TerminalChanged(terminal="t2", call_id="c1", command="npm run dev", state="live")
    async with driven(tmp_path, [live]) as it:
        await it.act("/new")
        await it.wait_for_arming()
        assert "Enter stop them and go on · Esc stay" in it.screen
        await it.press(key)
        assert (it.app.outside.next_arguments is None) == (key == "escape")
        if key == "escape":
            await it.press("ctrl+d")
            await it.wait_for_arming()
            assert "Enter stop them and quit · Esc stay" in it.screen
