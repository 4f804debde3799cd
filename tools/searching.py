"""Finds lines in files: with ripgrep where it is installed, else with our own worker. Both are given
the same rules and give the same lines in the same order."""

import asyncio
import base64
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from agent_tui.frozen import frozen
from sandbox import reach
from sandbox.reach import NO_LANDLOCK, NOT_STARTED
from tools.ignoring import Walk, matches_glob
from tools.paths import open_resolved
from tools.threads import in_thread

TIME_LIMIT_S = 30.0
_LINE_LIMIT = 64 * 2**20  # of one JSON line of a searcher
_MAX_COMPLAINTS = 1_000
_UNREADABLE = re.compile(r"\(os error \d+\)$")  # how both searchers end what they say of a path
_REACH, _WORKER = reach.__file__, str(Path(__file__).with_name("search_worker.py"))

# ripgrep's engine knows none of these; Python's does
_PYTHON_ONLY = re.compile(r"\(\?<?[=!]|\\[1-9]|\(\?P=|\(\?\(|[*+?}]\+")


class SearchError(Exception):
    """The search cannot be done; the text says why."""


@frozen
class Query:
    """What to look for, and where: `path` is relative to `directory`, '' for all of it."""

    pattern: str
    directory: Path
    path: str = ""
    glob: str = ""
    ignore_case: bool = False
    context: int = 0
    leave_out: tuple[Path, ...] = ()  # directories that are not entered, relative to `directory`


@frozen
class Hit:
    """One line: a match, or a line near one; or a file or directory that could not be read."""

    kind: Literal["match", "context", "unread"]
    path: str
    line_number: int
    text: str
    column: int = 0  # where the first match of the line begins, in characters


async def search(query: Query, ripgrep: str | None) -> AsyncIterator[Hit]:
    """Hits by path and line. Raises `SearchError`, and TimeoutError after `TIME_LIMIT_S`.

    The glob is applied here: ripgrep's own would bring back what `.gitignore` excludes.
    """
    try:
        root = open_resolved(query.directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise SearchError(f"`{query.directory}`: {error.strerror}") from error
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            async for hit in _search(query, ripgrep, root):
                if not query.glob or matches_glob(hit.path, query.glob):
                    yield hit
    finally:
        os.close(root)


async def _search(query: Query, ripgrep: str | None, root: int) -> AsyncIterator[Hit]:
    argv, stdin = await _plan(query, ripgrep, root)
    process = await asyncio.create_subprocess_exec(
        *argv,
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_LINE_LIMIT,
        pass_fds=(root,),
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    feeding = asyncio.ensure_future(_feed(process.stdin, stdin))
    complaining = asyncio.ensure_future(_complaints(process.stderr))
    try:
        async for hit in _hits(process.stdout):
            yield hit
        code, complaints = await process.wait(), await complaining
    finally:
        feeding.cancel()
        complaining.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code in (NO_LANDLOCK, NOT_STARTED) and ripgrep:  # it has not run
        async for hit in _search(query, None, root):
            yield hit
    elif code not in (0, 1):
        if not complaints:  # killed, for want of memory perhaps: what it found is not all
            raise SearchError(f"the searcher ended with exit code {code}")
        for hit in _unread(complaints):
            yield hit


async def _complaints(pipe: asyncio.StreamReader) -> list[str]:
    """The first of what the searcher said beside its hits."""
    kept: list[str] = []
    async for line in pipe:
        if len(kept) < _MAX_COMPLAINTS:
            kept.append(line.decode("utf-8", errors="replace").strip())
    return kept


def _unread(complaints: list[str]) -> Iterator[Hit]:
    """What could not be read, one for each; raises `SearchError` for any other complaint."""
    for complaint in complaints:
        path, _, _ = complaint.removeprefix("rg: ").removeprefix("./").partition(": ")
        if not _UNREADABLE.search(complaint):
            raise SearchError(complaints[-1][:300])
        yield Hit(kind="unread", path=path, line_number=0, text="")


async def _plan(query: Query, ripgrep: str | None, root: int) -> tuple[list[str], bytes]:
    """The command and its input. Neither searcher can leave the directory by a link."""
    problem = _fault(query.pattern)
    if ripgrep and not _PYTHON_ONLY.search(query.pattern):
        accepted = await _accepts(ripgrep, query.pattern)
        if accepted:
            return [sys.executable, "-I", _REACH, str(os.getpid()), str(root), *_ripgrep(ripgrep, query)], b""
    if problem:
        raise SearchError(f"the pattern is no regular expression: {problem}; set `literal` for plain text")
    names = await in_thread(lambda: _files(query), timeout_s=TIME_LIMIT_S)
    wanted = {"pattern": query.pattern, "ignore_case": query.ignore_case, "context": query.context}
    worker = [sys.executable, "-I", _WORKER, str(os.getpid()), str(root)]
    return [*worker, json.dumps(wanted)], b"\0".join(names)


def _fault(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return ""


async def _accepts(ripgrep: str, pattern: str) -> bool:
    """Whether ripgrep's engine takes the pattern."""
    process = await asyncio.create_subprocess_exec(
        ripgrep,
        "--no-config",
        "-e",
        pattern,
        os.devnull,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await process.wait() < 2


def _ripgrep(ripgrep: str, query: Query) -> list[str]:
    return [
        ripgrep,
        "--json",
        "--no-config",
        "--hidden",
        "--no-ignore-dot",
        "--no-ignore-global",
        "--no-ignore-exclude",
        "--no-require-git",
        "--no-mmap",
        "--sort=path",
        f"--context={query.context}",
        *(["--ignore-case"] if query.ignore_case else []),
        "--glob=!.git",
        *(f"--glob=!/{_escaped(place)}" for place in query.leave_out),
        "-e",
        query.pattern,
        "--",
        f"./{query.path}",
    ]


def _escaped(place: Path) -> str:
    """The path as a pattern that matches nothing else."""
    return re.sub(r"([\\*?\[\]{}!#])", r"\\\1", str(place))


def _files(query: Query) -> list[bytes]:
    """What ripgrep would look into, in its order."""
    start = query.directory / query.path
    if not start.is_dir():
        return [os.fsencode(query.path)]
    walk = Walk(start, ignored=False, leave_out=[query.directory / place for place in query.leave_out])
    found = [str(Path(query.path, entry.path)) for entry in walk if not entry.is_dir and not entry.is_link]
    return [os.fsencode(path) for path in sorted(found, key=lambda path: path.split("/"))]


async def _feed(pipe: asyncio.StreamWriter, data: bytes) -> None:
    pipe.write(data)
    await pipe.drain()
    pipe.close()


async def _hits(pipe: asyncio.StreamReader) -> AsyncIterator[Hit]:
    """Hits file by file: one that turns out to be binary gives none."""
    pending: list[Hit] = []
    async for line in pipe:
        row = json.loads(line)
        if row["type"] in ("begin", "end"):
            if row["data"].get("binary_offset") is None:
                for hit in pending:
                    yield hit
            pending = []
        elif row["type"] in ("match", "context"):
            pending.append(_hit(row["type"], row["data"]))
    for hit in pending:
        yield hit


def _hit(kind: Literal["match", "context"], data: Mapping[str, Any]) -> Hit:
    text = _text(data["lines"]).removesuffix("\n")
    path = _text(data["path"]).removeprefix("./")
    matches = data.get("submatches") or [{"start": 0}]
    column = len(text.encode("utf-8")[: matches[0]["start"]].decode("utf-8", errors="ignore"))
    return Hit(kind=kind, path=path, line_number=data["line_number"], text=text, column=column)


def _text(field: Mapping[str, str]) -> str:
    if "text" in field:
        return field["text"]
    return base64.b64decode(field["bytes"]).decode("utf-8", errors="replace")
