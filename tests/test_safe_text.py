from hypothesis import given
from hypothesis import strategies as st

from agent_tui.safe_text import hidden, one_line, visible


def test_escape_codes_become_text() -> None:
    assert visible("\x1b[2J\x1b]0;t\x07\u009b2J") == "\\x1b[2J\\x1b]0;t\\x07\\x9b2J"


def test_direction_marks_become_text() -> None:
    assert visible("a\u202e.txt") == "a\\u202e.txt"


def test_prose_keeps_joined_emoji_and_a_decision_does_not() -> None:
    family = "👩\u200d👩\u200d👧"
    assert visible(family) == family
    assert visible(family, strict=True) == "👩\\u200d👩\\u200d👧"


def test_undecodable_bytes_of_a_file_name_are_shown_as_bytes() -> None:
    assert visible(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\\xe9"


def test_newlines_stay_and_one_line_shows_them() -> None:
    assert visible("a\nb") == "a\nb"
    assert one_line("a\nb") == "a ⏎ b"


def test_hidden_characters_are_counted() -> None:
    assert hidden("rm\u202e x\u200b") == ["\u202e", "\u200b"]


@given(st.text())
def test_nothing_that_moves_a_cursor_is_left(text: str) -> None:
    shown = visible(text)
    assert not [char for char in shown if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0]
    shown.encode("utf-8")
