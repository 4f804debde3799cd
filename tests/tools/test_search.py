"""`search_files`: ripgrep and our own searcher give the same lines in the same order."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.processes import processes_with
from tests.tools.room import Room
from tests.waiting import until
from tools.searching import Hit, Query, SearchError, search
from tools.types import CallClass, OutcomeStatus

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


@pytest.mark.parametrize("ripgrep", [shutil.which("rg"), None], ids=["ripgrep", "own"])
@pytest.mark.parametrize("path", ["out", "out/deep", "out/secret.txt", "secret.txt"])
async def test_a_link_in_the_place_of_what_is_searched_leads_nowhere(
    place: Path, ripgrep: str | None, path: str
) -> None:
    outside = place.parent / f"{place.name}-outside"
    (outside / "deep").mkdir(parents=True)
    for name in ("secret.txt", "deep/secret.txt"):
        (outside / name).write_text("found secret\n")
    (place / "out").symlink_to(outside)
    (place / "secret.txt").symlink_to(outside / "secret.txt")
    found = await hits(Query(directory=place, path=path, pattern="found"), ripgrep)
    assert [hit for hit in found if hit.kind != "unread"] == []


@pytest.mark.parametrize("ripgrep", [shutil.which("rg"), None], ids=["ripgrep", "own"])
async def test_what_is_left_out_is_not_entered(place: Path, ripgrep: str | None) -> None:
    (place / "b*").mkdir()
    (place / "b*" / "f.txt").write_text("found in a name that is a pattern\n")
    query = Query(directory=place, pattern="found", leave_out=(Path("b*"), Path("café")))
    left = [hit.path for hit in await hits(query, None)]
    assert [hit.path for hit in await hits(query, ripgrep)] == left
    assert "b/c.py" in left and "b-x/c.txt" in left
    assert not [path for path in left if path.startswith(("b*", "café"))]


@pytest.mark.parametrize("ripgrep", [shutil.which("rg"), None], ids=["ripgrep", "own"])
async def test_what_is_gone_meanwhile_is_said(place: Path, ripgrep: str | None) -> None:
    found = await hits(Query(directory=place, path="gone.txt", pattern="found"), ripgrep)
    assert [(hit.kind, hit.path) for hit in found] == [("unread", "gone.txt")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("ripgrep", [shutil.which("rg"), None], ids=["ripgrep", "own"])
async def test_what_cannot_be_read_is_said_and_hides_nothing_else(place: Path, ripgrep: str | None) -> None:
    (place / "a.py").chmod(0)
    found = await hits(Query(directory=place, pattern="found"), ripgrep)
    assert [hit.path for hit in found if hit.kind == "unread"] == ["a.py"]
    assert "b/c.py" in [hit.path for hit in found]


async def test_a_searcher_that_was_killed_is_no_empty_answer(place: Path, tmp_path: Path) -> None:
    killed = tmp_path / "rg"
    killed.write_text('#!/bin/sh\ncase "$*" in *--json*) kill -9 $$;; esac\nexit 1\n')
    killed.chmod(0o755)
    with pytest.raises(SearchError, match="ended with exit code -9"):
        await hits(Query(directory=place, pattern="found"), str(killed))


async def test_the_agents_own_state_is_never_searched_nor_listed(room: Room) -> None:
    room.write("here.txt", "found\n")
    own = room.policy.workspace / "state"
    own.mkdir()
    (own / "session.txt").write_text("found own\n")
    room.policy = replace(room.policy, state_dir=own, readable=(room.policy.workspace,))
    assert (await room.call("search_files", pattern="found")).text.endswith("\nhere.txt:1: found")
    assert "state" not in (await room.call("list_files", ignored=True)).text
    refused = room.toolbox.assess("read_file", {"path": "state/session.txt"}, room.policy)
    assert refused.call_class is CallClass.REJECT


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


@pytest.mark.parametrize("searcher", ["ripgrep", "own"])
def test_a_search_dies_with_the_program_whatever_hangs_in_it(tmp_path: Path, searcher: str) -> None:
    """A ripgrep that waits, and a pattern that takes our own for ever."""
    place = tmp_path / f"hangs-{os.getpid()}-{searcher}"
    place.mkdir()
    (place / "a.txt").write_text("a" * 100)
    waiting = tmp_path / "rg"
    waiting.write_text(f'#!/bin/sh\n[ "$1" = --no-config ] && exit\nexec tail -f {place}/a.txt\n')
    waiting.chmod(0o755)
    code = (
        "import asyncio; from pathlib import Path; from tools.searching import Query, search\n"
        "async def main():\n"
        f"    query = Query(pattern='(a|aa)+{place.name}', directory=Path({str(place)!r}))\n"
        f"    async for _ in search(query, {str(waiting) if searcher == 'ripgrep' else None!r}): pass\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    program = subprocess.Popen([sys.executable, "-c", code], cwd=root)

    # in the arguments of what hangs, and of none before it
    mark = f"{place}/a.txt" if searcher == "ripgrep" else f"+{place.name}"

    def searching() -> list[int]:
        return [pid for pid in processes_with(mark) if pid != program.pid]

    until(searching)
    program.kill()
    program.wait()
    until(lambda: not searching())


async def test_a_ripgrep_configuration_of_anybody_means_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.write("a.txt", "needle\n")
    room.write(".ripgreprc", "--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(room.workspace / ".ripgreprc"))
    outcome = await room.call("search_files", pattern="needle")
    assert "a.txt:1: needle" in outcome.text
    assert outcome.data["matches"] == 1
