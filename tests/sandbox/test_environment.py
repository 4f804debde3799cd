"""What of our environment reaches a command."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.environment import build, is_secret, trusted_path
from sandbox.policy import Mode, Policy

POLICY = Policy(mode=Mode.WORKSPACE_WRITE, workspace=Path("/w"), state_dir=Path("/s"))
HOME = Path("/home/u")


def built(environ: dict[str, str], policy: Policy = POLICY, *, tty: bool = False) -> dict[str, str]:
    return build(policy, environ, home=HOME, cwd=policy.workspace, tty=tty)


def test_from_nothing_comes_a_usable_environment() -> None:
    assert built({}) == {
        "TMPDIR": "/tmp",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "EDITOR": "false",
        "VISUAL": "false",
        "GIT_EDITOR": "false",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/home/u",
        "PWD": "/w",
    }


def test_a_terminal_is_a_colourful_one() -> None:
    variables = built({"LANG": "de_DE.UTF-8"}, tty=True)
    assert (variables["TERM"], variables["LANG"]) == ("xterm-256color", "de_DE.UTF-8")
    assert "NO_COLOR" not in variables


@pytest.mark.parametrize("name", ["LC_TIME", "JAVA_HOME", "CC", "VIRTUAL_ENV", "GIT_AUTHOR_NAME", "CI"])
def test_listed_names_pass(name: str) -> None:
    assert built({name: "value"})[name] == "value"


@pytest.mark.parametrize(
    "name",
    """LD_PRELOAD BASH_ENV ENV PYTHONPATH PYTHONSTARTUP NODE_OPTIONS GIT_DIR GIT_CONFIG_COUNT SSH_AUTH_SOCK
    DBUS_SESSION_BUS_ADDRESS DOCKER_HOST DISPLAY XDG_RUNTIME_DIR KUBECONFIG AWS_PROFILE OPENAI_API_KEY
    MY_TOKEN DB_PASSWORD DATABASE_URL SENTRY_DSN RANDOM_NAME http_proxy""".split(),
)
def test_everything_else_stays_out(name: str) -> None:
    assert name not in built({name: "value"})


@pytest.mark.parametrize("name", ["LD_PRELOAD", "MY_TOKEN", "AWS_ACCESS_KEY_ID"])
def test_even_a_name_that_was_asked_for_is_refused(name: str) -> None:
    policy = replace(POLICY, pass_env=(name, "FINE"))
    assert built({name: "value", "FINE": "yes"}, policy).keys() & {name, "FINE"} == {"FINE"}


@pytest.mark.parametrize(
    "value",
    [
        "https://user:pass@host/",
        "ghp_abcdefghijklmnop",
        "sk-abcdefghijklmnop",
        "AKIAABCDEFGHIJKLMNOP",
        "-----BEGIN RSA PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x",
    ],
)
def test_a_value_that_looks_like_a_secret_stays_out(value: str) -> None:
    assert "CFLAGS" not in built({"CFLAGS": value})
    assert is_secret("ANY", value)


def test_the_search_path_leads_into_no_writable_place() -> None:
    path = "relative:/w/bin:/extra/bin:/usr/bin:/usr/bin::/w/venv/bin"
    policy = replace(POLICY, extra_roots=(Path("/extra"),))
    assert built({"PATH": path}, policy)["PATH"] == "/usr/bin"
    assert built({"PATH": path, "VIRTUAL_ENV": "/w/venv"}, policy)["PATH"] == "/usr/bin:/w/venv/bin"


def test_our_own_programs_are_looked_for_where_commands_cannot_write(tmp_path: Path) -> None:
    inside, link = tmp_path / "w" / ".venv" / "bin", tmp_path / "link"
    inside.mkdir(parents=True)
    link.symlink_to(inside)
    path = f"{inside}:.::{link}:bin:/usr/bin:{tmp_path}/w2/bin"
    assert trusted_path(path, [tmp_path / "w"]) == f"/usr/bin:{tmp_path}/w2/bin"
    assert trusted_path(str(inside), [tmp_path / "w"]).startswith("/usr/local/sbin")
    policy = replace(POLICY, workspace=tmp_path / "w")
    environ = {"PATH": "/usr/bin", "VIRTUAL_ENV": str(inside.parent)}
    for mode in Mode:
        assert built(environ, replace(policy, mode=mode))["PATH"] == f"{inside}:/usr/bin"


def test_a_proxy_is_handed_on_with_the_network_only() -> None:
    environ = {"https_proxy": "http://proxy:3128"}
    assert "https_proxy" in built(environ, replace(POLICY, network=True))


def test_with_the_sandbox_off_only_secrets_are_removed() -> None:
    environ = {"DISPLAY": ":0", "SSH_AUTH_SOCK": "/a", "PATH": "/w/bin:/usr/bin", "OPENAI_API_KEY": "x"}
    variables = built(environ, replace(POLICY, mode=Mode.OFF))
    assert variables["DISPLAY"] == ":0"
    assert variables["PATH"] == "/w/bin:/usr/bin"
    assert "OPENAI_API_KEY" not in variables


@pytest.mark.skipif(os.getuid() != 0, reason="another user can only be become by root")
def test_a_toolchain_that_the_user_may_not_enter_is_left_out(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "import os\n"
        "from sandbox.host import _toolchains\n"
        "os.setresgid(61234, 61234, 61234)\n"
        "os.setresuid(61234, 61234, 61234)\n"
        f"print(list(_toolchains(Path('/nowhere'), Path('/none'), [{str(closed / 'pyenv')!r}])))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
