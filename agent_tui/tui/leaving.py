"""What stays in the shell's scrollback: the last answer, and how to go on."""

import io
import os
import sys

from agent_tui.safe_text import visible
from agent_tui.tui import words
from agent_tui.tui.glyphs import Glyphs, own_words
from agent_tui.tui.state import State


def text(session: State, glyphs: Glyphs, *, is_kept: bool = True) -> str:
    """The words; empty when there was no session. One that is not kept leaves its answer alone."""
    if not session.session_id:
        return ""
    parts = [visible(session.last_answer).strip() + "\n"] if session.last_answer.strip() else []
    if not is_kept:
        return "".join(parts)
    changed = len(session.changed)
    facts = own_words(f" · {words.count(changed, 'file')} changed", glyphs) if changed else ""
    parts.append(f"agent-tui: session {session.session_id} kept{facts}")
    parts.append(f"  continue   agent-tui resume {session.session_id}")
    if session.changed.checkpoint:
        parts.append(f"  take back  agent-tui rollback {session.changed.checkpoint}")
    return "\n".join(parts) + "\n"


def write(session: State, glyphs: Glyphs, *, is_kept: bool) -> None:
    """To stdout, after the screen was left; nothing where the terminal is gone."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an answer holds what the locale has no bytes for
    try:
        sys.stdout.write(text(session, glyphs, is_kept=is_kept))
        sys.stdout.flush()
    except OSError:  # what is left in the buffer must not fail again at the end of the process
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
