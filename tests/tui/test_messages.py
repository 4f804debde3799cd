"""Messages of the person in the transcript."""

from agent_tui.tui.transcript import render
from agent_tui.tui.transcript.blocks import UserMessage
from agent_tui.tui.transcript.lines import plain
from agent_tui.tui.transcript.look import Look


def rows(text: str, *, expanded: bool = False, right: str = "") -> list[str]:
    message = UserMessage(text=text, right=right, expanded=expanded)
    return [plain(row) for row in render.render(message, Look(width=60))]


def test_a_message_is_shown_whole() -> None:
    shown = rows("one\n\ntwo", right="steer, step 5")
    assert [row.rstrip() for row in shown] == ["› one" + " " * 42 + "steer, step 5", "", "  two"]


def test_of_a_long_paste_the_beginning_is_shown_until_it_is_unfolded() -> None:
    text = "\n".join(f"line {number}" for number in range(10_000))
    folded = rows(text)
    assert (len(folded), folded[0]) == (16, "› line 0")
    assert folded[-1] == "  … 9,985 more lines, Enter on the picked message shows"
    assert rows(text, expanded=True)[999] == "  line 999"


def test_a_line_without_an_end_is_bounded_too() -> None:
    assert len(rows("x" * 2_000_000)) < 40
