"""Tells what the sandbox refused from an ordinary failure, by evidence, and names the smallest grant.

A message alone proves nothing: `Permission denied` is common everywhere. A path counts only when
this user could use it outside and the policy keeps it from the command; a host only when the
network is off.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from agent_tui.frozen import frozen
from sandbox import host
from sandbox.evidence import Reach, existing
from sandbox.policy import Mode, Policy

_TAIL_CHARACTERS = 64 * 1024
_MOST_LINES = 400
_LONGEST_PATH = 4096

Grant = Literal["read_path", "write_path", "host", "git_lane", "network", "no_sandbox"]


@frozen
class Denial:
    """One refusal. `grant` would have let it work; `detail` is its path, its host, or what was asked."""

    grant: Grant
    detail: str
    text: str  # what happened, for model and person, behind words that name the sandbox


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_READ_ONLY = _words("read-only file system", "erofs", "os error 30", "errno 30")
_FORBIDDEN = _words("permission denied", "eacces", "operation not permitted")
_ABSENT = _words(
    "no such file or directory", "enoent", "does not exist", "not found", "cannot find", "can't open"
)
_NO_COMMAND = re.compile(r"(?:^|[\s:])([\w.+-]+): (?:command )?not found\b")
_NETWORK = _words(
    "network is unreachable",
    "enetunreach",
    "could(?: not|n't) resolve host",
    "name or service not known",
    "temporary failure in name resolution",
    "eai_again",
    "enotfound",
    "getaddrinfo",
    "failed to lookup address",
    "no such host",
    "dial tcp",
    "(?:unable|failed) to resolve",
)
_NAME = r"([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
_HOSTS = (
    re.compile(r"(?:https?|ssh|git|ftp)://(?:[^\s/@]*@)?([A-Za-z0-9.-]+)"),
    re.compile(
        rf"(?:host(?:name)?|lookup|resolv\w+|ENOTFOUND|EAI_AGAIN)[:=]?\s*['\"(]*{_NAME}", re.IGNORECASE
    ),
    re.compile(rf"{_NAME}:\d+"),
)
_PORT = re.compile(r":(\d{1,5})\b")
_PORTS = {"http": 80, "ssh": 22, "git": 9418, "ftp": 21}
_SYSTEM = (
    (
        _words("unshare failed", "no permissions to create (?:a )?new namespace"),
        "making namespaces of its own",
    ),
    (_words("mount: .*(?:permission denied|not permitted)", "must be superuser to use mount"), "mounting"),
    (_words("perf_event_open", "perf_event_paranoid"), "the kernel's performance counters"),
    (_words("address family not supported", "eafnosupport"), "sockets other than unix and internet ones"),
)
# who speaks, which is never what was refused
_SPEAKER = re.compile(r"(?:\S*/)?(?:ba|da|k|mk|z)?sh: (?:line )?\d+: |/\S*/(?:ba|da|k|mk|z)?sh: ")
_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|`([^`\n]+)`|‘([^’\n]+)’")


def find(
    output: str, *, policy: Policy, cwd: Path, environ: Mapping[str, str] | None = None
) -> Denial | None:
    """The first refusal that the output of a failed command gives evidence of, or None."""
    if policy.mode is Mode.OFF:
        return None
    variables = os.environ if environ is None else environ
    reach = Reach(policy=policy, home=host.home(variables), environ=variables)
    for line in output[-_TAIL_CHARACTERS:].splitlines()[-_MOST_LINES:]:
        denial = _judge(line, reach, cwd)
        if denial:
            return denial
    return None


def _judge(line: str, reach: Reach, cwd: Path) -> Denial | None:
    if _READ_ONLY.search(line):
        return _first(line, reach, cwd, partial(_write, certain=True))
    if _FORBIDDEN.search(line):
        return _first(line, reach, cwd, partial(_write, certain=False)) or _system(line)
    if not reach.policy.network and _NETWORK.search(line):
        return _network(line, reach.policy)
    if _ABSENT.search(line):
        return _first(line, reach, cwd, _read) or _command(line, reach)
    return _system(line)


def _first(
    line: str, reach: Reach, cwd: Path, judge: Callable[[Path, Reach], Denial | None]
) -> Denial | None:
    return next(filter(None, (judge(place, reach) for place in _paths(line, reach.home, cwd))), None)


def _paths(line: str, home: Path, cwd: Path) -> Iterator[Path]:
    """Everything in a line that may be a path: quoted, between colons, or a word with a slash."""
    if speaker := _SPEAKER.match(line):
        line = line[speaker.end() :]
    quoted = [next(filter(None, found)) for found in _QUOTED.findall(line)]
    pieces = re.split(r":\s|\s-\s|[()]", line)
    words = [word for word in re.split(r"[\s,;()]+", line) if "/" in word]
    for found in (*quoted, *pieces, *words):
        text = found.strip(" :,'\"`")
        if not text or len(text) > _LONGEST_PATH or "\0" in text:
            continue
        if "/" in text or text.startswith((".", "~")):
            place = home / text[2:] if text.startswith("~/") else cwd / text
            place = Path(os.path.normpath(place))
            if " " not in text or place.parent.is_dir():  # else a sentence that holds a path
                yield place


def _write(place: Path, reach: Reach, *, certain: bool) -> Denial | None:
    if not reach.refuses_writing(place, certain=certain):
        return _read(place, reach)
    if reach.is_lane_matter(place):
        return _denial("git_lane", str(place), f"write to git data denied: {_short(place, reach)}")
    named = place if place.is_relative_to(reach.policy.workspace) else existing(place)
    what = f"write to {_short(place, reach)} denied"
    wide = named != reach.policy.workspace and reach.policy.workspace.is_relative_to(named)
    if wide or reach.home.is_relative_to(named):  # to let it make a file there all of that had to be granted
        return _denial("no_sandbox", str(place), what)
    return _denial("write_path", str(named), what)


def _read(place: Path, reach: Reach) -> Denial | None:
    named = place if os.path.lexists(place) else place.parent
    if not reach.refuses_reading(named):
        return None
    return _denial("read_path", str(named), f"not visible in it: {_short(named, reach)}")


def _command(line: str, reach: Reach) -> Denial | None:
    found = _NO_COMMAND.search(line)
    program = shutil.which(found[1], path=reach.environ.get("PATH", os.defpath)) if found else None
    return _read(Path(program).resolve().parent, reach) if program else None


def _network(line: str, policy: Policy) -> Denial:
    """The host is the grant where it is known, but for a program that does not take the way to single hosts
    that it had. Where the port is not, it is asked about once the program tries it."""
    from sandbox.targets import spelled

    found = next((found for pattern in _HOSTS if (found := pattern.search(line))), None)
    if found is None:
        return _denial("network", "", "reaching the network, as the network is off")
    what = f"reaching `{found[1]}`, as the network is off"
    port = _PORT.match(line, found.end(1))
    try:
        target = spelled(f"{found[1]}:{port[1] if port else _PORTS.get(found[0].partition(':')[0], 443)}")
    except ValueError:
        return _denial("network", found[1], what)
    if target.address or policy.hosts:
        return _denial("network", found[1], what)
    return _denial("host", str(target), what)


def _system(line: str) -> Denial | None:
    what = next((what for pattern, what in _SYSTEM if pattern.search(line)), None)
    return _denial("no_sandbox", what, f"not allowed in it: {what}") if what else None


def _short(place: Path, reach: Reach) -> str:
    return f"~/{place.relative_to(reach.home)}" if place.is_relative_to(reach.home) else str(place)


def _denial(grant: Grant, detail: str, what: str) -> Denial:
    return Denial(grant=grant, detail=detail, text=what)
