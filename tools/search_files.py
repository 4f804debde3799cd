"""`search_files`: lines that match a pattern, sorted, bounded, and counted where they are not shown."""

import os
import re
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from agent_tui.frozen import mutable
from sandbox.policy import Policy
from sandbox.survey import is_env_file
from tools.descriptions import description
from tools.output.report import count
from tools.output.size import budget_bytes, size_of
from tools.paths import own_places, place_of, reading_need, shown
from tools.reads import assess_read, refused
from tools.types import Arguments, Assessment, CallSink, Invocation, Outcome, OutcomeStatus, ToolSpec

if TYPE_CHECKING:
    from tools.searching import Hit, Query

MAX_SHOWN = 500  # matching lines
MAX_LINE_CHARS = 400
MAX_NAMED = 5  # files that are named beside the lines
_PARAMETERS = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "minLength": 1, "description": "regular expression"},
        "path": {"type": "string", "description": "directory or file; default: the workspace"},
        "glob": {"type": "string", "minLength": 1, "description": "only files that match, such as *.py"},
        "literal": {"type": "boolean", "description": "the pattern is plain text; default false"},
        "ignore_case": {"type": "boolean", "description": "default false"},
        "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "lines around; default 0"},
        "files_only": {"type": "boolean", "description": "only files and counts; default false"},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


@mutable
class _Found:
    """Collects hits: what is shown, and how much there is."""

    budget: int
    files_only: bool
    has_gaps: bool  # with context lines, parts that are not adjacent are set apart
    lines: list[str] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    shown_matches: int = 0
    matches: int = 0
    is_full: bool = False
    unread: list[str] = field(default_factory=list)  # what could not be read
    _last: tuple[str, int] = ("", 0)

    def add(self, hit: "Hit") -> None:
        """One more line, or one thing that could not be read."""
        if hit.kind == "unread":
            self.unread.append(hit.path)
            return
        if hit.kind == "match":
            self.matches += 1
            self.files[hit.path] = self.files.get(hit.path, 0) + 1
        if self.files_only or self.is_full:
            return
        mark = ":" if hit.kind == "match" else "-"
        line = f"{hit.path}{mark}{hit.line_number}{mark} {_shortened(hit)}"
        follows = (hit.path, hit.line_number - 1) == self._last
        gap = ["--"] if self.has_gaps and self._last[0] and not follows else []
        self.budget -= size_of(line) + 1
        if self.budget < 0 or self.shown_matches + (hit.kind == "match") > MAX_SHOWN:
            self.is_full = True
            return
        self.lines += [*gap, line]
        self.shown_matches += hit.kind == "match"
        self._last = (hit.path, hit.line_number)


class SearchFiles:
    """The tool."""

    def __init__(self, find_ripgrep: Callable[[], str | None]) -> None:
        self._find_ripgrep = find_ripgrep
        self.spec = ToolSpec(
            name="search_files", description=description("search_files"), parameters=_PARAMETERS
        )

    def refuse(self, arguments: Arguments) -> str:
        """Why valid arguments still make no call, or ''."""
        if "\n" in arguments["pattern"]:
            return "`pattern` holds a line end; lines are searched one by one"
        from tools.ignoring import glob_fault

        return glob_fault(arguments.get("glob", ""))

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:
        """Like reading the directory."""
        path = arguments.get("path", ".")
        named = f'"{arguments["pattern"]}" in {path}'
        return assess_read(path, policy, verb="searches", named=named)

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:  # noqa: ARG002 - shows nothing
        """Search; stops by itself after half a minute and says so."""
        from tools.searching import Query

        arguments, policy = invocation.arguments, invocation.policy
        place = place_of(arguments.get("path", "."), policy)
        need = reading_need(place, policy)
        if need is not None:
            return refused(need)
        if not os.path.exists(place):  # noqa: PTH110 - false for a name that is too long, too
            return Outcome(status=OutcomeStatus.FAILED, text=f"`{shown(place, policy)}` does not exist")
        inside = place.is_relative_to(policy.workspace)
        directory = policy.workspace if inside else (place if place.is_dir() else place.parent)
        relative = place.relative_to(directory)
        pattern = re.escape(arguments["pattern"]) if arguments.get("literal") else arguments["pattern"]
        query = Query(
            pattern=pattern,
            directory=directory,
            path="" if str(relative) == "." else str(relative),
            glob=arguments.get("glob", ""),
            ignore_case=arguments.get("ignore_case", False),
            context=arguments.get("context", 0),
            leave_out=tuple(
                own.relative_to(directory) for own in own_places(policy) if own.is_relative_to(directory)
            ),
        )
        return await self._collect(query, invocation)

    async def _collect(self, query: "Query", invocation: Invocation) -> Outcome:
        from tools.searching import TIME_LIMIT_S, SearchError, search

        policy = invocation.policy
        budget = budget_bytes(invocation.max_output_tokens)
        found = _Found(
            budget=budget,
            files_only=invocation.arguments.get("files_only", False),
            has_gaps=query.context > 0,
        )
        note = ""
        masked: set[str] = set()
        try:
            async for hit in search(query, self._find_ripgrep()):
                path = query.directory / hit.path
                if policy.mask_env_files and is_env_file(path.name) and path not in policy.readable:
                    masked.add(hit.path)
                    continue
                found.add(hit)
        except TimeoutError:
            note = f"stopped after {TIME_LIMIT_S:g} s, there may be more"
        except SearchError as error:
            return Outcome(status=OutcomeStatus.FAILED, text=f"Not searched: {error}")
        return _outcome(found, note, sorted(masked))


def _shortened(hit: "Hit") -> str:
    """A long line around its match."""
    text = hit.text.rstrip("\r").replace("\0", "␀")
    if len(text) <= MAX_LINE_CHARS:
        return text
    start = max(0, hit.column - MAX_LINE_CHARS // 4) if hit.column > MAX_LINE_CHARS // 2 else 0
    end = start + MAX_LINE_CHARS
    before = f"[{start:,} characters] … " if start else ""
    after = f" … [{len(text) - end:,} more characters]" if end < len(text) else ""
    return before + text[start:end] + after


def _outcome(found: _Found, note: str, masked: list[str]) -> Outcome:
    facts = [count(found.matches, "matching line"), count(len(found.files), "file")]
    lines = found.lines
    if found.files_only:
        lines = [f"{path}: {number}" for path, number in list(found.files.items())[:MAX_SHOWN]]
        left_out = len(found.files) - len(lines)
    else:
        left_out = found.matches - found.shown_matches
    if left_out:
        facts.append(f"{left_out:,} not shown: narrow it by `path`, `glob` or `files_only`")
    if masked:
        facts.append(f"matches in {', '.join(masked[:MAX_NAMED])} hidden, they may hold secrets")
    if found.unread:
        named = ", ".join(found.unread[:MAX_NAMED])
        facts.append(f"{len(found.unread):,} files or directories could not be read: {named}")
    if note:
        facts.append(note)
    return Outcome(
        status=OutcomeStatus.SUCCEEDED,
        text="\n".join([f"[{' · '.join(facts)}]", *lines]),
        data={"matches": found.matches, "files": len(found.files), "shown": found.shown_matches},
        complete=not (left_out or note or masked or found.unread),
    )
