from pathlib import Path

import pytest

from context.repo_map import TagCache, build_map, tags_of

SOURCES = {
    ".py": b"class Store:\n    def load(self): return helper()\n\ndef helper(): pass\n",
    ".js": b"class Store { load() { return helper(); } }\nfunction helper() {}\n",
    ".ts": b"interface Shape { x: 1 }\nclass Store { load() { return helper(); } }\nfunction helper() {}\n",
    ".go": b"package p\ntype Store struct{}\nfunc (s Store) load() { helper() }\nfunc helper() {}\n",
    ".rs": b"struct Store;\nimpl Store { fn load(&self) { helper(); } }\nfn helper() {}\n",
}


@pytest.mark.parametrize("suffix", SOURCES)
def test_definitions_and_references_of_each_language_are_found(suffix: str) -> None:
    tags = tags_of(suffix, SOURCES[suffix])
    assert {"Store", "load", "helper"} <= {tag.name for tag in tags if tag.kind == "def"}
    assert "helper" in {tag.name for tag in tags if tag.kind == "ref"}


def project(root: Path) -> list[Path]:
    (root / "core.py").write_text("def central():\n    pass\n\ndef lonely():\n    pass\n")
    for number in range(5):
        (root / f"user{number}.py").write_text(
            f"from core import central\n\ndef use{number}():\n    central()\n"
        )
    (root / "notes.txt").write_text("central central")
    return sorted(root.iterdir())


def test_what_many_files_refer_to_comes_first(tmp_path: Path) -> None:
    found = build_map(
        tmp_path, project(tmp_path), tags=lambda p: tags_of(p.suffix, p.read_bytes()), limit_bytes=40
    )
    assert found.text == "core.py:\n    1 def central():"
    assert found.shown == 1
    assert found.left_out == 6


def test_focus_brings_named_files_to_the_front(tmp_path: Path) -> None:
    found = build_map(
        tmp_path,
        project(tmp_path),
        tags=lambda p: tags_of(p.suffix, p.read_bytes()),
        limit_bytes=40,
        focus=["user3"],
    )
    assert found.text.startswith("user3.py:")


def test_a_second_map_parses_only_what_changed(tmp_path: Path) -> None:
    work = tmp_path / "w"
    work.mkdir()
    files = project(work)
    cache = TagCache(tmp_path / "tags.db")
    first = build_map(work, files, tags=cache.get)
    (work / "core.py").write_text("def renamed_central():\n    pass\n")
    second = build_map(work, files, tags=cache.get)
    cache.close()
    assert "def central" in first.text
    assert "def renamed_central" in second.text
    assert "def use3" in second.text


def test_unreadable_and_huge_files_are_left_out(tmp_path: Path) -> None:
    work = tmp_path / "w"
    work.mkdir()
    (work / "big.py").write_text("def big(): pass\n" * 60_000)
    cache = TagCache(tmp_path / "tags.db")
    found = build_map(work, [work / "big.py", work / "gone.py"], tags=cache.get)
    cache.close()
    assert found.text == ""
