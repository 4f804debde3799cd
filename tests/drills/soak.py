"""A long session under everything at once, in an order that a seed decides: what leaks or breaks shows here.

Real processes of the program, one after the other on one session, play a script of model steps: calls
that work and calls that fail, errors of the provider, cut streams, answers. Meanwhile somebody steers,
queues, interrupts, kills, rolls back and takes that back. The window is small, so compactions come too.
A process lives for some turns: what leaks within one shows only in a long life, and a start costs as much
as a dozen steps.
"""

import json
import os
import random
import signal
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.drills.place import Place
from tests.e2e.project import call
from tests.program import Program
from tests.waiting import WAIT_S, until

WINDOW = 24_000  # tokens: full after some tens of steps
FILES = 12  # the workspace stays small, so that what grows is ours
ERROR = {"error": {"message": "scripted", "type": "server_error"}}
SETTINGS = f"""max_idle_steps = 0
[providers.compatible.models.scripted]
context_window = {WINDOW}
max_output = 2000
"""
SLOW_S = 600.0
LONG = 1_000  # steps
SETTLED = 2  # turns of a process until all that it keeps open is open
LIVES, SHORT_LIVES = range(6, 15), range(1, 4)  # turns of a process; short, so that some fit a short soak


def steps(count: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """A script: any of its steps may follow any other."""
    for number in range(count):
        kind = chance.choices(
            ("run", "several", "patch", "broken", "error", "cut", "answer"), (40, 10, 12, 6, 5, 4, 14)
        )[0]
        name = f"f{chance.randrange(FILES)}"
        line = call(
            "exec_command", cmd=f"echo s{number} >> log; seq {chance.randrange(400)} > {name}; tail -5 {name}"
        )
        look = call("read_file", path=name)
        patch = f"*** Begin Patch\n*** Add File: new{number % FILES}\n+{number}\n*** End Patch"
        match kind:
            case "run":
                yield {"text": f"step {number}", "calls": [line]}
            case "several":
                yield {"calls": [look, line, call("list_files"), call("search_files", pattern="1")]}
            case "patch":
                yield {"calls": [call("apply_patch", patch=patch)]}
            case "broken":
                yield {"calls": [{"tool": "read_file", "arguments": '{"path": '}, call("no_such_tool")]}
            case "error":
                yield {
                    "status": chance.choice((429, 500, 503)),
                    "headers": {"retry-after": "0"},
                    "body": ERROR,
                }
            case "cut":
                yield {"text": f"half of step {number} " * 9, "cut": "text"}
            case _:
                yield {"text": f"answer {number}"}


@dataclass
class Watched:
    """What was seen of one process at the ends of its turns."""

    memory_kib: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    work: list[tuple[int, float]] = field(default_factory=list)  # steps played, processor seconds so far


@dataclass
class Soak:
    """One run; `problems` is empty when it went well."""

    place: Place
    chance: random.Random
    wanted: int
    problems: list[str] = field(default_factory=list)
    acts: Counter[str] = field(default_factory=Counter)
    processes: list[Watched] = field(default_factory=list)
    tell: Callable[[str], None] = lambda _: None  # of progress
    sizes: list[tuple[int, int]] = field(default_factory=list)  # steps played, bytes of the state directory

    @property
    def played(self) -> int:
        """Model steps so far."""
        return int(self.place.server.state()["played"])

    def run(self) -> None:
        """Processes one after the other until the script is played."""
        self.place.program.config(SETTINGS)
        self.place.server.allow_unplayed = True
        script = [*steps(self.wanted, self.chance), {"text": "nothing is left to do"}]
        self.place.server.script(script, repeat_last=True)
        begun = time.monotonic()
        while self.played < self.wanted and not self.problems:
            self._process(SLOW_S - (time.monotonic() - begun))
            self._between()
            self.problems += self.place.server.state()["violations"][:5]
            self.tell(f"{self.played} of {self.wanted} steps, {time.monotonic() - begun:.0f} s")
            if time.monotonic() - begun > SLOW_S:
                self.problems.append(f"{self.played} of {self.wanted} steps in {SLOW_S:.0f} s")
        self._judge()

    # --- one process -----------------------------------------------------------------------------

    def _process(self, left_s: float) -> None:
        """One, which is killed when the time is over: it may never say anything again."""
        resumed = ["--last"] if self.sizes else []
        program = self.place.program
        process = program.start("exec", "--json", "--stdin-commands", *self.place.flags, *resumed)
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        overdue = threading.Timer(left_s, process.kill)
        overdue.daemon = True
        overdue.start()
        watched = Watched()
        self.processes.append(watched)
        turns = self.chance.choice(LIVES if self.wanted >= LONG else SHORT_LIVES)
        doom = self.chance.choices(("end", "kill", "interrupt", "term"), (1, 5, 2, 2))[0]
        self._say(process, "prompt")
        for line in process.stdout:
            event = json.loads(line)
            self.acts["compaction"] += event.get("item", {}).get("type") == "compaction"
            if event["type"] in ("turn.completed", "turn.failed"):
                turns -= 1
                self._look(process.pid, watched)
                self._check_effects()
                if turns <= 0 or self.played >= self.wanted:
                    process.stdin.close()
                    break
                self._say(process, "prompt")
            elif (
                turns <= 2
                and event["type"] == "item.started"
                and doom != "end"
                and self.chance.random() < 0.3
            ):
                self._end(process, doom)
                break
            elif event["type"] == "item.completed" and self.chance.random() < 0.06:
                self._say(process, self.chance.choice(("steer", "queue", "stop")))
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.read()
        said = process.stderr.read()
        code = process.wait(timeout=WAIT_S)
        overdue.cancel()
        process.stdout.close()
        process.stderr.close()
        self.acts["process"] += 1
        until(lambda: not processes_in(self.place.root), lambda: f"left: {processes_in(self.place.root)}")
        if code not in (0, 1, 130, 143, -9) or "Traceback" in said:
            self.problems.append(f"exit {code}: {said[-2_000:]}")

    def _say(self, process: "subprocess.Popen[str]", kind: str) -> None:
        assert process.stdin is not None
        self.acts[kind] += 1
        with suppress(BrokenPipeError):
            text = f"{kind} {self.acts[kind]}: " + "go on " * self.chance.randrange(60)
            order = {"type": "interrupt"} if kind == "stop" else {"type": kind, "text": text}
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()

    def _end(self, process: "subprocess.Popen[str]", doom: str) -> None:
        self.acts[doom] += 1
        process.send_signal(
            {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "term": signal.SIGTERM}[doom]
        )

    def _look(self, pid: int, watched: Watched) -> None:
        with suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text()
            watched.memory_kib.append(int(status.partition("VmRSS:")[2].split()[0]))
            watched.work.append((self.played, processor_s(pid)))
            watched.descriptors.append(len(list(Path(f"/proc/{pid}/fd").iterdir())))

    # --- between processes -------------------------------------------------------------------------

    def _between(self) -> None:
        match self.chance.choice(("nothing", "rollback", "files", "redo", "list")):
            case "rollback":
                self._act("rollback", "--yes", "--overwrite")
            case "files":
                self._act("rollback", "--yes", "--overwrite", "--files-only")
            case "redo":
                before = contents(self.place.program.workspace)
                if self._act("rollback", "--yes", "--overwrite") and not self._act(
                    "rollback", "--redo", "--yes"
                ):
                    self.problems.append("a rollback could not be taken back")
                other = {name for name, _ in contents(self.place.program.workspace).items() ^ before.items()}
                if other:
                    self.problems.append(f"a rollback that was taken back changed {sorted(other)[:5]}")
            case "list":
                self._act("sessions", "--json")
        self._check_effects()
        self.sizes.append((self.played, size_of(self.place.program.state)))

    def _act(self, *argv: str) -> bool:
        """A command beside the session; whether it did something."""
        ran = self.place.program.run(*argv)
        name = next((flag[2:] for flag in argv if flag in ("--files-only", "--redo")), argv[0])
        self.acts[name] += ran.code == 0
        if ran.code not in (0, 2) or "Traceback" in ran.err:
            self.problems.append(f"{name}: exit {ran.code}: {ran.err}")
        return ran.code == 0

    def _check_effects(self) -> None:
        log = self.place.program.workspace / "log"
        lines = log.read_text().split() if log.exists() else []
        twice = [line for line, count in Counter(lines).items() if count > 1]
        if twice:
            self.problems.append(f"done twice: {', '.join(twice[:5])}")

    # --- the end -----------------------------------------------------------------------------------

    def _judge(self) -> None:
        scratch = [path.name for path in Path(self.place.program.environ["TMPDIR"]).iterdir()]
        if scratch:
            self.problems.append(f"left in the directory for temporary files: {scratch[:5]}")
        for name, value, limit in self.figures():
            if value > limit:
                self.problems.append(f"{name}: {value:.2f}, more than {limit}")

    def figures(self) -> list[tuple[str, float, float]]:
        """Name, value, most that is allowed; what grows shows only in a long run."""
        lost = ("descriptors more at the end of a process", self._descriptors(), 3.0)
        if self.wanted < LONG:
            return [lost]
        return [
            lost,
            ("memory of the last process to the first", self._memory(), 1.5),
            ("bytes of state a step, last half to first", self._growth(), 1.6),
            ("processor time a step, last third to first", self._pace(), 1.6),
        ]

    def _descriptors(self) -> float:
        """Between two turns each, once the stores and the network are open, which are opened when needed; the
        less of two, as what a command that is just ending holds is no leak."""
        looks = [seen.descriptors[SETTLED:] for seen in self.processes]
        return max((min(look[-2:]) - min(look[:2]) for look in looks if look), default=0)

    def _memory(self) -> float:
        peaks = [max(seen.memory_kib) for seen in self.processes if seen.memory_kib]
        fifth = max(1, len(peaks) // 5)
        return statistics.median(peaks[-fifth:]) / statistics.median(peaks[:fifth]) if peaks else 0.0

    def _growth(self) -> float:
        (first, size), (last, end) = self.sizes[0], self.sizes[-1]
        middle, half = next((one for one in self.sizes if one[0] >= (first + last) / 2), self.sizes[-1])
        if not first < middle < last:
            return 0.0
        return ((end - half) / (last - middle)) / max(1.0, (half - size) / (middle - first))

    def _pace(self) -> float:
        """Of the processes of the last third to those of the first: other work on the machine counts less."""
        spans = [(seen.work[0], seen.work[-1]) for seen in self.processes if len(seen.work) > 1]
        each = [(end_s - begin_s) / (end - begin) for (begin, begin_s), (end, end_s) in spans if end > begin]
        third = max(1, len(each) // 3)
        return statistics.median(each[-third:]) / statistics.median(each[:third]) if each else 0.0


def processor_s(pid: int) -> float:
    """Processor time of a process and of its children that have ended (proc_pid_stat(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def size_of(folder: Path) -> int:
    """Bytes of everything below it."""
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(above) / name).lstat().st_size
    return total


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below it but hidden ones: among these are stand-ins of the sandbox that a kill left, and the
    next command takes away."""
    found = ((path, path.relative_to(folder)) for path in folder.rglob("*"))
    return {
        str(name): path.read_bytes()
        for path, name in found
        if path.is_file() and not any(part.startswith(".") for part in name.parts)
    }


def processes_in(folder: Path) -> list[str]:
    """Command lines of processes that work below a folder, or whose arguments name it.

    A bwrap counts by what runs in it: one that a kill left before its start waits, runs nothing, and is taken
    away by a later start (docs/security.md, death and limits).
    """
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            is_there = (entry / "cwd").readlink().is_relative_to(folder) or str(folder) in line
            if is_there and "model_server" not in line and not line.partition(" ")[0].endswith("/bwrap"):
                found.append(line)
    return found


def soak(place: Place, *, wanted: int, seed: int, tell: Callable[[str], None] = lambda _: None) -> Soak:
    """Run one."""
    scratch = place.root / "tmp"
    scratch.mkdir()
    program = Program(
        home=place.program.home, workspace=place.program.workspace, extra={"TMPDIR": str(scratch)}
    )
    run = Soak(
        place=Place(place.root, program, place.server), chance=random.Random(seed), wanted=wanted, tell=tell
    )
    run.run()
    return run
