"""`agent-tui config`: effective settings and the layer each came from."""

import argparse
import json
from pathlib import Path

from agent_tui.config.layers import ENVIRONMENT, PROJECT, USER, Settings
from agent_tui.config.options import Key, dotted, find
from agent_tui.config.paths import PROJECT_CONFIG
from agent_tui.config.telling import shown_value, told
from agent_tui.errors import UsageError
from agent_tui.models.example import EXAMPLE_LOCAL_MODEL, EXAMPLE_MODEL
from agent_tui.safe_text import one_line
from agent_tui.short_path import short_path

_TEMPLATE = f"""\
# Settings of agent-tui. Every key can also be given as a flag, as `-c KEY=VALUE`, or as an environment
# variable AGENT_TUI_KEY; `agent-tui config show` tells what counts and why.

# One of these is enough to start:
# model = "{EXAMPLE_MODEL}"        # key in OPENAI_API_KEY
# model = "{EXAMPLE_LOCAL_MODEL}"    # a local server, no key
# model = "compatible/my-model"       # any OpenAI-compatible server: see below

# sandbox = "workspace-write"         # read-only, workspace-write, off
# approval = "on-request"             # untrusted, on-request, never

# [providers.compatible]
# base_url = "http://127.0.0.1:8000/v1"
# api_key_env = "MY_KEY"              # a variable; keys are never kept in files
# [providers.compatible.models."my-model"]
# context_window = 32000
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `config` takes."""
    parser.add_argument("action", nargs="?", choices=("show", "path", "init"), default="show")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Show, locate or create settings."""
    from agent_tui.cli.settings import load

    settings = load(arguments)
    path = settings.config_dir / "config.toml"
    if arguments.action == "show":
        _show(settings, path, as_json=arguments.json)
        return 0
    if arguments.action == "init":
        _create(path)
    print(json.dumps({"path": str(path)}) if arguments.json else path)
    return 0


def _show(settings: Settings, path: Path, *, as_json: bool) -> None:
    found = sorted(settings.values.items(), key=lambda item: item[0])
    words = told(settings)
    if as_json:
        facts = {
            dotted(key): {
                "value": shown_value(key, setting),
                "means": words[dotted(key)],
                "layer": setting.layer,
            }
            for key, setting in found
        }
        print(json.dumps(facts, indent=2))
        return
    width = max(map(len, words))
    for key, setting in found:
        name = dotted(key)
        print(one_line(f"{name:<{width}}  {words[name]}  ({_origin(key, setting.layer)})", strict=True))
    layers = {setting.layer for setting in settings.values.values()}
    for layer, file in ((USER, path), (PROJECT, settings.workspace / PROJECT_CONFIG)):
        if layer in layers:
            print(one_line(f"{layer}: {short_path(file)}", strict=True))
    for ignored in settings.ignored:
        print(one_line(f"ignored: {ignored.reason}", strict=True))


def _origin(key: Key, layer: str) -> str:
    option = find(key)
    if layer == ENVIRONMENT and option is not None:
        return f"{layer} {option.environment}"
    return layer


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEMPLATE)
    except FileExistsError as error:
        raise UsageError(f"`{path}` exists; edit it, or move it away first") from error
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written: {error.strerror}") from error
