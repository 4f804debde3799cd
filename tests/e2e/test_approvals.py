"""Approvals through the whole program: what was allowed runs, nothing beside it, and all of it can be seen
and taken back."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.running import running
from tests.e2e.screen import Screen, start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags
from tests.waiting import WAIT_S

Decide = Callable[[Mapping[str, Any]], str]
CRIPPLED = Path(__file__).with_name("crippled.py")
MAKEFILE = "check deploy other:\n\t@touch ran-$@\n"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    (program.workspace / "Makefile").write_text(MAKEFILE)
    project.make(program)
    return program


def converse(program: Program, server: ModelServer, decide: Decide, *argv: str) -> list[tuple[str, str]]:
    """Run with a person behind it; every question that came with its answer, in order."""
    flags = model_flags("chat", server.base_url())
    return answer(
        program.start("exec", "--json", "--stdin-commands", "-a", "untrusted", *flags, *argv, "go"), decide
    )


def answer(process: "subprocess.Popen[str]", decide: Decide) -> list[tuple[str, str]]:
    """Answer what comes, to the end."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    asked = []
    for line in process.stdout:
        event = json.loads(line)
        item = event.get("item", {})
        if event["type"] == "item.started" and item.get("type") == "approval":
            asked.append((str(item["shown"]), decide(item)))
            order = {"type": "decide", "id": item["id"], "digest": item["digest"], "decision": asked[-1][1]}
            print(json.dumps(order), file=process.stdin, flush=True)
        elif event["type"] == "item.started" and item.get("type") == "question":  # denied so often in a row
            print(
                json.dumps({"type": "answer", "id": item["id"], "text": "continue"}),
                file=process.stdin,
                flush=True,
            )
        elif event.get("reason") == "crashed":  # of the run before
            print(json.dumps({"type": "continue"}), file=process.stdin, flush=True)
        elif event["type"] in ("turn.completed", "turn.failed"):
            process.stdin.close()
    assert process.wait(timeout=WAIT_S) == 0, (asked, process.stderr.read())
    for stream in (process.stdout, process.stderr):
        stream.close()
    return asked


def commands(*lines: str) -> list[dict[str, Any]]:
    """A model that runs one line after the other."""
    return [*({"calls": [call("exec_command", cmd=line)]} for line in lines), {"text": "end"}]


WIDER = (
    "make check && touch p1",
    "make check; touch p2",
    "make check | tee p3",
    "make check $(touch p4)",
    "make check > p5",
    "make check `touch p6`",
    "make check\ntouch p7",
    "make check SHELL='touch p8'",
    "make -f- check <<< 'check: ; touch p9'",
    "git -c alias.status='!touch p10' status",
    "make check & touch p11",
    "make check <(touch p12)",
)
SAME = ("make check && make check", "make check; echo 'a && b'", "  make   check  ")


def test_an_allowed_command_lets_nothing_else_of_a_line_through(
    program: Program, model_server: ModelServer
) -> None:  # A28
    model_server.script(commands("make check", *WIDER, *SAME, "FOO=1 make check"))
    asked = converse(
        program, model_server, lambda item: "session" if item["shown"] == "make check" else "deny"
    )
    assert [line for line, _ in asked] == ["make check", *WIDER, "FOO=1 make check"]
    assert not list(program.workspace.glob("p[0-9]*"))
    assert (program.workspace / "ran-check").exists()


def test_a_saved_rule_holds_for_what_it_says_and_this_workspace_alone(
    program: Program, model_server: ModelServer, tmp_path: Path
) -> None:  # A30
    def decide(item: Mapping[str, Any]) -> str:
        return "rule" if item["shown"] == "make check" else "deny"

    lines = ("make check", "make deploy", "make -B check", "make check other", "make check")
    model_server.script(commands(*lines))
    asked = converse(program, model_server, decide)
    assert [line for line, _ in asked] == ["make check", "make deploy", "make -B check", "make check other"]
    assert 'run = "make check"' in rules(program)

    model_server.script(commands(*lines[:2]))
    assert [line for line, _ in converse(program, model_server, decide)] == ["make deploy"], "a new session"

    other = tmp_path / "other"
    other.mkdir()
    model_server.script(commands("make check"))
    assert [line for line, _ in converse(program, model_server, lambda _: "deny", "--cd", str(other))] == [
        "make check"
    ]


def test_a_session_grant_ends_with_the_session(program: Program, model_server: ModelServer) -> None:
    for _ in range(2):
        model_server.script(commands("make check", "make check"))
        assert converse(program, model_server, lambda _: "session") == [("make check", "session")]
    assert not (program.home / ".config" / "agent-tui" / "rules.toml").exists()


@pytest.mark.parametrize("line", ["python3 -", "sudo ls", "git"])
def test_too_broad_a_rule_is_never_offered(program: Program, model_server: ModelServer, line: str) -> None:
    model_server.script(commands(line))
    offered = []
    converse(program, model_server, lambda item: offered.append(item["choices"]) or "deny")  # type: ignore[func-returns-value]
    assert [("rule" in choices, "once" in choices) for choices in offered] == [(False, True)]


def test_too_broad_a_rule_in_the_file_stops_the_start(program: Program) -> None:
    place = program.config("").with_name("rules.toml")
    place.write_text(
        '[[rule]]\naction = "deny"\nrun = "git push"\n\n[[rule]]\naction = "allow"\nrun = "sudo ..."\n'
    )
    ran = program.run("exec", "-m", "demo/scripted", "hi")
    assert (ran.code, ran.out) == (2, "")
    assert f"{place}:5: `sudo ...` cannot be a rule: `sudo` runs anything" in ran.err.replace(
        "~", str(program.home)
    )


def test_a_script_that_changes_while_it_is_asked_about_is_asked_about_again(
    program: Program, model_server: ModelServer
) -> None:
    script = program.workspace / "run.sh"
    script.write_text("touch shown\n")
    why = []

    def decide(item: Mapping[str, Any]) -> str:
        why.append(str(item["why"]))
        script.write_text("touch exchanged\n")
        return "once" if len(why) == 1 else "deny"

    model_server.script(commands("bash run.sh"))
    assert converse(program, model_server, decide) == [("bash run.sh", "once"), ("bash run.sh", "deny")]
    assert why[1].startswith("the file changed after you were asked; asked again")
    assert not list(program.workspace.glob("shown")) + list(program.workspace.glob("exchanged"))


def test_a_question_that_was_open_for_days_is_asked_again(
    program: Program, model_server: ModelServer
) -> None:
    """It survives a kill; the answer that comes two days later counts for the new question only."""
    model_server.script(commands("touch late"))
    with running(program, model_server.base_url(), "--stdin-commands", "-a", "untrusted", "go") as first:
        first.until("item.started", "approval")
    days = (sys.executable, "-I", str(CRIPPLED), "today", "--")
    line = [*days, "exec", "--last", "--json", "--stdin-commands", "-a", "untrusted"]
    process = subprocess.Popen(
        line,
        cwd=program.workspace,
        env=program.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    why: list[str] = []

    def decide(item: Mapping[str, Any]) -> str:
        why.append(str(item["why"]))
        return "once" if len(why) == 1 else "deny"

    assert answer(process, decide) == [("touch late", "once"), ("touch late", "deny")]
    assert why[1].startswith("the question was open for too long; asked again")
    assert not (program.workspace / "late").exists()


@pytest.mark.parametrize("decision", ["once", "deny"])
def test_what_the_sandbox_denied_runs_outside_of_it_only_when_a_person_says_so(
    program: Program, model_server: ModelServer, decision: str
) -> None:
    profile = program.home / ".profile"
    profile.write_text("mine\n")
    model_server.script(commands("echo tried >> tries; echo x >> ~/.profile"))
    seen: list[Mapping[str, Any]] = []

    def decide(item: Mapping[str, Any]) -> str:
        seen.append(item)
        assert profile.read_text() == "mine\n"
        return decision

    converse(program, model_server, decide, "-a", "on-request")
    (item,) = seen
    assert "failed" in item["why"] and item["first_attempt"] == "the first attempt left 1 file: A tries"
    runs, lines = (2, "mine\nx\n") if decision == "once" else (1, "mine\n")
    assert (program.workspace / "tries").read_text() == "tried\n" * runs
    assert profile.read_text() == lines
    (told,) = [m["content"] for m in model_server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert ("denied by the sandbox" in told) is (decision == "deny")


def rules(program: Program) -> str:
    return (program.home / ".config" / "agent-tui" / "rules.toml").read_text()


def ask(screen: Screen, *texts: str) -> str:
    """Send a task, and wait for the question about its command, ready for keys."""
    screen.say("go")
    return screen.shows("y  once", *texts)


def test_always_is_said_in_words_listed_and_taken_back_on_the_screen(
    program: Program, model_server: ModelServer
) -> None:  # A30
    model_server.script(commands("make check"))
    with start(program, model_server, "-a", "untrusted") as screen:
        screen.shows("ready")
        ask(screen, "make check")
        screen.type("p")
        screen.shows("run  make check", str(program.workspace)[-30:], "would allow")
        screen.shows("Enter save and run")
        screen.type("\r")
        screen.shows("end", "ready")
        assert (program.workspace / "ran-check").exists()
        model_server.script(commands("make check", "make deploy"))
        ask(screen, "make deploy")
        screen.type("n")
        screen.shows("ready")
        screen.say("/approvals")
        screen.shows("workspace", "run make check", "lets run `make check` in")
        screen.type("x")
        screen.shows("taken back", "Nothing is allowed beyond one call")
        screen.type("\x1b")
        screen.shows("ready")
        model_server.script(commands("make check"))
        ask(screen, "make check")
        screen.type("n")
        screen.shows("ready")
        screen.leave()
    assert "make check" not in rules(program)
    assert not (program.workspace / "ran-deploy").exists()


def test_the_session_key_on_the_screen_covers_no_other_line(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script(commands("make check", "make check && make check", "make check && touch p1"))
    with start(program, model_server, "-a", "untrusted") as screen:
        screen.shows("ready")
        ask(screen, "make check")
        screen.type("s")
        screen.shows("y  once", "touch p1")
        screen.type("n")
        screen.shows("end", "ready")
        screen.leave()
    assert not (program.workspace / "p1").exists()
