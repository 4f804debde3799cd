"""The text of a result: what a command came to, its output, and what was left out of it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.output.collector import Taken


def output_text(taken: "Taken", ref: str) -> str:
    """The output as the model reads it; a cut is marked where it is, with the way to the rest."""
    if taken.binary is not None:
        binary = taken.binary
        return (
            f"[binary output, not shown: {binary.kind}, {binary.size_bytes:,} bytes, sha256 {binary.sha256}, "
            f"starts with {binary.head_hex}]"
        )
    shown = taken.shown
    text = shown.head
    if shown.omitted_lines or shown.tail:
        listed = "".join(f"{number}: {line}\n" for number, line in shown.errors)
        if listed:
            listed = f"Lines in it that look like errors:\n{listed}"
        text = (
            f"{shown.head}… [omitted {shown.omitted_bytes:,} bytes, {shown.omitted_lines:,} lines; "
            f"read_file `{ref}` with start_line and end_line shows them]\n{listed}…\n{shown.tail}"
        )
    elif shown.omitted_bytes:
        text += (
            f"\n[{shown.omitted_bytes:,} bytes of overlong lines omitted; read_file `{ref}` with start_line "
            "and start_column shows them]"
        )
    if taken.screen is not None:
        text += f"\n[screen now]\n{taken.screen}"
    return text.rstrip("\n")


def duration(seconds: float) -> str:
    """Seconds as people write them."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def count(number: int, word: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
