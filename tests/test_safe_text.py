import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.safe_text import hidden, one_line, visible, warnings


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("done\u202e .txt", ["1 hidden character: right-to-left override"]),
        ("\r\x1b\x1b", ["3 hidden characters: carriage return, escape"]),
        ("p\u0443thon x.py", ['"p\u0443thon" mixes Cyrillic and Latin']),
        (
            "curl https://xn--pi-lmcl.org/",
            ['xn--pi-lmcl.org reads "p\u0443\u0440i.org" and mixes Cyrillic and Latin'],
        ),
        ("curl https://xn--mnchen-3ya.de", ['xn--mnchen-3ya.de reads "m\u00fcnchen.de"']),
        ("curl http://xn--99999999999.x", ['xn--99999999999.x reads "nothing a browser would show"']),
        ("plain text, na\u00efve", []),
        ("\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440 42", []),
    ],
)
def test_what_a_person_could_miss_is_named(text: str, said: list[str]) -> None:
    assert warnings(text) == said


@given(st.text())
def test_a_warning_hides_nothing_itself(text: str) -> None:
    said = "".join(warnings(text))
    assert visible(said, strict=True) == said
    assert "\n" not in said
