"""Writes one value into the person's settings file, comments and order kept."""

import os
from pathlib import Path

from agent_tui.config.layers import Settings, resolve
from agent_tui.config.paths import CONFIG_NAME
from agent_tui.config.providers import choose
from agent_tui.errors import AgentError, UsageError
from agent_tui.short_path import short_path


def keep_model(name: str, settings: Settings) -> Path:
    """Make a model the one of later starts; returns the file. Raises UsageError where a start without
    today's flags could not use it."""
    later = resolve({}, (), environ=os.environ, directory=settings.workspace, is_trusted=lambda *_: False)
    try:
        chosen = choose(name, later, os.environ)
    except AgentError as error:
        raise UsageError(f"not kept, as a later start could not use it: {error}") from error
    return set_value(settings.config_dir, "model", chosen.name)


def set_value(config_dir: Path, key: str, value: str) -> Path:
    """Set a key of the top table; returns the file. Raises UsageError where it cannot be written."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = config_dir / CONFIG_NAME
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        document = tomlkit.parse(text)
        document[key] = value
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(tomlkit.dumps(document), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise UsageError(f"{short_path(path)}: `{key}` cannot be set: {error.strerror}") from error
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise UsageError(f"{short_path(path)}: `{key}` cannot be set: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{short_path(path)}: `{key}` cannot be set: nested too deeply") from error
    return path
