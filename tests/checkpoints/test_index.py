import os
import sqlite3
from pathlib import Path

import pytest

from agent_tui.engine.events import (
    Body,
    CallEnded,
    Event,
    InputDelivered,
    ResponseEnded,
    SessionStarted,
    SettingChanged,
    TurnStarted,
)
from agent_tui.engine.log import to_record
from checkpoints.index import (
    STDIN_BEGINS,
    NoSessionError,
    SessionEntry,
    SessionPlace,
    create_session,
    find_session,
    fork_session,
    list_sessions,
    remove_session,
    remove_unused,
)
from checkpoints.owner import Owner
from checkpoints.records import SessionRecords
from checkpoints.types import FileChange
from context.items import Usage, UserItem
from tools.types import Outcome, OutcomeStatus


async def make(state: Path, said: str, at: float, workspace: str = "/w") -> SessionPlace:
    place = create_session(state)
    records = await SessionRecords.open(place.store)
    started = SessionStarted(session_id=place.id, workspace=workspace, model="fake/m")
    run = TurnStarted(task_id="t1", run_id="r1")
    entries = [
        Event(seq=1, at=at, run_id="", body=started),
        UserItem(id="u1", text=said),
        Event(seq=2, at=at, run_id="", body=run),
    ]
    await records.append([to_record(entry, at) for entry in entries])
    await records.close()
    return place


async def test_the_list_is_newest_first_and_tells_what_was_asked(tmp_path: Path) -> None:
    old = await make(tmp_path, "fix  the\ntest", 1.0)
    piped = f"add a flag{STDIN_BEGINS}+ a line\n</stdin>"
    new = await make(tmp_path, piped, 2.0, workspace="/other")
    entries = list_sessions(tmp_path)
    assert [(entry.id, entry.title, entry.turns) for entry in entries] == [
        (new.id, "add a flag", 1),
        (old.id, "fix the test", 1),
    ]
    assert [entry.id for entry in list_sessions(tmp_path, Path("/w"))] == [old.id]
    assert old.directory.stat().st_mode & 0o777 == 0o700


async def test_a_list_follows_what_is_written_later(tmp_path: Path) -> None:
    place = await make(tmp_path, "first", 1.0)
    assert list_sessions(tmp_path)[0].title == "first"
    records = await SessionRecords.open(place.store)
    event = Event(seq=3, at=5.0, run_id="", body=SettingChanged(key="title", value="renamed"))
    await records.append([to_record(event, 5.0)])
    assert [(entry.title, entry.updated_at) for entry in list_sessions(tmp_path)] == [("renamed", 5.0)]
    await records.close()


async def test_a_copy_is_named_by_its_place_and_counts_what_came_after_it(tmp_path: Path) -> None:
    place = await make(tmp_path, "fix the test", 1.0)
    usage = Usage(input_tokens=900, output_tokens=100)

    async def add(*bodies: Body) -> SessionEntry:
        records = await SessionRecords.open(place.store)
        entries = [Event(seq=5, at=5.0, run_id="", body=body) for body in bodies]
        await records.append([to_record(entry, 5.0) for entry in entries])
        await records.close()
        return list_sessions(tmp_path)[0]

    def changed(call_id: str, path: str) -> CallEnded:
        change = FileChange(path=path, kind="M")
        outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text="")
        return CallEnded(
            call_id=call_id, tool="t", outcome=outcome, changes=(change,), external=(), duration_s=0.0
        )

    def answered(model: str) -> ResponseEnded:
        return ResponseEnded(
            step_id="s1", item_id="a1", text="", reasoning="", reasoning_s=0.0, usage=usage, cost_usd=None,
            reserved_calls=0, model=model,
        )  # fmt: skip

    said = InputDelivered(input_id="i1", item_id="u1", step=1)
    entry = await add(
        said, changed("c1", "b.py"), changed("c2", "a.py"), answered("fake/m"), answered("fake/n")
    )
    assert (entry.title, entry.more.messages, entry.more.files) == ("fix the test", 1, 2)
    assert (entry.more.paths, entry.more.context_tokens, entry.more.last_model) == (
        ["b.py", "a.py"],
        1_000,
        "fake/n",
    )
    copied = SessionStarted(
        session_id=place.id, workspace="/w", model="fake/m", resumed=True, forked_from="51d8"
    )
    entry = await add(copied)
    assert (entry.title, entry.more.messages, entry.more.files) == ("fork of 51d8 at message 1", 0, 0)
    again = SessionStarted(session_id=place.id, workspace="/w", model="fake/m", resumed=True)
    entry = await add(again, said, changed("c3", "c.py"))
    assert (entry.more.forked_from, entry.more.messages, entry.more.paths) == ("51d8", 1, ["c.py"])
    entry = await add(SettingChanged(key="title", value="its own"))
    assert (entry.title, entry.more.fork_title) == ("its own", "")


async def test_damage_to_one_session_or_to_the_index_hides_no_other(tmp_path: Path) -> None:
    good = await make(tmp_path, "good", 1.0)
    bad = await make(tmp_path, "bad", 2.0)
    list_sessions(tmp_path)
    bad.store.write_bytes(b"rubbish" * 1000)
    (tmp_path / "index.db").write_bytes(b"rubbish" * 1000)
    entries = {entry.id: entry for entry in list_sessions(tmp_path)}
    assert entries[good.id].title == "good"
    assert entries[bad.id].damage
    assert len(list_sessions(tmp_path)) == 2


async def test_a_session_whose_first_record_nests_too_deeply_hides_no_other(tmp_path: Path) -> None:
    good = await make(tmp_path, "good", 1.0)
    bad = await make(tmp_path, "bad", 2.0)
    with sqlite3.connect(bad.store) as raw:
        raw.execute("UPDATE records SET body = ? WHERE seq = 1", ("[" * 5000,))
    raw.close()
    entries = {entry.id: entry for entry in list_sessions(tmp_path)}
    assert entries[good.id].title == "good"
    assert entries[bad.id].damage


async def test_a_session_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    place = await make(tmp_path, "x", 1.0)
    assert find_session(tmp_path, place.id[:5]) == place
    with pytest.raises(NoSessionError, match="no session"):
        find_session(tmp_path, "zz")
    await make(tmp_path, "y", 1.0)
    with pytest.raises(NoSessionError, match="more than one"):
        find_session(tmp_path, "")


async def test_a_copy_of_an_open_session_is_a_session_of_its_own(tmp_path: Path) -> None:
    place = await make(tmp_path, "x", 1.0)
    (place.artifacts / "c1.1.out").write_text("output")
    owner = Owner.take(place.directory)
    records = await SessionRecords.open(place.store)
    copy = fork_session(place, tmp_path)
    await records.close()
    assert (copy.artifacts / "c1.1.out").read_text() == "output"
    assert [entry.owner is not None for entry in list_sessions(tmp_path) if entry.id == place.id] == [True]
    owner.release()
    remove_session(place)
    assert [entry.id for entry in list_sessions(tmp_path)] == [copy.id]


async def test_a_session_that_is_taken_away_meanwhile_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays = await make(tmp_path, "x", 1.0)
    gone = SessionPlace(id="gone", directory=tmp_path / "sessions" / "gone")
    monkeypatch.setattr("checkpoints.index.places", lambda _: iter([gone, stays]))
    assert [entry.id for entry in list_sessions(tmp_path)] == [stays.id]
    assert not gone.directory.exists()


async def unused(state: Path) -> SessionPlace:
    """A start in which nothing was said."""
    place = create_session(state)
    records = await SessionRecords.open(place.store)
    started = SessionStarted(session_id=place.id, workspace="/w", model="fake/m")
    await records.append([to_record(Event(seq=1, at=9.0, run_id="", body=started), 9.0)])
    await records.close()
    return place


def long_ago(place: SessionPlace) -> None:
    os.utime(place.directory, (1.0, 1.0))


async def test_a_start_in_which_nothing_was_said_is_not_listed_and_goes_later(tmp_path: Path) -> None:
    said, silent = await make(tmp_path, "x", 1.0), await unused(tmp_path)
    assert [entry.id for entry in list_sessions(tmp_path)] == [said.id]
    assert silent.directory.exists(), "it may have begun just now"
    long_ago(silent)
    owner = Owner.take(silent.directory)
    long_ago(silent)
    list_sessions(tmp_path)
    assert silent.directory.exists(), "a live process has it open"
    owner.release()
    long_ago(silent)
    assert [entry.id for entry in list_sessions(tmp_path)] == [said.id]
    assert not silent.directory.exists()


async def test_a_directory_without_a_store_goes_only_when_nothing_else_is_in_it(tmp_path: Path) -> None:
    made, lost, aside = create_session(tmp_path), create_session(tmp_path), await unused(tmp_path)
    (lost.artifacts / "c1.1.out").write_text("output")
    (aside.directory / "session.db.damaged").write_text("what could not be read")
    for place in (made, lost, aside):
        long_ago(place)
    listed = {entry.id: entry.damage for entry in list_sessions(tmp_path)}
    assert listed == {lost.id: "it has no store"}
    assert [place.directory.exists() for place in (made, lost, aside)] == [False, True, True]
    for place in (lost, aside):
        remove_unused(place)
        assert place.directory.exists()
