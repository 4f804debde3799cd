"""Leaves packages of an SDK unexecuted until something asks for a name in them.

The SDKs import every type of every endpoint when they are imported, and a request needs a dozen of
them. This uses the import system's own extension points and changes nothing of an SDK: a deferred
package that is asked for a name runs as it is and then behaves as ever. Where that does not work with
some version, the caller imports without it.
"""

import importlib.machinery
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _DeferredLoader(Loader):
    """Runs a package's code on the first request for one of its names."""

    def __init__(self, inner: Loader) -> None:
        self._inner = inner
        self._lock = threading.RLock()
        self._has_begun = False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        def run_and_get(name: str) -> Any:
            # Whoever looks modules over (pickle, inspect, warnings) asks for such names: no need to run.
            if name.startswith("__") and name != "__all__":
                raise AttributeError(name)
            self._run(module, run_and_get)
            try:
                return module.__dict__[name]
            except KeyError:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}") from None

        module.__dict__["__getattr__"] = run_and_get

    def _run(self, module: ModuleType, hook: Any) -> None:
        with self._lock:
            if self._has_begun:  # a circular import finds the names that are there by now
                return
            self._has_begun = True
            try:
                self._inner.exec_module(module)
            except BaseException:
                self._has_begun = False
                raise
            if module.__dict__.get("__getattr__") is hook:
                del module.__dict__["__getattr__"]


class _Finder:
    """Defers `packages` and every package below them."""

    packages: tuple[str, ...] = ()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not any(fullname == each or fullname.startswith(each + ".") for each in self.packages):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None and spec.submodule_search_locations is not None:
            spec.loader = _DeferredLoader(spec.loader)
        return spec


_FINDER = _Finder()


@contextmanager
def deferring(package: str) -> Iterator[None]:
    """Packages `package` and below that are imported inside the block run when they are needed.

    The finder stays in place and finds nothing outside the block: taken away while another thread goes
    through the list for a module of its own, it would make that thread pass over the finder behind it.
    """
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.packages += (package,)
    try:
        yield
    finally:
        _FINDER.packages = tuple(each for each in _FINDER.packages if each != package)
