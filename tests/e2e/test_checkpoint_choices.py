"""Design c.6, 4: each conflict is kept, taken or merged, as a person says, in all three front ends."""

import json
from pathlib import Path

import pytest

from tests.checkpoints.trees import Manifest, manifest
from tests.cli.terminal import Terminal
from tests.e2e.screen import start
from tests.e2e.test_checkpoint_cases import run, turn
from tests.model_server.fixture import ModelServer
from tests.plain.test_terminal import Terminal as LineMode
from tests.program import Program

LINES = "one\n2\n3\n4\n5\n6\nend\n"
AGENT = "sed -i s/one/ONE/ keep.txt merge.txt take.txt both.txt; echo x > new.txt"
MERGED_BOTH = (
    "<<<<<<< yours\nmine\n||||||| agent\nONE\n=======\none\n>>>>>>> checkpoint\n2\n3\n4\n5\n6\nend\n",
    "<<<<<<< yours\nmine\n=======\none\n>>>>>>> checkpoint\n2\n3\n4\n5\n6\nend\n",
)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    for name in ("keep.txt", "merge.txt", "take.txt", "both.txt"):
        (program.workspace / name).write_text(LINES)
    return program


def edit_by_hand(work: Path) -> Manifest:
    """A line of the person's at the end of three files, and in place of the agent's in the fourth."""
    for name in ("keep.txt", "merge.txt", "take.txt"):
        with (work / name).open("a") as stream:
            stream.write("mine\n")
    (work / "both.txt").write_text(LINES.replace("one", "mine"))
    return manifest(work)


def start_of_turn(program: Program) -> str:
    listed = [json.loads(line) for line in program.run("checkpoints", "--json").out.splitlines()]
    return next(str(one["id"]) for one in listed if one["phase"] == "turn_start")


def check(work: Path) -> None:
    """`keep.txt` stayed, `take.txt` is the checkpoint's, the others are merged."""
    assert (work / "keep.txt").read_text() == LINES.replace("one", "ONE") + "mine\n"
    assert (work / "take.txt").read_text() == LINES
    assert (work / "merge.txt").read_text() == LINES + "mine\n"
    assert (work / "both.txt").read_text() in MERGED_BOTH
    assert not (work / "new.txt").exists()


def takes_it_back(program: Program, present: Manifest) -> None:
    ran = program.run("rollback", "--redo", "--yes")
    assert ran.code == 0, ran.err
    assert manifest(program.workspace) == present


def test_in_the_interface(program: Program, model_server: ModelServer) -> None:
    model_server.script([run(AGENT), {"text": "all done"}])
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("change everything")
        screen.shows("all done", "● done", "ready")
        present = edit_by_hand(program.workspace)
        screen.say(f"/rollback {start_of_turn(program)}")
        screen.shows("conflicts 4", "> ! both.txt", "Space keep mine / take checkpoint / merge")
        screen.type(" ")
        screen.shows("take checkpoint\n", "> ! both.txt")
        screen.type(" ")
        screen.shows(" merge\n", "> ! both.txt")
        screen.type("\x1b[B")
        screen.shows("> ! keep.txt")
        screen.type("\x1b[B")
        screen.shows("> ! merge.txt")
        screen.type("  ")
        screen.shows("> ! merge.txt", "keep mine\n", "merge\n")
        screen.type("\x1b[B")
        screen.shows("> ! take.txt")
        screen.type(" ")
        screen.shows("> ! take.txt", "take checkpoint\n", "Enter roll back")
        screen.type("\r")
        screen.shows("rolled back · files and conversation", "change everything")
        check(program.workspace)
        assert "both.txt" in screen.picture(), "what has markers now is named"
        screen.type("\x03")
        screen.leave()
    takes_it_back(program, present)


def test_in_line_mode(program: Program, model_server: ModelServer) -> None:
    model_server.script([run(AGENT), {"text": "all done"}])
    it = LineMode(program, model_server)
    try:
        it.says("you>")
        it.type("change everything", "all done", "Done:")
        present = edit_by_hand(program.workspace)
        it.type(f"/rollback {start_of_turn(program)} files", "Conflict: take.txt", "roll back, 1 to 1")
        it.type("1", "Conflict: both.txt", "3. Merge the two", "nothing keeps yours, 1 to 3")
        it.type("3", "Conflict: keep.txt", "3. Merge the two", "nothing keeps yours, 1 to 3")
        it.type("", "Conflict: merge.txt", "3. Merge the two", "nothing keeps yours, 1 to 3")
        it.type("3", "Conflict: take.txt", "3. Merge the two", "nothing keeps yours, 1 to 3")
        it.type("2", "Rolled back:", "both.txt")
        check(program.workspace)
        it.type("/quit")
        assert it.tty.wait() == 0
    finally:
        it.tty.close()
    takes_it_back(program, present)


def test_by_command(program: Program, model_server: ModelServer) -> None:
    turn(program, model_server, run(AGENT))
    present = edit_by_hand(program.workspace)
    with Terminal(program, "rollback") as terminal:
        terminal.expect("conflict  both.txt")
        for name, keys in (("both.txt", "m"), ("keep.txt", "k"), ("merge.txt", "dm"), ("take.txt", "t")):
            for key in keys:
                terminal.expect(f"{name} [k/t/m/d] ")
                terminal.type(f"{key}\r")
                if key == "d":
                    terminal.expect("+mine")
        terminal.expect("roll back? [y/N] ")
        terminal.type("y\r")
        terminal.expect("kept yours: keep.txt")
        terminal.expect("merged with conflict markers: both.txt")
        assert terminal.end() == 0
    check(program.workspace)
    takes_it_back(program, present)


@pytest.mark.parametrize("choice", ["k", "t", "m"])
def test_what_cannot_be_merged_is_said_and_nothing_is_done(
    program: Program, model_server: ModelServer, choice: str
) -> None:
    picture = program.workspace / "picture"
    picture.write_bytes(b"\0one")
    turn(program, model_server, run("printf '\\0two' > picture"))
    picture.write_bytes(b"\0mine")
    with Terminal(program, "rollback", "--files-only") as terminal:
        terminal.expect("picture [k/t/m/d] ")
        terminal.type(f"{choice}\r")
        if choice == "k":
            terminal.expect("nothing to change")
        else:
            terminal.expect("roll back? [y/N] ")
            terminal.type("y\r")
            terminal.expect({"t": "1 path changed, verified", "m": "`picture` cannot be merged"}[choice])
        assert terminal.end() == (2 if choice == "m" else 0)
    assert picture.read_bytes() == (b"\0one" if choice == "t" else b"\0mine")
