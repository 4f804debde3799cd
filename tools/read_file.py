"""`read_file`: numbered lines of a text file, or of the stored output of a command."""

import re
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
    from tools.reading import Page, Source

_REFERENCE = re.compile(r"out/([a-z]\d+(?:\.\d+)?|history-k\d+)\Z")  # `out/` and a call or an epoch
_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "file, or a reference such as out/c3.1"},
        "start_line": {"type": "integer", "minimum": 1, "description": "first line, from 1"},
        "end_line": {"type": "integer", "minimum": 1, "description": "last line, included"},
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
        start, end = arguments.get("start_line", 1), arguments.get("end_line")
        return "" if end is None or start <= end else f"`end_line` {end} comes before `start_line` {start}"

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
        match = _REFERENCE.match(path)
        stored = self._artifacts / f"{match[1]}.out" if match else None
        return stored if stored is not None and stored.exists() else None

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:  # noqa: ARG002 - shows nothing
        """Read in a thread; one that hangs is left behind."""
        return await read_in_thread(lambda: self._run(invocation), invocation)

    def _run(self, invocation: Invocation) -> Outcome:
        from tools.reading import ReadError, open_source, page_of, stored_output

        arguments, policy = invocation.arguments, invocation.policy
        stored = self._stored(arguments["path"])
        path = place_of(arguments["path"], policy)
        need = reading_need(path, policy) if stored is None else None
        if need is not None:
            return refused(need)
        name = arguments["path"] if stored else shown(path, policy)
        try:
            source = stored_output(stored.resolve(), name) if stored else open_source(path, name)
        except ReadError as error:
            return Outcome(status=OutcomeStatus.FAILED, text=str(error))
        start = arguments.get("start_line", 1)
        page = page_of(source, start, arguments.get("end_line"), budget_bytes(invocation.max_output_tokens))
        if source.data is not None:
            self._versions.note(path, source.data)
        return _outcome(name, source, page)


def _outcome(name: str, source: "Source", page: "Page") -> Outcome:
    facts = [name, _range(page), f"{source.size_bytes:,} bytes", *([source.note] if source.note else [])]
    notes = []
    if page.cut_lines:
        notes.append(f"{count(page.cut_lines, 'line')} shown without the end")
    if not page.is_end:
        notes.append(f"the result is full; go on with start_line {page.last + 1}")
    text = f"[{' · '.join(facts + notes)}]\n{page.text}".rstrip("\n")
    total = page.total
    return Outcome(
        status=OutcomeStatus.SUCCEEDED,
        text=text,
        data={"first": page.first, "last": page.last, "total": total, "encoding": source.encoding},
        total_bytes=source.size_bytes,
        complete=page.first == 1 and page.last == total and not page.cut_lines,
    )


def _range(page: "Page") -> str:
    if page.total == 0:
        return "empty file"
    if not page.last:
        known = f", it has {count(page.total, 'line')}" if page.total is not None else ""
        return f"nothing from line {page.first} on{known}"
    total = f" of {page.total:,}" if page.total is not None else ""
    return f"lines {page.first:,}-{page.last:,}{total}"
