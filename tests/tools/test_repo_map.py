"""The map of a project as a tool: files by the rules of git, symbols by grammars, cached."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from agent_tui.repo_map import ProjectMap, RepoMapTool
from sandbox.policy import Mode, Policy
from tools.types import CallClass, Invocation, Outcome, OutcomeStatus


class Quiet:
    """A sink for a tool that shows nothing."""

    async def spawned(self, process: object) -> None:
        raise AssertionError("a map starts nothing")

    def output(self, text: str) -> None:
        raise AssertionError("a map shows nothing while it is made")


class Place:
    """A workspace with a state directory beside it."""

    def __init__(self, root: Path) -> None:
        self.workspace = root / "work"
        self.workspace.mkdir()
        self.state = root / "state"
        self.state.mkdir()
        self.maps = ProjectMap(self.workspace, self.state)
        self.tool = RepoMapTool(self.maps)
        self.policy = Policy(mode=Mode.WORKSPACE_WRITE, workspace=self.workspace, state_dir=self.state)
        (self.workspace / "core.py").write_text("def central():\n    pass\n\ndef lonely():\n    pass\n")
        (self.workspace / "user.py").write_text("from core import central\n\ndef use():\n    central()\n")

    async def run(self, tokens: int = 2_000, **arguments: str) -> Outcome:
        invocation = Invocation(
            call_id="c1.1",
            tool="repo_map",
            arguments=arguments,
            policy=self.policy,
            spool=self.state / "spool",
            max_output_tokens=tokens,
        )
        return await self.tool.run(invocation, Quiet())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_a_map_names_definitions_and_what_is_missing(place: Place) -> None:
    (place.workspace / "other.java").write_text("class Other {}\n")
    outcome = await place.run()
    assert outcome.text == (
        "[. · 2 files · 3 definitions · no grammar for .java]\n"
        "core.py:\n    1 def central():\n    4 def lonely():\nuser.py:\n    3 def use():"
    )
    assert not outcome.complete


async def test_the_focus_comes_first_and_a_path_narrows(place: Place) -> None:
    (place.workspace / "sub").mkdir()
    (place.workspace / "sub" / "deep.py").write_text("class Deep:\n    pass\n")
    assert (await place.run(focus="use lonely")).text.splitlines()[1] in ("user.py:", "core.py:")
    assert (await place.run(focus="deep")).text.splitlines()[1] == "sub/deep.py:"
    assert (await place.run(path="sub")).text.splitlines()[1:] == ["deep.py:", "    1 class Deep:"]


async def test_ignored_files_links_and_pipes_are_left_out(place: Place, tmp_path: Path) -> None:
    (tmp_path / "private.py").write_text("def secret(): pass\n")
    (place.workspace / "link.py").symlink_to(tmp_path / "private.py")
    os.mkfifo(place.workspace / "pipe.py")
    (place.workspace / ".gitignore").write_text("made.py\n")
    (place.workspace / "made.py").write_text("def generated(): pass\n")
    text = (await place.run()).text
    assert "secret" not in text and "generated" not in text


async def test_a_map_stays_in_its_room(place: Place) -> None:
    for number in range(200):
        (place.workspace / f"m{number}.py").write_text(f"def function_number_{number}():\n    pass\n")
    outcome = await place.run(tokens=200)
    assert len(outcome.text.encode()) <= 200 * 4 + 200
    assert "more did not fit" in outcome.text


async def test_outside_the_workspace_a_person_is_asked_and_the_state_is_never_mapped(
    place: Place, tmp_path: Path
) -> None:
    assert place.tool.assess({}, place.policy).call_class is CallClass.AUTO
    assert place.tool.assess({"path": str(tmp_path)}, place.policy).call_class is not CallClass.AUTO
    assert place.tool.assess({"path": str(place.state)}, place.policy).call_class is CallClass.REJECT
    assert (await place.run(path=str(place.state))).status is OutcomeStatus.FAILED


async def test_a_damaged_or_removed_cache_is_made_anew(place: Place) -> None:
    before = (await place.run()).text
    (cache,) = (place.state / "repo-map").glob("*.db")
    for leftover in (place.state / "repo-map").iterdir():
        leftover.unlink()
    cache.write_bytes(b"this is no database" * 100)
    assert (await place.run()).text == before
    shutil.rmtree(place.state / "repo-map")
    assert (await place.run()).text == before


def test_time_that_runs_out_is_said(place: Place) -> None:
    found, unseen = place.maps.build(place.workspace, focus=(), limit_bytes=4_000, seconds=-1)
    assert (found.shown, unseen) == (0, 2)


def test_filling_ahead_of_need_leaves_nothing_to_parse(place: Place) -> None:
    filling = threading.Thread(target=place.maps._fill)  # lowers the priority of its own thread
    filling.start()
    filling.join()
    cache = place.maps._open()
    core = place.workspace / "core.py"
    stamps = dict(cache._connection.execute("SELECT path, stamp FROM files"))
    cache.close()
    assert str(core) in stamps


def test_the_section_of_the_project_text_holds_the_map(place: Place) -> None:
    assert "1 def central():" in place.maps.section()
    assert place.maps.section().startswith("# Map of the project")
