"""Checks of this machine and these settings, for `agent-tui doctor`. Never prints a key."""

import asyncio
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

from agent_tui import __version__
from agent_tui.config import paths
from agent_tui.config.layers import Settings, unknown_variables
from agent_tui.config.providers import DEMO, HOW_TO_CHOOSE, choose, provider_table, route_to
from agent_tui.engine.types import RULES_FILE, ModelChoice
from agent_tui.errors import UsageError
from agent_tui.figures import count
from agent_tui.frozen import frozen
from agent_tui.models.catalog import CatalogError, find_provider, provider_names
from agent_tui.models.local import find_local_servers
from agent_tui.models.route import is_loopback
from agent_tui.scratch import scratch
from agent_tui.short_path import short_path
from checkpoints.sizes import size_text
from sandbox.errors import SandboxError
from sandbox.policy import Mode
from sandbox.probe import probe

PROVIDER_CODE = 1
CONFIGURATION_CODE = 2
MACHINE_CODE = 5
LIBRARIES = ("openai", "anthropic", "textual", "prompt-toolkit", "tree-sitter", "pyseccomp")
SHOWN_MODELS = 3
ROLES = ("fast_model", "summary_model", "planner_model")


@frozen
class Check:
    """One finding. `exit_code` counts when it failed: the main job cannot run."""

    name: str
    status: Literal["ok", "unset", "warning", "failed"]  # unset: not there, and not needed for this start
    detail: str
    fix: str = ""
    exit_code: int = MACHINE_CODE


def examine(
    settings: Settings | None, problem: str, environ: Mapping[str, str], has_terminal: bool
) -> Iterator[Check]:
    """Every check, in the order of the way of a message; `settings` is None when they have a `problem`."""
    yield _installation()
    yield _libraries()
    yield from _configuration(settings, problem, environ)
    yield _rules(paths.config_dir(environ) / RULES_FILE)
    yield _state(settings, environ)
    yield from _sandbox(settings, environ)
    yield _git()
    if settings is not None:
        yield from _checkpoints(settings)
    yield _search()
    yield _terminal(environ, has_terminal)
    if settings is not None:
        yield from _model(settings, environ)
        yield from _roles(settings, environ)
        yield from _providers(settings, environ)
        yield _local_servers(settings)
    yield Check(name="mcp", status="ok", detail="no servers can be configured in this version")


def _installation() -> Check:
    places = []
    for name in ("agent_tui", "tools", "context", "sandbox", "checkpoints"):
        module = __import__(name)
        places.append(f"{name}: {short_path(Path(module.__file__ or '?').parent)}")
    python = f"agent-tui {__version__}, Python {platform.python_version()}, {short_path(sys.executable)}"
    return Check(name="installation", status="ok", detail=f"{python}; {', '.join(places)}")


def _libraries() -> Check:
    from importlib.metadata import PackageNotFoundError, version

    found, missing = [], []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        detail = f"{', '.join(missing)} cannot be found"
        return Check(name="libraries", status="failed", detail=detail, fix="install agent-tui again")
    return Check(name="libraries", status="ok", detail=", ".join(found))


def _configuration(settings: Settings | None, problem: str, environ: Mapping[str, str]) -> Iterator[Check]:
    user = paths.config_dir(environ) / paths.CONFIG_NAME
    if settings is None:
        yield Check(name="settings", status="failed", detail=problem, exit_code=CONFIGURATION_CODE)
        return
    found = short_path(user) if user.exists() else f"{short_path(user)} does not exist"
    layers = sorted({s.layer for s in settings.values.values() if s.layer != "default"})
    yield Check(
        name="settings", status="ok", detail=f"{found}; layers in use: {', '.join(layers) or 'default'}"
    )
    for ignored in settings.ignored:
        yield Check(name="project settings", status="warning", detail=ignored.reason)
    for told in unknown_variables(environ):
        yield Check(name="environment", status="warning", detail=told)


def _rules(path: Path) -> Check:
    from agent_tui.engine.rules_file import load_rules

    try:
        rules = len(load_rules(path))
    except UsageError as error:
        fix = "mend or move it: a rule that cannot be read may be a denial, so nothing starts"
        detail = short_path(str(error))
        return Check(name="rules", status="failed", detail=detail, fix=fix, exit_code=CONFIGURATION_CODE)
    words = count(rules, "saved approval rule")
    return Check(
        name="rules", status="ok", detail=f"{words} in {short_path(path)}" if rules else "none saved"
    )


def _state(settings: Settings | None, environ: Mapping[str, str]) -> Check:
    folder = settings.state_dir if settings is not None else paths.state_dir(environ)
    problem = state_problem(folder)
    if problem:
        return Check(
            name="state", status="failed", detail=problem, fix="set `AGENT_TUI_STATE_DIR` to one that can"
        )
    free = shutil.disk_usage(_existing(folder)).free
    status: Literal["ok", "warning"] = "ok" if free > 2**30 else "warning"
    return Check(name="state", status=status, detail=f"{short_path(folder)}, {size_text(free)} free")


def state_problem(folder: Path) -> str:
    """Why sessions cannot be kept in a directory; empty when they can. Leaves nothing there."""
    try:
        with tempfile.TemporaryFile(dir=_existing(folder)):
            return ""
    except OSError as error:
        return f"state directory `{short_path(folder)}` cannot be written: {error.strerror}"


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _sandbox(settings: Settings | None, environ: Mapping[str, str]) -> Iterator[Check]:
    folder = settings.state_dir if settings is not None else paths.state_dir(environ)
    try:
        # what is wrong with the state directory has a row of its own
        with scratch("doctor") if state_problem(folder) else nullcontext(folder) as place:
            result = probe(place, refresh=True, environ=environ)
    except SandboxError as error:  # no place for its own files
        yield Check(name="sandbox", status="failed", detail=str(error).removeprefix("sandbox: "))
        return
    except OSError as error:
        detail = f"no directory for temporary files can be made: {error.strerror}"
        yield Check(name="sandbox", status="failed", detail=detail)
        return
    if not result.available:
        is_off = settings is not None and settings.text("sandbox") == Mode.OFF
        status: Literal["warning", "failed"] = "warning" if is_off else "failed"
        yield Check(name="sandbox", status=status, detail=result.detail, fix=result.fix)
        return
    parts = [
        f"{result.bwrap} {result.version}",
        f"{'with' if result.seccomp else 'without'} system call filter",
        f"{'one loopback for a session' if result.shared_network else 'a loopback for each command'}",
    ]
    yield Check(name="sandbox", status="ok", detail=", ".join(parts))
    for lost in result.lost:
        yield Check(name="sandbox", status="warning", detail=f"not on this machine: {lost}", fix=result.fix)


def _git() -> Check:
    from checkpoints.gitprocess import MINIMUM_VERSION, find_git

    path, found = shutil.which("git"), find_git()
    if found is not None:
        version = ".".join(map(str, found.version))
        return Check(name="git", status="ok", detail=f"{found.program}, {version}")
    oldest = ".".join(map(str, MINIMUM_VERSION))
    what = f"`{path}` does not run or is older than {oldest}" if path else "`git` is not installed"
    return Check(
        name="git",
        status="warning",
        detail=f"{what}; checkpoints are plain copies then, never packed",
        fix="apt-get install git",
    )


def _checkpoints(settings: Settings) -> Iterator[Check]:
    from checkpoints.doctor import examine as examine_checkpoints

    for finding in examine_checkpoints(settings.workspace, settings.state_dir):
        status: Literal["ok", "warning"] = "ok" if finding.ok else "warning"
        detail = finding.detail.replace(f"`{Path.home()}/", "`~/")
        yield Check(name="checkpoints", status=status, detail=detail, fix=finding.fix)


def _search() -> Check:
    path = shutil.which("rg")
    if path is None:
        return Check(
            name="search",
            status="warning",
            detail="`rg` is not installed, so searching is slower",
            fix="apt-get install ripgrep",
        )
    return Check(name="search", status="ok", detail=path)


def _terminal(environ: Mapping[str, str], has_terminal: bool) -> Check:
    term = environ.get("TERM", "")
    if not has_terminal:
        detail = "not a terminal; `agent-tui exec` and `--plain` work"
        return Check(name="terminal", status="warning", detail=detail)
    if term in ("", "dumb"):
        return Check(name="terminal", status="warning", detail=f"TERM is `{term}`: line mode is used")
    size = shutil.get_terminal_size()
    detail = f"{term}, {size.columns}×{size.lines}"
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "C"
    if "utf" not in locale.lower():
        told = f"{detail}; the locale `{locale}` is not UTF-8, so signs are ASCII"
        fix = "set `LC_ALL=C.UTF-8`"
        return Check(name="terminal", status="warning", detail=told, fix=fix)
    return Check(name="terminal", status="ok", detail=f"{detail}, {locale}")


def _model(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    name = settings.text("model")
    if not name:
        yield Check(name="model", status="failed", detail=HOW_TO_CHOOSE, exit_code=CONFIGURATION_CODE)
        return
    try:
        choice = choose(name, settings, environ)
    except UsageError as error:
        yield Check(name="model", status="failed", detail=str(error), exit_code=CONFIGURATION_CODE)
        return
    where = f"{choice.api} at {choice.base_url or 'the address of the vendor'}"
    if choice.api == "demo":
        where = "a script"
    origin, window = settings.layer("model"), f"{choice.context_window:,} tokens"
    yield Check(name="model", status="ok", detail=f"{choice.name} ({origin}), {where}, {window}")
    if choice.api != "demo":
        yield _provider(choice, settings, environ)


def _provider(choice: ModelChoice, settings: Settings, environ: Mapping[str, str]) -> Check:
    """Whether it can be reached and takes the key, as a run would: it is asked which models it has."""
    from agent_tui.models.reach import UnreachableError, listed_models

    variable = choice.api_key_env
    asked = listed_models(
        route_to(choice.name, settings), api_key=environ.get(variable, ""), key_name=variable
    )
    try:
        names = asyncio.run(asked)
    except UnreachableError as error:
        told = f"{choice.provider}: {error}"
        return Check(name="provider", status="failed", detail=told, exit_code=PROVIDER_CODE)
    detail = f"{choice.provider} answers" + (f" and names {count(len(names), 'model')}" if names else "")
    wanted = (choice.model, f"{choice.model}:latest")
    if names and is_loopback(choice.base_url) and not any(name in names for name in wanted):
        detail += f", `{choice.model}` not among them: {', '.join(names[:SHOWN_MODELS])}"
        return Check(name="provider", status="warning", detail=detail)
    return Check(name="provider", status="ok", detail=detail)


def _roles(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """The models beside the chosen one; a run goes on without those that cannot be used."""
    named = [(role, name) for role in ROLES if (name := settings.text(role)) and name != "main"]
    for role, name in (*named, *(("fallback", name) for name in settings.items("fallback"))):
        try:
            yield Check(name=role, status="ok", detail=choose(name, settings, environ).name)
        except UsageError as error:
            yield Check(name=role, status="warning", detail=f"not used: {error}")


def _providers(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """Keys of providers; whether the chosen one needs one is told where the model is."""
    table, chosen = provider_table(settings), (settings.text("model") or "").partition("/")[0]
    for name in provider_names(table):
        try:
            provider = find_provider(name, table)
        except CatalogError as error:
            yield Check(name=name, status="warning", detail=str(error))
            continue
        if provider.local or name == DEMO:
            continue
        if provider.api_key_command or provider.api_key_keyring:
            where = "api_key_command" if provider.api_key_command else "api_key_keyring"
            yield Check(name=name, status="ok", detail=f"key from `{where}`, fetched with the first request")
            continue
        if not provider.api_key_env:
            continue
        if environ.get(provider.api_key_env):
            yield Check(name=name, status="ok", detail=f"{provider.api_key_env} is set")
        elif name != chosen:
            yield Check(
                name=name, status="unset", detail="no key", fix=f"set `{provider.api_key_env}` to use it"
            )


def _local_servers(settings: Settings) -> Check:
    found = asyncio.run(find_local_servers(provider_table(settings)))
    if not found:
        detail = "none answers on the usual ports of this machine"
        return Check(name="local servers", status="unset", detail=detail)
    told = (f"{each.provider} at {each.base_url}: {', '.join(each.models[:SHOWN_MODELS])}" for each in found)
    return Check(name="local servers", status="ok", detail="; ".join(told))
