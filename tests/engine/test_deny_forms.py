"""The forms in which a denied command was once slipped past a deny rule, and honest lines beside them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_tui.engine.judgement import Allow, Ask, Facts, Judgement, Refuse, judge
from agent_tui.engine.rules import Action, Rule
from agent_tui.engine.types import ApprovalPolicy
from sandbox.policy import Mode, Policy
from tools.command_line.assess import assess_command
from tools.command_line.parts import Setting

RULES = tuple(Rule(action=Action.DENY, pattern=pattern) for pattern in ("run make deploy", "run git push"))

STARTERS = """
setarch -R make deploy
setarch x86_64 -R make deploy
linux64 make deploy
flock f make deploy
flock f -c 'make deploy'
flock -n f make deploy
taskset 1 make deploy
taskset -c 0 make deploy
chrt -i 0 make deploy
strace make deploy
strace -f -o log make deploy
chroot / make deploy
runuser -u me -- make deploy
runuser -c 'make deploy'
ionice -c 3 make deploy
numactl -C 0 make deploy
numactl --cpunodebind=0 make deploy
unshare -r make deploy
unshare --what make deploy
script -c 'make deploy'
script -qc 'make deploy' /dev/null
watch make deploy
watch -n 1 'make deploy'
parallel make ::: deploy
ls | entr make deploy
sudo make deploy
doas make deploy
su -c 'make deploy'
busybox make deploy
gmake deploy
/usr/bin/gmake deploy
xargs make deploy
echo deploy | xargs make
echo make deploy | xargs -I{} sh -c {}
find . -exec make deploy ;
find . -maxdepth 0 -exec make deploy \\;
no-such-starter --flag make deploy
no-such-starter 'cd x && make deploy'
python3 -c 'import os; os.system("make deploy")'
python3 -c 'run(["make", "deploy"])'
""".strip().splitlines()

CODE = [
    "source /dev/stdin <<< 'make deploy'",
    ". <(echo git push)",
    ". /proc/self/fd/0",
    "mapfile -C 'make deploy;:' -c 1 a < f",
    "readarray -tC 'ma\"\"ke deploy;:' -c 1 a < f",
    "printf -v 'a[$(make deploy)]' x",
    "printf -v 'a[$(ma\"\"ke deploy)]' x",
    'printf -v "$x" y',
    "test -v 'a[$(ma\"\"ke deploy)]'",
    "[ -v 'a[$(ma\"\"ke deploy)]' ]",
    "[[ -v 'a[$(ma\"\"ke deploy)]' ]]",
    "let 'a[$(ma\"\"ke deploy)]=1'",
    "unset 'a[$(ma\"\"ke deploy)]'",
    "read 'a[$(ma\"\"ke deploy)]' < f",
    "x='a[$(ma\"\"ke deploy)]'; [[ x -eq 1 ]]",
    "command test -v 'a[$(ma\"\"ke deploy)]'",
    "trap 'make deploy' EXIT",
    "trap 'ma\"\"ke deploy' EXIT",
    "PROMPT_COMMAND='make deploy' bash -i",
    "PROMPT_COMMAND='ma\"\"ke deploy'",
    "export PROMPT_COMMAND='ma\"\"ke deploy'",
    "BASH_ENV=f bash x.sh",
    "env GIT_PAGER='ma\"\"ke deploy' git -p log",
    "EDITOR='ma\"\"ke deploy' git commit",
    "eval make deploy",
    "eval 'ma\"\"ke' deploy",
    "bash <<< 'make deploy'",
    "echo make deploy | sh",
    "make -f - <<< 'all:; make deploy'",
    "make -f/dev/stdin < x",
    "make --eval='x:; git push' x",
]

NAMES = [
    "hash -p /usr/bin/make ls; ls deploy",
    "shopt -s expand_aliases\nalias q='make deploy'\nq",
    "shopt -s expand_aliases\nalias q=make\nq deploy",
    "ls() { make deploy; }; ls",
    'echo() { "$@"; }; echo make deploy',
    'q() { make "$@"; }; q deploy',
    "enable -f ./x.so ls; ls",
    "./echo make deploy",
]

BETWEEN = [
    "make all=1 deploy",
    "make -j 4 deploy",
    "make V=1 -k deploy",
    "make clean deploy",
    "git -C x push",
    "git --no-pager push",
    "FOO=1 make deploy",
]

RUNNERS = [
    "git -c alias.p=push p",
    "git -c alias.p='!ma\"\"ke deploy' p",
    "git -c core.pager='ma\"\"ke deploy' -p log",
    "git --exec-path=x p",
    "git config alias.p push && git p",
    "git-push",
    "/usr/lib/git-core/git-push origin",
    "git bisect run make deploy",
    "git rebase -x 'make deploy' HEAD~1",
    "git rebase --exec='ma\"\"ke deploy' HEAD~1",
    "git submodule foreach 'ma\"\"ke deploy'",
    "rg --pre ./x a; rg --pre 'make deploy' a",
    "tar cf a.tar --checkpoint-action=exec='make deploy' .",
    "sort --compress-program='make deploy' f",
    "man -P 'make deploy' ls",
    "man --pager='make deploy' ls",
]

HONEST = [
    "make test",
    "make -j4 all",
    "make V=1 test 2>&1 | tail -5",
    "echo make deploy",
    "grep -rn 'make deploy' docs",
    "rg 'git push' .",
    "git commit -m 'Say how make deploy works'",
    "git -C x log --grep 'git push'",
    "git status && git diff",
    "git -c user.name=x commit -m y",
    "GIT_EDITOR=true git rebase --continue",
    "git config user.name",
    "python3 -m pytest -q tests/deploy",
    "pytest -k 'make and deploy'",
    "npm run build && node x.js",
    "source .venv/bin/activate && pytest",
    ". ./env.sh; make",
    "export FOO=1; make",
    '[ -f x ] && [[ "$a" = b ]] && test -d y',
    "printf '%s\\n' 'make deploy'",
    'for f in *.py; do wc -l "$f"; done',
    "trap 'rm -f x' EXIT; make",
    "timeout 5 make test",
    "flock f make test",
    "find . -name '*.py' -exec wc -l {} +",
    "f() { make test; }; f",
    "cat > x <<'E'\nmake deploy\nE",
    "read -r a < f",
    "mapfile -t a < f",
]


def judged(
    line: str, *, interactive: bool, rules: Sequence[Rule] = RULES, env: Mapping[str, str] | None = None
) -> Judgement:
    where = Path("/w")
    mode = Mode.WORKSPACE_WRITE
    setting = Setting(
        workspace=where, cwd=where, mode=mode, env=env or {}, resolve=lambda name: f"/usr/bin/{name}"
    )
    facts = Facts(
        policy=Policy(workspace=where, mode=mode, state_dir=Path("/s")),
        approval=ApprovalPolicy.ON_REQUEST if interactive else ApprovalPolicy.NEVER,
        interactive=interactive,
        sandbox_available=True,
    )
    return judge(assess_command(line, setting), facts, rules=rules)


@pytest.mark.parametrize("line", [*STARTERS, *CODE, *NAMES, *BETWEEN, *RUNNERS])
def test_a_denied_command_runs_in_no_other_form(line: str) -> None:
    assert isinstance(judged(line, interactive=False), Refuse)
    assert isinstance(judged(line, interactive=True), Ask | Refuse)


@pytest.mark.parametrize(
    "line", [*BETWEEN, *STARTERS[:6], "gmake deploy", "git-push", "git bisect run make deploy"]
)
def test_what_is_understood_is_denied_by_the_rule_without_a_question(line: str) -> None:
    found = judged(line, interactive=True)
    assert isinstance(found, Refuse)
    assert found.detail.startswith("by rule")


@pytest.mark.parametrize("line", HONEST)
def test_a_deny_rule_leaves_honest_lines_alone(line: str) -> None:
    assert judged(line, interactive=True) == judged(line, interactive=True, rules=())


def test_one_denied_word_is_no_file_of_that_name() -> None:
    rules = [Rule(action=Action.DENY, pattern="run git")]
    assert isinstance(judged("pytest tests/git", interactive=False, rules=rules), Allow)
    assert isinstance(judged("no-such-starter /usr/bin/git status", interactive=False, rules=rules), Refuse)


@pytest.mark.parametrize(
    "env",
    [
        {"PAGER": "make deploy"},
        {"GIT_EDITOR": "git push #"},
        {"GIT_SSH_COMMAND": "sh -c 'make deploy'"},
        {"BASH_ENV": "f"},
        {"GIT_CONFIG_COUNT": "1"},
        {"BASH_FUNC_ls%%": "() { make deploy; }"},
        {"A": "1", "PROMPT_COMMAND": "true; git push"},
        {"X": "$(make deploy)"},
    ],
)
def test_a_denied_command_does_not_run_by_the_variables_of_a_call(env: Mapping[str, str]) -> None:
    assert isinstance(judged("git log", interactive=False, env=env), Refuse)
    assert isinstance(judged("git log", interactive=True, env=env), Ask | Refuse)


@pytest.mark.parametrize("line", ["git log", "cd x && git log", "for f in a; do git log; done"])
@pytest.mark.parametrize("pattern", ["run LD_PRELOAD=*", "run LD_PRELOAD=* ...", "run LD_PRELOAD=* git log"])
def test_a_denied_variable_is_set_in_no_way(pattern: str, line: str) -> None:
    rules = [Rule(action=Action.DENY, pattern=pattern)]
    assert isinstance(judged(line, interactive=True, rules=rules, env={"A": "1", "LD_PRELOAD": "x"}), Refuse)
    assert isinstance(judged("LD_PRELOAD=x git log", interactive=True, rules=rules), Refuse)
    honest = judged(line, interactive=True, rules=rules, env={"LD_LIBRARY": "x"})
    assert honest == judged(line, interactive=True, rules=(), env={"LD_LIBRARY": "x"})


def test_what_is_dangerous_is_asked_also_in_a_variable() -> None:
    assert judged("git log", interactive=True, rules=(), env={"PAGER": "rm -rf /"}) == Ask(
        why=judged("rm -rf /", interactive=True, rules=()).why, may_repeat=False
    )
