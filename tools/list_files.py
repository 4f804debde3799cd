"""`list_files`: what lies below a directory, without what git ignores."""

from typing import TYPE_CHECKING

from sandbox.policy import Policy
from tools.descriptions import description
from tools.output.report import count
from tools.output.size import budget_bytes, size_of
from tools.paths import own_places, place_of, reading_need, shown
from tools.reads import assess_read, read_in_thread, refused
from tools.types import Arguments, Assessment, CallSink, Invocation, Outcome, OutcomeStatus, ToolSpec

if TYPE_CHECKING:
    from tools.ignoring import Found, Walk

MAX_LISTED = 1_000
DEFAULT_DEPTH = 2
_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "directory; default: the workspace"},
        "depth": {"type": "integer", "minimum": 1, "description": "levels to go down; default 2"},
        "glob": {"type": "string", "minLength": 1, "description": "only files that match"},
        "ignored": {"type": "boolean", "description": "also what .gitignore excludes; default false"},
    },
    "additionalProperties": False,
}


class ListFiles:
    """The tool."""

    def __init__(self) -> None:
        self.spec = ToolSpec(name="list_files", description=description("list_files"), parameters=_PARAMETERS)

    def refuse(self, arguments: Arguments) -> str:
        """Why valid arguments still make no call, or ''."""
        from tools.ignoring import glob_fault

        return glob_fault(arguments.get("glob", ""))

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:
        """Like reading the directory."""
        return assess_read(arguments.get("path", "."), policy, verb="lists")

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:  # noqa: ARG002 - shows nothing
        """List in a thread."""
        return await read_in_thread(lambda: self._run(invocation), invocation)

    def _run(self, invocation: Invocation) -> Outcome:
        from sandbox.placeholders import present as stand_ins
        from tools.ignoring import Walk, matches_glob

        arguments, policy = invocation.arguments, invocation.policy
        directory = place_of(arguments.get("path", "."), policy)
        need = reading_need(directory, policy)
        if need is not None:
            return refused(need)
        name = shown(directory, policy)
        if not directory.is_dir():
            what = "is no directory; read it with `read_file`" if directory.exists() else "does not exist"
            return Outcome(status=OutcomeStatus.FAILED, text=f"`{name}` {what}")
        glob = arguments.get("glob", "")
        depth = arguments.get("depth", None if glob else DEFAULT_DEPTH)
        walk = Walk(
            directory,
            ignored=arguments.get("ignored", False),
            depth=depth,
            leave_out=(*own_places(policy), *stand_ins(policy.state_dir)),
        )
        wanted = (
            entry for entry in walk if not glob or (not entry.is_dir and matches_glob(entry.path, glob))
        )
        lines: list[str] = []
        left = budget_bytes(invocation.max_output_tokens)
        total = 0
        for entry in wanted:
            total += 1
            line = _line(entry)
            left -= size_of(line) + 1
            if left >= 0 and len(lines) < MAX_LISTED:
                lines.append(line)
        return _outcome(name, lines, total, walk)


def _line(entry: "Found") -> str:
    mark = "/" if entry.is_dir else ""
    if entry.is_link:
        mark = f" -> {entry.target}"
    note = "  (ignored)" if entry.is_ignored else ""
    return _printable(f"{entry.path}{mark}") + note


def _printable(text: str) -> str:
    """One line whatever a name holds; bytes that are no UTF-8 as escapes."""
    shown_text = text.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="backslashreplace")
    return "".join(char if char >= " " and char != "\x7f" else f"\\x{ord(char):02x}" for char in shown_text)


def _outcome(name: str, lines: list[str], total: int, walk: "Walk") -> Outcome:
    facts = [name, count(total, "entry").replace("entrys", "entries")]
    if total > len(lines):
        facts.append(f"{total - len(lines):,} of them not shown: give a deeper `path` or a `glob`")
    if walk.ignored:
        facts.append(f"{walk.ignored:,} ignored by .gitignore left out")
    if walk.unread:
        facts.append(f"{walk.unread:,} director{'y' if walk.unread == 1 else 'ies'} could not be read")
    if not walk.is_complete:
        facts.append("the walk stopped at its bound, there are more")
    return Outcome(
        status=OutcomeStatus.SUCCEEDED,
        text="\n".join([f"[{' · '.join(facts)}]", *lines]),
        data={
            "total": total,
            "shown": len(lines),
            "ignored": walk.ignored,
            "walk_complete": walk.is_complete,
        },
        complete=total == len(lines) and walk.is_complete and not walk.unread,
    )
