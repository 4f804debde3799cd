"""Writes values into the person's settings file, comments and order kept."""

import errno
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_tui import kept_file
from agent_tui.config.layers import USER, Setting, Settings, resolve
from agent_tui.config.options import Key, dotted
from agent_tui.config.paths import CONFIG_NAME
from agent_tui.config.providers import base_url_of, choose, provider_table
from agent_tui.errors import AgentError, UsageError
from agent_tui.models.catalog import find_provider
from agent_tui.models.route import CatalogError
from agent_tui.short_path import short_path


def keep_model(name: str, settings: Settings, address: str = "") -> Path:
    """Make a model the one of later starts, with the address that only today's start knows: `address`, or the
    one of a flag. Returns the file. Raises UsageError where a later start could not use the model."""
    later = resolve({}, (), environ=os.environ, directory=settings.workspace, is_trusted=lambda *_: False)
    provider = name.partition("/")[0]
    key = ("providers", provider, "base_url")
    values: dict[Key, str] = {("model",): name}
    if address or _needs_address(name, settings, later):
        values[key] = address or base_url_of(name, settings)
        later = replace(later, values={**later.values, key: Setting(value=values[key], layer=USER)})
    try:
        values["model",] = choose(name, later, os.environ).name
    except AgentError as error:
        raise UsageError(f"not kept, as a later start could not use it: {error}") from error
    return set_values(settings.config_dir, values)


def _needs_address(name: str, settings: Settings, later: Settings) -> bool:
    """Whether the provider is a server at an address, and only today's start says which."""
    try:
        provider = find_provider(name.partition("/")[0], provider_table(later))
    except CatalogError:
        return False
    known = provider.base_url or base_url_of(name, later)
    return provider.needs_base_url and not known and bool(base_url_of(name, settings))


def set_values(config_dir: Path, values: Mapping[Key, str]) -> Path:
    """Set keys; returns the file. Raises UsageError where it cannot be written."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = config_dir / CONFIG_NAME
    told = "`, `".join(map(dotted, values))
    try:
        with kept_file.locked(config_dir):
            if path.exists() and not path.stat().st_mode & 0o222:
                raise PermissionError(errno.EACCES, "the file is read-only")
            text = path.read_bytes().decode("utf-8") if path.exists() else ""
            document = tomlkit.parse(text)
            for key, value in values.items():
                table: Any = document
                for segment in key[:-1]:
                    table = table.setdefault(segment, tomlkit.table(is_super_table=segment == "providers"))
                table[key[-1]] = value
            kept_file.write(path, tomlkit.dumps(document))
    except OSError as error:
        raise UsageError(f"{short_path(path)}: `{told}` cannot be set: {error.strerror}") from error
    except (AttributeError, TypeError) as error:  # another program made it no table
        raise UsageError(f"{short_path(path)}: `{told}` cannot be set: a table is expected there") from error
    except (TOMLKitError, UnicodeError) as error:
        raise UsageError(f"{short_path(path)}: `{told}` cannot be set: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{short_path(path)}: `{told}` cannot be set: nested too deeply") from error
    return path
