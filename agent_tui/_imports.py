"""Pins the four sibling packages to our own copies before anything else is imported.

`tools`, `context`, `sandbox` and `checkpoints` are names that users' projects have too. A hostile
or merely unlucky directory on `PYTHONPATH`, or the current directory that `python -m` puts first,
must never supply them. Uses only `sys` and `os` until the pin holds.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

SIBLINGS = ("tools", "context", "sandbox", "checkpoints")

_PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__))
_BUNDLED_DIR = os.path.join(_PACKAGE_DIR, "_bundled")


def sibling_root() -> str:
    """The one directory that may supply the four siblings: bundled in a wheel, else the checkout."""
    return _BUNDLED_DIR if os.path.isdir(_BUNDLED_DIR) else os.path.dirname(_PACKAGE_DIR)


class SiblingFinder:
    """A meta path finder that resolves exactly the four sibling names, in one directory only."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or fullname not in SIBLINGS:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(fullname, [sibling_root()])
        if spec is None or spec.origin is None:
            raise ImportError(
                f"agent-tui: its own package `{fullname}` is missing from `{sibling_root()}`; reinstall it"
            )
        return spec


def _is_ours(module: ModuleType) -> bool:
    origin = module.__file__
    if origin is None:
        return False
    return os.path.realpath(os.path.dirname(os.path.dirname(origin))) == os.path.realpath(sibling_root())


def _drop_current_directory() -> None:
    """Remove the entry that `-m` and `-c` put first; keep it when it is the checkout we run from."""
    here = os.path.dirname(_PACKAGE_DIR)
    try:
        current = os.getcwd()
    except OSError:  # it was removed: nothing can be imported from it
        current = ""
    if (
        sys.path
        and sys.path[0] in ("", current)
        and os.path.realpath(sys.path[0] or ".") != os.path.realpath(here)
    ):
        del sys.path[0]


def pin() -> None:
    """Install the finder once; raises ImportError when a foreign sibling is already loaded."""
    for name in SIBLINGS:
        module = sys.modules.get(name)
        if module is not None and not _is_ours(module):
            origin = getattr(module, "__file__", None) or getattr(module, "__path__", "unknown place")
            raise ImportError(
                f"agent-tui: `{name}` is already loaded from {origin}; start agent-tui in its own process"
            )
    _drop_current_directory()
    if not any(getattr(finder, "__name__", "") == SiblingFinder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, SiblingFinder)
