"""The list of checkpoints: in the order in which they came, whatever a clock said; and older versions."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoints.catalog import Catalog, Row
from checkpoints.types import Author, Cause, Phase

OF_VERSION_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('schema', '1');
CREATE TABLE checkpoints (
    session TEXT NOT NULL, seq INTEGER NOT NULL, root TEXT NOT NULL, created_at REAL NOT NULL,
    phase TEXT NOT NULL, state BLOB NOT NULL, commit_id BLOB NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE INDEX by_time ON checkpoints (created_at);
"""


def row(session: str, at: float, *, turn: int = 1, phase: Phase = Phase.TURN_START) -> Row:
    cause = Cause(phase=phase, session=session, turn=turn)
    return Row(
        session=session,
        seq=0,
        root="",
        created_at=at,
        cause=cause,
        state=b"s",
        commit=b"c",
        author=Author.AGENT,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.db"


def test_what_came_last_is_newest_also_after_the_clock_was_put_back(path: Path) -> None:
    catalog = Catalog(path)
    first = catalog.add(row("a", 2000.0))
    catalog.add(row("b", 1000.0))
    catalog.add(row("a", 900.0, turn=2))
    newest = catalog.newest(Phase.TURN_START, "")
    assert newest is not None and newest.id == "a/2"
    assert [one.id for one in catalog.listed("")] == ["a/2", "b/1", "a/1"]
    target = catalog.get("a", first.seq)
    assert target is not None
    assert [one.id for one in catalog.changed_elsewhere(target)] == ["b/1"]
    catalog.close()


def test_the_last_turn_begins_at_its_first_start(path: Path) -> None:
    catalog = Catalog(path)
    for turn, phase in ((1, Phase.TURN_START), (2, Phase.TURN_START), (2, Phase.TURN_START)):
        catalog.add(row("a", 1.0, turn=turn, phase=phase))
    found = catalog.last_turn("")
    assert found is not None and found.id == "a/2"
    assert catalog.last_turn("elsewhere") is None
    catalog.close()


def places_without_a_look_at_all(catalog: Catalog) -> bool:
    plan = catalog._query("EXPLAIN QUERY PLAN SELECT max(placed) FROM checkpoints", ())
    return "by_place" in str(plan)


def test_a_new_one_is_placed_without_a_look_at_all(path: Path) -> None:
    catalog = Catalog(path)
    assert places_without_a_look_at_all(catalog)
    catalog.close()


def test_a_list_of_the_first_version_keeps_its_order(path: Path) -> None:
    now = Catalog(path)
    rows = [now.add(row(session, at)) for session, at in (("b", 1.0), ("a", 2.0), ("b", 3.0))]
    bodies = now._query(
        "SELECT session, seq, root, created_at, phase, state, commit_id, body FROM checkpoints", ()
    )
    now.close()
    path.unlink()
    old = sqlite3.connect(path)
    old.executescript(OF_VERSION_1)
    old.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?)", bodies)
    old.commit()
    old.close()
    catalog = Catalog(path)
    added = catalog.add(row("a", 0.5))
    assert [one.id for one in catalog.listed("")] == [added.id, *(one.id for one in reversed(rows))]
    assert places_without_a_look_at_all(catalog)
    again = Catalog(path)
    assert again.get("a", 1) == replace(rows[1], placed=2)
    for one in (catalog, again):
        one.close()
