"""Title of the terminal, and a notification when a person is needed and not looking."""

import os
from collections.abc import Callable

from agent_tui.engine.types import EndReason
from agent_tui.tui import words
from agent_tui.tui.state import State

LONG_TURN_S = 20.0
UNSEEN_S = 10.0  # without a key, where the terminal does not report focus
AGAIN_S = 5.0
_STOPPED = {
    EndReason.MODEL_UNAVAILABLE: "provider down",
    EndReason.MODEL_REJECTED: "request refused",
    EndReason.BUDGET_COST: "limit reached",
    EndReason.BUDGET_TIME: "limit reached",
    EndReason.BUDGET_TOKENS: "limit reached",
    EndReason.BUDGET_TOOLS: "limit reached",
    EndReason.BUDGET_TURNS: "limit reached",
    EndReason.COST_UNKNOWN: "limit reached",
    EndReason.CHECKPOINT_UNAVAILABLE: "no undo",
    EndReason.LOOP_DETECTED: "no progress",
    EndReason.CONTEXT_EXHAUSTED: "window full",
    EndReason.INTERNAL_ERROR: "internal error",
    EndReason.STATE_UNWRITABLE: "session not writable",
}


class Notifier:
    """Compares the session with what was last said; never the content of a command or a file."""

    def __init__(self, project: str, write: Callable[[str], None], *, progress: bool = False) -> None:
        self._progress: str | None = "" if progress else None  # the last one said; None: it is off
        self._project = "".join(char for char in project if char.isprintable())[:40]
        self._write = write
        self._title = ""
        self._said, self._said_at = "", -AGAIN_S
        self._asked = 0
        self._busy_since = 0.0
        self.focused: bool | None = None  # None: the terminal does not report it
        self.key_at = 0.0

    def update(self, state: State, now: float) -> None:
        """Say what changed."""
        asked = len(state.open_questions)
        if asked > self._asked:
            self._say(f"agent-tui: {self._project} needs your approval", now)
        if self._busy_since and not state.busy:
            self._ended(state, now)
        self._busy_since = state.turn_started_at if state.busy else 0.0
        self._asked = asked
        self._set_title(self._title_of(state))
        self._set_progress(_progress_of(state))

    def close(self) -> None:
        """The session is over: no progress any more."""
        self._set_progress(_NO_PROGRESS if self._progress else "")

    def _set_progress(self, progress: str) -> None:
        if self._progress is not None and progress != self._progress:
            self._progress = progress
            self._write(f"\x1b]9;4;{progress or _NO_PROGRESS}\x07")

    def _ended(self, state: State, now: float) -> None:
        stopped = _STOPPED.get(state.ended) if state.ended is not None else None
        if stopped:
            self._say(f"agent-tui: {self._project} stopped: {stopped}", now)
        elif now - self._busy_since > LONG_TURN_S:
            files = f" ({words.count(state.ended_files, 'file')})" if state.ended_files else ""
            self._say(f"agent-tui: {self._project} is done{files}", now)

    def _title_of(self, state: State) -> str:
        if state.open_questions:
            return f"! {self._project} needs you"
        if state.busy:
            return f"{self._project} working"
        if state.ended in _STOPPED:
            return f"! {self._project} stopped"
        return f"{self._project} done" if state.ended is not None else self._project

    def _set_title(self, title: str) -> None:
        if title != self._title:
            self._title = title
            self._write(f"\x1b]2;{title}\x07")

    def _say(self, text: str, now: float) -> None:
        seen = self.focused if self.focused is not None else now - self.key_at < UNSEEN_S
        if seen or (text == self._said and now - self._said_at < AGAIN_S):
            return
        self._said, self._said_at = text, now
        self._write(sequence(text))


_NO_PROGRESS = "0;0"


def _progress_of(state: State) -> str:
    """State and percentage of OSC 9;4 (ConEmu, Windows Terminal): 1 known, 3 unknown, 4 waits."""
    if state.open_questions:
        return "4;0"
    undo = state.status.undo
    if state.busy and undo is not None and undo.state == "importing" and undo.total_files:
        return f"1;{min(100 * undo.done_files // undo.total_files, 100)}"
    return "3;0" if state.busy else _NO_PROGRESS


def sequence(text: str) -> str:
    """OSC 9 or 777 where the terminal is known to take it, else the bell."""
    if os.environ.get("TMUX"):
        return "\x07"
    program = os.environ.get("TERM_PROGRAM", "")
    term = os.environ.get("TERM", "")
    if program in ("iTerm.app", "WezTerm", "ghostty") or "kitty" in term or os.environ.get("WT_SESSION"):
        return f"\x1b]9;{text}\x07"
    if "rxvt" in term or os.environ.get("VTE_VERSION"):
        return f"\x1b]777;notify;agent-tui;{text}\x07"
    return "\x07"
