"""`write_stdin`: types into a live command, polls it, signals it, ends its input."""

import asyncio
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.policy import Policy
from tools.descriptions import description
from tools.output.report import count, duration
from tools.output.size import budget_bytes
from tools.terminals import Entry, Terminals
from tools.types import (
    READS_NOTHING,
    Arguments,
    Assessment,
    CallClass,
    CallSink,
    Effects,
    Invocation,
    Outcome,
    OutcomeStatus,
    ToolSpec,
)

if TYPE_CHECKING:
    from tools.terminal import Terminal

SIGNALS = ("INT", "TERM", "KILL", "HUP", "WINCH")
DEFAULT_WRITE_MS, DEFAULT_POLL_MS = 1_000, 10_000
MIN_WRITE_MS, MAX_WRITE_MS = 250, 30_000
MIN_POLL_MS, MAX_POLL_MS = 5_000, 300_000
MAX_WRITE_BYTES = 65_536
_PARAMETERS = {
    "type": "object",
    "properties": {
        "session": {"type": "string", "minLength": 1, "description": "terminal id, such as t1"},
        "chars": {"type": "string", "description": "what to type; empty: poll"},
        "yield_ms": {
            "type": "integer",
            "minimum": 0,
            "description": "longest wait; default 1000, polls 10000",
        },
        "signal": {"type": "string", "enum": list(SIGNALS), "description": "signal to send"},
        "eof": {"type": "boolean", "description": "end the input, after `chars`; default false"},
        "columns": {"type": "integer", "minimum": 1, "maximum": 1_000, "description": "new width"},
        "rows": {"type": "integer", "minimum": 1, "maximum": 1_000, "description": "new height"},
        "max_output_tokens": {"type": "integer", "minimum": 1, "description": "show less output"},
    },
    "required": ["session"],
    "additionalProperties": False,
}

# `chars` of nothing but spelled-out keys means the keys: models write `\x03` and `^C` for them
_SPELLED = r"(?:\\x[0-9A-Fa-f]{2}|\\u00[0-9A-Fa-f]{2}|\\e|\^[@-_?])"


class WriteStdin:
    """The tool."""

    def __init__(self, terminals: Terminals) -> None:
        self._terminals = terminals
        self.spec = ToolSpec(
            name="write_stdin", description=description("write_stdin"), parameters=_PARAMETERS
        )

    def refuse(self, arguments: Arguments) -> str:
        """Why valid arguments still make no call, or ''."""
        size = len(keys(arguments.get("chars", "")))
        if size > MAX_WRITE_BYTES:
            return f"`chars` has {size:,} bytes, at most {MAX_WRITE_BYTES:,} can be typed at once"
        if ("columns" in arguments) != ("rows" in arguments):
            return "`columns` and `rows` belong together"
        return ""

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:  # noqa: ARG002 - a part of `Tool`
        """Typing can do whatever the command can; a poll does nothing."""
        typed = arguments.get("chars", "")
        entry = self._terminals.get(arguments["session"])
        # one that ended never lives again, but one that is not there may come before this call runs
        acts = _acts(arguments) and (entry is None or entry.is_live)
        command = f" ({entry.command})" if entry else ""
        told = typed or (f"signal {arguments['signal']}" if "signal" in arguments else "")
        effects = replace(
            Effects() if acts else READS_NOTHING, terminal=arguments["session"], idempotent=False
        )
        return Assessment(
            action="input" if acts else "read",
            call_class=CallClass.ASK if acts else CallClass.AUTO,
            reason=f"types into terminal {arguments['session']}{command}"
            if acts
            else f"waits for output of {arguments['session']}",
            shown=told or ("end of input" if arguments.get("eof") else f"poll {arguments['session']}"),
            effects=effects,
            keys=(f"write {arguments['session']}",) if acts else (),
            read_only=not acts,
        )

    async def refusal(self, arguments: Arguments, policy: Policy) -> str:  # noqa: ARG002 - as that of other tools
        """Why it would come to nothing now, or ''."""
        known = self._terminals.get(arguments["session"]) is not None
        return "" if known else self._unknown(arguments["session"]).text

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:  # noqa: ARG002 - the terminal shows
        """Type and wait. Cancelling ends the wait, never the terminal."""
        entry = self._terminals.get(invocation.arguments["session"])
        if entry is None:
            return self._unknown(invocation.arguments["session"])
        if entry.terminal is None:
            return _lost(entry)
        if not entry.is_live and entry.told_end and not entry.terminal.has_news:
            return _ended(entry, entry.terminal, invocation.arguments)
        return await self._talk(entry, entry.terminal, invocation)

    def _unknown(self, terminal_id: str) -> Outcome:
        live = self._terminals.live
        listed = "\n".join(f"{entry.id}: {entry.command}" for entry in live) or "none"
        text = f"There is no terminal `{terminal_id}`; live ones:\n{listed}"
        return Outcome(status=OutcomeStatus.FAILED, text=text)

    async def _talk(self, entry: Entry, terminal: "Terminal", invocation: Invocation) -> Outcome:
        from tools.command_result import outcome_of

        arguments = invocation.arguments
        notes: list[str] = []
        begun = time.monotonic()
        interrupted = False
        wait_s = longest_wait_s(arguments, entry.empty_polls)
        try:
            if not terminal.gone.is_set():
                await _act(terminal, arguments, wait_s, notes)
            elif _acts(arguments):
                notes.append("it had ended before: nothing was typed or sent")
            await terminal.news(wait_s - (time.monotonic() - begun))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            interrupted = True
            notes.append("the wait was interrupted by the user; the terminal goes on")
        is_empty = not _acts(arguments) and not interrupted and not terminal.has_news
        entry.empty_polls = entry.empty_polls + 1 if is_empty else 0
        entry.told_end = entry.told_end or terminal.over.is_set()
        outcome = outcome_of(
            terminal,
            elapsed_s=time.time() - entry.started_at,
            budget=budget_bytes(invocation.max_output_tokens, arguments.get("max_output_tokens")),
            terminal_id=entry.id,
            notes=tuple(notes),
        )
        if interrupted:
            return replace(outcome, status=OutcomeStatus.INTERRUPTED)
        # typing and looking worked, whatever the command came to
        is_failure = outcome.status is OutcomeStatus.FAILED
        return replace(outcome, status=OutcomeStatus.SUCCEEDED) if is_failure else outcome


def keys(chars: str) -> bytes:
    """The bytes to type; text that only spells keys, such as `\\x03` or `^C`, means those keys."""
    pieces = re.findall(_SPELLED, chars)
    if chars and "".join(pieces) == chars:
        return b"".join(_key(piece) for piece in pieces)
    return chars.encode("utf-8", errors="replace")


def _key(piece: str) -> bytes:
    if piece.startswith("^"):
        return bytes([ord(piece[1]) ^ 0x40])
    return b"\x1b" if piece == "\\e" else bytes([int(piece[-2:], 16)])


def _acts(arguments: Arguments) -> bool:
    """Whether it does more than look."""
    return bool(
        arguments.get("chars") or arguments.get("eof") or "signal" in arguments or "rows" in arguments
    )


def longest_wait_s(arguments: Arguments, empty_polls: int) -> float:
    """Seconds to wait at most. The least of a poll doubles with each one that found nothing: asking in
    a loop costs few requests, and news end the wait at once."""
    default, least, most = DEFAULT_WRITE_MS, MIN_WRITE_MS, MAX_WRITE_MS
    if not _acts(arguments):
        default, most = DEFAULT_POLL_MS, MAX_POLL_MS
        least = min(MIN_POLL_MS * 2 ** min(empty_polls, 10), most)
    wanted: int = arguments.get("yield_ms", default)
    return min(max(wanted, least), most) / 1000


async def _act(terminal: "Terminal", arguments: Arguments, wait_s: float, notes: list[str]) -> None:
    """Resize, type, end the input, signal: in this order; what was not possible becomes a note."""
    if "rows" in arguments:
        if terminal.tty:
            terminal.resize(arguments["columns"], arguments["rows"])
        else:
            notes.append("not resized: it has no terminal")
    data = keys(arguments.get("chars", ""))
    if data and terminal.running.stdin is None:
        notes.append("nothing was typed: its input is closed; start it with `stdin` or `tty`")
    elif data:
        written = await terminal.write(data, wait_s)
        if written < len(data):
            notes.append(
                f"only {written:,} of {count(len(data), 'byte')} were taken; it does not read its input"
            )
    if arguments.get("eof"):
        await terminal.end_input()
    if "signal" in arguments and arguments["signal"] != "WINCH":
        terminal.signal(arguments["signal"])
    elif "signal" in arguments and "rows" not in arguments:
        terminal.signal("WINCH")


def _lost(entry: Entry) -> Outcome:
    """An earlier process of the agent held it; it died with that process."""
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(entry.started_at))
    text = (
        f"Terminal `{entry.id}` is lost: the agent was restarted and `{entry.command}`, started {when}, "
        f"ended with it. Nothing was sent. Its output so far: read_file `{entry.ref}`"
    )
    return Outcome(status=OutcomeStatus.FAILED, text=text, data={"state": "lost", "artifact": entry.ref})


def _ended(entry: Entry, terminal: "Terminal", arguments: Arguments) -> Outcome:
    """Its end was told already: the same state again; typing into it is an error."""
    end = terminal.exit
    how = "ended"
    if end is not None:
        how = f"was killed by {end.signal}" if end.signal else f"ended with exit {end.code}"
    text = f"[terminal {entry.id} {how} · {terminal.ending} · ran {duration(time.time() - entry.started_at)}]"
    data = {"state": "exited", "exit_code": end.code if end else None, "session": entry.id, "live": False}
    status = OutcomeStatus.SUCCEEDED
    if _acts(arguments):
        status = OutcomeStatus.FAILED
        text = f"{text}\nNothing was typed or sent. Its last output:\n{terminal.tail}".rstrip("\n")
    return Outcome(
        status=status,
        text=text,
        data=data,
        exit_code=end.code if end else None,
        signal=end.signal if end else None,
        artifact=terminal.collector.spool.artifact(),
    )
