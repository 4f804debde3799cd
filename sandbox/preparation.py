"""Gathers what one sandboxed command needs before bwrap is started."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox import host
from sandbox.bwrap import Host, Kind, Mount
from sandbox.errors import SandboxError
from sandbox.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """Facts and mounts of one command."""

    host: Host
    pins: tuple[Mount, ...]
    granted: tuple[Mount, ...]


def prepare(policy: Policy, environ: Mapping[str, str]) -> Preparation:
    """Look at the machine and the workspace; raises `SandboxError` for an impossible policy."""
    home_dir = host.home(environ)
    if policy.workspace == Path("/"):
        raise SandboxError("sandbox: the workspace cannot be `/`; start in a project directory")
    cache_dir = host.private_dir(cache_place(policy))
    return Preparation(
        host=host.look(policy, home_dir, cache_dir, environ),
        pins=(),
        granted=tuple(_granted(policy)),
    )


def cache_place(policy: Policy) -> Path:
    """The private `~/.cache` of a workspace: shared caches would carry files between projects."""
    name = hashlib.sha256(os.fsencode(policy.workspace)).hexdigest()[:16]
    return policy.state_dir / "sandbox" / "caches" / name


def _granted(policy: Policy) -> list[Mount]:
    found = [_grant(Kind.READ, path) for path in policy.readable]
    return found + [_grant(Kind.WRITE, path) for path in (*policy.extra_roots, *policy.writable)]


def _grant(kind: Kind, path: Path) -> Mount:
    try:
        state = path.stat()
    except OSError as error:
        raise SandboxError(f"sandbox: cannot grant `{path}`: {error.strerror}") from error
    return Mount(kind=kind, source=str(path), target=str(path), identity=(state.st_dev, state.st_ino))
