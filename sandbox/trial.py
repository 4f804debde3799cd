"""One real start of bwrap, for the probe."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sandbox import seccomp
from sandbox.errors import SandboxError


def run_trial(path: str, state_dir: Path, environ: Mapping[str, str]) -> "ProbeResult":
    from sandbox.probe import ProbeResult

    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.split()[-1]
    try:
        fd = seccomp.filter_fd()
    except SandboxError as error:
        return ProbeResult(available=False, bwrap=path, version=version, seccomp=False, detail=str(error))
    try:
        done = subprocess.run(
            [
                path,
                "--unshare-user",
                "--unshare-pid",
                "--unshare-net",
                "--disable-userns",
                "--cap-drop",
                "ALL",
                "--ro-bind",
                "/",
                "/",
                "--proc",
                "/proc",
                "--dev",
                "/dev",
                "--seccomp",
                str(fd),
                "true",
            ],
            pass_fds=[fd],
            capture_output=True,
            text=True,
            env={},
        )
    finally:
        os.close(fd)
    return ProbeResult(
        available=done.returncode == 0, bwrap=path, version=version, seccomp=True, detail=done.stderr.strip()
    )
