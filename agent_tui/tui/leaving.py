"""What stays in the shell's scrollback: the last answer, and how to go on."""

import io
import os
import re
import sys

from agent_tui.safe_text import visible
from agent_tui.tui import words
from agent_tui.tui.glyphs import Glyphs, own_words
from agent_tui.tui.state import State
from agent_tui.tui.transcript.lines import Span, plain, wrap

_LEAD = re.compile(r" *(?:(?:[-*+]|\d+[.)]) +)?")  # what the next rows of a line stand below


def text(session: State, glyphs: Glyphs, *, is_kept: bool = True, width: int = 0) -> str:
    """The words; empty when there was no session. One that is not kept leaves its answer alone. `width` is
    that of the terminal in cells, 0 where there is none."""
    if not session.session_id:
        return ""
    answer = visible(session.last_answer).strip()
    parts = [f"{_wrapped(answer, width) if width else answer}\n"] if answer else []
    if not is_kept:
        return "".join(parts)
    changed = len(session.changed)
    facts = own_words(f" · {words.count(changed, 'file')} changed", glyphs) if changed else ""
    parts.append(f"agent-tui: session {session.session_id} kept{facts}")
    parts.append(f"  continue   agent-tui resume {session.session_id}")
    if session.changed.checkpoint:
        parts.append(f"  take back  agent-tui rollback {session.changed.checkpoint}")
    return "\n".join(parts) + "\n"


def _wrapped(answer: str, width: int) -> str:
    """Prose broken at words; code and tables stay as they are."""
    rows, is_code = [], False
    for line in answer.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        if is_code or is_fence or line.lstrip().startswith("|"):
            rows.append(line)
        else:
            found = _LEAD.match(line)
            below = Span(" " * len(found[0]) if found else "")
            rows += [plain(row) for row in wrap([Span(line)], width, rest=(below,))] or [""]
        is_code = is_code is not is_fence
    return "\n".join(rows)


def write(session: State, glyphs: Glyphs, *, is_kept: bool) -> None:
    """To stdout, after the screen was left; nothing where the terminal is gone."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an answer holds what the locale has no bytes for
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0
        sys.stdout.write(text(session, glyphs, is_kept=is_kept, width=width))
        sys.stdout.flush()
    except OSError:  # what is left in the buffer must not fail again at the end of the process
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
