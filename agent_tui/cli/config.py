"""`agent-tui config`: effective settings and the layer each came from."""

import argparse
from pathlib import Path

from agent_tui.config.layers import Settings
from agent_tui.errors import UsageError

_TEMPLATE = """\
# Settings of agent-tui. Every key can also be given as a flag, as `-c KEY=VALUE`, or as an environment
# variable AGENT_TUI_KEY; `agent-tui config show` tells what counts and why.

# One of these is enough to start:
# model = "openai/gpt-5.1"            # key in OPENAI_API_KEY
# model = "ollama/qwen3-coder:30b"    # a local server, no key
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
    if arguments.action == "path":
        print(path)
    elif arguments.action == "init":
        _create(path)
        print(path)
    elif arguments.json:
        import json

        print(json.dumps({key: {"value": v, "layer": layer} for key, v, layer in _rows(settings)}, indent=2))
    else:
        rows = [(key, _shown(value), layer) for key, value, layer in _rows(settings)]
        width = max(len(key) for key, _, _ in rows)
        for key, value, layer in rows:
            print(f"{key:<{width}}  {value}  ({layer})")
        for ignored in settings.ignored:
            print(f"ignored: {ignored.reason}")
    return 0


def _rows(settings: Settings) -> list[tuple[str, object, str]]:
    from agent_tui.config.options import dotted

    return [
        (dotted(key), "set" if key == ("api_key",) and setting.value else setting.value, setting.layer)
        for key, setting in sorted(settings.values.items())
    ]


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value is None else str(value)


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEMPLATE)
    except FileExistsError as error:
        raise UsageError(f"`{path}` exists; edit it, or move it away first") from error
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written: {error.strerror}") from error
