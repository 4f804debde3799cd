"""Line mode on a real terminal, over the real engine: what is typed, asked, taken back and gone on with."""

import signal
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.program import Program, command, model_flags
from tests.tui.emulated import Tty
from tests.waiting import until


class Terminal:
    """A session that is typed to; what was printed before a line is not found again."""

    def __init__(self, program: Program, server: ModelServer, *argv: str, **environ: str) -> None:
        line = [*command(), "--plain", *model_flags("chat", server.base_url()), *argv]
        env = program.environ | environ
        self.tty = Tty(line, env=env, cwd=str(program.workspace), columns=100, rows=200)

    def says(self, *texts: str) -> None:
        for text in texts:
            self.tty.until(text)

    def type(self, line: str, *texts: str) -> None:
        """Send one line, and wait for what it leads to."""
        before = len(self.tty.text.rstrip())
        self.tty.send(line + "\r")
        for text in texts:
            self.tty.until(lambda tty, text=text: text in tty.text[before:])
        if texts:  # and for the prompt that takes the next line
            self.tty.until(lambda tty: ">" in tty.lines[tty.cursor[1]] and ">" in tty.text[before:])


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path)
    project.make(program)
    return program


@pytest.fixture
def begin(program: Program, model_server: ModelServer) -> Iterator[Any]:
    opened: list[Terminal] = []

    def start(*argv: str, **environ: str) -> Terminal:
        opened.append(Terminal(program, model_server, *argv, **environ))
        opened[-1].says("you>")
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.tty.close()


def test_what_is_asked_is_answered_by_numbers(
    program: Program, model_server: ModelServer, begin: Any
) -> None:
    asked = call("request_user_input", question="Which?", options=[{"label": "one"}, {"label": "two"}])
    plan = call("update_plan", plan=[{"step": "mend it", "status": "in_progress"}])
    model_server.script(
        [
            {"calls": [plan]},
            {"calls": [call("apply_patch", patch=project.PATCH)]},
            {"calls": [call("exec_command", cmd="touch a"), call("exec_command", cmd="touch b")]},
            {"calls": [asked]},
            {"text": "done it"},
        ]
    )
    it = begin("-a", "untrusted")
    it.type("mend the test", "Plan:", "1. mend it (now)", "return a + b", "answer 1 to 7>")
    assert not project.passes(program), "nothing is written before the answer"
    it.type("1", "Patched: 1 file. Modified calc.py", "touch a", "answer 1 to 8>")
    assert project.passes(program)
    it.type("6", "deny, and say>")
    it.type(
        "not that one", "Denied: touch a", "The model was told: not that one", "touch b", "answer 1 to 8>"
    )
    it.type("3", "Would allow:", "save it>")
    it.type("no", "answer 1 to 8>")
    it.type("4", "edit> touch b")
    it.type(" c", "The model asked for: touch b", "Ran: touch b c", "Which?", "answer 1 to 4>")
    assert (program.workspace / "c").exists()
    assert not (program.workspace / "a").exists()
    it.type("2", "Answer:", "done it", "Done: 5 steps")
    assert "two" in model_server.requests[-1].body.decode()
    it.type("/quit")
    assert it.tty.wait() == 0
    it.says("kept, 3 files changed", "take back  agent-tui rollback")


def test_a_running_command_is_steered_and_interrupted(
    program: Program, model_server: ModelServer, begin: Any
) -> None:
    model_server.script([{"calls": [call("exec_command", cmd="sleep 60")]}, {"text": "as you say"}])
    it = begin()
    it.type("wait", "Running: sleep 60")
    it.type("/queue later", "Queue: taken in the next turn")
    it.type("do less", "Steer: taken after this call")
    it.tty.send("\x03")
    it.says("Not delivered, back in your draft: do less", "Interrupted by you", "you> later\ndo less")
    it.tty.paste("\nand 1\n/quit")
    it.says("and 1\n/quit")
    it.tty.send("\r")
    it.says("as you say", "Done: 1 step")
    sent = model_server.requests[-1].json["messages"]
    assert "later\ndo less\nand 1\n/quit" in str(sent[-1]["content"]).replace("\\n", "\n")
    it.tty.send("\x04")
    assert it.tty.wait() == 0


def test_it_goes_back_with_a_preview_and_on_in_another_session(
    program: Program, model_server: ModelServer, begin: Any
) -> None:
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "mended"}])
    it = begin()
    it.type("mend the test", "mended", "Done:")
    it.type("/status", "Model: compatible/scripted", "Undo: ok", "Terminals: 0 live")
    it.type("/diff", "+    return a + b")
    it.type("/doctor", "compatible/scripted")
    it.type("/checkpoints", "before your message mend the test", "after patch calc.py")
    it.type("/rollback", "go back to, 1 to")
    it.type("x", "Type a number")
    it.type("3", "Change: calc.py", "roll back, 1 to 3")
    assert project.passes(program), "a preview changes nothing"
    it.type("2", "Rolled back: 1 file. Modified calc.py")
    assert not project.passes(program)
    it.type("/redo", "Redo:", "redo, 1 to 1")
    it.type("1", "Redone: 1 file")
    assert project.passes(program)
    it.type("/export said.txt", "The session is in")
    assert "you> mend the test" in (program.workspace / "said.txt").read_text()
    it.type("/new", "plain mode. Directory")
    it.type("/resume", "mend the test", "resume, 1 to 1")
    it.type("1", "plain mode. Directory")
    it.type("/rolback", "did you mean /rollback?")
    it.type("/quit")
    assert it.tty.wait() == 0
    it.says("agent-tui: session")


def test_a_model_chosen_while_one_answers_is_asked_next_and_kept_if_there_is_one(
    program: Program, model_server: ModelServer, begin: Any
) -> None:
    first = {"text": "I look.", "calls": [call("read_file", path="calc.py")], "gate": "held"}
    model_server.script([first, {"text": "Seen."}])
    line = begin()
    line.type("look", "you>")
    until(lambda: model_server.requests)  # what is under way is left alone
    kept = program.home / ".config" / "agent-tui" / "config.toml"
    line.type("/model nobody/x default", "unknown provider `nobody`")
    assert not kept.exists()
    line.type("/model compatible/other default", "Model: compatible/other.")
    assert 'model = "compatible/other"' in kept.read_text()
    assert f'base_url = "{model_server.base_url()}"' in kept.read_text()
    line.type("/rename a good name", "Title: a good name.")
    model_server.release("held")
    line.says("Done:")
    assert [request.json["model"] for request in model_server.requests] == ["scripted", "other"]


def test_a_draft_is_completed_edited_and_shown_with_what_is_hidden_in_it(
    program: Program, model_server: ModelServer, begin: Any
) -> None:
    editor = program.home / "editor"
    editor.write_text("#!/bin/sh\nprintf '\\nand more\\n' >>\"$1\"\n")
    editor.chmod(0o755)
    (program.workspace / "a\u202etxt.py").write_text("")
    (program.workspace / ".gitignore").write_text("built/\n")
    (program.workspace / "built").mkdir()
    (program.workspace / "built" / "out.o").write_text("")
    model_server.script([{"text": "Seen."}])
    line = begin(VISUAL=str(editor))
    line.tty.send("/he\t")
    line.says("you> /help")
    line.tty.send("\x15see @txt.py\t")
    line.says("you> see @a\\u202etxt.py")
    line.tty.send("@out.o\t")
    line.says('No file matches "out.o" (ignored files are not listed; @! lists them)')
    line.tty.send("\x17@!out.o\t")
    line.says("txt.py @built/out.o")
    line.tty.send("\nin two\\\rlines\x1b\rof three\x07")
    line.says("of three\nand more")
    line.tty.send("\r")
    line.says("Done:")
    assert "\u202e".encode() not in line.tty.data
    said = model_server.requests[0].json["messages"][-1]["content"]
    assert "see @a\u202etxt.py @built/out.o \nin two\nlines\nof three\nand more" in str(said)


def test_a_kill_leaves_the_terminal_as_it_was(begin: Any) -> None:
    line = begin()
    line.tty.signal(signal.SIGKILL)
    line.tty.wait()
    line.says("the terminal is restored", "continue   agent-tui resume")
    flags = line.tty.line_settings()[3]
    assert isinstance(flags, int)
    assert flags & termios.ICANON
    assert flags & termios.ECHO
    assert line.tty.data.rindex(b"\x1b[?2004l") > line.tty.data.rindex(b"\x1b[?2004h")


def test_a_dumb_terminal_is_asked_in_order_and_gets_no_escape_sequence(
    model_server: ModelServer, begin: Any
) -> None:
    model_server.script([{"calls": [call("exec_command", cmd="touch a")]}, {"text": "done it"}])
    line = begin("-a", "untrusted", TERM="dumb")
    line.tty.send("go\r")
    line.says("  8. Deny and pause\nanswer 1 to 8>")
    line.tty.send("1\r")
    line.says("Ran: touch a", "done it", "Done: 2 steps")
    line.tty.send("/quit\r")
    assert line.tty.wait() == 0
    assert b"\x1b" not in line.tty.data


def test_an_edit_is_changed_by_its_result_before_it_is_written(
    program: Program, model_server: ModelServer, begin: Any
) -> None:
    editor = program.home / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/  # of.*/  # mine/" "$1"\n')
    editor.chmod(0o755)
    model_server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "Seen."}])
    line = begin("-a", "untrusted", EDITOR=str(editor))
    line.type("mend the test", "Approval needed, 1 of 1. Edit:", "Edit the result: opens $EDITOR")
    at = next(row for row in line.tty.lines if "Edit the result" in row).split(".")[0].strip()
    line.type(at, "Edited by you. The model asked for another patch.", "Patched: 1 file.", "Done:")
    assert "return a + b  # mine\n" in (program.workspace / "calc.py").read_text()
