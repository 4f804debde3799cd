"""Markdown of the model as lines: what it looks like, that it grows as it would be whole, and never fails."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_tui.tui.glyphs import ASCII
from agent_tui.tui.transcript import markdown
from agent_tui.tui.transcript.growing import Growing
from agent_tui.tui.transcript.lines import plain, width_of
from agent_tui.tui.transcript.look import Look

LOOK = Look(width=60)


def shown(text: str, look: Look = LOOK) -> list[str]:
    return [plain(row) for row in markdown.render(text, look)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("# Heading", ["  Heading"]),
        ("one\ntwo", ["  one two"]),
        ("one  \ntwo", ["  one", "  two"]),
        ("- a\n- b\n  - c", ["  - a", "  - b", "    - c"]),
        ("3. a\n4. b", ["  3. a", "  4. b"]),
        ("> quoted", ["  │ quoted"]),
        ("```sh\nls -l\n```", ["    ls -l" + " " * 48 + "sh"]),
        ("    code", ["    code"]),
        ("a `b` **c** *d* ~~e~~", ["  a `b` c d ~~e~~"]),
        ("[text](http://x)", ["  text (http://x)"]),
        ("<http://x>", ["  http://x"]),
        ("<b>raw</b>", ["  <b>raw</b>"]),
        ("![picture](x.png)", ["  [image: picture] (x.png)"]),
        ("[red]x[/red]", ["  [red]x[/red]"]),
        ("a\rb", ["  a b"]),
        ("a\r\rb\n\nc", ["  a", "", "  b", "", "  c"]),
        ("|a|b|\n|-|-|\n|c|d|", ["  | a | b |", "  |---|---|", "  | c | d |"]),
        ("", []),
    ],
)
def test_markdown_is_drawn(text: str, rows: list[str]) -> None:
    assert shown(text) == rows


def test_a_table_wider_than_the_screen_becomes_key_and_value() -> None:
    assert shown(f"|name|why|\n|-|-|\n|x|{'word ' * 12}|\n|y|z|") == [
        "  name: x",
        "  why: word word word word word word word word word word",
        "    word word",
        "",
        "  name: y",
        "  why: z",
    ]


def test_prose_stops_at_a_hundred_columns_and_code_does_not() -> None:
    look = Look(width=160)
    assert max(len(row.rstrip()) for row in shown("word " * 60, look)) <= 101
    assert len(shown("    " + "x" * 140, look)[0]) == 144


def test_ascii_glyphs_hold_in_markdown_as_well() -> None:
    assert all(row.isascii() for row in shown("> quoted\n\n---", Look(width=60, glyphs=ASCII)))


PIECES = [
    "# h",
    "- a",
    "  - b",
    "```",
    "code",
    "|a|b|",
    "|-|-|",
    "> q",
    "",
    "1. x",
    "中文",
    "\r",
    "\x00",
    "**",
    "`",
    "    in",
]


@settings(max_examples=150, deadline=None)
@example(["1. x", "", "1. x"], 1)
@example(["1. x", "\r", "1. x"], 1)
@given(st.lists(st.sampled_from(PIECES), max_size=14), st.integers(min_value=1, max_value=30))
def test_an_answer_that_grows_looks_as_if_it_had_come_at_once(pieces: list[str], step: int) -> None:
    text = "\n".join(pieces)
    growing = Growing(LOOK)
    last: list[object] = []
    for end in range(step, len(text) + step, step):
        last = list(growing.update(text[:end]))
    grown = [plain(row) for row in (*growing.closed, *last)]  # type: ignore[arg-type]
    assert grown == shown(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.integers(min_value=20, max_value=90))
def test_no_text_breaks_it_or_runs_over_the_edge(text: str, width: int) -> None:
    rows = markdown.render(text, Look(width=width))
    assert all(width_of(row) <= width for row in rows)
    assert not [char for row in rows for char in plain(row) if ord(char) < 32]
