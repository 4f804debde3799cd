"""Commands that need no model: what they print and how they end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui import __version__
from agent_tui.cli.parser import COMMANDS, split_command
from tests.cli.terminal import Terminal
from tests.model_server.fixture import ModelServer
from tests.program import ROOT, Program
from tests.waiting import WAIT_S


@pytest.mark.parametrize(
    ("line", "command", "rest"),
    [
        ("", "", ""),
        ("hello", "", "hello"),
        ("exec hi", "exec", "hi"),
        ("-m exec hi", "", "-m exec hi"),
        ("-m a/b exec hi", "exec", "-m a/b hi"),
        ("--model=a/b --network exec hi", "exec", "--model=a/b --network hi"),
        ("-c exec=1 doctor", "doctor", "-c exec=1"),
        ("-- exec", "", "-- exec"),
        ("- exec", "", "- exec"),
        ("hi exec", "", "hi exec"),
        ("sandbox -- exec", "sandbox", "-- exec"),
    ],
)
def test_the_command_is_the_first_word_that_is_no_flag(line: str, command: str, rest: str) -> None:
    assert split_command(line.split()) == (command, rest.split())


def test_version_and_help(program: Program) -> None:
    assert program.run("--version").out == f"agent-tui {__version__}\n"
    ran = program.run("--help")
    assert (ran.code, ran.err) == (0, "")
    assert all(f"  {name} " in ran.out for name in COMMANDS)
    for name in COMMANDS:
        ran = program.run(name, "--help")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith(f"usage: agent-tui {name} ")


def test_config_tells_each_value_and_its_layer(program: Program) -> None:
    program.config('model = "ollama/m"\n[providers.ollama.models."a.b"]\ncontext_window = 9\n')
    ran = program.run(
        "config", "--json", "-c", "effort=low", env={"AGENT_TUI_NETWORK": "1", "AGENT_TUI_API_KEY": "sk-1"}
    )
    found = json.loads(ran.out)
    assert found["model"] == {"value": "ollama/m", "means": "ollama/m", "layer": "user"}
    assert found["effort"] == {"value": "low", "means": "low", "layer": "flag"}
    assert found["network"] == {"value": True, "means": "true", "layer": "env"}
    assert found["max_turns"] == {"value": None, "means": "no limit", "layer": "default"}
    assert found["state_dir"]["means"] == "~/.local/state/agent-tui"
    window = {"value": 9, "means": "9", "layer": "user"}
    assert found['providers.ollama.models."a.b".context_window'] == window
    assert "sk-1" not in ran.out
    assert program.run("config", "path").out == f"{program.home}/.config/agent-tui/config.toml\n"


def test_config_shows_what_counts_where_nothing_is_set(program: Program) -> None:
    program.config("max_turns = 7\n")
    lines = program.run("config", env={"AGENT_TUI_EFFORT": "high"}).out.splitlines()
    shown = dict(line.split(maxsplit=1) for line in lines)
    assert shown["approval"] == "on-request, in exec never  (default)"
    assert shown["sandbox"] == "workspace-write  (default)"
    assert shown["effort"] == "high  (env AGENT_TUI_EFFORT)"
    assert shown["max_turns"] == "7  (user)"
    assert shown["user:"] == "~/.config/agent-tui/config.toml"
    assert shown["cd"] == f"{program.workspace}  (default)"
    assert not [line for line in lines if line.split()[1] in ("-", "(default)", "None")]


def test_config_init_writes_a_file_that_can_be_read_and_never_overwrites(program: Program) -> None:
    assert program.run("config", "init").code == 0
    text = (program.home / ".config/agent-tui/config.toml").read_text()
    uncommented = "\n".join(
        line.removeprefix("# ")
        for line in text.splitlines()
        if line.startswith(("# [", "# base", "# api", "# context"))
    )
    program.config('model = "ollama/x"\n' + uncommented)
    assert program.run("config", "show").code == 0
    ran = program.run("config", "init")
    assert (ran.code, "exists" in ran.err) == (2, True)


def test_doctor_fails_without_a_model_and_tells_no_key(program: Program) -> None:
    ran = program.run("doctor", "--json", env={"OPENAI_API_KEY": "sk-secret"})
    found = json.loads(ran.out)
    checks = {check["name"]: check for check in found["checks"]}
    assert (ran.code, found["ok"], found["exit_code"]) == (2, False, 2)
    assert checks["model"]["status"] == "failed"
    assert (checks["openai"]["status"], checks["openai"]["detail"]) == ("ok", "OPENAI_API_KEY is set")
    absent = checks["anthropic"]
    assert (absent["status"], absent["detail"]) == ("unset", "no key")
    assert absent["fix"] == "set `ANTHROPIC_API_KEY` to use it"
    assert {"installation", "settings", "state", "sandbox", "git", "search", "terminal"} <= set(checks)
    assert "sk-secret" not in ran.out + ran.err
    assert all(
        str(ROOT / name) in checks["installation"]["detail"] for name in ("agent_tui", "tools", "sandbox")
    )


def test_doctor_passes_when_the_main_job_can_run(program: Program) -> None:
    ran = program.run("doctor", "-m", "demo/scripted", "-c", "fast_model=nobody/x")
    assert ran.code == 0, ran.out
    assert "failed" not in ran.out
    assert f"agent-tui {__version__}, Python " in ran.out
    assert "warning  fast_model     not used: unknown provider `nobody`" in ran.out
    assert "no key; set `OPENAI_API_KEY` to use it\n" in ran.out
    assert program.run("doctor", "-m", "openai/x").code == 2, "the chosen one needs its key"


def test_doctor_asks_the_chosen_provider_with_its_key(program: Program, model_server: ModelServer) -> None:
    model_server.script([], key="sk-right-one", models=["scripted"])

    def row(model: str, key: str) -> tuple[int, str]:
        flags = ("-m", model, "--base-url", model_server.base_url())
        ran = program.run("doctor", *flags, env={"AGENT_TUI_API_KEY": key})
        assert key not in ran.out + ran.err
        [line] = [line for line in ran.out.splitlines() if " provider " in line]
        return ran.code, " ".join(line.split())

    assert row("compatible/scripted", "sk-right-one") == (
        0,
        "ok provider compatible answers and names 1 model",
    )
    code, told = row("compatible/other", "sk-right-one")
    assert (code, told.endswith("1 model, `other` not among them: scripted")) == (0, True)
    code, told = row("anthropic/scripted", "sk-wrong-one")
    assert (code, told.endswith("invalid api key; check the key in `AGENT_TUI_API_KEY`")) == (1, True)


def test_doctor_fails_where_the_server_of_the_model_is_not_there(program: Program) -> None:
    ran = program.run("doctor", "-m", "compatible/x", "--base-url", "http://127.0.0.1:9/v1")  # discard
    assert ran.code == 1
    assert "compatible: cannot connect to `http://127.0.0.1:9/v1`: Connection refused; " in ran.out
    assert "AGENT_TUI_API_KEY" not in ran.out, "it needs no key"


def test_doctor_tells_a_broken_settings_file_and_goes_on(program: Program) -> None:
    program.config("nonsense = 1\n")
    ran = program.run("doctor")
    assert ran.code == 2
    assert "failed   settings" in ran.out
    assert "config.toml:1: unknown key `nonsense`" in ran.out
    assert "sandbox" in ran.out


def test_doctor_tells_a_broken_rules_file_and_local_servers(
    program: Program, model_server: ModelServer
) -> None:
    rules = program.config(f'[providers.ollama]\nbase_url = "{model_server.base_url()}"\n').with_name(
        "rules.toml"
    )
    rules.write_text("nonsense = 1\n")
    ran = program.run("doctor", "--json", "-m", "ollama/scripted")
    checks = {check["name"]: check for check in json.loads(ran.out)["checks"]}
    assert (ran.code, checks["rules"]["status"]) == (2, "failed")
    assert "rules.toml" in checks["rules"]["detail"]
    assert f"ollama at {model_server.base_url()}: scripted" in checks["local servers"]["detail"]
    rules.unlink()
    assert program.run("doctor", "-m", "ollama/scripted").code == 0


def test_no_name_of_others_reaches_the_terminal_raw(program: Program, model_server: ModelServer) -> None:
    hostile = "evil\x1b[2J\u200b"
    file = program.config(
        f'theme = "{hostile}"\n[providers.ollama]\nbase_url = "{model_server.base_url()}"\n'.replace(
            "\x1b", "\\u001b"
        )
    )
    folder = file.parents[1].rename(program.home / hostile)
    model_server.script([], models=[hostile])
    for argv in (["doctor"], ["config", "show"], ["sessions", "show", hostile]):
        ran = program.run(*argv, env={"XDG_CONFIG_HOME": str(folder)})
        assert not {"\x1b", "\u200b"} & set(ran.out + ran.err)
        assert "evil\\x1b[2J\\u200b" in ran.out + ran.err, "told all the same"


def test_a_session_is_shown_on_a_terminal_without_what_moves_it(program: Program) -> None:
    assert program.run("exec", "-m", "demo/scripted", "say\x1b[2Jit").code == 0
    session = json.loads(program.run("sessions", "--json").out)[0]["id"]
    for argv in (["show", session], ["export", session, "--format", "markdown"]):
        with Terminal(program, "sessions", *argv) as terminal:
            terminal.expect("say\\x1b[2Jit")
            assert terminal.end() == 0
        assert "\x1b[2J" not in terminal.seen
        assert "say\x1b[2Jit" in program.run("sessions", *argv).out, "a file has what was said"


def test_a_person_is_asked_before_a_session_is_removed(program: Program) -> None:
    assert program.run("exec", "-m", "demo/scripted", "look").code == 0

    def stored() -> list[str]:
        return [each["id"] for each in json.loads(program.run("sessions", "--json").out)]

    [session] = stored()
    for answer, code, left in (("", 1, [session]), ("y", 0, [])):
        with Terminal(program, "sessions", "rm", session) as terminal:
            terminal.expect(f"remove session {session} and its output for good? [y/N] ")
            terminal.type(f"{answer}\n")
            assert (terminal.end(), stored()) == (code, left)


def test_doctor_points_at_variables_without_a_meaning(program: Program) -> None:
    said = "`AGENT_TUI_MODLE` is set and has no meaning; did you mean `AGENT_TUI_MODEL`?"
    assert said in program.run("doctor", env={"AGENT_TUI_MODLE": "x"}).out
    assert said in program.run("exec", "-m", "demo/scripted", "hi", env={"AGENT_TUI_MODLE": "x"}).err


@pytest.mark.parametrize(
    ("locale", "told"),
    [
        ({"LC_ALL": "C"}, "; the locale `C` is not UTF-8, so signs are ASCII; set `LC_ALL=C.UTF-8`"),
        ({"LC_ALL": "", "LC_CTYPE": "C.utf8", "LANG": "C"}, ", C.utf8"),
        ({"LC_ALL": "de\u200b"}, "; the locale `de\\u200b` is not UTF-8"),
    ],
)
def test_doctor_tells_of_a_locale_without_utf_8(program: Program, locale: dict[str, str], told: str) -> None:
    with Terminal(program, "doctor", "-m", "demo/scripted", **locale) as terminal:
        assert terminal.end() == 0, "it is a warning"
    [line] = [line for line in terminal.seen.splitlines() if " terminal " in line]
    assert told in line
    assert line.startswith("warning" if "not UTF-8" in told else "ok")


def test_sandbox_runs_a_command_as_the_agent_would(program: Program) -> None:
    ran = program.run("sandbox", "--", "sh", "-c", "cat; echo made > made; touch /usr/no; exit 3", stdin="in")
    assert (ran.code, ran.out) == (3, "in")
    assert "Read-only file system" in ran.err
    assert (program.workspace / "made").read_text() == "made\n"
    ran = program.run("sandbox", "--mode", "read-only", "--", "touch", "other")
    assert ran.code != 0
    assert not (program.workspace / "other").exists()


@pytest.mark.parametrize(
    ("git", "told"),
    [
        ("", "`git` is not installed"),
        ("echo git version 2.20.1", "does not run or is older than 2.25"),
        ("exit 1", "does not run or is older than 2.25"),
    ],
)
def test_doctor_tells_in_one_row_that_git_is_of_no_use(
    program: Program, tmp_path: Path, git: str, told: str
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    if git:
        (folder / "git").write_text(f"#!/bin/sh\n{git}\n")
        (folder / "git").chmod(0o755)
    checks = json.loads(program.run("doctor", "--json", env={"PATH": str(folder)}).out)["checks"]
    [row] = [check for check in checks if "git" in check["name"] + check["detail"] + check["fix"]]
    assert (row["name"], row["status"]) == ("git", "warning")
    assert told in row["detail"] and "plain copies" in row["detail"]


def test_classify_tells_how_approvals_see_a_line(program: Program) -> None:
    def seen(line: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(program.run("debug", "classify", line, "--json").out)
        return found

    assert seen("git status")["class"] == "auto"
    assert seen("rm -rf /")["class"] in ("ask", "reject")
    assert seen("rm -rf /")["hard_line"] is True
    assert not list(program.workspace.iterdir())


def test_sessions_of_a_fresh_home(program: Program) -> None:
    ran = program.run("sessions")
    assert (ran.code, ran.out.startswith("no sessions are stored here")) == (0, True)
    assert json.loads(program.run("sessions", "--json").out) == []
    assert not program.state.exists(), "looking must not create anything"


def test_a_closed_pipe_ends_quietly(program: Program) -> None:
    process = program.start("--help")
    assert process.stdout is not None and process.stdin is not None and process.stderr is not None
    process.stdout.close()
    process.stdin.close()
    assert process.wait(timeout=WAIT_S) in (0, 141)
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_traceback_is_shown_only_with_debug(program: Program) -> None:
    assert "Traceback" not in program.run("exec", "hi").err
    assert "Traceback" in program.run("exec", "hi", "--debug").err


@pytest.mark.parametrize(
    ("script", "page"),
    [
        ("options_table.py", "README.md"),
        ("reference.py", "docs/reference.md"),
        ("errors.py", "docs/errors.md"),
    ],
)
def test_pages_say_what_the_program_says(script: str, page: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout in (ROOT / page).read_text(), "run `scripts/docs`"


def test_every_flag_of_the_table_is_in_the_help(program: Program) -> None:
    from agent_tui.config.options import EXEC_OPTIONS, RUN_OPTIONS

    shown = program.run("exec", "--help").out
    options = [o for o in (*RUN_OPTIONS, *EXEC_OPTIONS) if o.name != "plain"]
    assert [flag for option in options for flag in option.flags if flag not in shown] == []
