"""`repo_map`: the map of a project as a tool, as a section of the project text, and made ahead of need.

Joins `context.repo_map`, which knows symbols, with the walk and the rules of `tools`, which know files.
Tags are cached in the state directory, one file for each workspace, which may be deleted any time.
"""

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from context.repo_map import (
    MAX_FILES,
    CacheError,
    RepoMap,
    Tag,
    TagCache,
    build_map,
    has_grammar,
    is_source,
)
from sandbox.policy import Policy
from tools.output.report import count
from tools.output.size import budget_bytes
from tools.paths import place_of, reading_need, shown
from tools.reads import assess_read, read_in_thread, refused
from tools.threads import in_thread
from tools.types import Arguments, Assessment, CallSink, Invocation, Outcome, OutcomeStatus, ToolSpec

TIME_LIMIT_S = 20.0  # of one map; what was not looked at by then is named
SECTION_LIMIT_S = 0.5  # of the one at the start of a session, which a person waits for
SECTION_BYTES = 4 * 1024
MAP_BYTES = 16 * 1024
WARM_AFTER_S = 3.0  # the first request is on its way by then
_LEAST_PRIORITY = 19
_PARAMETERS = {
    "type": "object",
    "properties": {
        "focus": {"type": "string", "description": "words that come first, separated by blanks"},
        "path": {"type": "string", "minLength": 1, "description": "directory; default: the workspace"},
    },
    "additionalProperties": False,
}


class _Late:
    """Gives tags until a moment, and counts the files that came too late."""

    def __init__(
        self, tags: Callable[[Path], Sequence[Tag]], parsing: threading.Lock, seconds: float
    ) -> None:
        self._tags = tags
        self._parsing = parsing
        self._until = time.monotonic() + seconds
        self.unseen = 0

    def __call__(self, path: Path) -> Sequence[Tag]:
        if time.monotonic() > self._until:
            self.unseen += 1
            return ()
        with self._parsing:
            return self._tags(path)


class ProjectMap:
    """Maps of one workspace; files are parsed one at a time, since parsers are not for several threads."""

    def __init__(self, workspace: Path, state_dir: Path) -> None:
        self._workspace = workspace
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
        self._cache = state_dir / "repo-map" / f"{name}.db"
        self._parsing = threading.Lock()
        self._ended = threading.Event()

    @property
    def is_possible(self) -> bool:
        """Whether any language can be read here."""
        return has_grammar()

    def build(
        self, directory: Path, *, focus: Sequence[str], limit_bytes: int, seconds: float
    ) -> tuple[RepoMap, int]:
        """A map, and how many files were not looked at in time. Blocks."""
        cache = self._open()
        try:
            late = _Late(cache.get, self._parsing, seconds)
            found = build_map(directory, _files(directory), tags=late, limit_bytes=limit_bytes, focus=focus)
        finally:
            cache.close()
        return found, late.unseen

    def section(self) -> str:
        """The map for the project text: what can be had in half a second; empty where there is none."""
        if not self.is_possible:
            return ""
        with suppress(OSError, CacheError):
            found, unseen = self.build(
                self._workspace, focus=(), limit_bytes=SECTION_BYTES, seconds=SECTION_LIMIT_S
            )
            return f"# Map of the project\n\n{_text(found, unseen, '.')}" if found.text else ""
        return ""

    async def warm(self) -> None:
        """Fill the cache after the session has begun, in a thread that gives way to all others."""
        await asyncio.sleep(WARM_AFTER_S)
        try:
            with suppress(OSError, CacheError):
                await in_thread(self._fill)
        finally:
            self._ended.set()

    def _fill(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LEAST_PRIORITY)
        cache = self._open()
        try:
            for path in islice(filter(is_source, _files(self._workspace)), MAX_FILES):
                if self._ended.is_set():
                    return
                begun = time.perf_counter()
                with self._parsing:
                    cache.get(path)
                time.sleep(time.perf_counter() - begun)  # half of one processor at most
        finally:
            cache.close()

    def _open(self) -> TagCache:
        self._cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return TagCache(self._cache)


def _files(directory: Path) -> list[Path]:
    from tools.ignoring import Walk

    return [
        directory / entry.path
        for entry in Walk(directory, ignored=False)
        if not entry.is_dir and not entry.is_link
    ]


class RepoMapTool:
    """The tool."""

    def __init__(self, maps: ProjectMap) -> None:
        self._maps = maps
        text = Path(__file__).with_name("repo_map.md").read_text(encoding="utf-8").rstrip("\n")
        self.spec = ToolSpec(name="repo_map", description=text, parameters=_PARAMETERS)

    def refuse(self, arguments: Arguments) -> str:  # noqa: ARG002 - the schema says it all
        """Why valid arguments still make no call, or ''."""
        return ""

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:
        """Like reading the directory."""
        return assess_read(arguments.get("path", "."), policy, verb="maps")

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:  # noqa: ARG002 - shows nothing
        """Build in a thread."""
        return await read_in_thread(lambda: self._run(invocation), invocation)

    def _run(self, invocation: Invocation) -> Outcome:
        arguments, policy = invocation.arguments, invocation.policy
        directory = place_of(arguments.get("path", "."), policy)
        need = reading_need(directory, policy)
        if need is not None:
            return refused(need)
        name = shown(directory, policy)
        if not directory.is_dir():
            return Outcome(status=OutcomeStatus.FAILED, text=f"`{name}` is no directory")
        try:
            found, unseen = self._maps.build(
                directory,
                focus=arguments.get("focus", "").split(),
                limit_bytes=min(MAP_BYTES, budget_bytes(invocation.max_output_tokens)),
                seconds=TIME_LIMIT_S,
            )
        except CacheError as error:
            return Outcome(status=OutcomeStatus.FAILED, text=f"No map: its cache cannot be used ({error})")
        return Outcome(
            status=OutcomeStatus.SUCCEEDED,
            text=_text(found, unseen, name),
            data={"files": found.files, "shown": found.shown, "left_out": found.left_out},
            complete=not (found.left_out or found.without_grammar or unseen),
        )


def _text(found: RepoMap, unseen: int, name: str) -> str:
    facts = [name, count(found.files, "file"), count(found.shown, "definition")]
    if found.left_out:
        facts.append(f"{found.left_out:,} more did not fit")
    if unseen:
        facts.append(f"{count(unseen, 'file')} not looked at yet")
    if found.without_grammar:
        facts.append(f"no grammar for {', '.join(found.without_grammar)}")
    return f"[{' · '.join(facts)}]\n{found.text}".rstrip("\n")
