"""`read_file`: numbered lines of a text file, or of the stored output of a command."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.policy import Policy
from tools.descriptions import description
from tools.output.report import count
from tools.output.size import budget_bytes
from tools.paths import place_of, reading_need, shown
from tools.reads import assess_read, read_in_thread, refused
from tools.types import (
    READS_NOTHING,
    Arguments,
    Assessment,
    CallClass,
    CallSink,
    Invocation,
    Outcome,
    OutcomeStatus,
    ToolSpec,
)
from tools.versions import Versions

if TYPE_CHECKING:
    from tools.reading import Page, Piece, Source

_REFERENCE = r"out/([a-z]\d+(?:\.\d+)?|history-k\d+)\Z"  # `out/` and a call or an epoch
_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "file, or a reference such as out/c3.1"},
        "start_line": {"type": "integer", "minimum": 1, "description": "first line, from 1"},
        "end_line": {"type": "integer", "minimum": 1, "description": "last line, included"},
        "start_column": {
            "type": "integer",
            "minimum": 1,
            "description": "show only `start_line`, from this character on: for a line that was shown "
            "without its end",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}


class ReadFile:
    """The tool."""

    def __init__(self, versions: Versions, artifacts: Path) -> None:
        self._versions = versions
        self._artifacts = artifacts
        self.spec = ToolSpec(name="read_file", description=description("read_file"), parameters=_PARAMETERS)

    def refuse(self, arguments: Arguments) -> str:
        """Why valid arguments still make no call, or ''."""
        start = arguments.get("start_line", 1)
        end = arguments.get("end_line", start)
        if end < start:
            return f"`end_line` {end} comes before `start_line` {start}"
        if "start_column" in arguments and end > start:
            return "`start_column` shows a part of one line; leave `end_line` out"
        return ""

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:
        """Inside the workspace it just runs; stored output belongs to the session."""
        path = arguments["path"]
        if self._stored(path) is not None:
            return Assessment(
                action="read",
                call_class=CallClass.AUTO,
                reason=f"reads the stored output {path}",
                shown=path,
                effects=READS_NOTHING,
                keys=(f"read {path}",),
                read_only=True,
            )
        return assess_read(path, policy, verb="reads")

    def _stored(self, path: str) -> Path | None:
        match = re.match(_REFERENCE, path)
        stored = self._artifacts / f"{match[1]}.out" if match else None
        return stored if stored is not None and stored.exists() else None

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:  # noqa: ARG002 - shows nothing
        """Read in a thread; one that hangs is left behind."""
        return await read_in_thread(lambda: self._run(invocation), invocation)

    def _run(self, invocation: Invocation) -> Outcome:
        from tools.output.canvas import Span
        from tools.reading import ReadError, open_source, page_of, piece_of, stored_output

        arguments, policy = invocation.arguments, invocation.policy
        stored = self._stored(arguments["path"])
        path = place_of(arguments["path"], policy)
        need = reading_need(path, policy) if stored is None else None
        if need is not None:
            return refused(need)
        name = arguments["path"] if stored else shown(path, policy)
        start, column = arguments.get("start_line", 1), arguments.get("start_column")
        budget = budget_bytes(invocation.max_output_tokens)
        span = Span(line=start, start=column - 1, size=budget) if column else None
        try:
            if stored:
                source = stored_output(stored.resolve(), name, span, invocation.artifacts.get(name))
            else:
                source = open_source(path, name, span)
        except ReadError as error:
            return Outcome(status=OutcomeStatus.FAILED, text=str(error))
        outcome = (
            _piece_outcome(name, source, start, piece_of(source, span, budget))
            if span
            else _outcome(name, source, page_of(source, start, arguments.get("end_line"), budget))
        )
        if source.data is not None:
            self._versions.note(path, source.data)
        return outcome


def _outcome(name: str, source: "Source", page: "Page") -> Outcome:
    from tools.output.canvas import LINE_CAP

    notes = []
    if page.cut_lines:
        more = f", the first is line {page.first_cut}" if page.cut_lines > 1 else ""
        notes.append(
            f"{count(page.cut_lines, 'line')} shown without the end{more}: go on with start_line "
            f"{page.first_cut}, start_column {LINE_CAP + 1}"
        )
    if not page.is_end:
        notes.append(f"the result is full; go on with start_line {page.last + 1}")
    total = page.total
    return Outcome(
        status=OutcomeStatus.SUCCEEDED,
        text=f"{_headline(name, _range(page), source, notes)}\n{page.text}".rstrip("\n"),
        data={"first": page.first, "last": page.last, "total": total, "encoding": source.encoding},
        total_bytes=source.size_bytes,
        complete=page.first == 1 and page.last == total and not page.cut_lines,
    )


def _piece_outcome(name: str, source: "Source", line: int, piece: "Piece") -> Outcome:
    end = piece.start + len(piece.text)
    if piece.is_missing:
        where = f"there is no line {line:,}"
    elif not piece.text:
        where = f"line {line:,} has no character {piece.start + 1:,}"
    else:
        where = f"line {line:,}, characters {piece.start + 1:,}-{end:,} of {piece.length:,}"
    notes = [f"go on with start_line {line}, start_column {end + 1}"] if end < piece.length else []
    shown_line = f"\n{line}\t{piece.text}" if piece.text else ""
    return Outcome(
        status=OutcomeStatus.SUCCEEDED,
        text=_headline(name, where, source, notes) + shown_line,
        data={"line": line, "first": piece.start + 1, "last": end, "total": piece.length},
        total_bytes=source.size_bytes,
        complete=False,
    )


def _headline(name: str, where: str, source: "Source", notes: Sequence[str]) -> str:
    size = f"{source.size_bytes:,} bytes"
    return f"[{' · '.join((name, where, size, *source.notes, *notes))}]"


def _range(page: "Page") -> str:
    if page.total == 0:
        return "empty file"
    if not page.last:
        known = f", it has {count(page.total, 'line')}" if page.total is not None else ""
        return f"nothing from line {page.first} on{known}"
    total = f" of {page.total:,}" if page.total is not None else ""
    return f"lines {page.first:,}-{page.last:,}{total}"
