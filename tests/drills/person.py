"""Drills with people and other processes: they interrupt, cancel, reach too far, and come twice."""

import json
import signal
import subprocess

from tests.drills.place import Place, drill, lines
from tests.e2e.project import call
from tests.e2e.running import Bell, running
from tests.processes import processes_with, seconds
from tests.waiting import until

MARK = seconds()
COMMAND = f"echo begun > made; echo $$ > bell; sleep {MARK}"


@drill("interruption", "`kill -9` of the program in the middle of a command, then a resume")
def interruption(place: Place) -> str:
    bell = Bell(place.program.workspace)
    place.server.script([{"calls": [call("exec_command", cmd=f"echo once >> effects; {COMMAND}")]}])
    with running(place.program, place.server.base_url(), "go") as run:
        bell.wait()
        run.process.kill()
        run.process.wait()
    until(lambda: not processes_with(MARK))
    place.goes_on()
    results = place.results()
    assert len(results) == 1 and "unknown" in results[0].lower()
    assert (place.program.workspace / "effects").read_text() == "once\n"
    return "the command died with it, was answered once as unknown and not run again"


@drill("cancel", "Ctrl+C in the middle of a command, then the changes are taken back")
def cancel(place: Place) -> str:
    bell = Bell(place.program.workspace)
    place.server.script([{"calls": [call("exec_command", cmd=COMMAND)]}])
    with running(place.program, place.server.base_url(), "go") as run:
        bell.wait()
        run.process.send_signal(signal.SIGINT)
        code, err = run.end()
    assert (code, run.ended["reason"]) == (130, "interrupted"), err
    assert not processes_with(MARK)
    assert (place.program.workspace / "made").exists()
    assert place.program.run("rollback", "--files-only", "--yes").code == 0
    assert not (place.program.workspace / "made").exists()
    place.goes_on()
    return "exit 130, nothing of it ran on; a rollback took its file back, a resume went on"


@drill("over-reach", "commands and patches that want out: home, `.git`, network, other processes")
def over_reach(place: Place) -> str:
    victim = subprocess.Popen(["sleep", "60"])
    secret, hooks = place.program.home / "secret", place.program.workspace / ".git" / "hooks"
    secret.write_text("the secret")
    outside = place.root / "outside"
    wanted = (
        f"cat {secret}",
        f"echo x > {outside}",
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        f"kill -9 {victim.pid}",
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 1), 1)\"",
    )
    patch = f"*** Begin Patch\n*** Add File: {outside}\n+x\n*** End Patch"
    calls = [call("exec_command", cmd=line) for line in wanted]
    place.server.script([{"calls": [*calls, call("apply_patch", patch=patch)]}, {"text": "I could not"}])
    before = (place.program.workspace / ".git" / "config").read_bytes()
    ran = place.exec("go")
    assert ran.code in (0, 4), ran.err
    assert victim.poll() is None, "it was killed"
    victim.kill()
    victim.wait()
    assert "the secret" not in ran.out + json.dumps([request.json for request in place.server.requests])
    assert not outside.exists() and not (hooks / "pre-commit").exists()
    assert (place.program.workspace / ".git" / "config").read_bytes() == before
    items = [event["item"] for event in lines(ran) if event["type"] == "item.completed"]
    tried = [item for item in items if item["type"] in ("command_execution", "file_change")]
    worked = [item.get("command", "") for item in tried if item["status"] == "completed"]
    assert worked in ([], [wanted[1]]), "only its own /tmp can be written"
    return f"{len(tried)} attempts: nothing was read, changed, reached or killed outside, nor in `.git`"


@drill("two owners", "a second process resumes a session that runs; another works beside it")
def two_owners(place: Place) -> str:
    place.server.script([{"gate": "later", "text": "late"}])
    with running(place.program, place.server.base_url(), "wait") as run:
        until(lambda: len(place.server.requests) == 1)
        refused = place.exec("--last", "me too")
        assert refused.code == 5, refused.err
        assert f"is open in process {run.process.pid}" in refused.err
        place.server.script([{"text": "beside it"}])
        assert place.exec("--last", "--fork", "a copy").end["reason"] == "completed"
        place.server.release("later")
        assert run.end()[0] == 0
    assert len(json.loads(place.program.run("sessions", "--json").out)) == 2
    return "the second was refused with exit 5 and the process named; a copy worked; the first ended well"
