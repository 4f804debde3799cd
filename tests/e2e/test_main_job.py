"""The main job through the whole program: a script gets a real change made, safely, and can take it back."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, Ran, ended, model_flags
from tests.waiting import WAIT_S, until

DIALECTS = ("chat", "responses", "messages")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path, OPENAI_API_KEY="sk-test-openai", ANTHROPIC_API_KEY="sk-test-anthropic")
    project.make(program)
    return program


def execute(program: Program, server: ModelServer, *argv: str, dialect: str = "chat", **rest: Any) -> Ran:
    return program.run("exec", *model_flags(dialect, server.base_url(dialect)), *argv, **rest)


def events(ran: Ran) -> list[dict[str, Any]]:
    """Every line of stdout, each an object."""
    return [json.loads(line) for line in ran.out.splitlines()]


def items(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [e["item"] for e in found if e["type"] == "item.completed" and e["item"]["type"] == kind]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_failing_test_is_made_to_pass(program: Program, model_server: ModelServer, dialect: str) -> None:
    model_server.script(project.mending())
    before = project.tree(program.workspace / ".git")
    assert not project.passes(program)
    ran = execute(program, model_server, "--json", "make the failing test pass", dialect=dialect)
    assert ran.code == 0, ran.err
    assert project.passes(program)
    assert project.tree(program.workspace / ".git") == before, "the person's repository is not touched"
    found = events(ran)
    beside = ("notice", "checkpoint")
    opened = [event["type"] for event in found if event.get("item", {}).get("type") not in beside]
    assert [*opened[:2], opened[-1]] == ["thread.started", "turn.started", "turn.completed"]
    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
    assert {event["run_id"] for event in found} == {f"{found[0]['thread_id']}.1"}
    commands = items(found, "command_execution")
    assert [(item["command"], item["exit_code"], item["status"]) for item in commands] == [
        (project.CHECK, 1, "failed"),
        (project.CHECK, 0, "completed"),
    ]
    assert commands[0]["aggregated_output"].startswith("=====")
    assert commands[0]["aggregated_output"].endswith("FAILED (failures=1)")
    patch = items(found, "file_change")
    assert [(change["path"], change["kind"]) for item in patch for change in item["changes"]] == [
        ("calc.py", "update")
    ]
    assert items(found, "agent_message")[-1]["text"].startswith("`add` subtracted")
    assert [change["path"] for change in ran.end["changes"] if "__pycache__" not in change["path"]] == [
        "calc.py"
    ]
    assert ran.end["reason"] == "completed"
    assert ran.end["usage"]["input_tokens"] > 0
    assert items(found, "checkpoint")


def test_the_answer_is_on_stdout_and_progress_on_stderr(program: Program, model_server: ModelServer) -> None:
    model_server.script(project.mending())
    ran = execute(program, model_server, "-o", "answer.txt", "mend it")
    answer = "`add` subtracted; it adds now and the test passes."
    assert (ran.code, ran.out) == (0, answer + "\n")
    assert (program.workspace / "answer.txt").read_text() == answer
    assert f"> run {project.CHECK}" in ran.err
    assert "1 file changed: calc.py" in ran.err


def test_the_same_events_come_in_every_dialect(program: Program, model_server: ModelServer) -> None:
    shapes = []
    for dialect in DIALECTS:
        (program.workspace / "calc.py").write_text(project.SOURCE)
        model_server.script(project.mending())
        found = events(execute(program, model_server, "--json", "mend it", dialect=dialect))
        kinds = [(event["type"], event.get("item", {}).get("type")) for event in found]
        # A checkpoint at the start is taken while the model already answers.
        shapes.append([kind for kind in kinds if kind[1] != "checkpoint"])
    assert shapes[0] == shapes[1] == shapes[2]


def test_rollback_takes_the_whole_turn_back(program: Program, model_server: ModelServer) -> None:
    before = project.tree(program.workspace)
    model_server.script(project.mending())
    assert execute(program, model_server, "mend it").code == 0
    assert project.passes(program)
    assert "before `patch calc.py`" in program.run("checkpoints").out
    ran = program.run("rollback", "--yes")
    assert ran.code == 0, ran.err
    assert project.tree(program.workspace) == before
    ran = program.run("rollback", "--redo", "--yes")
    assert ran.code == 0, ran.err
    assert project.passes(program)


def test_a_session_is_continued_with_what_was_said(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "first answer"}])
    assert execute(program, model_server, "first question").code == 0
    model_server.script([{"text": "second answer"}])
    ran = execute(program, model_server, "--last", "second question")
    assert (ran.code, ran.out) == (0, "second answer\n")
    said = [message["content"] for message in model_server.requests[-1].json["messages"]]
    text = json.dumps(said)
    assert [word in text for word in ("first question", "first answer", "second question")] == [True] * 3
    listed = json.loads(program.run("sessions", "--json").out)
    assert [(entry["turns"], entry["title"], entry["live"]) for entry in listed] == [
        (2, "first question", False)
    ]


def test_a_copy_leaves_the_session_as_it_is(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "one"}, {"text": "two"}])
    execute(program, model_server, "first")
    kept = program.run("sessions", "export", json.loads(program.run("sessions", "--json").out)[0]["id"]).out
    assert execute(program, model_server, "--last", "--fork", "second").code == 0
    listed = json.loads(program.run("sessions", "--json").out)
    assert len(listed) == 2
    older = min(listed, key=lambda entry: entry["updated_at"])["id"]
    assert program.run("sessions", "export", older).out == kept
    assert "two" in program.run("sessions", "show", max(listed, key=lambda e: e["updated_at"])["id"]).out


def test_a_task_is_shown_with_its_input_and_constraints_after_a_resume(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script([{"text": "one"}, {"text": "two"}])
    assert execute(program, model_server, "--max-turns", "9", "first task").code == 0
    assert execute(program, model_server, "--last", "-s", "read-only", "second task").code == 0
    (entry,) = json.loads(program.run("sessions", "--json").out)
    shown = program.run("sessions", "show", entry["id"]).out
    head, second = shown.split("second task")
    assert f"# Session {entry['id']}\n" in head and f"`{program.workspace}`" in head
    assert "sandbox workspace-write · network off · approval never" in head
    assert "> limit turns: 9" in head and "## You (prompt) · task t1\n\nfirst task" in head
    assert "> continued: sandbox read-only · network off · approval never" in head
    assert head.endswith("## You (prompt) · task t2\n\n") and "two" in second


def test_nothing_is_stored_of_an_ephemeral_run(program: Program, model_server: ModelServer) -> None:
    model_server.script(project.mending())
    ran = execute(program, model_server, "--ephemeral", "mend it")
    assert ran.code == 0, ran.err
    assert not program.state.exists()


def test_a_key_is_in_no_file_and_no_output(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("exec_command", cmd="env; cat /proc/*/environ")]}, {"text": "ok"}])
    ran = execute(program, model_server, "--json", "look around", dialect="responses")
    assert ran.code == 0, ran.err
    stored = b"".join(path.read_bytes() for path in program.home.rglob("*") if path.is_file())
    for key in (b"sk-test-openai", b"sk-test-anthropic"):
        assert key not in stored
        assert key.decode() not in ran.out + ran.err
        assert all(key not in request.body for request in model_server.requests)


def test_a_command_cannot_leave_the_workspace(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    command = f"touch {outside}/file; touch inside; id > /etc/agent-tui-test; true"
    model_server.script([{"calls": [call("exec_command", cmd=command)]}, {"text": "ok"}])
    assert execute(program, model_server, "try").code == 0
    assert list(outside.iterdir()) == []
    assert not Path("/etc/agent-tui-test").exists()
    assert (program.workspace / "inside").exists()


@pytest.mark.parametrize(
    ("flags", "code", "reason"),
    [
        (("--max-turns", "2"), 3, "budget_turns"),
        (("--max-tool-calls", "1"), 3, "budget_tools"),
        (("--max-tokens", "250"), 3, "budget_tokens"),
        (("--max-cost", "0.01"), 3, "cost_unknown"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_limit_ends_a_run_with_code_3(
    program: Program, model_server: ModelServer, flags: tuple[str, ...], code: int, reason: str
) -> None:
    model_server.allow_unplayed = True
    looking = [{"calls": [call("exec_command", cmd=f"echo {n}")]} for n in range(8)]
    model_server.script([*looking, {"text": "end"}])
    ran = execute(program, model_server, "--json", *flags, "go")
    assert ran.code == code, ran.err
    assert (ran.end["type"], ran.end["reason"]) == ("turn.failed", reason)


def test_an_unmet_contract_ends_with_code_6(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "done, I think"}], repeat_last=True)
    model_server.allow_unplayed = True
    ran = execute(program, model_server, "--json", "--verify", project.CHECK, "mend it")
    assert (ran.code, ran.end["reason"]) == (6, "contract_unmet"), ran.err


def test_a_met_contract_ends_with_code_0(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "done"}])
    ran = execute(program, model_server, "--json", "--verify", project.CHECK, "mend it")
    assert (ran.code, ran.end["reason"]) == (0, "completed"), ran.err


def test_the_report_of_a_run_is_what_was_done(program: Program, model_server: ModelServer) -> None:
    lines = ("echo looking", "ls gone", project.CHECK, project.CHECK)
    looked, missed, red, green = ({"calls": [call("exec_command", cmd=line)]} for line in lines)
    patched = {"calls": [call("apply_patch", patch=project.PATCH)]}
    model_server.script([looked, missed, red, patched, green, {"text": "done"}])
    ran = execute(program, model_server, "--json", "mend it")
    assert ran.code == 0, ran.err
    ended, changed, checked, commands, *failing = ran.end["report"].split("\n")
    assert ended == "The run ended: done"
    codes = zip(lines, (0, 2, 1, 0), strict=True)
    assert commands == "Commands: " + ", ".join(f"{line} (exit {code})" for line, code in codes)
    assert changed.startswith("Changed files: ") and "M calc.py" in changed
    assert checked == f"Last check: `{project.CHECK}` passed after the last change"
    (gone,) = failing
    assert gone.startswith("Still failing: ls gone (exit 2)")


def test_a_refusing_provider_ends_with_code_1(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"status": 401, "body": {"error": {"message": "bad key"}}}])
    ran = execute(program, model_server, "go")
    assert ran.code == 1
    assert ran.out == ""
    assert "401" in ran.err or "key" in ran.err
    assert "Traceback" not in ran.err


def test_project_instructions_reach_the_model(program: Program, model_server: ModelServer) -> None:
    (program.workspace / "AGENTS.md").write_text("Always answer in Latin.\n")
    model_server.script([{"text": "ita"}], must_contain=["Always answer in Latin."])
    assert execute(program, model_server, "go").code == 0


def test_without_git_the_job_is_still_done(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bwrap", "rg", "sh", "bash", "python3", "env"):
        found = next((Path(p, name) for p in os.environ["PATH"].split(":") if Path(p, name).exists()), None)
        if found is not None:
            (folder / name).symlink_to(found)
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "done"}])
    ran = execute(program, model_server, "--json", "mend it", env={"PATH": str(folder)})
    assert ran.code == 0, ran.err
    assert project.passes(program)


def test_ctrl_c_interrupts_and_the_session_goes_on(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("exec_command", cmd="echo ready; sleep 60")]}])
    process = program.start("exec", "--json", *model_flags("chat", model_server.base_url()), "wait")
    assert process.stdout is not None
    seen: list[dict[str, Any]] = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if seen[-1]["type"] == "item.started" and seen[-1]["item"]["type"] == "command_execution":
            process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, err
    assert (ended(seen)["type"], ended(seen)["reason"]) == ("turn.failed", "interrupted")
    assert "agent-tui resume" in err
    assert out == ""
    model_server.script([{"text": "went on"}])
    ran = execute(program, model_server, "--last", "go on")
    assert (ran.code, ran.out) == (0, "went on\n"), ran.err


def test_sigterm_pauses_cleanly(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"gate": "never", "text": "late"}])
    model_server.allow_unplayed = True
    process = program.start("exec", *model_flags("chat", model_server.base_url()), "wait")
    _until_requests(model_server, 1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 143, err
    assert "Traceback" not in err
    model_server.release("never")
    model_server.script([{"text": "went on"}])
    ran = execute(program, model_server, "--last", "go on")
    assert (ran.code, ran.out) == (0, "went on\n"), ran.err


def test_a_session_has_one_owner(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"gate": "later", "text": "late"}])
    process = program.start("exec", *model_flags("chat", model_server.base_url()), "wait")
    _until_requests(model_server, 1)
    ran = execute(program, model_server, "--last", "me too")
    assert ran.code == 5
    assert f"is open in process {process.pid}" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert json.loads(program.run("sessions", "--json").out)[0]["live"] is True
    model_server.release("later")
    assert process.communicate(timeout=WAIT_S)[0] == "late\n"
    assert process.returncode == 0


def test_a_reader_that_goes_away_ends_the_run(program: Program, model_server: ModelServer) -> None:
    calls = [{"calls": [call("exec_command", cmd=f"echo {n}; sleep 0.2")]} for n in range(50)]
    model_server.script(calls)
    model_server.allow_unplayed = True
    process = program.start("exec", "--json", *model_flags("chat", model_server.base_url()), "go")
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.close()
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=WAIT_S) == 141
    assert "Traceback" not in said


def test_kill_between_call_and_result_then_resume_answers_once(
    program: Program, model_server: ModelServer
) -> None:
    command = "echo once >> effects; sleep 60"
    model_server.script([{"calls": [call("exec_command", cmd=command)]}])
    process = program.start("exec", "--json", *model_flags("chat", model_server.base_url()), "do it")
    effects = program.workspace / "effects"
    until(lambda: effects.exists() and effects.read_text() == "once\n")
    process.kill()
    process.communicate(timeout=WAIT_S)
    model_server.script([{"text": "I see it may have run."}])
    ran = execute(program, model_server, "--json", "--last", "go on")
    assert ran.code == 0, ran.err
    assert effects.read_text() == "once\n", "the command was not run again"
    messages = model_server.requests[-1].json["messages"]
    results = [message for message in messages if message["role"] == "tool"]
    assert len(results) == 1
    assert "unknown" in results[0]["content"].lower()
    ended = items(events(ran), "command_execution")
    assert [item["outcome"] for item in ended] == ["outcome_unknown"]


def test_a_program_steers_through_stdin(program: Program, model_server: ModelServer) -> None:
    model_server.script(
        [
            {"calls": [call("exec_command", cmd="until [ -e told ]; do sleep 0.05; done")]},
            {"text": "as you wish"},
            {"text": "next done"},
        ]
    )
    flags = model_flags("chat", model_server.base_url())
    process = program.start("exec", "--json", "--stdin-commands", "-a", "never", *flags, "start")
    assert process.stdin is not None and process.stdout is not None
    found = []
    for line in process.stdout:
        found.append(json.loads(line))
        event = found[-1]
        if event["type"] == "item.started" and event["item"]["type"] == "command_execution":
            for order in ({"type": "steer", "text": "be quick"}, {"type": "queue", "text": "then that"}):
                process.stdin.write(json.dumps(order) + "\n")
            process.stdin.write("{broken\n")
            process.stdin.close()
        elif event["type"] == "error":  # all that was written has been read
            (program.workspace / "told").touch()
    assert process.wait(timeout=WAIT_S) == 0
    steers = items(found, "steer")
    assert [(item["kind"], item["text"], item["status"]) for item in steers] == [
        ("steer", "be quick", "delivered"),
        ("queue", "then that", "delivered"),
    ]
    assert [event["message"][:16] for event in found if event["type"] == "error"] == ["stdin: not JSON:"]
    assert sum(event["type"] == "turn.completed" for event in found) == 2
    assert process.stderr is not None
    process.stderr.close()
    process.stdout.close()


def test_a_person_answers_an_approval_through_stdin(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("exec_command", cmd="touch asked")]}, {"text": "ok"}])
    flags = model_flags("chat", model_server.base_url())
    process = program.start("exec", "--json", "--stdin-commands", "-a", "untrusted", *flags, "start")
    assert process.stdin is not None and process.stdout is not None
    found = []
    for line in process.stdout:
        found.append(json.loads(line))
        item = found[-1].get("item", {})
        if found[-1]["type"] == "item.started" and item.get("type") == "approval":
            assert not (program.workspace / "asked").exists()
            order = {"type": "decide", "id": item["id"], "decision": "once", "digest": item["digest"]}
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.close()
    assert process.wait(timeout=WAIT_S) == 0
    assert (program.workspace / "asked").exists()
    assert [item["decision"] for item in items(found, "approval")] == ["once"]
    assert process.stderr is not None
    process.stderr.close()
    process.stdout.close()


def test_nobody_can_be_asked_ends_with_code_4(program: Program, model_server: ModelServer) -> None:
    asking = [{"calls": [call("exec_command", cmd=f"touch no{n}")]} for n in range(4)]
    model_server.script([*asking, {"text": "end"}])
    model_server.allow_unplayed = True
    ran = execute(program, model_server, "--json", "-a", "untrusted", "go")
    assert (ran.code, ran.end["reason"]) == (4, "approval_unavailable"), ran.err
    assert not list(program.workspace.glob("no*"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_session_is_continued_at_the_address_it_was_begun_at(
    program: Program, model_server: ModelServer, dialect: str
) -> None:
    model_server.script([{"text": "one"}, {"text": "two"}])
    assert execute(program, model_server, "go", dialect=dialect).code == 0
    ran = program.run("exec", "--last", "go on")
    assert (ran.code, ran.out) == (0, "two\n"), ran.err


def test_a_session_keeps_its_model_unless_another_is_named_and_tells_what_is_different(
    program: Program, model_server: ModelServer
) -> None:
    def settings(*lines: str) -> None:
        provider = f'[providers.own]\napi = "chat"\nbase_url = "{model_server.base_url()}"\n'
        program.config("\n".join([*lines, provider]))

    model_server.script([{"text": "one"}, {"text": "two"}, {"text": "three"}])
    settings('model = "own/first"')
    assert program.run("exec", "go").code == 0
    settings('model = "own/second"', 'sandbox = "read-only"')
    kept = program.run("exec", "--last", "on")
    named = program.run("exec", "--last", "-m", "own/third", "on")
    assert [request.json["model"] for request in model_server.requests] == ["first", "first", "third"]
    told = "since this session was last open: "
    assert f"{told}sandbox is `read-only`, was `workspace-write`\n" in kept.err
    assert f"{told}model is `own/third`, was `own/first`\n" in named.err


def test_the_next_request_is_shown_byte_for_byte(program: Program, model_server: ModelServer) -> None:
    flags = model_flags("chat", model_server.base_url())
    model_server.script([{"calls": [call("list_files")]}, {"text": "seen"}, {"text": "more"}])
    assert program.run("exec", *flags, "look").code == 0
    shown = program.run("debug", "request", *flags, "-a", "never").out
    assert program.run("exec", *flags, "--last", "and on").code == 0
    sent = model_server.requests[-1].body.decode()
    assert shown.endswith("]}\n") and sent.startswith(shown.removesuffix("]}\n") + ',{"role":"user"')


def test_the_demo_runs_by_itself_and_leaves_nothing(tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    program = Program.at(tmp_path, TMPDIR=str(scratch))
    ran = program.run("demo", "--yes")
    assert ran.code == 0, ran.out + ran.err
    assert "the tree is exactly what it was" in ran.out
    assert all(len(line) < 80 and not line.endswith(" ") for line in ran.out.splitlines()[:2])
    assert "? run python3 -B -m unittest" in ran.out
    assert "? patch slugkit/slugs.py" in ran.out
    assert list(scratch.iterdir()) == []
    assert list(program.workspace.iterdir()) == []
    assert not program.state.exists()


def _until_requests(server: ModelServer, count: int) -> None:
    until(lambda: len(server.requests) >= count)
