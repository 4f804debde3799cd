import pytest

from agent_tui.engine import events
from agent_tui.engine.types import EndReason
from agent_tui.tui.notify import Notifier
from agent_tui.tui.state import Asked, State
from agent_tui.tui.transcript import diff
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.transcript.look import Look


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "TERM_PROGRAM", "WT_SESSION", "VTE_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-kitty")


def question() -> Asked:
    return Asked(
        event=events.QuestionAsked(question_id="q", call_id="c", text="x", options=(), free_text=True)
    )


def busy() -> State:
    state = State()
    state.busy, state.turn_started_at = True, 1.0
    return state


def test_the_title_follows_the_session() -> None:
    written: list[str] = []
    notifier = Notifier("slugkit", written.append)
    state = busy()
    notifier.update(state, 2.0)
    state.asked.append(question())
    notifier.update(state, 3.0)
    state.asked.clear()
    state.busy, state.ended = False, EndReason.COMPLETED
    notifier.update(state, 4.0)
    assert [each for each in written if each.startswith("\x1b]2;")] == [
        "\x1b]2;slugkit working\x07",
        "\x1b]2;! slugkit needs you\x07",
        "\x1b]2;slugkit done\x07",
    ]


@pytest.mark.parametrize(
    ("focused", "key_at", "told"), [(True, 0, 0), (False, 99, 1), (None, 99, 0), (None, 1, 1)]
)
def test_a_person_who_looks_is_not_notified(focused: bool | None, key_at: float, told: int) -> None:
    written: list[str] = []
    notifier = Notifier("slugkit", written.append)
    notifier.focused, notifier.key_at = focused, key_at
    state = busy()
    state.asked.append(question())
    notifier.update(state, 100.0)
    notifier.update(state, 101.0)
    assert written.count("\x1b]9;agent-tui: slugkit needs your approval\x07") == told


@pytest.mark.parametrize(
    ("reason", "now", "words"),
    [
        (EndReason.COMPLETED, 10.0, ""),
        (EndReason.COMPLETED, 30.0, "slugkit is done"),
        (EndReason.MODEL_UNAVAILABLE, 10.0, "slugkit stopped: provider down"),
    ],
)
def test_the_end_of_a_long_turn_is_told_and_a_stop_always(reason: EndReason, now: float, words: str) -> None:
    written: list[str] = []
    notifier = Notifier("slugkit", written.append)
    notifier.focused = False
    state = busy()
    notifier.update(state, 2.0)
    state.busy, state.ended = False, reason
    notifier.update(state, now)
    said = [each for each in written if each.startswith("\x1b]9;")]
    assert said == ([f"\x1b]9;agent-tui: {words}\x07"] if words else [])


def test_progress_is_told_only_when_it_is_wanted() -> None:
    quiet: list[str] = []
    Notifier("slugkit", quiet.append).update(busy(), 2.0)
    assert not any("]9;4" in each for each in quiet)
    written: list[str] = []
    notifier = Notifier("slugkit", written.append, progress=True)
    state = busy()
    notifier.update(state, 2.0)
    state.asked.append(question())
    notifier.update(state, 3.0)
    notifier.close()
    assert [each for each in written if "]9;4" in each] == [
        "\x1b]9;4;3;0\x07", "\x1b]9;4;4;0\x07", "\x1b]9;4;0;0\x07",
    ]  # fmt: skip


def test_a_screen_reader_is_told_what_a_row_of_a_diff_is() -> None:
    files = diff.parse("--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n")
    rows = [plain(row) for row in diff.rows(files[0], Look(width=80, spoken=True))]
    assert [row.split()[1] for row in rows[2:]] == ["removed", "added"]
