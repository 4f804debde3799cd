"""Runs git on the shadow store, with an environment that is built up, never inherited.

Nothing of the user's git configuration, environment, hooks or templates has an effect: every
`GIT_*` variable is ours, system and global configuration are off, and no command ever gets the
user's repository as its own.
"""

import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

from agent_tui.frozen import frozen
from checkpoints.types import CheckpointError

MINIMUM_VERSION = (2, 25)
_INHERITED = ("PATH", "TMPDIR")  # all that git needs from outside


class GitError(CheckpointError):
    """A git process failed, timed out or answered nonsense."""


@frozen
class Git:
    """A usable git program."""

    program: str
    version: tuple[int, ...]


@lru_cache(maxsize=4)
def find_git(search_path: str | None = None) -> Git | None:
    """The git on the search path, or None when there is none or it is older than 2.25."""
    program = shutil.which("git", path=search_path)
    if program is None:
        return None
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, timeout=10, env=environment(), check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", answer.stdout)
    version = tuple(int(part) for part in found.groups(b"0")) if found else (0,)
    return Git(program=program, version=version) if version >= MINIMUM_VERSION else None


def environment(git_dir: str = "") -> dict[str, str]:
    """The whole environment of a git process."""
    built = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    built |= {
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PAGER": "cat",
    }
    if git_dir:
        built |= {"GIT_DIR": git_dir, "GIT_CEILING_DIRECTORIES": os.path.dirname(git_dir)}
    return built


def index_pack(git: Git, path: str, *, timeout_s: float) -> None:
    """Make the index of a pack, and check its content; raises GitError.

    Outside any repository, as git would compare each object with those that are there already: one
    damaged pack would then keep every later one out.
    """
    folder = os.path.dirname(path)
    built = environment() | {"GIT_CEILING_DIRECTORIES": os.path.dirname(folder)}
    _run(git, ["index-pack", path], timeout_s=timeout_s, stdin=b"", cwd=folder, env=built)


def run(
    git: Git, git_dir: str, arguments: Sequence[str | bytes], *, timeout_s: float, stdin: bytes = b""
) -> bytes:
    """Run one git command on the store and return its output; raises GitError."""
    return _run(git, arguments, timeout_s=timeout_s, stdin=stdin, cwd=git_dir, env=environment(git_dir))


def _run(
    git: Git,
    arguments: Sequence[str | bytes],
    *,
    timeout_s: float,
    stdin: bytes,
    cwd: str,
    env: Mapping[str, str],
) -> bytes:
    shown = " ".join(os.fsdecode(argument) for argument in arguments[:2])
    try:
        answer = subprocess.run(
            [git.program, *arguments],
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            env=env,
            cwd=cwd,
            process_group=0,  # the terminal's Ctrl-C is not meant for it
        )
    except subprocess.TimeoutExpired as error:
        raise GitError(f"`git {shown}` on the checkpoint store took longer than {timeout_s:g} s") from error
    except OSError as error:
        raise GitError(f"`git {shown}` cannot be started: {error}") from error
    if answer.returncode != 0:
        reason = answer.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise GitError(f"`git {shown}` failed on `{cwd}`: {reason[-1]}")
    return answer.stdout


class ObjectReader:
    """A long-lived `git cat-file --batch`, for objects that are in packs."""

    def __init__(self, git: Git, git_dir: str, *, timeout_s: float = 10.0) -> None:
        self._git = git
        self._git_dir = git_dir
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()

    def read(self, oid: bytes) -> tuple[str, bytes] | None:
        """Type and content, or None when the object is missing; raises GitError."""
        process = self._started()
        deadline = time.monotonic() + self._timeout_s
        try:
            assert process.stdin is not None
            process.stdin.write(oid.hex().encode() + b"\n")
            process.stdin.flush()
            head = self._line(process, deadline).split()
            if len(head) != 3:
                return None
            content = self._exactly(process, int(head[2]) + 1, deadline)[:-1]
        except (OSError, ValueError, GitError) as error:
            self.close()
            raise GitError(f"`git cat-file` on `{self._git_dir}` failed: {error}") from error
        return head[1].decode(), content

    def close(self) -> None:
        """End the process; the next read starts another."""
        process, self._process = self._process, None
        self._buffer.clear()
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # the process is gone already, which is what is wanted
                    continue
        process.kill()
        process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [self._git.program, "cat-file", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(self._git_dir),
                cwd=self._git_dir,
                process_group=0,
            )
        return self._process

    def _line(self, process: subprocess.Popen[bytes], deadline: float) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            self._fill(process, deadline)
        return self._take(end + 1)

    def _exactly(self, process: subprocess.Popen[bytes], count: int, deadline: float) -> bytes:
        while len(self._buffer) < count:
            self._fill(process, deadline)
        return self._take(count)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _fill(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise GitError("no answer in time")
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            raise GitError("it ended")
        self._buffer += piece


def options(settings: Mapping[str, str]) -> list[str]:
    """`-c` options of a command."""
    return [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
