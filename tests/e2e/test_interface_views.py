"""What a person opens besides the transcript, each over the real engine: going back, sessions, models,
terminals, diffs, own commands, file mentions."""

import json
from typing import Any

from tests.e2e import project
from tests.e2e.project import call
from tests.e2e.screen import Screen, start
from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

F3, LEAVE = "\x1bOR", "\x1d"
ALTERNATE_SCREEN = "\x1b[?1049h"  # entered by each start of the interface


def mended(program: Program, server: ModelServer, *more: dict[str, Any]) -> Screen:
    """A session in which the model has mended the project."""
    server.script([{"calls": [call("apply_patch", patch=project.PATCH)]}, {"text": "It adds now."}, *more])
    screen = start(program, server)
    screen.shows("ready")
    screen.say("mend the test")
    screen.shows("● done", "ready")
    assert project.passes(program)
    return screen


def starts_again(screen: Screen) -> None:
    """Wait until another session has taken the terminal."""
    screen.expect(ALTERNATE_SCREEN)
    screen.expect("ready")  # written after that: the picture before may hold the word as well


def test_rewind_previews_goes_back_and_redo_returns(program: Program, model_server: ModelServer) -> None:
    with mended(program, model_server) as screen:
        screen.say("/rewind")
        screen.shows("rewind · go back to before", "mend the test", "calc.py")
        screen.type("k")
        screen.type("\r")
        shown = screen.shows("rollback · files and conversation", "calc.py", "Enter roll back")
        assert "change 1" in shown
        assert project.passes(program), "a preview changes nothing"
        screen.type("\r")
        screen.shows("↶ rolled back", "calc.py", "/redo")
        assert not project.passes(program)
        screen.shows("› mend the test")
        screen.type("\x03/redo\r")
        screen.shows("redo · back to", "Enter redo")
        assert not project.passes(program)
        screen.type("\r")
        screen.shows("↷ redone")
        assert project.passes(program)
        screen.leave()


def test_rewind_tells_what_others_changed_between_calls(program: Program, model_server: ModelServer) -> None:
    with mended(program, model_server, {"text": "Nothing to do."}) as screen:
        (program.workspace / "notes.txt").write_text("mine\n")
        screen.say("and now?")
        screen.shows("Nothing to do.", "● done", "ready")
        screen.say("/rewind")
        shown = screen.shows("rewind · go back to before", "external, you or another program", "A notes.txt")
        order = [shown.index(word) for word in ("› mend the test", "patched", "external,", "› and now?")]
        assert order == sorted(order)
        screen.type("q")
        screen.shows("ready")
        screen.say("/checkpoints")
        screen.shows("checkpoints · this workspace", "KB · kept 14 days")
        screen.type("gD")
        screen.shows("diff · from", "Esc close")
        screen.type("q")
        screen.shows("checkpoints · this workspace")
        screen.type("q")
        screen.shows("ready")
        screen.leave()


def test_the_diff_of_a_turn_is_shown(program: Program, model_server: ModelServer) -> None:
    with mended(program, model_server) as screen:
        screen.say("/diff")
        screen.shows("M calc.py", "-     return a - b", "+     return a + b", "Esc close")
        screen.type("q")
        screen.shows("ready")
        screen.leave()


def test_own_commands_run_and_only_one_kind_reaches_the_model(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script([{"text": "I saw it."}])
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("!echo for-the-model")
        screen.shows("you ran   echo for-the-model", "exit 0", "ready")
        screen.say("!!echo for-me-only")
        screen.shows("you ran   echo for-me-only", "not shown to the model", "ready")
        screen.say("what did I run?")
        screen.shows("I saw it.", "● done")
        screen.leave()
    (request,) = model_server.requests
    assert b"for-the-model" in request.body
    assert b"for-me-only" not in request.body


def test_a_file_is_named_by_a_few_letters(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "I look."}])
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.type("look at @tcal")
        screen.shows("› look at @tcal", "> test_calc.py", "Enter take")
        screen.type("\r")
        screen.shows("› look at @test_calc.py")
        screen.type("\r")
        screen.shows("I look.", "● done")
        screen.leave()
    assert b"look at @test_calc.py" in model_server.requests[0].body


def test_another_model_answers_from_the_next_request_on(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "one"}, {"text": "two"}])
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("first")
        screen.shows("one", "● done")
        screen.say("/model compatible/other")
        screen.shows("other · ")
        screen.say("second")
        screen.shows("two", "ready")
        screen.leave()
    assert [request.json["model"] for request in model_server.requests] == ["scripted", "other"]


def test_the_picker_lists_what_can_be_used_and_uses_it(program: Program, model_server: ModelServer) -> None:
    address = model_server.base_url()
    program.config(
        f'[providers.compatible]\nbase_url = "{address}"\n'
        '[providers.compatible.models."second"]\ncontext_window = 64000\n'
    )
    model_server.script([{"text": "I am the second."}])
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("/model")
        screen.shows("now scripted", "compatible/second", "64k", "another …", "j k move")
        screen.type("/second\r\r")
        screen.shows("second · ")
        screen.say("who are you?")
        screen.shows("I am the second.", "● done", "ready")
        screen.say("/model")
        screen.shows("now second", "in use now", "j k move")
        screen.type("d")
        screen.shows("compatible/second is the default of later starts")
        screen.type("q")
        screen.shows("ready")
        screen.leave()
    assert model_server.requests[0].json["model"] == "second"
    assert 'model = "compatible/second"' in (program.home / ".config/agent-tui/config.toml").read_text()


def test_a_rollback_ends_what_was_allowed_since(program: Program, model_server: ModelServer) -> None:
    touch = call("exec_command", cmd="touch made")
    model_server.script([{"calls": [touch]}, {"text": "Made."}, {"calls": [touch]}, {"text": "Again."}])
    with start(program, model_server, "-a", "untrusted") as screen:
        screen.shows("ready")
        screen.say("make it")
        screen.shows("s  this session")
        screen.type("s")
        screen.shows("Made.", "● done", "ready")
        screen.say("/rollback")
        screen.shows("checkpoints · this workspace", "make it")
        screen.type("g\r")
        screen.shows("items hidden, 1 message back to the editor, 1 grant ends", "Enter roll back")
        screen.type("\r")
        screen.shows("↶ rolled back", "› make it")
        screen.type("\r")
        screen.shows("waiting for you · 1 approval", "y  once")
        screen.type("y")
        screen.shows("Again.", "● done", "ready")
        screen.leave()


def test_a_model_chosen_while_one_answers_is_asked_next_and_a_new_name_holds_at_once(
    program: Program, model_server: ModelServer
) -> None:
    model_server.script(
        [{"text": "I look.", "calls": [call("read_file", path="calc.py")], "gate": "held"}, {"text": "Seen."}]
    )
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("look")
        screen.shows("Esc interrupt")
        screen.say("/model compatible/other")
        screen.shows("compatible/other · ")
        screen.say("/rename a good name")
        screen.shows("named `a good name`")
        model_server.release("held")
        screen.shows("Seen.", "● done", "ready")
        screen.say("/status")
        screen.shows("a good name")
        screen.leave()
    assert [request.json["model"] for request in model_server.requests] == ["scripted", "other"]


def test_sessions_are_named_found_continued_and_copied(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "the first answer"}, {"text": "a new one"}])
    assert program.run("exec", *model_flags("chat", model_server.base_url()), "the older task").code == 0
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("the newer task")
        screen.shows("a new one", "● done")
        screen.say("/rename a good name")
        screen.say("/resume")
        screen.shows("sessions · this workspace", "the older task", "a good name")
        screen.expect(ALTERNATE_SCREEN)  # the one so far
        screen.type("/older\r\r")
        starts_again(screen)
        screen.shows("the first answer", "ready")
        screen.say("/sandbox read-only")
        screen.shows("read-only, net off")
        screen.say("/fork")
        starts_again(screen)
        screen.shows("the first answer", "ready", "read-only, net off")
        screen.say("/resume")
        shown = screen.shows("sessions · this workspace", "3 · 1 fork", "this one")
        assert shown.count("the older task") == 1
        assert "at message 1" in shown
        screen.type("q")
        screen.shows("ready")
        screen.say("/new")
        starts_again(screen)
        screen.shows("Say what you want done", "ready")
        screen.leave()


def test_a_session_that_is_open_elsewhere_is_watched(program: Program, model_server: ModelServer) -> None:
    with (
        mended(program, model_server, {"text": "Still fine."}) as other,
        start(program, model_server) as screen,
    ):
        screen.shows("ready")
        screen.say("/resume")
        screen.shows("open in another terminal", "mend the test")
        screen.type("\r")
        screen.shows("w watch · f continue a copy")
        screen.type("w")
        screen.shows("watching", "› mend the test", "It adds now.", "● done")
        other.say("and now?")
        screen.shows("› and now?", "Still fine.")
        screen.type("q")
        screen.shows("sessions · this workspace")
        screen.type("q")
        screen.shows("ready")
        other.leave()
        screen.leave()


def test_a_session_is_deleted_only_when_asked_twice(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"text": "the first answer"}])
    assert program.run("exec", *model_flags("chat", model_server.base_url()), "the older task").code == 0
    with start(program, model_server) as screen:
        screen.shows("ready")
        screen.say("/resume")
        screen.shows("the older task")
        screen.type("x")
        screen.shows("x again")
        assert "the older task" in program.run("sessions").out
        screen.type("x")
        screen.shows("is deleted")
        screen.type("q")
        screen.shows("ready")
        screen.leave()
    assert "the older task" not in program.run("sessions").out


def test_a_person_types_into_a_live_terminal(program: Program, model_server: ModelServer) -> None:
    command = 'trap "" INT TERM; while read line; do echo "heard $line"; done'
    listen = {"calls": [call("exec_command", cmd=command, tty=True, yield_ms=250)]}
    model_server.script([listen, {"text": "It waits."}, {"text": "I see."}])
    with start(program, model_server, "-a", "never") as screen:
        screen.shows("ready")
        screen.say("listen")
        screen.shows("It waits.", "● done")
        screen.type(F3)
        screen.shows("1 live", "while read line")
        screen.type("\r")
        screen.shows("you type here")
        screen.type("hello\r")
        screen.shows("heard hello")
        screen.type(LEAVE)
        shown = screen.shows("1 live", "c1.1", "bytes", "o all output")  # words: a long path breaks lines
        assert "started by call c1.1 · sandboxed, network off · " in " ".join(shown.split())
        screen.type("o")
        screen.shows("output · t1", "heard hello", "y copy")
        screen.type("q")
        screen.shows("1 live")
        screen.type("x")
        screen.shows("stopping · asked 0:0")
        screen.shows("0 live")
        screen.type("q")
        screen.shows("ready")
        screen.say("what did I say?")
        screen.shows("I see.")
        screen.leave()
    told = r'In terminals: the user typed in t1: "hello\r"; the user stopped t1'
    assert json.dumps(told)[1:-1] in model_server.requests[-1].body.decode()


def test_the_pager_shows_all_output_of_a_call(program: Program, model_server: ModelServer) -> None:
    count = call("exec_command", cmd="seq -f 'line %.0f' 3000; exit 3")
    model_server.script([{"calls": [count]}, {"text": "It failed."}])
    with start(program, model_server, "-a", "never") as screen:
        screen.shows("ready")
        screen.say("count")
        screen.shows("↑ 2,995 earlier lines", "│ line 3000", "It failed.", "● done")
        screen.type("\x14")
        screen.shows("── transcript", "line 3000")
        screen.type("{\r")
        screen.shows("── transcript", "│ line 1\n")
        screen.type("/line 29\r")
        screen.shows("│ line 28", "│ line 29", "│ line 30")
        screen.type("q")
        screen.shows("ready")
        screen.leave()
