"""The glyphs of the interface and their ASCII forms; the word beside a glyph carries the meaning."""

from dataclasses import fields

from agent_tui.frozen import frozen

SPINNER = "◐◓◑◒"
ASCII_SPINNER = "|/-\\"


@frozen
class Glyphs:
    """One set of glyphs; renderers never write one of these characters themselves."""

    waiting: str = "○"
    running: str = "◐"
    ok: str = "✓"
    failed: str = "✗"
    denied: str = "⊘"
    interrupted: str = "■"
    unknown: str = "?"
    timed_out: str = "◔"
    terminal: str = "&"
    skipped: str = "–"
    end: str = "●"
    notice: str = "!"
    picked: str = ">"
    rule: str = "─"
    heavy: str = "━"
    wrapped: str = "↪"
    external: str = "!"
    user: str = "›"
    steer: str = "↳"
    queue: str = "⋯"
    earlier: str = "↑"
    output: str = "│"
    thought: str = "¶"
    reasoning: str = "┆"
    changes: str = "±"
    plan: str = "▤"
    compacted: str = "▽"
    rollback: str = "↶"
    redo: str = "↷"
    hidden: str = "┄"
    sandbox: str = "▣"
    above: str = "▲"
    image: str = "▦"
    separator: str = " · "
    more: str = "…"
    bar_left: str = "▕"
    bar_full: str = "█"
    bar_empty: str = "░"
    bar_right: str = "▏"
    spinner: str = SPINNER
    unarmed: str = "·"
    choice_left: str = "‹"
    choice_right: str = "›"
    ascii: bool = False


UNICODE = Glyphs()

ASCII = Glyphs(
    waiting="o",
    running="|",
    ok="*",
    failed="x",
    denied="/",
    interrupted="#",
    timed_out="@",
    skipped="-",
    end="=",
    rule="-",
    heavy="=",
    wrapped="\\",
    user=">",
    steer="->",
    queue="..",
    earlier=":",
    output="|",
    thought="~",
    reasoning=":",
    changes="+-",
    plan="=",
    compacted="v",
    rollback="<-",
    redo="->",
    hidden="...",
    sandbox="[]",
    above="^",
    image="%",
    separator=", ",
    more="...",
    bar_left="[",
    bar_full="#",
    bar_empty=".",
    bar_right="]",
    spinner=ASCII_SPINNER,
    unarmed=".",
    choice_left="<",
    choice_right=">",
    ascii=True,
)

_TO_ASCII = {
    ord(getattr(UNICODE, field.name)): getattr(ASCII, field.name)
    for field in fields(Glyphs)
    if field.name not in ("separator", "spinner", "ascii")
    and len(getattr(UNICODE, field.name)) == 1
    and ord(getattr(UNICODE, field.name)) > 0x7F
} | {
    ord("→"): "->",
    ord("×"): "x",
    ord("⏎"): "\\n",
    ord("“"): '"',
    ord("”"): '"',
    ord("↑"): "Up",
    ord("↓"): "Down",
    ord("←"): "Left",
}


def own_words(text: str, glyphs: Glyphs) -> str:
    """A sentence of ours (never text of others) in the given set of glyphs."""
    if not glyphs.ascii:
        return text
    return text.replace(" · ", ", ").replace("← →", "Left Right").translate(_TO_ASCII)
