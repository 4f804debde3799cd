"""Cases A09 to A17, A24, A25 and A27 through the whole program: commands that outlive, flood, wait and break
things, and what the sandbox lets them do."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.project import call
from tests.model_server.fixture import ModelServer
from tests.processes import processes_with, seconds
from tests.program import Program, Ran, command, model_flags

FLOOD_BYTES = int(os.environ.get("AGENT_TUI_TEST_FLOOD_BYTES", 100_000_000))
MAX_RISE_KIB = 32 * 1024


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A workspace with nothing in it, not even a repository."""
    return Program.at(tmp_path)


def run(cmd: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [call("exec_command", cmd=cmd, **arguments)]}


def talk(session: str = "t1", **arguments: Any) -> dict[str, Any]:
    return {"calls": [call("write_stdin", session=session, **arguments)]}


def turn(program: Program, server: ModelServer, *steps: dict[str, Any], argv: tuple[str, ...] = ()) -> Ran:
    """One turn that plays the steps and then says so."""
    server.script([*steps, {"text": "done"}])
    ran = program.run("exec", "--json", *model_flags("chat", server.base_url()), *argv, "go")
    assert ran.code == 0, ran.err
    return ran


def results(server: ModelServer) -> list[str]:
    """What the model was told of its calls, each as a text."""
    return [m["content"] for m in server.requests[-1].json["messages"] if m["role"] == "tool"]


def body(result: str) -> str:
    return result.partition("\n")[2]


def test_a_limit_ends_every_descendant(program: Program, model_server: ModelServer) -> None:  # A09
    marks = [seconds() for _ in range(3)]
    command = (
        f"setsid sleep {marks[0]} & (trap '' TERM INT; sleep {marks[1]}) & "
        f"sh -c 'while :; do :; done; echo {marks[2]}' | cat"
    )
    turn(program, model_server, run(f"echo begun; {command}", timeout_s=2), run("echo alive"))
    first, second = results(model_server)
    assert first.startswith("[timed out after") and "begun" in first
    assert body(second) == "alive"
    assert [processes_with(mark) for mark in marks] == [[], [], []]


def test_what_is_put_in_the_background_lives_on_as_a_terminal(
    program: Program, model_server: ModelServer
) -> None:  # A10
    mark = seconds()
    serve = "python3 -u -m http.server 0 --bind 127.0.0.1 & echo started"
    turn(
        program,
        model_server,
        run(serve, yield_ms=30_000),
        run(f"sleep {mark}", yield_ms=250),
        talk("t1", yield_ms=5_000),
        talk("t1", signal="KILL"),
        talk("t1"),
    )
    started, slept, polled, ended, after = results(model_server)
    assert "started" in started and "still running in the background as t1" in started
    assert slept.startswith("[still running as t2")
    assert "Serving HTTP" in started + polled
    assert "killed by KILL" in ended + after or "ended with exit 0" in after
    assert processes_with(mark) == [], "nothing remains after the end"


def test_pagers_and_editors_never_wait(program: Program, model_server: ModelServer) -> None:  # A11
    (program.home / ".gitconfig").write_text(
        "[core]\n\tpager = less\n\teditor = vi\n[user]\n\tname = u\n\temail = u@example.org\n"
    )
    commits = "for i in $(seq 300); do git commit -q --allow-empty -m m$i; done"
    environ = program.environ | {"GIT_EDITOR": "true"}
    subprocess.run(f"git init -q . && {commits}", shell=True, check=True, cwd=program.workspace, env=environ)
    turn(
        program,
        model_server,
        run("git log --format=%s"),
        run("git commit --amend"),
        run("git -c core.pager=less log --format=%s"),
        run("less log.txt; man git | head -3; echo end", tty=True),
    )
    log, amend, forced, _ = results(model_server)
    assert log.startswith("[exit 0") and body(log).count("\n") == 299
    assert amend.startswith("[exit 1")
    assert forced.startswith("[exit 0") and body(forced) == body(log)


def test_characters_and_bytes_of_every_kind(program: Program, model_server: ModelServer) -> None:  # A13
    slow = "import os,time\nfor b in 'a—中😀z'.encode(): os.write(1, bytes([b])); time.sleep(.03)"
    (program.workspace / "slow.py").write_text(slow)
    turn(
        program,
        model_server,
        run("python3 slow.py"),
        run("python3 -c \"print('中' * 400_000)\" | fold -w 300"),
        run(r"printf '\377\376ok'"),
        run(r"printf 'end\360\237'"),
    )
    split, many, broken, half = results(model_server)
    assert body(split) == "a—中😀z"
    assert "�" not in many and "中" * 100 in many and "omitted" in many
    assert body(broken).endswith("��ok")
    assert body(half).endswith("end�")


def test_what_a_terminal_shows_at_the_end_is_told(program: Program, model_server: ModelServer) -> None:  # A14
    bar = r"for i in $(seq 1 5000); do printf '\rstep %d/5000 ' $i; done; "
    bar += r"printf '\n\033[31mred\033[0m\033[2K done\n'; printf 'one\ntwo\n\033[2Aten\n\n'"
    turn(program, model_server, run(bar), run(bar, tty=True))
    for result in results(model_server):
        assert body(result).split("\n") == ["step 5000/5000 ", "    done", "ten", "two"]
        assert len(result) < 300 and "\x1b" not in result


def test_a_binary_leaves_the_session_usable(program: Program, model_server: ModelServer) -> None:  # A15
    odd = r"printf 'a\000b\001\033]0;t\007\302\205'; head -c 300000 /dev/urandom"
    turn(program, model_server, run(odd), run(r"printf 'a\000b\001\033]0;t\007c'"))
    binary, few = results(model_server)
    assert "binary output, not shown" in binary and len(binary) < 1_000
    assert body(few) == "abc"
    for _ in range(2):  # every turn is a resume
        turn(program, model_server, run("echo next"), argv=("--last",))
        assert body(results(model_server)[-1]) == "next"
    assert "\\u0000" not in json.dumps(model_server.requests[-1].json)


def peak_kib(program: Program, server: ModelServer, *steps: dict[str, Any]) -> int:
    """The most memory that the program had in one turn (getrusage(2), `ru_maxrss`)."""
    server.script([*steps, {"text": "done"}])
    line = [*command(), "exec", "--json", *model_flags("chat", server.base_url()), "go"]
    process = subprocess.Popen(
        line, cwd=program.workspace, env=program.environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


def test_a_flood_costs_bounded_memory_and_says_what_is_left_out(
    program: Program, model_server: ModelServer
) -> None:  # A16
    few = peak_kib(program, model_server, run("echo ABCDEFGH"))
    flood = f"yes ABCDEFGH | head -c {FLOOD_BYTES}; echo END"
    steps = run(flood, yield_ms=120_000), run("yes", yield_ms=300), talk(signal="KILL")
    many = peak_kib(program, model_server, *steps)
    assert many - few < MAX_RISE_KIB
    lines = body(results(model_server)[0]).split("\n")
    assert lines[0] == "ABCDEFGH" and lines[-1].endswith("END")
    # a hole in the middle of a line stands on a line of its own: what is before it had no line end there
    ends = [0 if "characters left out" in after else 1 for after in [*lines[1:], ""]]
    shown = sum(
        len(line) + end
        for line, end in zip(lines, ends, strict=True)
        if line and set(line) <= set("ABCDEFGHN")
    )
    counts = [re.findall(r"([\d,]+) (?:bytes|characters left out)", line) for line in lines]
    left_out = sum(int(count.replace(",", "")) for found in counts for count in found)
    assert shown + left_out == FLOOD_BYTES + len("END\n"), "shown or counted"


def test_a_terminal_that_ended_says_how_for_a_while(
    program: Program, model_server: ModelServer
) -> None:  # A17
    turn(
        program,
        model_server,
        run("until [ -e go ]; do sleep 0.05; done; echo bye; touch gone; exit 7", yield_ms=250),
        run("touch go; until [ -e gone ]; do sleep 0.05; done; sleep 0.6"),
        talk(chars="\x03"),
        talk(),
        talk(session="t9"),
    )
    _, _, late, again, never = results(model_server)
    assert late.startswith("[exit 7") and "bye" in late and "nothing was typed or sent" in late
    assert "ended with exit 7" in again and "bye" not in again
    assert "There is no terminal `t9`; live ones:" in never


def test_caches_can_be_written_and_a_denied_path_is_named(
    program: Program, model_server: ModelServer
) -> None:  # A24; `tests/sandbox/honest.py` has more tools, venv among them
    profile = program.home / ".profile"
    profile.write_text("mine\n")
    cache = 'mkdir -p "$HOME/.cache/tool" && echo x > "$HOME/.cache/tool/f" && mktemp && echo ok'
    turn(program, model_server, run(cache), run('echo x > "$HOME/.profile"'))
    cached, denied = results(model_server)
    assert cached.startswith("[exit 0") and body(cached).endswith("ok")
    assert denied.startswith("[exit 1")
    assert "denied by the sandbox" in denied and str(profile) in denied
    assert profile.read_text() == "mine\n"
    assert not (program.home / ".cache" / "tool").exists(), "the cache is private"


COMMIT = "echo x > n && git add n && git commit -qm m && git log --oneline | head -1"


@pytest.mark.parametrize("place", ["checkout", "worktree"])
def test_the_work_can_be_committed(
    program: Program, model_server: ModelServer, place: str, tmp_path: Path
) -> None:  # A25; a submodule is in `tests/sandbox/honest.py`
    identity = "-c user.name=p -c user.email=p@e.org"
    first = "git init -q -b main . && echo a > a && git add a && git {} commit -qm first"
    main = program.workspace if place == "checkout" else tmp_path / "main"
    main.mkdir(exist_ok=True)
    subprocess.run(first.format(identity), shell=True, cwd=main, check=True)
    if place == "worktree":
        subprocess.run(
            ["git", "worktree", "add", "-q", "-b", "side", program.workspace], cwd=main, check=True
        )
    (program.home / ".gitconfig").write_text("[user]\nname = p\nemail = p@e.org\n")
    turn(program, model_server, run(COMMIT))
    (result,) = results(model_server)
    assert result.startswith("[exit 0"), result
    assert body(result).endswith(" m")
    told = subprocess.run(
        ["git", "log", "--format=%s", "-1"], cwd=program.workspace, check=True, capture_output=True, text=True
    )
    assert told.stdout == "m\n"
    state = subprocess.run(["git", "status", "--porcelain"], cwd=main, check=True, capture_output=True)
    assert state.stdout == b""


def test_loopback_works_and_everything_beyond_it_fails_fast(
    program: Program, model_server: ModelServer
) -> None:  # A27
    port = urlsplit(model_server.base_url()).port
    inside = (
        "import socket as s; a=s.socket(); a.bind(('127.0.0.1',0)); a.listen(); "
        "s.create_connection(a.getsockname(),2); s.socketpair(); "
        "b=s.socket(s.AF_UNIX); b.bind('u.sock'); print('ok')"
    )
    connect = "import socket; socket.create_connection(({!r}, {}), 3)"
    turn(
        program,
        model_server,
        run(f'python3 -c "{inside}"'),
        run(f'python3 -c "{connect.format("192.0.2.1", 80)}"', timeout_s=5),
        run(f'python3 -c "{connect.format("127.0.0.1", port)}"', timeout_s=5),
        run("getent hosts host.invalid", timeout_s=5),
    )
    inside_result, *beyond = results(model_server)
    assert body(inside_result).endswith("ok")
    assert [result.startswith(("[exit 1 ", "[exit 2 ")) for result in beyond] == [True] * 3, beyond
