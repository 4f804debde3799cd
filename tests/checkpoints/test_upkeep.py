"""Packing and pruning in idle time: they happen, and they stop for whoever needs the workspace."""

import threading
from pathlib import Path

import pytest

from checkpoints.retention import Keep, Retention, Stopped
from checkpoints.upkeep import Upkeep
from tests.checkpoints.conftest import OpenSession
from tests.waiting import WAIT_S


def loose(store: Path) -> int:
    return len(list((store / "objects").glob("??/*")))


def test_idle_time_packs_and_prunes_once_a_day(root: Path, open_session: OpenSession) -> None:
    session = open_session()
    for number in range(200):
        (root / str(number)).write_text(f"{number}\n")
    row = session.take().row
    core = session.core
    idle = Upkeep(core.home.directory, core.store.git, Keep(), idle_s=0.0, pack_from=10)
    idle.schedule()
    wait_for(idle)
    assert float(core.catalog.meta("pruned_at")) > 0
    assert loose(core.store.directory) < 10
    for number in range(200):
        (root / str(number)).write_text(f"again {number}\n")
    session.take()
    idle.schedule()
    wait_for(idle)
    assert loose(core.store.directory) < 10
    session.rollback(row.id, default="take")
    assert (root / "7").read_text() == "7\n"


def wait_for(idle: Upkeep) -> None:
    timer = idle._timer
    assert timer is not None
    timer.join(WAIT_S)


def test_a_job_that_is_told_to_stop_stops_and_leaves_the_store_whole(
    root: Path, open_session: OpenSession
) -> None:
    (root / "a").write_text("a")
    session = open_session()
    row = session.take().row
    stop = threading.Event()
    stop.set()
    job = Retention(session.core.home.directory, session.core.store, session.core.catalog, stop=stop)
    with session.core.locked(alone=True):
        assert not job.prune(Keep(days=0), spare=["s1"]).finished
    with pytest.raises(Stopped):
        job.pack()
    assert session.core.resolve(row.id) is not None
    (root / "a").write_text("b")
    session.rollback(row.id, default="take")
    assert (root / "a").read_text() == "a"


def test_an_interrupt_before_the_time_leaves_nothing_running(open_session: OpenSession) -> None:
    core = open_session().core
    idle = Upkeep(core.home.directory, core.store.git, Keep())
    idle.schedule()
    timer = idle._timer
    assert timer is not None
    idle.interrupt()
    assert not timer.is_alive()
    assert core.catalog.meta("pruned_at") == ""


def test_a_damaged_journal_does_not_stop_a_prune(root: Path, open_session: OpenSession) -> None:
    (root / "a").write_text("1")
    old = open_session("old")
    old.take()
    old.close()
    newest = open_session("newest")
    newest.take()
    newest.close()
    newest.core.home.journal.write_text("{")
    core = open_session("now").core
    done = Retention(core.home.directory, core.store, core.catalog).prune(Keep(days=0))
    assert (done.sessions, done.finished) == (("old",), True)
