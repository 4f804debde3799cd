"""Pictures in the store: each of them once, whatever holds it, and back again at the next start."""

from pathlib import Path

from agent_tui.engine.commands import Submit
from agent_tui.engine.events import CallEnded, TurnEnded
from agent_tui.engine.log import from_record, to_record
from agent_tui.engine.pictures import Pictures
from agent_tui.engine.session import Session
from checkpoints.records import SessionRecords
from context.items import Image, ResultItem, UserItem
from tests.engine.fakes import FakeClock, calls, engine, text
from tools.types import CallSink, Invocation, Outcome, OutcomeStatus, Picture

SEEN, SENT = "c2VlbiA=" * 500, "c2VudCA=" * 500
MINE = Image(media_type="image/png", data=SENT, name="mine.png")


async def see(invocation: Invocation, sink: CallSink) -> Outcome:
    picture = Picture(media_type="image/png", data=SEEN, name="a.png")
    return Outcome(status=OutcomeStatus.SUCCEEDED, text="a picture", pictures=(picture, picture))


async def test_a_picture_is_stored_once_and_comes_back(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("read_file", {"path": "a.png"})), text("done")) as run:
        run.toolbox.behaviour["read_file"] = see
        run.send(Submit(text="look", images=(MINE,)))
        await run.wait(TurnEnded)
        log = list(run.session.fold.log)
        events = [event async for event in run.session.stored(0)]
    records = await SessionRecords.open(tmp_path / "session.db")
    stored = "".join([str(record.body) async for record in records.read()])
    assert (stored.count(SEEN), stored.count(SENT)) == (1, 1)
    again = await Session.load(records, FakeClock())
    assert again.fold.log == log
    assert [item.images for item in log if isinstance(item, UserItem)] == [(MINE,)]
    assert [len(item.images) for item in log if isinstance(item, ResultItem)] == [2]
    ends = [event.body for event in events if isinstance(event.body, CallEnded)]
    assert [picture.data for picture in ends[0].outcome.pictures] == [SEEN, SEEN]
    await again.close()


def test_what_was_not_stored_is_stored_whole_the_next_time() -> None:
    item, pictures = UserItem(id="u1", text="", images=(MINE,)), Pictures()
    to_record(item, 0.0, pictures)  # the store refused it
    pictures.drop()
    first, second = to_record(item, 0.0, pictures), to_record(item, 0.0, pictures)
    assert SENT in str(first.body) and SENT not in str(second.body)


def test_a_picture_whose_first_record_is_lost_is_left_out() -> None:
    item, pictures = UserItem(id="u1", text="hello", images=(MINE,)), Pictures()
    to_record(item, 0.0, pictures)
    pictures.keep()
    later = to_record(item, 0.0, pictures)
    assert from_record(later, Pictures()) == UserItem(id="u1", text="hello")
