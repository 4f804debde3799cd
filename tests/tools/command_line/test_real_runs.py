"""Random command lines are run for real: a line that is called reading must change nothing.

Each run is in its own namespaces with one writable directory, without network. The number of
lines is small by default; AGENT_TUI_TEST_LINES sets another.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.policy import Mode
from tests.waiting import WAIT_S
from tools.command_line.classify import classify
from tools.command_line.parts import Setting

LINES = int(os.environ.get("AGENT_TUI_TEST_LINES", "150"))

# Files whose names are options, so that a glob may turn into one.
FILES = {
    "a.txt": "one\ntwo\nthree\n",
    "b.txt": "two\none\n",
    "--output=out1": "x\n",
    "-o": "x\n",
    "-delete": "x\n",
    "-i": "x\n",
    "w out2": "x\n",
    "src/main.py": "print(1)\n",
    "run.sh": "touch out3\n",
}

# fmt: off
READERS = (
    'ls -la', 'cat a.txt', 'head -n 1 a.txt', 'tail -n 1 b.txt', 'wc -l a.txt', 'grep -n one a.txt',
    'sort a.txt', 'uniq a.txt', "find . -name '*.txt'", 'find src -type f', 'sed -n 1p a.txt',
    'sed s/a/b/ a.txt', "awk '{print $1}' a.txt", 'echo hi', "printf '%s' x", 'test -f a.txt',
    '[ -d src ]', 'cd src', 'pwd', 'true', 'cut -c1 a.txt', 'diff a.txt b.txt', 'stat a.txt',
    'file a.txt', 'git status', 'git diff', 'git log', 'git branch', 'git tag', 'git ls-files',
    'git show', 'git blame a.txt', 'rg one', 'jq . a.txt', 'du -s .', 'date', 'tr a b', 'nl a.txt',
    'cat', 'set -e', 'tree', 'git stash list', 'git grep one', 'md5sum a.txt', 'git rev-parse HEAD',
    'git describe', 'git for-each-ref', 'command -v ls', 'type ls', 'hostname',
)
WRITERS = (
    'touch out', 'rm a.txt', 'cp a.txt out', 'mv a.txt out', 'mkdir out', 'tee out', 'sh run.sh',
    'sed -i s/a/b/ a.txt', 'ln -s a.txt out', 'python3 -c \'open("out","w")\'', 'sort -o out a.txt',
    'find . -delete', 'git add -A', 'git commit --allow-empty -m x', 'git branch topic',
    'git tag v2', 'dd if=a.txt of=out', 'truncate -s 0 a.txt', 'chmod 600 a.txt',
    'install a.txt out',
)
WORDS = (
    'a.txt', 'b.txt', 'src', 'out', '.', '..', '*', '*.txt', '-*', './*', '-n', '-i', '-o', '-o out',
    '--output=out', '--output out', '-O', '-O out', '-w', '-w out', '-e', '-f run.sh', '-c',
    '-C src', '-D', '-d', '-d a.txt', '-m', '-a', '-A', '-r', '-s', '-z', '-x', '-X', '--', '-', '1',
    '2', "'w out'", "'1w out'", "'s/o/b/w out'", "'s/o/touch out/e'", '\'{print > "out"}\'',
    '\'{system("touch out")}\'', '-delete', '-exec touch out \\;', '-exec touch out {} +',
    '-fprint out', '-fls out', '-ok touch out \\;', '-print', '--pre ./run.sh',
    '--compress-program=./run.sh', '--in-place', '--quiet', '-v x', "-v 'a[$(touch out)]'",
    "'%n' 'b[$(touch out)]'", '-eq', "'a[$(touch out)]' -eq 1", '$(touch out)', '`touch out`',
    '"$(touch out)"', "'$(touch out)'", '${x:=1}', '$HOME', '~', '{a.txt,out}', '<(touch out)',
    '>(touch out)', '$[1+$(touch out)]', '$((1))', 'topic', 'HEAD', '--abbrev', '--sort',
    '--contains', '-b', '-b out', '-q', '--no-index', '--cached', '--stat', '-p', '-u', '-U', '-S',
    '-G', '-L', '-l', '--format=%H', '--exec=touch', '--ext-diff', '-T .', '-k 1', '-t o', '\\\n',
    '#', "'a b'", 'a\\ b', '"a b"', '--output', '--files-with-matches', '+%s',
)
REDIRECTIONS = (
    '', '>out', '>>out', '> out', '>', 'out', '&>out', '>&out', '2>out', '</dev/null', '>/dev/null',
    '2>&1', '>&2', '2>&-', '<a.txt', '<<<x', '1>out', '>a.txt', '<<E\nx\nE',
    "<<'E'\n$(touch out)\nE", '<<E\n$(touch out)\nE', '<>out', '{fd}>out', '>/dev/null >out',
)
# fmt: on
OPERATORS = (" && ", " || ", "; ", " | ", "\n", " |& ", " & ", ";", "&&", "\r\n", "\r", "\x0b")
WRAPS = (
    "{}",
    "{}",
    "{}",
    "{}",
    "( {} )",
    "{{ {}; }}",
    "! {}",
    "if {}; then true; fi",
    "time {}",
    "timeout 5 {}",
    "nice -n 1 {}",
    "env {}",
    "command {}",
    "nohup {}",
    "X=1 {}",
    "bash -c '{}'",
    'sh -c "{}"',
    "xargs {}",
    "eval '{}'",
    "for i in 1; do {}; done",
    "f() {{ {}; }}; f",
    "echo $({})",
    'echo "`{}`"',
    "cat <({})",
    "exec {}",
    "builtin {}",
    "{} &",
    "[[ 1 -eq 1 ]] && {}",
    "stdbuf -o0 {}",
    "case x in x) {};; esac",
)


def _simple() -> st.SearchStrategy[str]:
    program = st.one_of(st.sampled_from(READERS), st.sampled_from(READERS), st.sampled_from(WRITERS))
    words = st.lists(st.sampled_from(WORDS), max_size=3)
    redirection = st.one_of(st.just(""), st.just(""), st.sampled_from(REDIRECTIONS))
    return st.builds(
        lambda *parts: " ".join([parts[0], *parts[1], parts[2]]).strip(), program, words, redirection
    )


NOISE = (
    *tuple("\n;|&><(){}$`\"'\\#![]*?~\r\t =-1"),
    *("touch out", " touch out ", ">out", "\\\n", "<<", "$(", "&&"),
)


def _noisy(line: str, places: list[int], noise: list[str]) -> str:
    """The line with pieces put in somewhere."""
    for place, piece in zip(places, noise, strict=False):
        cut = place % (len(line) + 1)
        line = line[:cut] + piece + line[cut:]
    return line


def _line() -> st.SearchStrategy[str]:
    wrapped = st.builds(lambda wrap, simple: wrap.format(simple), st.sampled_from(WRAPS), _simple())
    joined = st.builds(lambda a, op, b: a + op + b, wrapped, st.sampled_from(OPERATORS), wrapped)
    places = st.lists(st.integers(0, 200), min_size=1, max_size=4)
    noise = st.lists(st.sampled_from(NOISE), min_size=1, max_size=4)
    noisy = st.builds(_noisy, st.one_of(_simple(), joined), places, noise)
    return st.one_of(_simple(), wrapped, joined, noisy, noisy)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository with one commit and one change."""
    root = tmp_path_factory.mktemp("template") / "w"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {**_environment(), "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z"}
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], cwd=root, env=environment, check=True)
    (root / "b.txt").write_text("changed\n")
    return root


def _environment() -> dict[str, str]:
    who = {f"GIT_{role}_{part}": "t@t" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    return {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", **who}


def _state(root: Path) -> dict[str, str]:
    """All but `.git/index`: reading git commands refresh what it caches of the files, where they may
    (the product mounts `.git` read-only for them); a real change of it shows in the objects."""
    state = {}
    for directory, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(directory, name)
            facts = path.lstat()
            content = str(path.readlink()) if path.is_symlink() else ""
            if path.is_file() and not path.is_symlink():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            if path != root / ".git" / "index":
                state[str(path.relative_to(root))] = f"{facts.st_mode:o} {content}"
    return state


def _run(line: str, root: Path) -> None:
    box = "bwrap --unshare-all --die-with-parent --new-session --ro-bind / / --dev /dev --proc /proc"
    command = [
        *box.split(),
        "--tmpfs",
        "/tmp",
        "--bind",
        str(root),
        "/tmp/w",
        "--chdir",
        "/tmp/w",
        "bash",
        "-c",
        line,
    ]
    subprocess.run(
        command,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=WAIT_S,
    )


@pytest.fixture(scope="module")
def usable_box() -> Iterator[None]:
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed")
    tried = subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True)
    if tried.returncode:
        pytest.skip(f"bwrap cannot run here: {tried.stderr.decode()}")
    yield


def _changes(line: str, template: Path, scratch: Path) -> bool:
    root = scratch / "w"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root, symlinks=True)
    before = _state(root)
    _run(line, root)
    return _state(root) != before


def _is_called_reading(line: str, root: Path) -> bool:
    found = classify(line, Setting(workspace=root, cwd=root, mode=Mode.WORKSPACE_WRITE))
    return found.read_only


@pytest.mark.timeout(1200)
def test_a_line_called_reading_changes_nothing(
    template: Path, tmp_path_factory: pytest.TempPathFactory, usable_box: None
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    ran = []

    @settings(max_examples=LINES * 8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(line=_line())
    def check(line: str) -> None:
        if len(ran) >= LINES or not _is_called_reading(line, template):
            return
        ran.append(line)
        assert not _changes(line, template, scratch), line

    check()
    assert len(ran) >= LINES // 10  # the grammar reaches lines that are called reading


@pytest.mark.parametrize(
    "line",
    [
        "touch out",
        "cat a.txt > out",
        "sed -n '1w out' a.txt",
        "sort -o out a.txt",
        "echo $(touch out)",
        "git tag v2",
    ],
)
def test_the_check_sees_a_change(line: str, template: Path, tmp_path: Path, usable_box: None) -> None:
    assert _changes(line, template, tmp_path)
    assert not _is_called_reading(line, template)
