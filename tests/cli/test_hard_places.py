"""Full and closed streams, no home, other encodings, names that are no text: one clear line, or it works."""

import json
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui import stored
from checkpoints.records import SessionRecords
from tests.cli.terminal import Terminal
from tests.program import Program, Ran, command
from tests.waiting import WAIT_S

EXEC = ("exec", "-m", "demo/scripted")


def shell(program: Program, line: str, *, cwd: Path | None = None, **environ: str) -> Ran:
    """A line of bash in which `agent-tui` is the program."""
    script = f'agent-tui() {{ {shlex.join(command())} "$@"; }}\n{line}'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=cwd or program.workspace,
        env=program.environ | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT_S,
    )
    return Ran(
        done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "config show",
        "doctor --json",
        "sessions",
        "completions bash",
        "exec -m demo/scripted --json hi",
        "--plain -m demo/scripted hi",
    ],
)
def test_a_full_disk_under_stdout_is_one_line(program: Program, line: str) -> None:
    ran = shell(program, f"agent-tui {line} > /dev/full")
    assert (ran.code, ran.err) == (1, "agent-tui: stdout cannot be written: No space left on device\n")


async def test_a_stored_session_that_nobody_reads_on_is_closed_in_order(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left to the end of the loop, the store would go before its reader, which then told a traceback."""
    assert program.run(*EXEC, "hi").code == 0
    place = stored.find(program.state, json.loads(program.run("sessions", "--json").out)[0]["id"])
    closed, close = [], SessionRecords.close

    async def noted(records: SessionRecords) -> None:
        closed.append(records)
        await close(records)

    monkeypatch.setattr(SessionRecords, "close", noted)
    for count, blocks in enumerate(
        (stored.markdown(place), stored.json_lines(place), stored.replay(place, ()), stored.otlp(place)),
        start=1,
    ):
        await anext(blocks)
        await blocks.aclose()
        assert len(closed) == count


def test_an_answer_that_cannot_be_written_is_told_after_the_run(program: Program) -> None:
    ran = program.run(*EXEC, "-o", "/dev/full", "hi")
    assert ran.code == 1
    assert ran.err.endswith("agent-tui: -o: `/dev/full` cannot be written: No space left on device\n")
    assert json.loads(program.run("sessions", "--json").out)[0]["turns"] == 1


def test_a_full_stderr_takes_nothing_from_the_answer(program: Program) -> None:
    ran = shell(program, "agent-tui exec -m demo/scripted hi 2> /dev/full")
    assert (ran.code, ran.out.startswith("All tests pass")) == (0, True)
    assert shell(program, "agent-tui exec 2> /dev/full").code == 2


@pytest.mark.parametrize(
    "line", ["exec -m demo/scripted --json hi", "--help", "doctor -m demo/x", "config --json"]
)
def test_a_reader_that_leaves_is_no_error(program: Program, line: str) -> None:
    ran = shell(program, f"agent-tui {line} | head -1 | wc -l; echo ${{PIPESTATUS[0]}} >&2")
    assert (ran.out.strip(), ran.err.splitlines()[-1] in ("0", "141")) == ("1", True)
    assert "Traceback" not in ran.err and "Broken" not in ran.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("config path <&-", 0),
        ("exec -m demo/scripted hi <&-", 0),
        ("exec -m demo/scripted - <&-", 2),
        ("--plain -m demo/scripted <&-", 0),
        ("--plain -m demo/scripted hi < /dev/null", 0),
        ("rollback <&-", 2),
        ("exec -m demo/scripted hi >&-", 0),
        ("exec -m demo/scripted hi <&- >&- 2>&-", 0),
    ],
)
def test_closed_streams_are_as_empty_ones(program: Program, line: str, code: int) -> None:
    ran = shell(program, f"agent-tui {line}")
    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err and "internal error" not in ran.err


def test_a_file_of_lines_drives_line_mode(program: Program) -> None:
    (program.workspace / "lines").write_text("hello\n")
    ran = shell(program, "agent-tui --plain -m demo/scripted < lines")
    assert (ran.code, "All tests pass" in ran.out) == (0, True)


def test_without_a_home_the_systems_is_used(program: Program) -> None:
    state = {"AGENT_TUI_STATE_DIR": str(program.state)}
    for line in ("unset HOME", "HOME=", "HOME=relative"):
        ran = shell(program, f"{line}; agent-tui exec -m demo/scripted hi; agent-tui config path", **state)
        assert (ran.code, ran.out.splitlines()[-1][0]) == (0, "/"), ran.err


def test_a_home_that_takes_no_files_is_told_with_the_way_on(program: Program) -> None:
    for line, code in (
        ("exec -m demo/scripted hi", 5),
        ("config init", 2),
        ("sessions", 0),
        ("checkpoints", 0),
    ):
        ran = shell(program, f"agent-tui {line}", HOME="/proc")
        assert ran.code == code
        assert "Traceback" not in ran.err and "internal error" not in ran.err
    checks = json.loads(shell(program, "agent-tui doctor --json -m demo/scripted", HOME="/proc").out)[
        "checks"
    ]
    found = {check["name"]: check for check in checks}
    assert (found["state"]["status"], found["sandbox"]["status"]) == ("failed", "ok")
    assert "cannot be written: No such file or directory" in found["state"]["detail"]


def test_an_interface_without_a_state_directory_does_not_blame_the_sandbox(program: Program) -> None:
    with Terminal(replace(program, extra={"AGENT_TUI_STATE_DIR": "/proc/x"}), "-m", "demo/scripted") as it:
        it.expect("state directory `/proc/x` cannot be written: No such file or directory; set ")
        assert it.end() == 5


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_other_encodings_lose_no_command(program: Program, locale: dict[str, str]) -> None:
    ran = shell(
        program,
        "agent-tui exec -m demo/scripted grüße && agent-tui sessions && agent-tui doctor -m demo/x",
        **locale,
    )
    assert ran.code == 0, ran.err
    assert "gr" in ran.out


def test_names_and_words_that_are_no_text(program: Program) -> None:
    place = Path(os.fsdecode(os.fsencode(program.workspace) + b"/d\xff"))
    place.mkdir()
    ran = shell(program, "agent-tui exec -m demo/scripted $'say \\xff'", cwd=place)
    assert ran.code == 0, ran.err
    for line in ("sessions", "sessions --all", "checkpoints", "sessions --json", "exec --last again"):
        ran = shell(program, f"agent-tui {line}", cwd=place)
        assert (ran.code, "damaged" in ran.out, "Traceback" in ran.err) == (0, False, False), ran.err
    listed = json.loads(shell(program, "agent-tui sessions --json", cwd=place).out)
    assert [(each["workspace"], each["title"], each["turns"]) for each in listed] == [
        (str(place), "say \ufffd", 2)
    ]
    for line in ("exec -C $'\\xff' hi", "exec -m $'\\xff' hi", "sessions show $'\\xff'"):
        assert shell(program, f"agent-tui {line}").code == 2


def test_a_directory_that_is_gone_is_told(program: Program) -> None:
    line = "mkdir gone; cd gone; rmdir ../gone; agent-tui {} 2>&1 | tail -1"
    ran = shell(program, line.format("exec -m demo/scripted hi"))
    assert (
        ran.out
        == "agent-tui: the current directory cannot be used: No such file or directory; `cd` elsewhere\n"
    )


@pytest.mark.parametrize("size", [100_000])
def test_a_very_long_argument_is_a_prompt_like_another(program: Program, size: int) -> None:
    assert program.run(*EXEC, "x" * size).code == 0
    assert program.run("exec", "-m", "y" * size, "hi").code == 2


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "cannot be read: No such file or directory\n"),
        ("nope", "is not JSON: "),
        ("3", "is no JSON Schema: it must be an object\n"),
        ('{"type": 7}', "is no JSON Schema: at `$.type`: 7 is not valid"),
        (b"\xff", "is not UTF-8 text\n"),
        pytest.param("[" * 5000, "is not JSON: nested too deeply\n", id="nested"),
        pytest.param(
            '{"not":' * 300 + "{}" + "}" * 300, "is no JSON Schema: nested too deeply\n", id="nested-schema"
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_told_before_the_run(
    program: Program, schema: str | bytes | None, problem: str
) -> None:
    path = program.workspace / "s.json"
    if schema is not None:
        path.write_bytes(schema if isinstance(schema, bytes) else schema.encode())
    ran = program.run(*EXEC, "--output-schema", "s.json", "hi")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"agent-tui: --output-schema: `s.json` {problem}")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_can_do_nothing_gets_line_mode(program: Program, term: str) -> None:
    with Terminal(program, "-m", "demo/scripted", TERM=term) as terminal:
        terminal.expect("plain mode")
        terminal.type("\x04")
        assert terminal.end() == 0


def test_a_session_that_cannot_be_held_is_one_line(program: Program) -> None:
    assert program.run(*EXEC, "hi").code == 0
    (lock,) = program.state.glob("sessions/*/owner.lock")
    lock.unlink()
    lock.mkdir()
    ran = program.run(*EXEC, "--last", "more")
    assert ran.code == 5
    assert ran.err == (
        f"agent-tui: session `{lock.parent.name}` cannot be opened: Is a directory: `{lock.parent}`\n"
    )


def test_what_is_known_of_the_sandbox_needs_not_be_kept(program: Program) -> None:
    kept = program.state / "sandbox" / "probe.json"
    kept.mkdir(parents=True)
    ran = program.run("doctor", "--json")
    assert "internal error" not in ran.err
    assert json.loads(ran.out)
    assert [path.name for path in kept.parent.glob("probe.*")] == ["probe.json"]
