from pathlib import Path

from agent_tui import told


def test_a_notice_is_told_once(tmp_path: Path) -> None:
    assert told.news(tmp_path, ["one", "two"]) == ["one", "two"]
    assert told.news(tmp_path, ["two", "three"]) == ["three"]
    assert told.news(tmp_path, ["one", "three"]) == []


def test_all_is_told_where_nothing_is_kept(tmp_path: Path) -> None:
    assert told.news(None, ["one"]) == ["one"]
    assert told.news(tmp_path / "missing", ["one"]) == ["one"]
