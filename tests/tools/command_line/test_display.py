import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.command_line.display import make_visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la", "ls -la"),
        ("touch EVIL #\r\x1b[2Kls", "touch EVIL #\\x0d\\x1b[2Kls"),
        ("ls" + " " * 400 + "; touch EVIL", "ls(400 blanks); touch EVIL"),
        ("a" + " " * 8 + "b", "a        b"),
        ("touch \u202eEVIL", "touch \\u202eEVIL"),
        ("a\u200bb\u200d\ufeff", "a\\u200bb\\u200d\\ufeff"),
        ("a\u00a0b\u3000c", "a\\xa0b\\u3000c"),
        ("tab\there", "tab\\x09here"),
        ("\x7f\x85\x9b", "\\x7f\\x85\\x9b"),
        ("\U000e0041", "\\U000e0041"),
        ("a\ufe0f", "a\\ufe0f"),
        ("\ud800", "\\ud800"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("e\u0301\u0301\u0301", "e\u0301\u0301\\u0301"),
        ("[bold]x[/]", "[bold]x[/]"),
        ("naïve Straße 日本語 🙂", "naïve Straße 日本語 🙂"),
        ("a\nb", "a\\nb"),
    ],
)
def test_what_is_hidden_is_written_out(text: str, shown: str) -> None:
    assert make_visible(text) == shown


@given(st.text())
def test_nothing_shown_is_hidden(text: str) -> None:
    for char in make_visible(text):
        assert char == " " or unicodedata.category(char) not in (
            "Cc",
            "Cf",
            "Cs",
            "Co",
            "Cn",
            "Zl",
            "Zp",
            "Zs",
        )


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126)))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert make_visible(text) == text
