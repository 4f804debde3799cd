"""The interface in a real terminal: type a task, see it streamed, allow, see what changed, leave, resume."""

import re
from pathlib import Path

from agent_tui import __version__
from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.screen import start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags
from tests.waiting import WAIT_S

ASKING = ("-a", "untrusted")


def test_a_task_is_typed_allowed_and_done(program: Program, model_server: ModelServer) -> None:
    model_server.script(
        [
            {"text": "I mend it.", "calls": [call("apply_patch", patch=project.PATCH)]},
            {"text": "It adds now.", "delay_s": 0.01},
        ]
    )
    with start(program, model_server, *ASKING) as screen:
        screen.shows("ready")
        screen.say("mend the test")
        shown = screen.shows("y  once", "+     return a + b")
        assert "-     return a - b" in shown
        assert not project.passes(program), "nothing is written before the answer"
        screen.type("y")
        shown = screen.shows("● done", "ready")
        assert "M calc.py +1 -1" in shown
        assert "It adds now." in shown
        assert project.passes(program)
        screen.leave()
    assert "agent-tui resume" in screen.seen


def test_an_edit_is_changed_by_its_result_before_it_is_written(
    tmp_path: Path, model_server: ModelServer
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ncp "$1" "$SEEN"\nsed -i "s/  # of.*/  # mine/" "$1"\n')
    editor.chmod(0o755)
    program = Program.at(tmp_path, EDITOR=str(editor), SEEN=str(tmp_path / "seen"))
    project.make(program)
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "You changed it."}])
    with start(program, model_server, *ASKING) as screen:
        screen.shows("ready")
        screen.say("mend the test")
        screen.shows("y  once", "e  edit the result   opens $EDITOR with the patched file")
        screen.type("e")
        shown = screen.shows("● done", "You changed it.", "ready")
        assert "edited by you; the model asked for: another patch" in shown
        assert "M calc.py +1 -1" in shown
        screen.leave()
    assert "return a + b  # of another length" in (tmp_path / "seen").read_text()
    assert (program.workspace / "calc.py").read_text() == "def add(a, b):\n    return a + b  # mine\n"
    told = str(model_server.requests[-1].json)
    assert "The user changed the arguments of this call to" in told and "# mine" in told
    listed = program.run("checkpoints", "--json")
    assert '"before_call"' in listed.out, listed.out


def test_a_session_is_resumed_with_its_transcript(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "the first answer"}, {"text": "the second answer"}])
    assert program.run("exec", *model_flags("chat", model_server.base_url()), "first").code == 0
    with start(program, model_server, "resume", "--last", *ASKING) as screen:
        screen.shows("the first answer", "ready")
        screen.say("second")
        screen.shows("the second answer", "ready")
        screen.leave()


def test_line_mode_does_the_same_through_a_pipe(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "It adds now."}])
    flags = model_flags("chat", model_server.base_url())
    ran = program.run("--plain", *flags, "mend the test", stdin="")
    assert ran.code == 0, ran.err
    assert "It adds now." in ran.out
    assert project.passes(program)


def test_a_pipe_is_asked_at_once_and_its_end_allows_nothing(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}])
    flags = ("--plain", "-a", "untrusted", *model_flags("chat", model_server.base_url()))
    ran = program.run(*flags, stdin="mend the test\n")
    assert ran.code == 0, ran.err
    assert ran.out.startswith(f"agent-tui {__version__}, plain mode. Directory: ")
    assert re.search(r"Undo: (ok|first checkpoint under way)\. Type /help for commands\.", ran.out)
    assert "Approval needed, 1 of 1. Edit:" in ran.out
    assert "Still running" not in ran.out
    assert not project.passes(program)


def test_a_line_of_a_pipe_that_comes_after_the_question_answers_it(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "It adds now."}])
    process = program.start("--plain", "-a", "untrusted", *model_flags("chat", model_server.base_url()))
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("mend the test\n")
    process.stdin.flush()
    while not process.stdout.readline().startswith("answer 1 to "):
        pass
    out, err = process.communicate("/help\n1\n", timeout=WAIT_S)
    assert process.returncode == 0, err
    assert "commands such as /quit come after it" in out
    assert "It adds now." in out
    assert project.passes(program)
