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

BAR_CELLS = 12
BAR_AFTER_S = 1.0  # of waiting
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
    lefts = [own_words(left, glyphs) for left in _lefts(state, moment, glyphs)]
    all_hints = moment.hints or _hints(state, moment)
    most = _most_hints(moment.width)
    tries = [(lefts[0], shown) for shown in range(most, 0, -1)]  # hints go first, but for the last one
    tries += [(left, shown) for shown in (1, 0) for left in lefts]
    for left, shown in tries:
        hints = own_words(" · ".join(_kept(all_hints, shown)), glyphs)
        right = (Span(hints, "muted"),) if hints else ()
        spans = tuple(untrusted(left, _role(state)))
        if width_of(spans) + width_of(right) + 9 <= moment.width:
            break
    spans = clip(spans, moment.width - (width_of(right) + 9 if right else 5), glyphs.more)
    return ruled(spans, right, moment.width, glyphs.rule)


def _role(state: State) -> str:
    return "attention" if state.open_questions else "text"


def _most_hints(width: int) -> int:
    return 4 if width >= 80 else 2 if width > 60 else 1


_DROP_ORDER = ("? help", "/ commands", "@ files", "Tab queue", "Enter steer")  # first to go first
_STAYING = ("Esc interrupt", "Esc stop")  # last to go


def _kept(hints: tuple[str, ...], most: int) -> list[str]:
    kept = list(hints)
    for drop in _DROP_ORDER:
        if len(kept) > most and drop in kept:
            kept.remove(drop)
    if most == 1:
        kept.sort(key=lambda hint: hint not in _STAYING)
    return kept[:most]


def _lefts(state: State, moment: Moment, glyphs: Glyphs) -> list[str]:
    """What is said, from the longest way to the shortest."""
    if moment.notice:
        return [moment.notice]
    texts = _what(state, moment, glyphs)
    if moment.scrolled:
        below = words.count(moment.new_lines, "new line") + " below" if moment.new_lines else "scrolled up"
        return [f"{text.split(' · ')[0]} · {below}" for text in texts]
    return texts


def _what(state: State, moment: Moment, glyphs: Glyphs) -> list[str]:
    if state.stopping_at:
        stopping, passed = f"{_spin(moment, glyphs)} stopping", words.clock(moment.now - state.stopping_at)
        return [f"{stopping} · {_commands(state)}{passed}", f"{stopping} · {passed}"]
    if state.going_back is not None:
        return [f"{_spin(moment, glyphs)} rolling back{_how_far(state)}"]
    if state.open_questions:
        return [_waiting(state, moment)]
    if state.retry is not None:
        return _retry(state, moment)
    if state.activity == "compacting":
        return [f"{_spin(moment, glyphs)} compacting · {words.clock(moment.now - state.activity_at)}"]
    if not state.busy:
        if state.running:  # by the person: its card tells the time
            return [f"{_spin(moment, glyphs)} running your command"]
        if state.paused:
            missed = words.count(state.not_run, "call")
            return [f"paused · {missed} not run" if state.not_run else "paused"]
        return ["ready" if state.ready else "starting"]
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


def _retry(state: State, moment: Moment) -> list[str]:
    retry = state.retry
    if retry is None:
        return [""]
    left = words.clock(max(retry.due_at - moment.now, 0) + 0.5)
    next_try = f"retry {retry.attempt} of {retry.attempts} in {left}"
    what, code = _NO_STATUS.get(retry.kind, ""), _STATUS.search(retry.error)
    if not what:
        what = f"provider {'busy' if retry.kind == 'rate_limit' else 'down'}"
        if code:
            return [f"{what} ({code[1]}) · {next_try}", f"{what} · {next_try}"]
    return [f"{what} · {next_try}", f"{what.removeprefix('provider ')} · {next_try}"]


def _working(state: State, moment: Moment, glyphs: Glyphs) -> list[str]:
    spin = _spin(moment, glyphs)
    silent = moment.now - state.heard_at if state.heard_at and not state.running else 0.0
    if silent > SILENT_S:
        provider, since = state.provider or "the model", words.clock(silent)
        waiting = f"{spin} waiting for {provider} · {since}"
        return [f"{waiting} since the last word", waiting, f"{spin} waiting · {since}"]
    undo = state.status.undo
    is_held = state.held_at and not state.running
    if is_held and undo is not None and undo.state == "importing" and undo.total_files:
        return [f"{spin} first checkpoint {how_far}" for how_far in _import(undo, state, moment, glyphs)]
    step = f" · step {state.step}" if moment.width > 60 and state.step else ""
    passed = words.clock(moment.now - state.turn_started_at)
    if state.running:
        verbs = [f"running {words.count(len(state.running), 'call')}"]
    elif state.drafting:
        verbs = [f"writing a call of {state.drafting}", "writing a call"]
    else:
        verbs = [state.activity or "thinking"]
    return [f"{spin} {verb}{step} · {passed}" for verb in verbs]


def _import(undo: Health, state: State, moment: Moment, glyphs: Glyphs) -> list[str]:
    """How far it is, once somebody waits with a bar, and after a while how long the rest will take."""
    done, total = undo.done_files, undo.total_files
    share, passed = min(done / total, 1.0), moment.now - state.import_at
    percent, counted = f"{share:.0%}", f"· {words.tokens(done)} of {words.tokens(total)} files"
    ways = [f"· {percent} {counted}", counted, f"· {percent}"]
    if moment.now - state.held_at >= BAR_AFTER_S:
        ways = [f"{_bar(share, glyphs)} {percent} {counted}", *ways]
    if passed < ESTIMATE_S or not done:
        return ways
    return [f"{ways[0]} · {max(round(passed * (total - done) / done), 1)} s left", *ways]


def _bar(share: float, glyphs: Glyphs) -> str:
    full = round(share * BAR_CELLS)
    cells = glyphs.bar_full * full + glyphs.bar_empty * (BAR_CELLS - full)
    return f"{glyphs.bar_left}{cells}{glyphs.bar_right}"


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
    if state.running:
        return ("Esc interrupt", "Enter send")
    if state.paused:
        return ("Enter send",) if moment.draft else ("Enter continue",)
    return ("Enter send", "/ commands", "@ files", "? help")


def _question_hints(state: State, moment: Moment) -> tuple[str, ...]:
    if not moment.editor_focused:
        return ("Tab type a message",)
    if moment.draft and state.busy and moment.width > 60:
        return ("Shift+Tab answer it", "Enter steer")
    return ("Shift+Tab answer it",) if moment.draft or moment.left else ("Tab type a message",)
