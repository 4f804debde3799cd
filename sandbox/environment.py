"""The environment of a command: built from an allow list, never by removing from ours.

It becomes bwrap's own environment too, because `/proc/1/environ` is readable inside.
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import cache, lru_cache
from pathlib import Path

from sandbox.policy import Mode, Policy

_ALLOWED = tuple(
    """
    LANG LC_* TZ TERM COLORTERM USER LOGNAME SHELL NO_COLOR CI
    JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN NVM_DIR PYENV_ROOT PYENV_VERSION
    VIRTUAL_ENV CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS
    GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
    """.split()
)
_ALLOWED_WITH_NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")

_SECRET_NAMES = tuple(
    """
    *TOKEN* *_KEY *SECRET* *PASSW* *CREDENTIAL* *_DSN DATABASE_URL AWS_* AZURE_* GOOGLE_* GCP_* AGENT_TUI_*
    """.split()
)
_NEVER = (
    *_SECRET_NAMES,
    *"""
    LD_* BASH_ENV ENV PROMPT_COMMAND PYTHONSTARTUP PYTHONPATH PERL5OPT PERL5LIB NODE_OPTIONS RUBYOPT
    JAVA_TOOL_OPTIONS GIT_* SSH_AUTH_SOCK DBUS_* DOCKER_* DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR
    GNUPGHOME KUBECONFIG
    """.split(),
)
_GIT_IDENTITY = frozenset(
    {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}
)

_SECRET_VALUE = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|://[^/\s:@]+:[^/\s@]+@"
    r"|\b(gh[pousr]_|github_pat_|glpat-|xox[abprs]-|npm_|pypi-|sk-|rk_live_|AIza|hf_|dop_v1_)[A-Za-z0-9_\-]{8,}"
    r"|\b(AKIA|ASIA)[A-Z0-9]{12,}"
    r"|\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\."
)

_FIXED = {
    "TMPDIR": "/tmp",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
}
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def is_secret(name: str, value: str) -> bool:
    """Whether a variable must never reach a command, by its name or by the look of its value."""
    return _matches(name.upper(), _SECRET_NAMES) or re.search(_SECRET_VALUE, value) is not None


def build(
    policy: Policy, environ: Mapping[str, str], *, home: Path, cwd: Path, tty: bool = False
) -> dict[str, str]:
    """The variables for a command of `policy`; with the sandbox off only secrets are removed."""
    if policy.mode is Mode.OFF:
        kept = {name: value for name, value in environ.items() if not is_secret(name, value)}
        fixed = {name: value for name, value in _FIXED.items() if name != "TMPDIR"}
    else:
        allowed = _ALLOWED + policy.pass_env + (_ALLOWED_WITH_NETWORK if policy.network else ())
        kept = {name: value for name, value in environ.items() if _passes(name, value, allowed)}
        fixed = _FIXED
    path = search_path(policy, environ)
    return {**kept, **fixed, **_terminal(environ, tty=tty), "PATH": path, "HOME": str(home), "PWD": str(cwd)}


@lru_cache(maxsize=1024)  # the same variables for every command
def _passes(name: str, value: str, allowed: tuple[str, ...]) -> bool:
    if name not in _GIT_IDENTITY and _matches(name.upper(), _NEVER):
        return False
    if re.search(_SECRET_VALUE, value):
        return False
    return _matches(name, allowed)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return _compiled(patterns).match(name) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern) for pattern in patterns))


def _terminal(environ: Mapping[str, str], *, tty: bool) -> dict[str, str]:
    language = environ.get("LC_ALL") or environ.get("LANG") or ""
    chosen = {} if "utf" in language.lower() else {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    return chosen | ({"TERM": "xterm-256color"} if tty else {"TERM": "dumb", "NO_COLOR": "1"})


def search_path(policy: Policy, environ: Mapping[str, str]) -> str:
    """Where a command of `policy` finds programs: absolute entries outside the writable roots, but for
    a virtual environment, which may lie inside them; with the sandbox off everything."""
    path, virtual_env = environ.get("PATH", _DEFAULT_PATH), environ.get("VIRTUAL_ENV")
    roots = (policy.workspace, *policy.extra_roots, *policy.writable)
    if policy.mode is not Mode.OFF:
        path = _outside(path, virtual_env, roots)
    return _with_venv(path, virtual_env, roots) if virtual_env else path


@lru_cache(maxsize=64)  # the same for every command
def _outside(path: str, virtual_env: str | None, roots: tuple[Path, ...]) -> str:
    kept: dict[str, None] = {}
    for entry in path.split(":"):
        place = Path(entry)
        in_venv = virtual_env and place.is_relative_to(virtual_env)
        if place.is_absolute() and (in_venv or not any(place.is_relative_to(root) for root in roots)):
            kept[entry] = None
    return ":".join(kept) or _DEFAULT_PATH


def _with_venv(path: str, virtual_env: str, roots: Iterable[Path]) -> str:
    """First the project's virtual environment, which our own path is without (`trusted_path`)."""
    place = Path(virtual_env) / "bin"
    is_ours = any(place.is_relative_to(root) for root in roots) and place.is_dir()
    return f"{place}:{path}" if is_ours and str(place) not in path.split(":") else path


def trusted_path(path: str, roots: Iterable[Path]) -> str:
    """A search path for what we run outside the sandbox ourselves: without entries that commands can
    write to, an active virtual environment of the project among them, and without relative ones."""
    closed = tuple(roots)
    kept = [
        entry
        for entry in path.split(":")
        if entry.startswith("/") and not any(Path(entry).resolve().is_relative_to(root) for root in closed)
    ]
    return ":".join(kept) or _DEFAULT_PATH
