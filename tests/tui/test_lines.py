from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.tui.transcript.lines import Span, fit, plain, ruled, width_of, wrap

_TEXT = st.text(alphabet="ab c中é😀\n-", max_size=200)


@given(_TEXT, st.integers(6, 40))
def test_no_row_is_wider_than_asked(text: str, width: int) -> None:
    for row in wrap([Span(text)], width, first=(Span("> "),), rest=(Span("  "),)):
        assert width_of(row) <= width


@given(_TEXT, st.integers(6, 40))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    rows = wrap([Span(text)], width)
    assert "".join(plain(row) for row in rows).replace(" ", "") == text.replace(" ", "").replace("\n", "")


def test_words_wrap_whole_and_a_long_word_is_cut() -> None:
    rows = [plain(row) for row in wrap([Span("one two threefourfive")], 8)]
    assert rows == ["one two", "threefou", "rfive"]


def test_roles_survive_a_break() -> None:
    rows = wrap([Span("aaa "), Span("bbb", "strong")], 4)
    assert rows == [(Span("aaa"),), (Span("bbb", "strong"),)]


@given(_TEXT, st.integers(0, 20))
def test_fit_never_splits_a_cell(text: str, width: int) -> None:
    assert cell_len(fit(text, width)) <= width


def test_a_rule_fills_the_width_exactly() -> None:
    row = ruled((Span("ready"),), (Span("? help"),), 40, "─")
    assert plain(row) == "── ready " + "─" * 21 + " ? help ──"
