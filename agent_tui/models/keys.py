"""Keys that are not in the environment: printed by a command of the person's, or kept in the keyring.

A key is fetched when the first request needs it, once for each source, and is never part of an error.
"""

import importlib
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

COMMAND_TIMEOUT_S = 30.0  # a password store may ask the person on a screen of its own
MAX_KEY_BYTES = 16 * 1024


class KeyUnavailableError(Exception):
    """No key came; the text is one line and holds nothing of what the source said."""


def as_argv(command: Sequence[str]) -> tuple[str, ...]:
    """A command given as one text is split as a shell splits words; no shell runs it. Raises ValueError."""
    return tuple(shlex.split(command[0]) if len(command) == 1 else command)


@lru_cache(maxsize=32)
def find_key(argv: tuple[str, ...], keyring: str) -> str:
    """The key that `argv` prints, else the one of the keyring's entry `SERVICE/USER`. Blocks.

    Raises KeyUnavailableError, which is not remembered: the next request tries again.
    """
    return _from_command(argv) if argv else _from_keyring(keyring)


def _from_command(argv: tuple[str, ...]) -> str:
    name = f"`api_key_command` ({argv[0]})"
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it must not take the terminal from the interface
        )
    except OSError as error:
        raise KeyUnavailableError(f"{name} cannot be started: {error.strerror}") from error
    try:
        out, _ = process.communicate(timeout=COMMAND_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()  # not for the end of its output: who left the group may hold that open
        if process.stdout is not None:
            process.stdout.close()
        raise KeyUnavailableError(f"{name} printed no key within {COMMAND_TIMEOUT_S:g} s") from error
    if process.returncode != 0:
        raise KeyUnavailableError(f"{name} ended with status {process.returncode}; run it by hand to see why")
    key = out[:MAX_KEY_BYTES].decode("utf-8", "replace").strip()
    if not key or "\n" in key:
        raise KeyUnavailableError(f"{name} must print the key as one line")
    return key


def _from_keyring(entry: str) -> str:
    service, _, user = entry.rpartition("/")
    if not service or not user:
        raise KeyUnavailableError(f"`api_key_keyring` must be written as SERVICE/USER, not `{entry}`")
    try:
        keyring: Any = importlib.import_module("keyring")
    except ImportError as error:
        raise KeyUnavailableError(
            "`api_key_keyring` needs a package: install `agent-tui[keyring]`"
        ) from error
    try:
        key = keyring.get_password(service, user)
    except Exception as error:  # each backend has errors of its own
        raise KeyUnavailableError(
            f"the keyring cannot be read ({type(error).__name__}); unlock it, or use `api_key_env`"
        ) from None
    if not key:
        raise KeyUnavailableError(
            f"the keyring has no entry `{entry}`; add it with `keyring set {service} {user}`"
        )
    return str(key).strip()
