from pathlib import Path

from tools.rows import append_row, read_rows


def test_a_line_that_was_cut_or_damaged_hides_no_other(tmp_path: Path) -> None:
    journal = tmp_path / "kept" / "rows.jsonl"
    assert read_rows(journal) == []
    append_row(journal, ["a\udcff", 1])
    with journal.open("ab") as file:
        file.write(b'\n\xff\xfe\n["b", 2]\n' + b"[" * 5000 + b'\n["c"')
    append_row(journal, ["d", 3])
    assert read_rows(journal) == [["a\udcff", 1], ["b", 2], ["d", 3]]
