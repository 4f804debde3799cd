"""A file system of a few megabytes over one folder; a test fills and empties it while programs use it."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.program import Program, Ran, command
from tests.waiting import WAIT_S

MOUNT = 'mount -t tmpfs -o size="$2" none "$1" && echo up && exec cat'
ENTER = 'cd "$1" && shift && exec "$@"'


class SmallDisk:
    """Mounted in a namespace of its own, which ends with the holder; programs are started inside."""

    def __init__(self, holder: int, folder: Path) -> None:
        self._enter = ["nsenter", "-t", str(holder), "-U", "-m", "--preserve-credentials"]
        self._folder = folder
        self.inside = Path(f"/proc/{holder}/root") / folder.relative_to("/")  # seen from outside

    def line(self, program: Program, *argv: str) -> Sequence[str]:
        """What starts the program inside."""
        return [
            *self._enter,
            "sh",
            "-c",
            ENTER,
            "sh",
            str(program.workspace),
            *command(first=program.first),
            *argv,
        ]

    def run(self, program: Program, *argv: str) -> Ran:
        """Run the program inside to its end."""
        line = self.line(program, *argv)
        done = subprocess.run(
            line,
            env=program.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, program: Program, *argv: str) -> "subprocess.Popen[str]":
        """Start the program inside and leave it running."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.line(program, *argv), env=program.environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def fill(self) -> None:
        """Take every byte that is left."""
        with (self.inside / "ballast").open("wb", buffering=0) as ballast:
            for size in (65_536, 4_096, 512):
                with suppress(OSError):
                    while True:
                        ballast.write(b"x" * size)

    def mount_again(self, how: str) -> None:
        """Mount it again, `ro` or `rw`."""
        subprocess.run([*self._enter, "mount", "-o", f"remount,{how}", str(self._folder)], check=True)

    def free(self) -> None:
        """Give it back."""
        (self.inside / "ballast").unlink()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Mount one; skips the test where this machine cannot."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("`unshare` and `nsenter` are needed")
    folder.mkdir(parents=True, exist_ok=True)
    holder = subprocess.Popen(
        ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(folder), size],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None and holder.stdout is not None
    try:
        if holder.stdout.readline() != "up\n":
            pytest.skip("no small file system can be mounted here")
        yield SmallDisk(holder.pid, folder)
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
