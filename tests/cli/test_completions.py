"""The completion scripts in the shells they are for."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.cli.parser import COMMANDS
from tests.cli.terminal import Terminal
from tests.program import Program
from tests.waiting import WAIT_S

Offered = Callable[[str], list[str]]


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def script(program: Program, shell: str) -> Path:
    ran = program.run("completions", shell)
    assert (ran.code, ran.err) == (0, "")
    path = program.home / shell
    path.write_text(ran.out)
    return path


# --- bash and fish tell what they would offer -----------------------------------------------------------


@pytest.fixture
def bash(program: Program) -> Offered:
    path = script(program, "bash")

    def offered(line: str) -> list[str]:
        asked = f"""
            source {path}
            COMP_WORDS=({line}{' ""' if line.endswith(" ") else ""}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _agent_tui
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return told(program, "bash", "--norc", "-c", asked)

    return offered


@pytest.fixture
def fish(program: Program) -> Offered:
    path = script(program, "fish")

    def offered(line: str) -> list[str]:
        asked = f"source {path}; complete -C '{line}'"
        return [each.partition("\t")[0] for each in told(program, "fish", "--no-config", "-c", asked)]

    return offered


def told(program: Program, *command: str) -> list[str]:
    done = subprocess.run(
        command, cwd=program.workspace, env=program.environ, text=True, capture_output=True, timeout=WAIT_S
    )
    assert done.stderr == ""
    return sorted(filter(None, done.stdout.splitlines()))


@pytest.mark.parametrize("shell", [pytest.param(name, marks=needs(name)) for name in ("bash", "fish")])
def test_a_shell_offers_commands_flags_and_their_values(
    request: pytest.FixtureRequest, program: Program, shell: str
) -> None:
    offered: Offered = request.getfixturevalue(shell)
    assert set(COMMANDS) <= set(offered("agent-tui "))
    assert offered("agent-tui ex") == ["exec"]
    assert offered("agent-tui -m some/model ex") == ["exec"]
    assert offered("agent-tui exec --output-s") == ["--output-schema"]
    assert {"--json", "--on-lost-result", "--sandbox"} <= set(offered("agent-tui exec --"))
    assert "--json" not in offered("agent-tui --")
    assert offered("agent-tui exec --sandbox w") == ["workspace-write"]
    assert offered("agent-tui exec -s ") == ["off", "read-only", "workspace-write"]
    assert offered("agent-tui sessions ex") == ["export"]
    assert offered("agent-tui sessions export --format ") == ["jsonl", "markdown", "otlp", "replay"]
    assert {"bash", "fish", "zsh"} <= set(offered("agent-tui completions "))


@needs("fish")
def test_fish_offers_files_where_a_flag_takes_one(program: Program, fish: Offered) -> None:
    (program.workspace / "answer.txt").touch()
    assert fish("agent-tui exec -o ") == ["answer.txt"]
    assert fish("agent-tui sessions export --output ans") == ["answer.txt"]
    assert fish("agent-tui completions ans") == []


# --- bash and zsh at a prompt ---------------------------------------------------------------------------

BASH = """
PS1=READY
agent-tui() { printf 'got'; printf ':%s' "$@"; echo ' END'; }
source {script}
bind 'set show-all-if-ambiguous on'
"""
ZSH = """
PS1=READY
agent-tui() { print -n got; print -rn -- ":${(j.:.)@}"; print ' END' }
autoload -Uz compinit
compinit -u -D
source {script}
"""
ZSH_FPATH = """
PS1=READY
agent-tui() { print -n got; print -rn -- ":${(j.:.)@}"; print ' END' }
fpath=({script:h} $fpath)
autoload -Uz compinit
compinit -u -D
"""


def at_prompt(program: Program, shell: str, start: str) -> Terminal:
    """The shell in a terminal, with a function in place of the program that says its arguments."""
    rc = program.home / {"bash": "rc", "zsh": ".zshrc"}[shell]
    rc.write_text(start)
    line = {"bash": ("bash", "--rcfile", str(rc), "-i"), "zsh": ("zsh", "-d", "-i")}[shell]
    return Terminal(program, line=line, ZDOTDIR=str(program.home), INPUTRC="/dev/null", TERM="dumb")


@pytest.mark.parametrize(
    ("shell", "start"),
    [
        pytest.param("bash", BASH, marks=needs("bash")),
        pytest.param("zsh", ZSH, marks=needs("zsh")),
        pytest.param("zsh", ZSH_FPATH, marks=needs("zsh"), id="zsh-fpath"),
    ],
)
def test_a_line_is_completed_at_the_prompt(program: Program, shell: str, start: str) -> None:
    path = script(program, shell)
    if start is ZSH_FPATH:
        path = path.rename(program.home / "_agent-tui")
    start = start.replace("{script:h}", str(path.parent)).replace("{script}", str(path))
    (program.workspace / "answer.txt").touch()
    with at_prompt(program, shell, start) as terminal:
        for typed, got in (
            ("agent-tui exe\t--output-s\tx\r", "got:exec:--output-schema:x END"),
            ("agent-tui exec --sandbox w\t\r", "got:exec:--sandbox:workspace-write END"),
            ("agent-tui exec -o ans\t\r", "got:exec:-o:answer.txt END"),
            ("agent-tui -m some/model exe\t--js\t\r", "got:-m:some/model:exec:--json END"),
            ("agent-tui sessions exp\t--format m\t\r", "got:sessions:export:--format:markdown END"),
        ):
            terminal.expect("READY")
            terminal.type(typed)
            terminal.expect(got)
        terminal.expect("READY")
        terminal.type("agent-tui exec --sandbox \t")
        terminal.expect("workspace-write")  # nothing is typed of it, so it is listed
