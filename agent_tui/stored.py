"""What is stored of sessions, for the commands that list, show, export and remove them."""

import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui.engine.events import (
    CallEnded,
    CallProposed,
    Event,
    InputAccepted,
    InputDelivered,
    NoticeRaised,
    ResponseEnded,
    RolledBack,
    SessionStarted,
    SettingChanged,
    TaskChanged,
    TurnEnded,
)
from agent_tui.engine.log import from_record
from agent_tui.engine.pictures import Pictures
from agent_tui.errors import SessionBusyError, UsageError
from agent_tui.figures import count
from agent_tui.short_path import long_path
from checkpoints.index import (
    NoSessionError,
    SessionEntry,
    SessionPlace,
    find_session,
    list_sessions,
    remove_session,
)
from checkpoints.owner import OwnedError, Owner
from checkpoints.records import SessionRecords
from context.codec import DecodeError

if TYPE_CHECKING:
    from agent_tui.models.replay import Said
    from context.items import Item

__all__ = [
    "SessionEntry",
    "events_after",
    "find",
    "json_lines",
    "listed",
    "markdown",
    "otlp",
    "remove",
    "rename",
    "replay",
    "said_in",
]


def listed(state_dir: Path, workspace: Path | None) -> list[SessionEntry]:
    """Newest first, of one workspace or of all; none where nothing was ever stored."""
    return list_sessions(state_dir, workspace) if state_dir.is_dir() else []


def find(state_dir: Path, prefix: str) -> SessionPlace:
    """The session whose id begins so. Raises UsageError."""
    try:
        return find_session(state_dir, prefix)
    except NoSessionError as error:
        raise UsageError(str(error)) from error


def remove(place: SessionPlace) -> None:
    """Delete a session and its output for good. Raises SessionBusyError while a process has it open."""
    with _owned(place):
        remove_session(place)


async def rename(place: SessionPlace, title: str) -> None:
    """Give a stored session another title. Raises SessionBusyError while a process has it open."""
    from agent_tui.engine.clock import SystemClock
    from agent_tui.engine.session import Session

    with _owned(place):
        records = await SessionRecords.open(place.store)
        try:
            session = await Session.load(records, SystemClock())
            await session.commit(SettingChanged(key="title", value=title))
        finally:
            await records.close()


@contextmanager
def _owned(place: SessionPlace) -> Iterator[None]:
    try:
        owner = Owner.take(place.directory)
    except OwnedError as error:
        raise SessionBusyError(str(error)) from error
    try:
        yield
    finally:
        owner.release()


async def events_after(place: SessionPlace, read: int) -> tuple[list[Event], int]:
    """Events behind the record of that number, of a session that may be open elsewhere, and the number
    of the last record. Raises RecordsError."""
    found, pictures = list[Event](), Pictures()
    async with aclosing(_records(place, read)) as records:
        async for record in records:
            read = record.seq
            with suppress(DecodeError):  # of a newer version
                entry = from_record(record, pictures)
                found += [entry] if isinstance(entry, Event) else []
    return found, read


async def json_lines(place: SessionPlace) -> AsyncGenerator[str, None]:
    """Every record as it is stored, one JSON object a line."""
    async with aclosing(_records(place)) as found:
        async for record in found:
            stored = {"seq": record.seq, "at": record.at, "kind": record.kind, "body": record.body}
            yield json.dumps(stored, ensure_ascii=True)


async def replay(place: SessionPlace, secrets: Iterable[str]) -> AsyncGenerator[str, None]:
    """What was said as `-m replay/FILE` plays it again; `secrets` and what looks like one is masked."""
    from agent_tui.models.replay import saved_lines

    known, home = tuple(secrets), str(Path.home())
    async with aclosing(_entries(place)) as found:
        async for entry in found:
            if not isinstance(entry, Event):
                for line in saved_lines((entry,), secrets=known, home=home):
                    yield line


async def otlp(place: SessionPlace) -> AsyncGenerator[str, None]:
    """The runs that have ended as spans, one request of OpenTelemetry a line; without what was said."""
    from agent_tui.spans import Spans

    spans = Spans()
    async with aclosing(_entries(place)) as found:
        async for entry in found:
            if isinstance(entry, Event):
                for line in spans.lines(entry):
                    yield line


def said_in(file: str) -> "tuple[Said, ...]":
    """What the person typed in a session saved as `replay`. Raises UsageError."""
    from agent_tui.models.replay import ReplayError, said_in

    try:
        return said_in(long_path(file).absolute())
    except ReplayError as error:
        raise UsageError(str(error)) from error


async def markdown(place: SessionPlace) -> AsyncGenerator[str, None]:
    """The conversation as Markdown, in blocks."""
    writer = _Markdown()
    async with aclosing(_entries(place)) as found:
        async for entry in found:
            if isinstance(entry, Event):
                for block in writer.blocks(entry):
                    yield block + "\n"


async def _entries(place: SessionPlace) -> "AsyncGenerator[Item | Event, None]":
    """What is stored, but for records of a newer version."""
    pictures = Pictures()
    async with aclosing(_records(place)) as found:
        async for record in found:
            try:
                entry = from_record(record, pictures)
            except DecodeError:
                continue
            yield entry


async def _records(place: SessionPlace, after: int = 0) -> AsyncGenerator[Any, None]:
    records = await SessionRecords.open(place.store)
    try:
        async with aclosing(records.read(after)) as found:
            async for record in found:
                yield record
    finally:
        await records.close()


@dataclass
class _Said:
    text: str
    kind: str


class _Markdown:
    """Turns events into blocks; remembers what later events name by id."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        self._calls: dict[str, CallProposed] = {}
        self._settings: dict[str, str] = {}
        self._task = ""

    def blocks(self, event: Event) -> Iterator[str]:
        match event.body:
            case SessionStarted(resumed=False) as body:
                yield f"# Session {body.session_id}\n\n`{body.workspace}` · {body.model}"
                yield from self._constraints(body, "")
            case SessionStarted() as body:
                yield from self._constraints(body, "> continued: ")
            case SettingChanged() as body:
                yield f"> {body.key.replace('.', ' ', 1)}: {body.value}"
            case TaskChanged() as body:
                self._task = body.task_id
            case InputAccepted() as body:
                self._said[body.input_id] = _Said(text=body.text, kind=str(body.kind))
            case InputDelivered() as body:
                said = self._said.pop(body.input_id, _Said(text="", kind="prompt"))
                yield f"## You ({said.kind}) · task {self._task}\n\n{said.text}"
            case ResponseEnded(text=text) if text:
                yield f"## Model\n\n{text}"
            case CallProposed() as body:
                self._calls[body.call_id] = body
            case CallEnded() as body:
                yield self._call(body)
            case NoticeRaised() as body:
                yield f"> {body.text}"
            case RolledBack() as body:
                yield f"> rolled back to {body.checkpoint_id} ({body.mode})"
            case TurnEnded() as body:
                steps = count(body.steps, "step")
                error = f": {body.error}" if body.error and body.exit_code else ""
                yield f"*{body.sentence}{error}; {steps}, {body.duration_s:.1f} s*"
            case _:
                return

    def _constraints(self, body: SessionStarted, before: str) -> Iterator[str]:
        """What this start holds a task to, where that differs from the one before."""
        settings = {key: value for key, value in (body.settings or {}).items() if value and key != "model"}
        if settings != self._settings:
            self._settings = settings
            yield before + " · ".join(f"{key} {value}" for key, value in settings.items())

    def _call(self, body: CallEnded) -> str:
        proposed = self._calls.pop(body.call_id, None)
        shown = proposed.shown or proposed.arguments if proposed else body.tool
        changed = "".join(f"\n- {change.kind} `{change.path}`" for change in body.changes)
        fence = "`" * max(3, _longest_run(body.outcome.text) + 1)
        head = f"### {body.tool} · {body.outcome.status}\n\n{fence}\n{shown}\n{fence}"
        return f"{head}\n\n{fence}text\n{body.outcome.text}\n{fence}" + (f"\n{changed}" if changed else "")


def _longest_run(text: str) -> int:
    """The longest run of backticks, which a fence around the text must exceed."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
