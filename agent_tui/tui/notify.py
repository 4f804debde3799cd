"""Title of the terminal, and a notification when a person is needed and not looking."""

import os
from collections.abc import Callable

from agent_tui.engine.types import EndReason
from agent_tui.tui import words
from agent_tui.tui.state import State

LONG_TURN_S = 20.0
UNSEEN_S = 10.0  # without a key, where the terminal does not report focus
AGAIN_S = 5.0
TITLE_S = 1.0  # between two titles
_DONE = (EndReason.COMPLETED, EndReason.COMPLETED_UNVERIFIED)
_STOPPED = {  # every other end
    EndReason.CONTRACT_UNMET: "not met",
    EndReason.CANCELLED: "cancelled",
    EndReason.INTERRUPTED: "interrupted",
    EndReason.CRASHED: "crashed",
    EndReason.BUDGET_TURNS: "limit reached",
    EndReason.BUDGET_TOOLS: "limit reached",
    EndReason.BUDGET_TIME: "limit reached",
    EndReason.BUDGET_TOKENS: "limit reached",
    EndReason.BUDGET_COST: "limit reached",
    EndReason.COST_UNKNOWN: "limit reached",
    EndReason.CONTEXT_EXHAUSTED: "window full",
    EndReason.LOOP_DETECTED: "no progress",
    EndReason.MODEL_UNAVAILABLE: "provider down",
    EndReason.MODEL_REJECTED: "request refused",
    EndReason.APPROVAL_UNAVAILABLE: "approvals needed",
    EndReason.CHECKPOINT_UNAVAILABLE: "no undo",
    EndReason.STATE_UNWRITABLE: "session not writable",
    EndReason.INTERNAL_ERROR: "internal error",
}


class Notifier:
    """Compares the session with what was last said; never the content of a command or a file."""

    def __init__(
        self,
        project: str,
        write: Callable[[str], None],
        later: Callable[[float, Callable[[], None]], object],
        *,
        progress: bool = False,
    ) -> None:
        self._progress: str | None = "" if progress else None  # the last one said; None: it is off
        self._project = "".join(char for char in project if char.isprintable())[:40]
        self._write = write
        self._later = later  # after so many seconds
        self._title, self._next_title = "", ""
        self._titled_at = -TITLE_S
        self._title_waits = False
        self._said, self._said_at = "", -AGAIN_S
        self._asked = 0
        self._ended_turn = 0.0  # when the turn began whose end was told
        self._end = ""  # of it, in the title
        self.focused: bool | None = None  # None: the terminal does not report it
        self.key_at = 0.0
        self.around_tmux: str | None = None  # names of the terminal that tmux passes sequences to, if it does

    def update(self, state: State, now: float) -> None:
        """Say what changed."""
        asked = len(state.open_questions)
        if asked > self._asked:
            self._say(f"agent-tui: {self._project} needs your approval", now)
        self._asked = asked
        if state.busy:
            self._end = ""
        elif state.ended is not None and state.turn_started_at != self._ended_turn:
            self._ended_turn = state.turn_started_at
            self._tell_end(state, state.ended, now)
        self._set_title(self._title_of(state), now)
        self._set_progress(_progress_of(state))

    def came_back(self, state: State, now: float) -> None:
        """Say the title again: while another program had the terminal it had another."""
        self._title = ""
        self.update(state, now)

    def close(self) -> None:
        """The session is over: no progress any more."""
        self._set_progress(_NO_PROGRESS if self._progress else "")

    def _set_progress(self, progress: str) -> None:
        if self._progress is not None and progress != self._progress:
            self._progress = progress
            self._write(f"\x1b]9;4;{progress or _NO_PROGRESS}\x07")

    def _tell_end(self, state: State, reason: EndReason, now: float) -> None:
        if reason not in _DONE:
            self._end = "stopped"
            self._say(f"agent-tui: {self._project} stopped: {_STOPPED[reason]}", now)
        elif now - state.turn_started_at > LONG_TURN_S:
            self._end = "done"
            files = f" ({words.count(state.ended_files, 'file')})" if state.ended_files else ""
            self._say(f"agent-tui: {self._project} is done{files}", now)

    def _title_of(self, state: State) -> str:
        if state.open_questions:
            return f"! {self._project} needs you"
        if state.busy:
            return f"{self._project} working"
        if self._end == "stopped":
            return f"! {self._project} stopped"
        return f"{self._project} {self._end}".rstrip()

    def _set_title(self, title: str, now: float) -> None:
        """At most one a second, the newest."""
        self._next_title = title
        if title == self._title or self._title_waits:
            return
        wait_s = min(self._titled_at + TITLE_S - now, TITLE_S)  # clocks are set back
        if wait_s > 0:
            self._title_waits = True
            self._later(wait_s, lambda: self._write_title(now + wait_s))
        else:
            self._write_title(now)

    def _write_title(self, now: float) -> None:
        self._title_waits = False
        if self._next_title != self._title:
            self._title, self._titled_at = self._next_title, now
            self._write(f"\x1b]2;{self._title}\x07")

    def _say(self, text: str, now: float) -> None:
        seen = self.focused if self.focused is not None else now - self.key_at < UNSEEN_S
        if seen or (text == self._said and now - self._said_at < AGAIN_S):
            return
        self._said, self._said_at = text, now
        self._write(sequence(text, self.around_tmux))


_NO_PROGRESS = "0;0"


def _progress_of(state: State) -> str:
    """State and percentage of OSC 9;4 (ConEmu, Windows Terminal): 1 known, 3 unknown, 4 waits."""
    if state.open_questions:
        return "4;0"
    undo = state.status.undo
    if state.busy and undo is not None and undo.state == "importing" and undo.total_files:
        return f"1;{min(100 * undo.done_files // undo.total_files, 100)}"
    return "3;0" if state.busy else _NO_PROGRESS


_BELL = "\x07"
_TAKES_OSC_9 = ("iterm", "wezterm", "ghostty", "kitty", "windows terminal")
_TAKES_OSC_777 = ("rxvt", "vte")


def sequence(text: str, around_tmux: str | None = None) -> str:
    """OSC 9 or 777 where the terminal is known to take it, else the bell; inside tmux by passthrough to the
    terminal with the names `around_tmux`, where that is allowed."""
    if os.environ.get("TMUX"):
        found = _sequence_for(around_tmux or "", text)
        return found if found == _BELL else "\x1bPtmux;" + found.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    names = [os.environ.get("TERM_PROGRAM", ""), os.environ.get("TERM", "")]
    names += ["Windows Terminal"] if os.environ.get("WT_SESSION") else []
    names += ["VTE"] if os.environ.get("VTE_VERSION") else []
    return _sequence_for(" ".join(names), text)


def _sequence_for(names: str, text: str) -> str:
    if any(name in names.lower() for name in _TAKES_OSC_9):
        return f"\x1b]9;{text}\x07"
    if any(name in names.lower() for name in _TAKES_OSC_777):
        return f"\x1b]777;notify;agent-tui;{text}\x07"
    return _BELL
