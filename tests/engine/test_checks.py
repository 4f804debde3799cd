"""What is told of checks: nothing that the exit code of their line does not say."""

import os
import random
import re
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from agent_tui.engine.checks import Proof, proof

BOTH = r"""
pytest -q
python3 -m pytest tests/a
python -B -m unittest 2>&1
cd web && npm test
cd web; npm run build
FOO=1 timeout 60 make -j4 check
uv run --frozen pytest -x && echo ok
(cd lib && cargo test)
./venv/bin/python -m pytest;
.venv/bin/pytest -k "a; b | c"
ruff check . && ruff format --check .
ruff check . && { mypy; } && (cd a; pytest)
set -euo pipefail; pytest | tee log
set -o pipefail; pytest | cat
set -e; ruff check .; pytest; echo done
pytest -q  # all of them | fast
pytest $(git ls-files | grep test)
npx tsc --noEmit &> out.txt
echo start; pytest
pytest || exit 1
pytest || { echo failed; exit 3; }
pytest; exit $?
for f in a b; do echo $f; done; pytest
[[ a && b ]]; pytest
PATH="a b" pytest
source venv/bin/activate && pytest
cd a && set -o pipefail && pytest | tee log
\pytest
>out 'pytest' -q
A[0]=1 B+=2 C=(a b) pytest
. .venv/bin/activate; pytest
set >out -o pipefail; pytest | cat
pytest || exit >out
while [ $x ]; do break; done; pytest
""".strip().splitlines()

SUCCESS_ONLY = r"""
pytest && git log | head -3
npm ci && npm test
set -e; npm ci; npm test
set -e; pytest; deploy
set -o pipefail && pytest | head -3
false || build && pytest
a=$(b) && pytest
""".strip().splitlines()

FAILURE_ONLY = r"""
make; pytest
test -f built || make
a && b || pytest
cd nowhere || exit 0; pytest
""".strip().splitlines()

NEITHER = r"""
pytest -q | tail -5
python3 -m unittest -v 2>&1 | head -5; git log --oneline
pytest; echo generated > out.txt
pytest || true
pytest -q &
pytest & wait
pytest && echo ok || echo failed
pytest && echo ok; ls
! pytest
true || pytest
a || (b && pytest)
(pytest; true) && a
{ set -e; pytest; ls; } && a
set -e; pytest && echo ok; ls
set -e; set +e; pytest; ls
a && set -e; pytest; ls
set +o pipefail; pytest | tail
set -o pipefail; pytest | tail -3; ls
a && set -o pipefail; pytest | tail
if a; then exit 0; fi; pytest
if pytest; then a; fi
for f in a b; do pytest $f; done
trap "exit 0" EXIT; pytest
f() { pytest; }; f
ls $(pytest)
pip install pytest
grep -rn pytest .
echo make
git commit -m "run make test"
cat Makefile # make
exec a; pytest
((pytest))
pytest | ! make
X=1 trap "exit 0" EXIT; pytest
>out trap "exit 0" EXIT; pytest
trap>out "exit 0" EXIT; pytest
command trap "exit 0" EXIT; pytest
\trap "exit 0" EXIT; pytest
tr''ap "exit 0" EXIT; pytest
$T "exit 0" EXIT; pytest
{trap,"exit 0",EXIT}; pytest
X=1 eval "pytest() { :; }"; pytest
'exit' 0; pytest
pytest || X=$(a) exit
pytest; exit >$(a)
>out exit 0; pytest
$(echo exit) 0; pytest
{exit,0}; pytest
if a; then X=1 exit 0; fi; pytest
for f in a; do \trap "exit 0" EXIT; done; pytest
pytest || 'exit' 0
X=1 exec a; pytest
exec>out a; pytest
set -e; X=1 set +e; pytest; a
set -e; "set" +e; pytest; a
set -o pipefail; set +o "pipefail"; pytest | cat
set -n; pytest
set -eo noexec; pytest
set -t; a; pytest
. ./settings; pytest
source ./settings && pytest
hash -p a pytest; pytest
pytest $'a\'b'; true #'
echo "$(pytest)" && make
make && a < <(cd b; pytest)
sh -c 'pytest; true' && make
timeout 9 bash -c "pytest; true" && make
(pytest) a
[[ a == (b|c) ]]; pytest
""".strip().splitlines()


@pytest.mark.parametrize("command", BOTH)
def test_a_line_that_ends_as_its_check_does(command: str) -> None:
    assert proof(command) == Proof(of_success=True, of_failure=True)


@pytest.mark.parametrize("command", SUCCESS_ONLY)
def test_a_line_that_can_fail_with_a_good_check(command: str) -> None:
    assert proof(command) == Proof(of_success=True, of_failure=False)


@pytest.mark.parametrize("command", FAILURE_ONLY)
def test_a_line_that_can_end_well_without_its_check(command: str) -> None:
    assert proof(command) == Proof(of_success=False, of_failure=True)


@pytest.mark.parametrize("command", NEITHER)
def test_a_line_that_says_nothing_of_its_check(command: str) -> None:
    assert proof(command) in (None, Proof(of_success=False, of_failure=False))


def test_lines_of_a_script_are_followed() -> None:
    both = Proof(of_success=True, of_failure=True)
    assert proof("cd web\nnpm test\n") == both
    assert proof("set -e\n# the tests\nnpm test\necho") == both
    assert proof("cat > a <<'END'\nmake\nEND\npytest \\\n  -q\n") == both
    assert proof("pytest &&\n  ruff check .") == both
    for hidden in (
        "exi\\\nt 0; pytest",
        "[[ a\n]]; pytest",
        "cat <<'A'B\nA\npytest\nAB",
        "npm test\nls\n",
        "cat > a <<END\npytest",
        "cat <<END\npytest\nEND",
        "pytest 'a",
        "",
    ):
        assert proof(hidden) in (None, Proof(of_success=False, of_failure=False))


CHECKS, OTHERS = ("pytest", "make", "ruff"), ("a", "b")
PARTS = (*CHECKS, *CHECKS, *OTHERS, "true", "false", "echo", "cd .", "exit 0", "exit 1", "exit")
SETS = ("set -e", "set +e", "set -o pipefail", "set +o pipefail", "set -euo pipefail")


def line(dice: random.Random, depth: int = 0) -> str:
    text = ""
    for number in range(dice.randint(1, 4)):
        between = dice.choice(("&&", "&&", "||", ";", ";", "|", "\n")) if number else ""
        part = dice.choice(SETS) if dice.random() < 0.12 else dice.choice(PARTS)
        if depth < 2 and dice.random() < 0.2:
            inner = line(dice, depth + 1)
            part = dice.choice((f"({inner})", f"{{ {inner}; }}", f"if {inner}; then {inner}; fi"))
        if dice.random() < 0.08 and between != "|":
            part = f"! {part}"
        text += f"{between} {part} "
    return text.strip()


def test_what_random_lines_prove_holds_when_they_run(tmp_path: Path) -> None:
    dice = random.Random(7)
    lines: dict[str, Proof] = {}
    while len(lines) < int(os.environ.get("AGENT_TUI_TEST_LINES", "60")):
        command = line(dice)
        found = proof(command)
        if found is not None and (found.of_success or found.of_failure):
            lines[command] = found
    for command, found in lines.items():
        names = [name for name in (*CHECKS, *OTHERS) if re.search(rf"\b{name}\b", command)]
        checks = {*names} & {*CHECKS}
        for codes, code, ran in results(command, names, tmp_path / "ran"):
            told = f"{command!r} {dict(zip(names, codes, strict=True))} exit {code}, ran {ran}"
            failed = {name for name in checks & ran if codes[names.index(name)]}
            if code == 0 and found.of_success:
                assert checks <= ran and not failed, told
            if code != 0 and found.of_failure:
                assert failed, told


def results(command: str, names: list[str], log: Path) -> Iterator[tuple[tuple[int, ...], int, set[str]]]:
    """For each way in which the commands may end: their codes, that of the line, and what of them ran."""
    ways = [*product((0, 1), repeat=len(names))]
    script = ""
    for way in ways:
        functions = "".join(
            f"{name}() {{ echo {name} >> {log}; return {code}; }}\n"
            for name, code in zip(names, way, strict=True)
        )
        script += f": > {log}\n(\n{functions}{command}\n)\necho way $? $(cat {log})\n"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd="/")
    told = [each.split()[1:] for each in done.stdout.splitlines() if each.startswith("way ")]
    for way, (code, *ran) in zip(ways, told, strict=True):
        yield way, int(code), {*ran}
