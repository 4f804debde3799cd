"""Options that exclude each other are refused with one line, whichever command they stand on."""

from pathlib import Path

import pytest

from tests.catalogue import is_listed
from tests.program import Program

EXEC = ("exec", "-m", "demo/scripted")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    program = Program.at(tmp_path_factory.mktemp("contradictions"))
    program.config('[profiles.fast]\nmodel = "demo/scripted"\n')
    return program


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ((*EXEC, "--resume", "ab", "--last", "hi"), "exec: give `--resume ID` or `--last`, not both"),
        ((*EXEC, "--resume", "", "hi"), "exec: `--resume` without an ID; "),
        ((*EXEC, "--fork", "hi"), "exec: `--fork` needs `--resume ID` or `--last`"),
        ((*EXEC, "--last", "--ephemeral", "hi"), "`--ephemeral` keeps nothing, "),
        ((*EXEC, "--stdin-commands", "--stdin", "hi"), "exec: stdin cannot be both "),
        ((*EXEC, "--stdin-commands", "-"), "exec: stdin cannot be both "),
        ((*EXEC, "--stdin", "-"), "exec: `-` reads the whole prompt from stdin; "),
        (
            (*EXEC, "--no-checkpoints", "--require-checkpoints", "hi"),
            "`--require-checkpoints` and `--no-checkpoints` exclude each other",
        ),
        (
            (*EXEC, "--no-checkpoints", "--on-lost-result", "rollback", "hi"),
            "`--on-lost-result rollback` and `--no-checkpoints` exclude each other",
        ),
        (
            (*EXEC, "-s", "read-only", "--add-dir", "/usr", "hi"),
            "`--add-dir` and `--sandbox read-only` exclude each other",
        ),
        ((*EXEC, "--add-dir", "/", "hi"), "--add-dir: `/` holds your home or the agent's own files; "),
        ((*EXEC, "--add-dir", "~", "hi"), "--add-dir: `~` holds your home or the agent's own files; "),
        (("resume", "ab", "--last", "--plain"), "resume: give an ID or `--last`, not both"),
        (("resume", "", "--plain"), "resume: the ID is empty; "),
        (("resume", "--last", "--plain", "--ephemeral"), "`--ephemeral` keeps nothing, "),
        (("--plain", "-m", "demo/scripted", "-i", "/x.png"), "line mode takes `--image` only with a prompt"),
        (("sessions", "list", "ab"), "sessions list: it takes no ID; "),
        (("sessions", "show"), "sessions show: no ID; "),
        (("sessions", "rm", ""), "sessions rm: no ID; "),
        (("sessions", "show", "ab", "--all"), "sessions show: `--all` is for the list; "),
        (("sessions", "show", "ab", "--format", "jsonl"), "sessions show: `--format` is for an export"),
        (("sessions", "show", "ab", "--yes"), "sessions show: `--yes` is for `rm`"),
        (("sessions", "rm", "ab", "-o", "x"), "sessions rm: `--output` is for `show` and `export`"),
        (("sessions", "export", "ab", "--json", "--format", "markdown"), "sessions export: `--json` and "),
        (("checkpoints", "list", "ab/1"), "checkpoints list: `ab/1` is one ID too many"),
        (("checkpoints", "diff", "a/1", "a/2", "a/3"), "checkpoints diff: `a/3` is one ID too many"),
        (("checkpoints", "list", "--days", "3"), "checkpoints list: `--days` is for `prune`"),
        (("checkpoints", "prune", "--days", "-3"), "checkpoints prune: `--days` must not be negative"),
        (("rollback", ""), "rollback: the ID is empty; "),
        (("rollback", "--path", ""), "rollback: the path is empty; "),
        (("rollback", "--redo", "ab/1"), "rollback: `--redo` takes back the last rollback as a whole; "),
        (("rollback", "--redo", "--files-only"), "rollback: `--redo` takes back "),
        (("rollback", "--redo", "--overwrite"), "rollback: `--redo` takes back "),
        (("rollback", "--redo", "--dry-run"), "rollback: `--redo` takes back "),
        (("rollback", "--files-only", "--conversation-only"), "rollback: argument --conversation-only: not "),
        (("rollback", "--keep-external", "--overwrite"), "rollback: argument --overwrite: not allowed with "),
        (("rollback", "--conversation-only", "--path", "x"), "rollback: `--path` is about files; "),
        (("rollback", "--conversation-only", "--overwrite"), "rollback: `--overwrite` is about files; "),
        (("sandbox", "--mode", "off", "-s", "read-only", "--", "true"), "sandbox: `--mode` and `--sandbox` "),
        (("debug", "request", ""), "debug request: the ID is empty; "),
        (("exec", "--profile", "fsat", "hi"), "~/.config/agent-tui/config.toml: no profile `fsat`; did you "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_contradiction_is_refused(program: Program, argv: tuple[str, ...], problem: str) -> None:
    ran = program.run(*argv, stdin="")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"agent-tui: {problem}")
    assert ran.err.count("\n") == 1
    assert is_listed(ran.err.strip().removeprefix("agent-tui: ")), "docs/errors.md does not have it"
    assert not program.state.exists(), "nothing was begun"


def test_a_session_stays_in_its_directory(program: Program, tmp_path: Path) -> None:
    assert program.run(*EXEC, "--ephemeral", "hi").code == 0
    kept = Program.at(tmp_path)
    (tmp_path / "other").mkdir()
    assert kept.run(*EXEC, "hi").code == 0
    session = next((kept.state / "sessions").iterdir()).name
    ran = kept.run("exec", "--resume", session)
    assert (ran.code, ran.err.splitlines()[1:]) == (2, ["agent-tui: there is no paused task"])
    ran = kept.run("exec", "--resume", session, "-C", str(tmp_path / "other"), "again")
    assert ran.code == 2
    assert ran.err.startswith(f"agent-tui: session `{session}` belongs to `{kept.workspace}`; leave ")
