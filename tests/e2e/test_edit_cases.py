"""Cases A18 to A23 and the order of calls through the whole program: exact edits, exactly taken back."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.project import call
from tests.e2e.running import Running, running
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, model_flags

LATIN = b"".join(
    {500: b"\x99", 999: b"caf\xe9"}.get(number, b"line %d" % number) + b"\n" for number in range(1, 1_001)
)
CLASSES = b"".join(b"class %c:\n    def run(self):\n        pass\n\n" % name for name in b"ABC")
FILES = {
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "mixed.txt": b"one\r\ntwo\nthree\r\nfour\n",
    "bom.txt": b"\xef\xbb\xbfx\ny\n",
    "open.txt": b"x\ny",
    "blank.txt": b"x\ny\n\n",
    "latin.txt": LATIN,
    "same.py": CLASSES,
    "real.sh": b"#!/bin/sh\necho old\n",
    "d/x.txt": b"x\n",
    "a.txt": b"a\n",
    "b.txt": b"b\n",
    "gone.txt": b"gone\n",
}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    work = program.workspace
    (work / "d").mkdir()
    for name, data in FILES.items():
        (work / name).write_bytes(data)
    (work / "real.sh").chmod(0o755)
    (work / "l1").symlink_to("real.sh")
    (work / "l2").symlink_to("l1")
    (work / "dirl").symlink_to("d/")
    return program


def tree(base: Path) -> dict[str, object]:
    """Type, mode and content or target of every entry."""
    found: dict[str, object] = {}
    for path in sorted(base.rglob("*")):
        state = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(base))] = (oct(state.st_mode), content)
    return found


def patch(*lines: str) -> dict[str, Any]:
    return call("apply_patch", patch="\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


def update(path: str, *lines: str) -> dict[str, Any]:
    return patch(f"*** Update File: {path}", *lines)


def turn(program: Program, server: ModelServer, *calls: dict[str, Any]) -> Ran:
    """One turn of one response with these calls."""
    server.script([{"calls": list(calls)}, {"text": "done"}])
    ran = program.run("exec", "--json", *model_flags("chat", server.base_url()), "go")
    assert ran.code == 0, ran.err
    return ran


def results(server: ModelServer) -> list[str]:
    return [m["content"] for m in server.requests[-1].json["messages"] if m["role"] == "tool"]


def test_edits_change_exactly_what_they_say_and_a_rollback_gives_every_byte_back(
    program: Program, model_server: ModelServer
) -> None:  # A18, A19, A20, A22
    work, before = program.workspace, tree(program.workspace)
    thrice = [
        update(name, "@@", f"-{old}", f"+{new}")
        for name in ("bom.txt", "open.txt", "blank.txt")
        for old, new in (("x", "y2"), ("y2", "x3"), ("x3", "X"))
    ]
    turn(
        program,
        model_server,
        update("crlf.txt", "@@", " one", "-two", "+TWO", "+extra", " three"),
        update("mixed.txt", "@@", "-two\r", "+TWO\r"),
        *thrice,
        update("latin.txt", "@@", "-line 1", "+LINE 1", " line 2"),
        update("latin.txt", "@@", " line 998", " caf\u00e9", "-line 1000", "+LINE 1000"),
        update("l2", "@@", "-echo old", "+echo new"),
        update("dirl/x.txt", "@@", "-x", "+X"),
        patch("*** Delete File: l1"),
    )
    assert all(result.startswith("Applied:") for result in results(model_server)), results(model_server)
    read = {name: (work / name).read_bytes() for name in FILES}
    assert read["crlf.txt"] == b"one\r\nTWO\r\nextra\r\nthree\r\n"
    assert read["mixed.txt"] == b"one\r\nTWO\nthree\r\nfour\n"
    assert read["bom.txt"] == b"\xef\xbb\xbfX\ny\n"
    assert read["open.txt"] == b"X\ny"
    assert read["blank.txt"] == b"X\ny\n\n"
    assert read["latin.txt"] == LATIN.replace(b"line 1\n", b"LINE 1\n").replace(b"line 1000", b"LINE 1000")
    assert read["real.sh"] == b"#!/bin/sh\necho new\n" and (work / "real.sh").stat().st_mode & 0o777 == 0o755
    assert (work / "l2").readlink() == Path("l1") and not os.path.lexists(work / "l1")
    assert read["d/x.txt"] == b"X\n" and (work / "dirl").is_symlink()
    assert program.run("rollback", "--yes").code == 0
    assert tree(work) == before


def test_what_fits_nowhere_or_twice_changes_nothing(program: Program, model_server: ModelServer) -> None:
    insert = ["     def run(self):", "+        start()"]
    blocked = program.workspace / "blocked"
    blocked.mkdir()
    before = tree(program.workspace)
    turn(
        program,
        model_server,
        update("same.py", "@@", *insert),
        update("same.py", "@@ class D", *insert),
        patch("*** Delete File: gone.txt", "*** Add File: new.txt", "+n",
              "*** Update File: a.txt", "@@", "-a", "+A", "*** Update File: b.txt", "@@", "-wrong", "+B"),
        patch("*** Add File: a.txt", "+x"),
        patch("*** Update File: a.txt", "*** Move to: b.txt"),
        patch("*** Update File: a.txt", "@@", "-a", "+A", "*** Add File: blocked", "+x"),
    )  # fmt: skip
    three, none, half, add, move, folder = results(model_server)
    assert "fits 3 places" in three and three.count("line ") >= 3
    assert "the anchor `class D`; the nearest is line 9: `class C:`" in none
    assert "`b.txt`" in half
    assert "cannot add `a.txt`" in add and "cannot move to `b.txt`" in move and "`blocked`" in folder
    assert tree(program.workspace) == before  # A21, A23
    turn(
        program,
        model_server,
        update("same.py", "@@ class B", *insert),
        update("same.py", "@@ class C", "@@ def run", "+        last()"),
    )
    lines = (program.workspace / "same.py").read_text().split("\n")
    assert [lines[5:7], lines[10:13]] == [
        ["    def run(self):", "        start()"],
        ["    def run(self):", "        last()", "        pass"],
    ]


def test_calls_of_one_response_keep_their_order(program: Program, model_server: ModelServer) -> None:
    turn(
        program,
        model_server,
        call("read_file", path="a.txt"),
        call("read_file", path="b.txt"),
        update("a.txt", "@@", "-a", "+A"),
        call("read_file", path="./d/../a.txt"),
        update("a.txt", "@@", "-A", "+AA"),
        update("dirl/x.txt", "@@", "-x", "+y"),
        update("d/x.txt", "@@", "-y", "+z"),
        call("exec_command", cmd="cat a.txt d/x.txt"),
    )
    first, other, one, again, two, link, same, told = results(model_server)
    assert [text.rpartition("\t")[2] for text in (first, other, again)] == ["a", "b", "A"]
    assert [text.startswith("Applied:") for text in (one, two, link, same)] == [True] * 4
    assert told.endswith("AA\nz")


def test_nobody_is_asked_about_a_patch_that_does_not_fit(program: Program, model_server: ModelServer) -> None:
    calls = [
        update("a.txt", "@@", "-other", "+A"),
        patch("*** Add File: .git/hooks/x", "+x"),
        update("a.txt", "@@", "-a", "+A"),
    ]
    model_server.script([{"calls": [one]} for one in calls] + [{"text": "done"}])
    with running(program, model_server.base_url(), "--stdin-commands", "-a", "untrusted", "go") as run:
        asked = answer(run)
        code, err = run.end()
    assert code == 0, err
    assert "-a\n+A" in json.dumps(asked).replace("\\n", "\n")
    decided = [e for e in run.seen if e["type"] == "item.started" and e["item"]["type"] == "approval"]
    assert len(decided) == 1
    assert (program.workspace / "a.txt").read_text() == "A\n"


def test_an_edit_of_a_file_that_changed_while_it_was_asked_about_is_asked_about_again(
    program: Program, model_server: ModelServer
) -> None:
    edited = program.workspace / "crlf.txt"
    model_server.script(
        [{"calls": [update("crlf.txt", "@@", " one", "-two", "+TWO", " three")]}, {"text": "done"}]
    )
    with running(program, model_server.base_url(), "--stdin-commands", "-a", "untrusted", "go") as run:
        first = run.until("item.started", "approval")["item"]
        edited.write_bytes(b"zero\r\n" + edited.read_bytes())
        run.order(type="decide", id=first["id"], decision="once", digest=first["digest"])
        second = answer(run)
        code, err = run.end()
    assert code == 0, err
    assert "-two" in first["diff"] and "zero" not in first["diff"]
    assert second["why"].startswith("the file changed after you were asked") and " zero" in second["diff"]
    assert edited.read_bytes() == b"zero\r\none\r\nTWO\r\nthree\r\n"


def answer(run: Running) -> dict[str, Any]:
    """Allow the next question, and close the input."""
    item: dict[str, Any] = run.until("item.started", "approval")["item"]
    order = {"type": "decide", "id": item["id"], "decision": "once", "digest": item["digest"]}
    assert run.process.stdin is not None
    run.process.stdin.write(json.dumps(order) + "\n")
    run.process.stdin.close()
    run.process.stdin = None
    return item
