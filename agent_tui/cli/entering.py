"""A key or an address that a person types at a first start; what is mistyped is said and asked again."""

import os
import re
from collections.abc import Callable, Sequence
from getpass import getpass

from agent_tui.config.layers import Settings
from agent_tui.config.providers import KEY_VARIABLE, choose
from agent_tui.errors import UsageError
from agent_tui.frozen import frozen
from agent_tui.models.catalog import Provider
from agent_tui.models.local import ListingError, list_models
from agent_tui.safe_text import one_line, visible

LEAVE = "q"
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")  # no vendor's key looks like this
_WEB = ("http://", "https://")
_BARE_ADDRESS = re.compile(r"[\w.-]+:\d+(/.*)?")


@frozen
class Choice:
    """A model for this start; `demo` for the demo in its place."""

    model: str = ""
    base_url: str = ""
    demo: bool = False
    keep: bool = False  # as the default of later starts, with the address


def ask_line(prompt: str, read: Callable[[str], str] = input) -> str:
    """What was typed; `q` where there is no more input."""
    try:
        return read(prompt).strip()
    except EOFError:
        print()
        return LEAVE


def entered_key(providers: Sequence[Provider]) -> Choice | None:
    """A provider, its key and one of its models; None to go back. The key stays in this process; the name
    of a variable may be given in its place."""
    known = {p.name: p for p in providers if p.api_key_env and not p.needs_base_url}
    names = ", ".join(known)
    name = _insist(f"Provider ({names})> ", lambda given: "" if given in known else f"not one of {names}")
    if not name:
        return None
    given = _insist(
        "Key (not shown, kept for this session only), or the name of a variable> ", _key_problem, getpass
    )
    if not given:
        return None
    os.environ[known[name].api_key_env] = os.environ.get(given, given)
    model = _entered_model(list(known[name].table.get("models", {})))
    return Choice(model=f"{name}/{model}") if model else None


def entered_address(settings: Settings) -> Choice | None:
    """A model by name, or the address of a server and one of the models that it names; None to go back."""
    models: list[str] = []

    def problem(given: str) -> str:
        try:
            if given.startswith(_WEB):
                models[:] = list_models(given, api_key=os.environ.get(KEY_VARIABLE, ""))
            elif _BARE_ADDRESS.fullmatch(given):
                return f"an address begins with http:// or https://, such as http://{given}"
            else:
                choose(given, settings, os.environ)
        except (ListingError, UsageError) as error:
            return str(error)
        return ""

    given = _insist("Address such as http://127.0.0.1:8000/v1, or PROVIDER/MODEL> ", problem)
    if not given.startswith(_WEB):
        return Choice(model=given) if given else None
    print("\n".join(f"  {one_line(name, strict=True)}" for name in models))
    model = _entered_model(models)
    if not model:
        return None
    keep = ask_line("Keep it as the default of later starts? [y/N] ").lower() in ("y", "yes")
    return Choice(model=f"compatible/{model}", base_url=given, keep=keep)


def _insist(prompt: str, problem: Callable[[str], str], read: Callable[[str], str] = input) -> str:
    """What was typed once there is no problem with it; empty where the person wants to go back."""
    while (given := ask_line(prompt, read)) not in ("", LEAVE):
        said = problem(given)
        if not said:
            return given
        print(visible(f"{said}; try again, or Enter to go back", strict=True))
    return ""


def _key_problem(given: str) -> str:
    """What was typed may be a key, so it is never shown."""
    if _VARIABLE.fullmatch(given) and not os.environ.get(given):
        return "that looks like a variable, and none of this name is set"
    return ""


def _entered_model(models: Sequence[str]) -> str:
    first = models[0] if models else ""
    given = ask_line(f"Model ({one_line(first, strict=True)})> " if first else "Model> ") or first
    return "" if given == LEAVE else given
