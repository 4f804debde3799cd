import pytest

from agent_tui.engine.checks import is_check

CHECKS = r"""
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
pytest && git log | head -3
set -e; pytest; echo done
set -euo pipefail; pytest | tee log; ls
set -o pipefail; pytest | tail -3
pytest -q  # all of them | fast
pytest $(git ls-files | grep test)
npx tsc --noEmit &> out.txt
echo start; pytest
""".strip().splitlines()

NO_CHECKS = r"""
pytest -q | tail -5
python3 -m unittest -v 2>&1 | head -5; git log --oneline
pytest; echo generated > out.txt
pytest || true
pytest -q &
pytest && echo ok || echo failed
pytest && echo ok; ls
! pytest
pip install pytest
grep -rn pytest .
echo make
git commit -m "run make test"
cat Makefile # make
set -e; pytest && echo ok; ls
set -o pipefail; pytest | tail -3; ls
ls $(pytest)
""".strip().splitlines()


@pytest.mark.parametrize("command", CHECKS)
def test_a_line_whose_exit_code_is_that_of_its_check_is_one(command: str) -> None:
    assert is_check(command)


@pytest.mark.parametrize("command", NO_CHECKS)
def test_a_line_that_may_end_well_with_a_failed_check_is_none(command: str) -> None:
    assert not is_check(command)


def test_lines_of_a_script_count_as_what_follows() -> None:
    assert is_check("cd web\nnpm test\n")
    assert not is_check("npm test\nls\n")
    assert is_check("set -e\n# the tests\nnpm test\nls")
    assert not is_check("")
