"""The activity line: what happens now (left), the keys that work now (right)."""

import re

from agent_tui.engine import events
from agent_tui.engine.types import InputKind
from agent_tui.frozen import frozen
from agent_tui.tui import words
from agent_tui.tui.glyphs import Glyphs, own_words
from agent_tui.tui.state import State
from agent_tui.tui.transcript.lines import Line, Span, clip, ruled, untrusted, width_of
from checkpoints.types import Health

HINTS_WIDE, HINTS_SHORT, HINTS_NARROW = 4, 4, 1
BAR_CELLS = 12
ESTIMATE_S = 3.0  # after which is told how long the rest will take
_STATUS = re.compile(r"\b([45]\d\d)\b")  # of HTTP, in the words of an error
_NO_STATUS = {  # what is so where no server answered, by the class of the failure
    "connection": "provider not reachable",
    "timeout": "provider silent",
    "stalled": "provider silent",
    "cut": "connection cut",
    "malformed": "answer not readable",
}
SILENT_S = 20.0  # a model that sends nothing for this long is said to be waited for


@frozen
class Moment:
    """What the line depends on beside the state of the session."""

    width: int
    now: float
    frame: int = 0  # of the spinner
    editor_focused: bool = True
    draft: bool = False
    left: bool = False  # a prompt is open, and the person turned to the editor
    new_lines: int = 0
    scrolled: bool = False
    notice: str = ""  # a passing word of the interface, such as "again to quit"
    hints: tuple[str, ...] = ()  # of an open list, in place of the usual ones


def line(state: State, moment: Moment, glyphs: Glyphs) -> Line:
    """The row."""
    left = own_words(_left(state, moment, glyphs), glyphs)
    separator = own_words(" · ", glyphs)
    for shown in range(_most_hints(moment.width), -1, -1):
        hints = _kept(moment.hints or _hints(state, moment), shown)
        right = tuple(Span(own_words(separator.join(hints), glyphs), "muted") for _ in range(bool(hints)))
        spans = tuple(untrusted(left, _role(state)))
        if width_of(spans) + width_of(right) + 9 <= moment.width:
            break
    else:
        right = ()
    spans = clip(spans, moment.width - (width_of(right) + 9 if right else 5), glyphs.more)
    return ruled(spans, right, moment.width, glyphs.rule)


def _role(state: State) -> str:
    return "attention" if state.open_questions else "text"


def _most_hints(width: int) -> int:
    return 4 if width >= 80 else 2 if width > 60 else 1


_DROP_ORDER = ("? help", "/ commands", "@ files", "Tab queue", "Enter steer")  # first to go first


def _kept(hints: tuple[str, ...], most: int) -> list[str]:
    kept = list(hints)
    for drop in _DROP_ORDER:
        if len(kept) > most and drop in kept:
            kept.remove(drop)
    return kept[:most]


def _left(state: State, moment: Moment, glyphs: Glyphs) -> str:
    if moment.notice:
        return moment.notice
    text = _what(state, moment, glyphs)
    if moment.scrolled:
        first = text.split(" · ")[0]
        below = words.count(moment.new_lines, "new line") + " below" if moment.new_lines else "scrolled up"
        return f"{first} · {below}"
    return text


def _what(state: State, moment: Moment, glyphs: Glyphs) -> str:
    if state.stopping_at:
        passed = words.clock(moment.now - state.stopping_at)
        return f"{_spin(moment, glyphs)} stopping · {_commands(state)}{passed}"
    if state.going_back is not None:
        return f"{_spin(moment, glyphs)} rolling back{_how_far(state)}"
    if state.open_questions:
        return _waiting(state, moment)
    if state.retry is not None:
        return _retry(state, moment)
    if not state.busy:
        if state.activity == "compacting":
            return f"{_spin(moment, glyphs)} compacting · {words.clock(moment.now - state.activity_at)}"
        if state.paused:
            missed = words.count(state.not_run, "call")
            return f"paused · {missed} not run" if state.not_run else "paused"
        return "ready" if state.ready else "starting"
    return _working(state, moment, glyphs)


def _how_far(state: State) -> str:
    """Of a rollback, once the files are told one by one; before, how many steps it will have."""
    undo = state.status.undo
    if undo is not None and undo.going_back is not None:
        return f" · {undo.going_back[0]:,} of {words.count(undo.going_back[1], 'file')}"
    return f" · {words.count(state.going_back, 'file')}" if state.going_back else ""


def _commands(state: State) -> str:
    return f"asked {words.count(len(state.running), 'command')} to end · " if state.running else ""


def _waiting(state: State, moment: Moment) -> str:
    questions = state.open_questions
    first = questions[0].event
    noun = (
        "approval"
        if isinstance(first, events.ApprovalAsked)
        else "question"
        if isinstance(first, events.QuestionAsked)
        else "result lost"
    )
    count = f"{len(questions)} {noun}" if noun == "result lost" else words.count(len(questions), noun)
    return f"waiting for you · {count}" if moment.width > 60 else "waiting for you"


def _retry(state: State, moment: Moment) -> str:
    retry = state.retry
    if retry is None:
        return ""
    left = words.clock(max(retry.due_at - moment.now, 0) + 0.5)
    what = _NO_STATUS.get(retry.kind, "")
    if not what:
        code = _STATUS.search(retry.error)
        is_busy = retry.kind == "rate_limit"
        what = f"provider {'busy' if is_busy else 'down'}" + (f" ({code[1]})" if code else "")
    return f"{what} · retry {retry.attempt} of {retry.attempts} in {left}"


def _working(state: State, moment: Moment, glyphs: Glyphs) -> str:
    if state.running:
        verb = f"running {words.count(len(state.running), 'call')}"
    elif state.drafting:
        verb = f"writing a call of {state.drafting}"
    else:
        verb = state.activity or "thinking"
    silent = moment.now - state.heard_at if state.heard_at and not state.running else 0.0
    if silent > SILENT_S:
        provider = state.status.model.partition("/")[0] or "the model"
        return f"{_spin(moment, glyphs)} waiting for {provider} · {words.clock(silent)} since the last word"
    undo = state.status.undo
    is_held = state.held and not state.running
    if is_held and undo is not None and undo.state == "importing" and undo.total_files:
        return f"{_spin(moment, glyphs)} first checkpoint {_import(undo, state, moment, glyphs)}"
    parts = [f"{_spin(moment, glyphs)} {verb}"]
    if moment.width > 60 and state.step:
        parts.append(f"step {state.step}")
    parts.append(words.clock(moment.now - state.turn_started_at))
    return " · ".join(parts)


def _import(undo: Health, state: State, moment: Moment, glyphs: Glyphs) -> str:
    """How far it is, and after a while how long the rest will take."""
    done, total = undo.done_files, undo.total_files
    shown = f"{bar(done, total, glyphs)} · {words.tokens(done)} of {words.tokens(total)} files"
    passed = moment.now - state.import_at
    if passed < ESTIMATE_S or not done:
        return shown
    return f"{shown} · {max(round(passed * (total - done) / done), 1)} s left"


def bar(done: int, total: int, glyphs: Glyphs) -> str:
    """`▕██████░░░░░░▏ 52%`."""
    share = min(done / total, 1.0) if total else 0.0
    full = round(share * BAR_CELLS)
    cells = glyphs.bar_full * full + glyphs.bar_empty * (BAR_CELLS - full)
    return f"{glyphs.bar_left}{cells}{glyphs.bar_right} {share:.0%}"


def _spin(moment: Moment, glyphs: Glyphs) -> str:
    return glyphs.spinner[moment.frame % len(glyphs.spinner)]


def _hints(state: State, moment: Moment) -> tuple[str, ...]:
    if moment.scrolled:
        return ("End newest",)
    if state.stopping_at:
        return ("Ctrl+C kill now",)
    if state.going_back is not None:
        return ()  # not interruptible
    if state.activity == "compacting":
        return ("Esc keep as it is",)
    if state.open_questions:
        return _question_hints(state, moment)
    if state.retry is not None:
        return ("Esc stop", "Enter steer") if moment.draft else ("Enter retry now", "Esc stop")
    if state.busy and state.pending and not moment.draft and moment.width > 60:
        steers = any(each.kind is not InputKind.QUEUE for each in state.pending)
        return ("Alt+Up edit", *(["Ctrl+S steer now"] if steers else []), "Esc interrupt")
    if state.busy:
        return ("Esc interrupt", "Enter steer", "Tab queue")
    if state.paused:
        return ("Enter continue",)
    return ("Enter send", "/ commands", "@ files", "? help")


def _question_hints(state: State, moment: Moment) -> tuple[str, ...]:
    if not moment.editor_focused:
        return ("Tab type a message",)
    if moment.draft and state.busy and moment.width > 60:
        return ("Shift+Tab answer it", "Enter steer")
    return ("Shift+Tab answer it",) if moment.draft or moment.left else ("Tab type a message",)
