"""A store that refuses for a while: nothing runs unrecorded, and what happened is stored when it can be."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from agent_tui.engine.commands import Shutdown, Submit
from agent_tui.engine.events import NoticeRaised, Refused, SessionClosed, TurnEnded
from agent_tui.engine.types import EndReason
from checkpoints.records import Record, RecordsError, SessionRecords
from context.items import ResultItem
from tests.engine.fakes import Engine, calls, engine, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus


class FullRecords:
    """Refuses while `full` is set."""

    def __init__(self, records: SessionRecords) -> None:
        self._records = records
        self.full = False

    async def append(self, records: Sequence[Record]) -> int:
        if self.full:
            raise RecordsError("the disk is full")
        return await self._records.append(records)

    def read(self, after: int = 0) -> AsyncIterator[Record]:
        return self._records.read(after)

    async def close(self) -> None:
        await self._records.close()


class Disk:
    """The records of one engine, once it has them."""

    records: FullRecords

    def wrap(self, records: SessionRecords) -> FullRecords:
        self.records = FullRecords(records)
        return self.records


async def fill(run: Engine, disk: Disk) -> None:
    """Play to the end of a call during which the disk fills up."""

    async def effect(invocation: Invocation, sink: CallSink) -> Outcome:
        disk.records.full = True
        return Outcome(status=OutcomeStatus.SUCCEEDED, text="it happened", exit_code=0)

    run.toolbox.behaviour["exec_command"] = effect
    run.send(Submit(text="go"))
    ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reason is EndReason.STATE_UNWRITABLE
    assert ended.exit_code == 5
    run.send(Submit(text="more"))
    refused = await run.wait(Refused)
    assert isinstance(refused, Refused) and "full" in refused.reason


SCRIPT = calls(("exec_command", {"cmd": "one"}), ("exec_command", {"cmd": "two"}))


async def test_what_happened_is_stored_at_the_end_when_there_is_room_again(tmp_path: Path) -> None:
    disk = Disk()
    async with engine(tmp_path, SCRIPT, wrap=disk.wrap) as run:
        await fill(run, disk)
        assert [arguments["cmd"] for _, arguments in run.toolbox.ran] == ["one"]
        disk.records.full = False
    assert run.bodies(SessionClosed) != [] and run.bodies(NoticeRaised) == []
    async with engine(tmp_path) as again:
        await again.idle()
        assert again.session.fold.calls["c1.1"].outcome is not None
        assert again.session.fold.run is not None
        assert again.session.fold.run.end_reason is EndReason.STATE_UNWRITABLE


async def test_a_process_that_cannot_store_its_end_says_so_and_ends(tmp_path: Path) -> None:
    disk = Disk()
    async with engine(tmp_path, SCRIPT, wrap=disk.wrap) as run:
        await fill(run, disk)
        run.send(Shutdown())
        await run.wait(SessionClosed)
    told = [body.text for body in run.bodies(NoticeRaised)]
    assert told == ["the end of this session could not be stored; a resume begins before it"]
    async with engine(tmp_path, text("looked, went on"), interactive=False) as again:
        again.send(Submit(text="go on"))
        await again.wait(TurnEnded, count=2)
        results = [item.text for item in again.session.fold.log if isinstance(item, ResultItem)]
    assert results[0].startswith("Outcome unknown") and len(results) == 2
    assert [arguments["cmd"] for _, arguments in again.toolbox.ran] == ["two"]


async def test_a_state_directory_that_is_gone_is_no_internal_error(tmp_path: Path) -> None:
    missing = tmp_path / "gone" / "versions.jsonl"

    async def fail(invocation: Invocation, sink: CallSink) -> Outcome:
        missing.open("a")
        raise AssertionError("it was written")

    async with engine(tmp_path, calls(("exec_command", {"cmd": "a"})), text("done")) as run:
        run.toolbox.behaviour["exec_command"] = fail
        run.send(Submit(text="go"))
        ended = await run.wait(TurnEnded)
    assert isinstance(ended, TurnEnded)
    assert (ended.reason, ended.exit_code) == (EndReason.STATE_UNWRITABLE, 5)
    assert ended.error == f"`{missing}` cannot be written: No such file or directory"
