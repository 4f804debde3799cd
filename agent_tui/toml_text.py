"""Reads TOML that a person wrote: whatever is in it, what is wrong is one kind of error."""

import tomllib
from typing import Any


def toml_table(text: str) -> dict[str, Any]:
    """What TOML says; raises TOMLDecodeError, for what is no mistake in it but more than is read too."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise tomllib.TOMLDecodeError("nested too deeply") from error
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # of `int`
        raise tomllib.TOMLDecodeError("a number with too many digits") from error
