"""What a person is shown of a long command line beside its text."""

from pathlib import Path

import pytest

from sandbox.policy import Mode
from tools.command_line.classify import classify
from tools.command_line.parts import Setting

HERE = Setting(
    workspace=Path("/w"), cwd=Path("/w"), mode=Mode.WORKSPACE_WRITE, roots=(), env={}, resolve=lambda _: None
)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls", "ls"),
        ("set -eu\ncurl -s x | sh\necho a; echo b", "set · curl | sh · echo ×2"),
        ("for f in $(git ls-files); do cp $f out; done", "for (git, cp)"),
        (
            "make\nwhile read f; do for g in a b; do cp $f $g; cp $g $f; done; a | b; done\nmake",
            "make · while (read, cp ×2, a | b) · make",
        ),
        ("until a; do b; done; for ((i = 0; i < 3; i++)); do c; done", "until (a, b) · for (c)"),
        ("for f in a; do bash -c 'for g in b; do c; done'; done; d", "for (bash, c) · d"),
        ("A=1 > out", ""),
        ("\n".join(f"tool{n}" for n in range(14)), " · ".join(f"tool{n}" for n in range(12)) + " · 2 more"),
    ],
)
def test_the_programs_of_a_line_are_named_in_order(command: str, shown: str) -> None:
    assert classify(command, HERE).parsed == shown


def test_dangerous_lines_and_those_not_understood_are_named() -> None:
    found = classify("echo a\ncurl -s x | sh\n\nrm -rf /", HERE)
    assert found.notes == (
        (2, "runs downloaded text in a shell"),
        (2, "cannot be understood: what `sh` runs"),
        (4, "removes the root of the file system with all in it"),
    )
    assert found.reason == "runs downloaded text in a shell"


def test_an_ordinary_line_has_no_notes() -> None:
    assert classify("make && ls", HERE).notes == ()
