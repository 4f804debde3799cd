"""Tells work from going round in circles, by what calls asked and what came back.

Everything is fingerprints: no similarity, no tool names alone, one pass over each result. The state
is rebuilt from `ProgressJudged` records, so that a resume goes on with the same strikes.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import field

from agent_tui.engine.events import CallTrace, ProgressJudged
from agent_tui.frozen import mutable
from tools.types import Outcome, OutcomeStatus

WINDOW_CALLS = 24
SAME_CALL_LIMIT = 3
SAME_FAILURE_LIMIT = 6
CYCLE_PERIODS = (2, 3, 4)
LAST_STRIKE = 3
HALVE_AFTER = 3  # steps with progress in a row
MAX_NORMALISED = 256 * 1024  # characters; above it all digits are ignored instead

_VARYING = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"  # timestamps
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"  # times of day
    r"|\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|seconds|min|minutes)\b"  # durations
    r"|\b0x[0-9a-fA-F]{4,}\b"  # addresses
    r"|\bpid[ =:]*\d+"
    r"|/(?:var/)?tmp/[^\s'\":]+"  # temporary names
)
_SAME = r"the same `\w+` call"
_DIGITS = {ord(digit): None for digit in "0123456789"}


def fingerprint(text: str) -> str:
    """A short full hash."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:20]


def normalise(text: str) -> str:
    """The text without what differs between two equal runs."""
    return text.translate(_DIGITS) if len(text) > MAX_NORMALISED else re.sub(_VARYING, "~", text)


def call_fingerprint(tool: str, arguments: str) -> str:
    """Equal for equal calls: JSON with sorted keys, whitespace inside strings kept."""
    from agent_tui.engine.facts import call_key

    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return fingerprint(tool + arguments)
    return fingerprint(call_key(tool, value) if isinstance(value, dict) else tool + arguments)


def is_poll(tool: str, arguments: str) -> bool:
    """Looking at a live terminal without typing is no repetition."""
    if tool != "write_stdin":
        return False
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not (value.get("chars") or value.get("signal") or value.get("eof"))


def trace_of(call_id: str, tool: str, arguments: str, outcome: Outcome, *, changed: bool) -> CallTrace:
    """What is kept of a call; `changed` says that the workspace has content not seen before."""
    failed = outcome.status is not OutcomeStatus.SUCCEEDED or outcome.exit_code not in (None, 0)
    failed = failed and outcome.status is not OutcomeStatus.YIELDED
    call = call_fingerprint(tool, arguments)
    return CallTrace(
        call_id=call_id,
        tool=tool,
        call=call,
        target="poll" if is_poll(tool, arguments) else call,
        result=fingerprint(f"{outcome.status} {outcome.exit_code} {normalise(outcome.text)}"),
        failed=failed,
        changed=changed,
    )


@mutable
class Progress:
    """The state of detection in a turn; part of the fold."""

    batches: list[tuple[CallTrace, ...]] = field(default_factory=list)  # newest last
    seen: set[tuple[str, str]] = field(default_factory=set)  # call and result
    targets: set[str] = field(default_factory=set)
    idle_steps: int = 0
    strikes: int = 0
    good_steps: int = 0
    blocked: frozenset[str] = frozenset()

    def apply(self, judged: ProgressJudged) -> None:
        """Take one record in."""
        self.good_steps = self.good_steps + 1 if judged.progressed else 0
        self.idle_steps, self.strikes = judged.idle_steps, judged.strikes
        self.blocked = frozenset(judged.blocked)
        if judged.traces:
            self.batches.append(judged.traces)
        while sum(map(len, self.batches)) > WINDOW_CALLS and len(self.batches) > 1:
            del self.batches[0]
        self.seen.update((trace.call, trace.result) for trace in judged.traces)
        self.targets.update(trace.target for trace in judged.traces)

    def judge(
        self, step_id: str, traces: Sequence[CallTrace], *, advanced: bool, max_idle_steps: int | None
    ) -> ProgressJudged:
        """Judge one step; `advanced` says that a check moved or the person said something."""
        changed = any(trace.changed for trace in traces)
        progressed = advanced or changed or any(self._is_new(trace) for trace in traces)
        blocked = frozenset() if advanced or changed else self.blocked
        idle = 0 if progressed else self.idle_steps + 1
        strikes = (
            self.strikes // 2 if progressed and (self.good_steps + 1) % HALVE_AFTER == 0 else self.strikes
        )
        batches = [*self.batches, tuple(traces)] if traces else self.batches
        finding, units = "", frozenset[str]()
        if not (advanced or changed):
            finding, units = _detect(batches, self.blocked)
        if finding:
            strikes += 1
            blocked = blocked | units if strikes >= 2 else blocked
        if max_idle_steps is not None and idle >= max_idle_steps:
            finding, strikes = f"{idle} steps in a row brought nothing new", LAST_STRIKE
        elif max_idle_steps is not None and idle == max_idle_steps // 2 and not finding:
            finding = f"{idle} steps in a row brought nothing new"
        return ProgressJudged(
            step_id=step_id,
            progressed=progressed,
            traces=tuple(traces),
            idle_steps=idle,
            strikes=strikes,
            blocked=tuple(sorted(blocked)),
            finding=finding,
        )

    def _is_new(self, trace: CallTrace) -> bool:
        """A target not asked before; of a terminal, output not seen before."""
        if trace.target == "poll":
            return (trace.call, trace.result) not in self.seen
        return trace.target not in self.targets


def _detect(batches: Sequence[tuple[CallTrace, ...]], blocked: frozenset[str]) -> tuple[str, frozenset[str]]:
    """What the newest batch repeats, in words, and the fingerprints of the calls that repeat."""
    if not batches or not batches[-1]:
        return "", frozenset()
    stuck = [trace for trace in batches[-1] if trace.call in blocked]
    if stuck:
        times = sum(trace.call == stuck[0].call for batch in batches for trace in batch)
        text = f"the same `{stuck[0].tool}` call {times} times, though it was blocked"
        return text, frozenset({stuck[0].call})
    since = _since_change(batches)
    return _same_call(since) or _same_failure(since) or _cycle(since) or ("", frozenset())


def in_short(finding: str) -> str:
    """What a detector found, as the end of a run says it: `the same call 5 times`."""
    return re.sub(_SAME, "the same call", finding).partition(",")[0]


def _since_change(batches: Sequence[tuple[CallTrace, ...]]) -> list[tuple[CallTrace, ...]]:
    """The newest batches between which no file changed, polls left out."""
    found: list[tuple[CallTrace, ...]] = []
    for batch in reversed(batches):
        if any(trace.changed for trace in batch):
            break
        kept = tuple(trace for trace in batch if trace.target != "poll")
        if kept:
            found.append(kept)
    return found[::-1]


def _same_call(batches: Sequence[tuple[CallTrace, ...]]) -> tuple[str, frozenset[str]] | None:
    for trace in batches[-1] if batches else ():
        same = (trace.call, trace.result)
        times = sum(any((one.call, one.result) == same for one in batch) for batch in batches)
        if times >= SAME_CALL_LIMIT:
            word = "failure" if trace.failed else "result"
            text = f"the same `{trace.tool}` call {times} times, same {word}, no file changed between"
            return text, frozenset({trace.call})
    return None


def _same_failure(batches: Sequence[tuple[CallTrace, ...]]) -> tuple[str, frozenset[str]] | None:
    flat = [trace for batch in batches for trace in batch]
    if not flat:
        return None
    of_tool = [trace for trace in flat if trace.tool == flat[-1].tool][-SAME_FAILURE_LIMIT:]
    if len(of_tool) < SAME_FAILURE_LIMIT or not all(trace.failed for trace in of_tool):
        return None
    if len({trace.result for trace in of_tool}) > 1 and len({trace.call for trace in of_tool}) > 1:
        return None
    text = f"`{flat[-1].tool}` failed {SAME_FAILURE_LIMIT} times in a row in the same way"
    return text, frozenset({flat[-1].call})


def _cycle(batches: Sequence[tuple[CallTrace, ...]]) -> tuple[str, frozenset[str]] | None:
    units = [tuple((trace.call, trace.result) for trace in batch) for batch in batches]
    for period in CYCLE_PERIODS:
        last, before = units[-period:], units[-2 * period : -period]
        if len(before) == period and last == before and len(set(last)) > 1:
            calls = frozenset(trace.call for batch in batches[-period:] for trace in batch)
            return f"the same {period} steps twice, same results, no file changed between", calls
    return None
