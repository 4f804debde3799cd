"""What a command came to, as text for the model and as facts for programs."""

from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.denials import find
from sandbox.policy import Policy
from tools.output.collector import Taken
from tools.output.report import count, duration, output_text
from tools.terminal import Ending, Terminal
from tools.types import Grant, Outcome, OutcomeStatus


@frozen
class Place:
    """Where the command ran; evidence of a denial is looked for with it."""

    policy: Policy
    cwd: Path


def outcome_of(
    terminal: Terminal,
    *,
    elapsed_s: float,
    budget: int,
    terminal_id: str | None,
    interrupted: bool = False,
    place: Place | None = None,
    notes: tuple[str, ...] = (),
) -> Outcome:
    """The result of a call about this command, with the output since the last one."""
    taken = terminal.take(budget)
    state = _state(terminal, interrupted)
    status = _status(terminal, state)
    ref = terminal.collector.spool.ref
    text = output_text(taken, ref)
    denial = (
        find(text, policy=place.policy, cwd=place.cwd) if place and status is OutcomeStatus.FAILED else None
    )
    notes = (
        *notes,
        *_notes(terminal, terminal_id),
        *((f"denied by the sandbox: {denial.text}",) if denial else ()),
    )
    head = _headline(terminal, state, elapsed_s, terminal_id, taken)
    end = terminal.exit
    is_live = not terminal.gone.is_set()
    return Outcome(
        status=status,
        text="\n".join([head, *notes, *([text] if text else [])]),
        data=_data(terminal, taken, state, elapsed_s, terminal_id, notes),
        exit_code=end.code if end else None,
        signal=end.signal if end else None,
        total_bytes=terminal.collector.total_bytes,
        omitted_bytes=taken.shown.omitted_bytes,
        complete=not taken.shown.omitted_bytes and taken.binary is None,
        artifact=terminal.collector.spool.artifact(),
        terminal=terminal_id if is_live else None,
        denial=denial.text if denial else "",
        denied_grant=Grant(denial.grant) if denial else Grant.NONE,
        denied_detail=denial.detail if denial else "",
    )


def _state(terminal: Terminal, interrupted: bool) -> str:
    if terminal.ending is Ending.TIMED_OUT:
        return "timed_out"
    if interrupted:
        return "interrupted"
    if terminal.exit is None:
        return "running"
    return "killed" if terminal.exit.signal else "exited"


def _status(terminal: Terminal, state: str) -> OutcomeStatus:
    if state in ("timed_out", "interrupted"):
        return OutcomeStatus(state)
    if terminal.exit is None:
        return OutcomeStatus.YIELDED
    return OutcomeStatus.SUCCEEDED if terminal.exit.code == 0 else OutcomeStatus.FAILED


def _headline(terminal: Terminal, state: str, elapsed_s: float, terminal_id: str | None, taken: Taken) -> str:
    took = duration(elapsed_s)
    size = count(taken.shown.total_bytes, "byte")
    if taken.binary is None:
        size = f"{count(taken.shown.total_lines, 'line')}, {size}"
    end = terminal.exit
    how = ""
    if end is not None:
        how = f"killed by {end.signal}" if end.signal else f"exit {end.code}"
    match state:
        case "running":
            return f"[still running as {terminal_id} · {took} so far · {size} new]"
        case "timed_out":
            return f"[timed out after {took}; everything it started was ended · {how} · {size}]"
        case "interrupted":
            return f"[interrupted by the user after {took}; effects may be partial · {size}]"
    return f"[{how} · {took} · {size}]"


def _notes(terminal: Terminal, terminal_id: str | None) -> tuple[str, ...]:
    running, spool = terminal.running, terminal.collector.spool
    notes = [*running.notices, *([running.limit_hit] if running.limit_hit else [])]
    notes += [f"host {name} {became}" for name, became in running.hosts.items() if became]
    if terminal.exit is not None and not terminal.gone.is_set():
        left = count(len(running.leftovers()), "process").replace("processs", "processes")
        notes.append(f"{left} of it still running in the background as {terminal_id}; its output stays open")
    if spool.stopped:
        notes.append(f"the full output was not kept to its end: {spool.stopped}")
    elif spool.hole[1]:
        notes.append(f"of the full output bytes {spool.hole[0]:,} to {spool.hole[1]:,} were not kept")
    if terminal.collector.invalid:
        notes.append(f"{count(terminal.collector.invalid, 'byte sequence')} were no UTF-8")
    return tuple(notes)


def _data(
    terminal: Terminal,
    taken: Taken,
    state: str,
    elapsed_s: float,
    terminal_id: str | None,
    notes: tuple[str, ...],
) -> dict[str, object]:
    return {
        "state": state,
        "exit_code": terminal.exit.code if terminal.exit else None,
        "signal": terminal.exit.signal if terminal.exit else None,
        "session": terminal_id,
        "live": not terminal.gone.is_set(),
        "wall_time_s": round(elapsed_s, 3),
        "total_bytes": terminal.collector.total_bytes,
        "total_lines": terminal.collector.total_lines,
        "shown_of_bytes": taken.shown.total_bytes,
        "omitted_bytes": taken.shown.omitted_bytes,
        "omitted_lines": taken.shown.omitted_lines,
        "artifact": terminal.collector.spool.ref,
        "binary": taken.binary is not None,
        "notes": list(notes),
        **({"hosts": dict(terminal.running.hosts)} if terminal.running.hosts else {}),
        **({"asked_s": round(terminal.held_s, 3)} if terminal.held_s else {}),
    }
