"""`search_files`: ripgrep and our own searcher give the same lines in the same order."""

import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.tools.room import Room
from tools.searching import Hit, Query, SearchError, search
from tools.types import OutcomeStatus

FILES = {
    "a.py": "import os\nfound = 1\nend\n",
    "b/c.py": "found twice found\n\nnot here\nfound\r\n",
    "b-x/c.txt": "found\n",
    "b.txt": "found without an end",
    ".hidden/f.txt": "found hidden\n",
    ".gitignore": "ignored/\n*.log\n!keep.log\n/top.txt\n",
    "ignored/f.txt": "found but ignored\n",
    "x.log": "found but ignored\n",
    "keep.log": "found kept\n",
    "top.txt": "found but ignored\n",
    "b/top.txt": "found below\n",
    "b/.gitignore": "local.txt\n",
    "b/local.txt": "found but ignored\n",
    ".git/config": "found in git\n",
    "uni.txt": "grüße found Straße\nÄRGER\n",
    "nul.bin": "found\0binary\n",
    "late.bin": "found\n" + "x" * 200_000 + "\0",
    "café/ü.txt": "found ü\n",
    "Upper.txt": "FOUND\n",
}


def fill(base: Path) -> None:
    for name, text in FILES.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    (base / "latin.txt").write_bytes(b"found caf\xe9\n")
    (base / "utf16.txt").write_bytes("\ufefffound wide\n".encode("utf-16-le"))
    (base / "link.txt").symlink_to("a.py")
    (base / "empty.txt").touch()


async def hits(query: Query, ripgrep: str | None) -> list[Hit]:
    return [hit async for hit in search(query, ripgrep)]


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Path]:
    fill(tmp_path)
    yield tmp_path


@pytest.mark.parametrize(
    "options",
    [
        {"pattern": "found"},
        {"pattern": "found", "context": 1},
        {"pattern": "found", "glob": "*.py"},
        {"pattern": "found", "glob": "b/**"},
        {"pattern": "found", "glob": "!*.py"},
        {"pattern": "FOUND", "ignore_case": True},
        {"pattern": "ärger", "ignore_case": True},
        {"pattern": r"^\w+ = \d$"},
        {"pattern": r"gr\w+e\b"},
        {"pattern": "caf."},
        {"pattern": "end$"},
        {"pattern": "^$"},
        {"pattern": "x{3}"},
        {"pattern": "found", "path": "b"},
        {"pattern": "found", "path": "b/c.py"},
        {"pattern": "[é-ü]"},
        {"pattern": "nothing of this kind"},
    ],
    ids=str,
)
async def test_both_searchers_agree(place: Path, options: dict[str, object]) -> None:
    ripgrep = shutil.which("rg")
    if not ripgrep:
        pytest.skip("ripgrep is not installed")
    query = Query(directory=place, **options)  # type: ignore[arg-type]
    assert await hits(query, ripgrep) == await hits(query, None)


@pytest.mark.parametrize("ripgrep", [shutil.which("rg"), None], ids=["ripgrep", "own"])
async def test_what_is_found_and_what_is_left_out(place: Path, ripgrep: str | None) -> None:
    found = await hits(Query(directory=place, pattern="found"), ripgrep)
    assert [(hit.path, hit.line_number) for hit in found] == [
        (".hidden/f.txt", 1), ("a.py", 2), ("b/c.py", 1), ("b/c.py", 4), ("b/top.txt", 1), ("b-x/c.txt", 1),
        ("b.txt", 1), ("café/ü.txt", 1), ("keep.log", 1), ("latin.txt", 1), ("uni.txt", 1), ("utf16.txt", 1),
    ]  # fmt: skip


async def test_patterns_only_python_knows_work_with_ripgrep_installed(place: Path) -> None:
    found = await hits(Query(directory=place, pattern=r"(?<!not )found(?= twice)"), shutil.which("rg"))
    assert [(hit.path, hit.column) for hit in found] == [("b/c.py", 0)]


async def test_a_bad_pattern_is_explained(place: Path) -> None:
    with pytest.raises(SearchError, match="set `literal`"):
        await hits(Query(directory=place, pattern="a("), None)


async def test_a_pattern_that_never_ends_is_stopped_and_the_loop_lives(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tools import searching

    monkeypatch.setattr(searching, "TIME_LIMIT_S", 0.5)
    room.write("a.txt", "a" * 40 + "b\n")
    outcome = await room.call("search_files", pattern=r"(?=a)(a+)+c$")
    assert "there may be more" in outcome.text


async def test_results_are_bounded_and_counted(room: Room) -> None:
    room.write("many.txt", "hit here\n" * 5_000)
    outcome = await room.call("search_files", pattern="hit")
    assert outcome.data == {"matches": 5_000, "files": 1, "shown": 500}
    assert "4,500 not shown" in outcome.text
    files = await room.call("search_files", pattern="hit", files_only=True)
    assert files.text.endswith("many.txt: 5000")
    assert files.complete


async def test_the_tool_speaks_in_paths_of_the_workspace(room: Room) -> None:
    room.write("src/a.py", "x = f(1)\n# " + "y" * 1_000 + " f(2)\n")
    outcome = await room.call("search_files", pattern="f(", literal=True, path="src", context=1)
    lines = outcome.text.split("\n")
    assert lines[0] == "[2 matching lines · 1 file]"
    assert lines[1] == "src/a.py:1: x = f(1)"
    assert re.match(r"src/a\.py:2: \[\d+ characters\] … y+ f\(2\)$", lines[2])
    assert (await room.call("search_files", pattern="f", path="no")).status is OutcomeStatus.FAILED
    assert "line end" in room.check("search_files", pattern="a\nb")
