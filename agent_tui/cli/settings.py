"""From parsed arguments to settings and configuration, for the commands that need them."""

import argparse
import os
from pathlib import Path

from agent_tui import search_path
from agent_tui.attachment import read_image
from agent_tui.config.effective import build
from agent_tui.config.layers import Settings, resolve
from agent_tui.config.options import Value, by_name
from agent_tui.config.values import BadValueError, from_text
from agent_tui.engine.types import Config
from agent_tui.errors import UsageError
from agent_tui.short_path import long_path
from context.items import Image


def whole_text(argument: str) -> str:
    """An argument as text for a model: bytes that are no UTF-8 become the sign for them."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def load(arguments: argparse.Namespace) -> Settings:
    """All layers for this line. Raises UsageError. From here on no program is looked for where commands
    of the model can write, such as a virtual environment of the project."""
    settings = resolve(
        _flags(arguments),
        getattr(arguments, "assignments", ()),
        environ=os.environ,
        directory=_here(),
        is_trusted=_is_trusted,
    )
    beside = [(settings.workspace / long_path(root)).resolve() for root in settings.items("add_dir")]
    search_path.keep_out((settings.workspace, *beside))
    return settings


def configure(arguments: argparse.Namespace, *, interactive: bool) -> tuple[Config, Settings]:
    """The configuration of a run, and the settings for what is not part of it. Raises UsageError."""
    settings = load(arguments)
    return build(settings, os.environ, interactive=interactive), settings


def images(settings: Settings) -> tuple[Image, ...]:
    """The pictures of `--image`, read. Raises UsageError."""
    try:
        return tuple(read_image(long_path(name)) for name in settings.items("image"))
    except UsageError as error:
        raise UsageError(f"--image: {error}") from error


def _flags(arguments: argparse.Namespace) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for dest, given in vars(arguments).items():
        if not dest.startswith("setting_") or given is None:
            continue
        option = by_name(dest.removeprefix("setting_"))
        try:
            found[option.name] = tuple(given) if isinstance(given, list) else from_text(option, given)
        except BadValueError as problem:
            raise UsageError(f"{option.flags[-1]}: {problem}") from problem
    return found


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"the current directory cannot be used: {error.strerror}; `cd` elsewhere") from error


def _is_trusted(state_dir: Path, path: Path, data: bytes) -> bool:
    from agent_tui.config.trust import TrustStore

    return TrustStore(state_dir, path.parent.parent).is_trusted(path, data)
