"""Where settings and state live."""

from collections.abc import Mapping
from pathlib import Path

CONFIG_NAME = "config.toml"
PROJECT_CONFIG = Path(".agent-tui") / CONFIG_NAME


def config_dir(environ: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/agent-tui`."""
    return _base(environ, "XDG_CONFIG_HOME", ".config") / "agent-tui"


def state_dir(environ: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/agent-tui`."""
    return _base(environ, "XDG_STATE_HOME", ".local/state") / "agent-tui"


def _base(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    value = Path(environ.get(variable, ""))
    if value.is_absolute():  # the XDG base directory specification: relative ones are to be ignored
        return value
    return Path(environ.get("HOME") or Path.home()) / below_home
