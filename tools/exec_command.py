"""`exec_command`: runs a command line in the sandbox, to its end or until it is handed on as a terminal."""

import asyncio
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.frozen import frozen
from sandbox.environment import search_path
from sandbox.errors import SandboxError
from sandbox.policy import Mode, Policy
from sandbox.probe import ProbeResult
from sandbox.shared_network import SharedNetwork
from tools.descriptions import description
from tools.output.size import budget_bytes
from tools.output.spool import Budget, Spool
from tools.paths import place_of, reading_need
from tools.terminals import MAX_LIVE, Terminals
from tools.types import (
    Arguments,
    Assessment,
    CallSink,
    Grant,
    Invocation,
    Outcome,
    OutcomeStatus,
    Spawned,
    ToolSpec,
)

if TYPE_CHECKING:
    from sandbox.launch import Start
    from sandbox.running import Running
    from sandbox.targets import Target
    from tools.terminal import Terminal

DEFAULT_YIELD_MS = 10_000
MIN_YIELD_MS, MAX_YIELD_MS = 250, 30_000
MAX_YIELD_ALONE_MS = 120_000  # with nobody waiting for the screen
MAX_COMMAND_BYTES = 120 * 1024  # Linux takes 128 KiB for one argument (execve(2), MAX_ARG_STRLEN)
TERMINAL_SIZE = (80, 24)

_PATCH_IN_SHELL = r"\s*(?:cd\s+\S+\s*(?:&&|;)\s*)?apply_?patch\b"
# what the description says of loopback
_SHARED = "Commands reach each other on loopback: start a server in one call, use it in the next"
_APART = "Programs of one command reach each other on loopback; those of different commands do not"
_NEEDS_PATH = (Grant.READ_PATH, Grant.WRITE_PATH)


_PARAMETERS = {
    "type": "object",
    "properties": {
        "cmd": {"type": "string", "minLength": 1, "description": "bash command line"},
        "workdir": {"type": "string", "description": "directory to run in; default: the workspace"},
        "tty": {"type": "boolean", "description": "give it a terminal; default false"},
        "stdin": {
            "type": "boolean",
            "description": "keep its input open for write_stdin; default false",
        },
        "login": {"type": "boolean", "description": "run as a login shell; default false"},
        "yield_ms": {
            "type": "integer",
            "minimum": 0,
            "description": "hand it on as a terminal after this time; default 10000",
        },
        "timeout_s": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "end it, with all it started, after this time; default: never",
        },
        "max_output_tokens": {"type": "integer", "minimum": 1, "description": "show less output"},
        "env": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "further environment variables",
        },
        "needs": {
            "type": "string",
            "enum": ["read_path", "write_path", "host", "network", "git_lane", "no_sandbox"],
            "description": "what it cannot do without beyond the sandbox",
        },
        "needs_path": {"type": "string", "description": "the path, for read_path and write_path"},
        "needs_host": {"type": "string", "description": "for host: one as `pypi.org:443`"},
        "reason": {"type": "string", "description": "why that is needed, one sentence for the user"},
    },
    "required": ["cmd"],
    "additionalProperties": False,
}


@frozen
class CommandRoom:
    """What commands share: the machine's sandbox, the table of live ones, the disk budget."""

    probe: ProbeResult
    shared_network: SharedNetwork | None
    terminals: Terminals
    budget: Budget
    interactive: bool
    environ: Mapping[str, str]


class HostQuestions:
    """What the proxy of a command asks; no time of the command counts meanwhile."""

    def __init__(self, sink: CallSink) -> None:
        self._sink = sink
        self.terminal: Terminal | None = None

    async def __call__(self, target: "Target") -> str:
        assert self.terminal is not None  # set in the step of the event loop that lets the command run
        with self.terminal.held():
            return await self._sink.connects(str(target))


class ExecCommand:
    """The tool."""

    def __init__(self, room: CommandRoom) -> None:
        self._room = room
        self._begun: dict[str, Start] = {}  # by call id, of calls that were made ready
        text = description("exec_command").replace("{reach}", _SHARED if room.shared_network else _APART)
        self.spec = ToolSpec(name="exec_command", description=text, parameters=_PARAMETERS)

    def refuse(self, arguments: Arguments) -> str:
        """Why valid arguments still make no call, or ''."""
        cmd = arguments["cmd"]
        if re.match(_PATCH_IN_SHELL, cmd):
            return (
                "`apply_patch` is a tool, not a program: call the tool `apply_patch` with the text from "
                "`*** Begin Patch` to `*** End Patch` as `patch`"
            )
        size = len(cmd.encode("utf-8", errors="surrogatepass"))
        if size > MAX_COMMAND_BYTES:
            return (
                f"The command line has {size:,} bytes, at most {MAX_COMMAND_BYTES:,} are possible; write it "
                "to a file with `apply_patch` and run that"
            )
        if arguments.get("needs") in _NEEDS_PATH and not arguments.get("needs_path"):
            return f"`needs`: `{arguments['needs']}` also takes `needs_path`"
        if arguments.get("needs") == Grant.HOST:
            from sandbox.targets import spelled

            try:
                spelled(arguments.get("needs_host", ""))
            except ValueError as error:
                return f"`needs`: `host` takes one host in `needs_host`, as `pypi.org:443`: {error}"
        return _environment_fault(arguments.get("env", {}))

    async def refusal(self, arguments: Arguments, policy: Policy) -> str:
        """Why it would not be run now, or ''."""
        fault = _directory_fault(self._cwd(arguments, policy), policy) or _grant_fault(arguments, policy)
        return f"Not run: {fault}" if fault else ""

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:
        """As the parser of command lines sees it."""
        from tools.command_line.assess import assess_command
        from tools.command_line.display import make_visible
        from tools.command_line.parts import Setting

        wanted = Grant(arguments.get("needs", Grant.NONE))
        path = arguments.get("needs_path", "")
        setting = Setting(
            workspace=policy.workspace,
            cwd=self._cwd(arguments, policy),
            mode=policy.mode,
            roots=policy.extra_roots,
            env=arguments.get("env", {}),
            resolve=partial(shutil.which, path=search_path(policy, self._room.environ)),
        )
        detail = str(place_of(path, policy)) if wanted in _NEEDS_PATH else ""
        if wanted is Grant.HOST:
            from sandbox.targets import spelled

            detail = str(spelled(arguments["needs_host"]))
        assessment = assess_command(arguments["cmd"], setting, wanted=wanted, wanted_detail=detail)
        if wanted is not Grant.NONE and arguments.get("reason"):
            assessment = replace(
                assessment, reason=f'{assessment.reason}: "{make_visible(arguments["reason"][:300])}"'
            )
        return assessment

    def _cwd(self, arguments: Arguments, policy: Policy) -> Path:
        return place_of(arguments.get("workdir") or ".", policy)

    async def make_ready(self, invocation: Invocation) -> None:
        """Begin to build the sandbox of a call, which `run` uses and `drop` takes back."""
        policy = invocation.policy
        start = self._start_of(invocation.arguments, policy, self._cwd(invocation.arguments, policy))
        try:
            await start.begin()
        except (SandboxError, OSError):  # `run` meets it again and says it
            return
        self._begun[invocation.call_id] = start

    async def drop(self, call_id: str) -> None:
        """Take back what was made ready for a call that was not run."""
        start = self._begun.pop(call_id, None)
        if start is not None:
            with suppress(SandboxError, OSError):  # the next command takes away what stays in the workspace
                await start.drop()

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:
        """Run it; cancelling runs the INT, TERM, KILL ladder, cancelling twice kills at once."""
        terminals = self._room.terminals
        if not terminals.reserve():
            listed = "\n".join(f"{entry.id}: {entry.command}" for entry in terminals.live)
            text = f"Not run: {MAX_LIVE} terminals are live, the most there can be; end one first\n{listed}"
            return Outcome(status=OutcomeStatus.FAILED, text=text)
        try:
            return await self._run(invocation, sink)
        except (SandboxError, OSError) as error:
            return Outcome(status=OutcomeStatus.FAILED, text=f"Not run: {error}")
        finally:
            terminals.release()

    async def _run(self, invocation: Invocation, sink: CallSink) -> Outcome:
        from tools.command_result import Place, outcome_of
        from tools.output.collector import Collector
        from tools.terminal import Terminal

        arguments, policy = invocation.arguments, invocation.policy
        cwd = self._cwd(arguments, policy)
        fault = _directory_fault(cwd, policy)
        if fault:
            return Outcome(status=OutcomeStatus.FAILED, text=f"Not run: {fault}")
        tty = arguments.get("tty", False)
        begun, started_at = time.monotonic(), time.time()
        start = self._begun.pop(invocation.call_id, None) or self._start_of(arguments, policy, cwd)
        asking = start.ask = HostQuestions(sink)
        running = await start
        budget = budget_bytes(invocation.max_output_tokens, arguments.get("max_output_tokens"))
        spool = Spool(invocation.spool, f"out/{invocation.call_id}", self._room.budget)
        collector = Collector(spool, budget_bytes=budget, size=TERMINAL_SIZE if tty else None)
        terminal = Terminal(running, collector, sink.output, tty=tty)
        terminal.on_waiting = sink.awaits_input
        asking.terminal = terminal
        interrupted = False
        try:
            await sink.spawned(_identity(running))
            self._limit(terminal, invocation)
            await terminal.settled(self._yield_s(arguments))
        except asyncio.CancelledError:
            interrupted = True
            await end_interrupted(terminal)
        except BaseException:  # the store refused to know of it: then it must not run either
            terminal.kill()
            raise
        terminal_id = None
        if not terminal.gone.is_set():
            entry = self._room.terminals.add(
                terminal, call_id=invocation.call_id, command=arguments["cmd"], started_at=started_at
            )
            entry.told_end = terminal.over.is_set()
            terminal_id = entry.id
        return outcome_of(
            terminal,
            elapsed_s=time.monotonic() - begun - terminal.held_s,
            budget=budget,
            terminal_id=terminal_id,
            interrupted=interrupted,
            place=Place(policy=policy, cwd=cwd),
        )

    def _start_of(self, arguments: Arguments, policy: Policy, cwd: Path) -> "Start":
        from sandbox.launch import spawn

        # the command travels as an argument: a terminal would echo, cut and interpret it
        shell = ["/bin/bash", "-lc" if arguments.get("login") else "-c", arguments["cmd"]]
        return spawn(
            shell,
            policy=policy,
            cwd=cwd,
            probe=self._room.probe,
            env=arguments.get("env"),
            tty=arguments.get("tty", False),
            stdin=arguments.get("stdin", False),
            size=TERMINAL_SIZE,
            environ=self._room.environ,
            shared_network=self._room.shared_network,
        )

    def _limit(self, terminal: "Terminal", invocation: Invocation) -> None:
        limits = [invocation.timeout_s, invocation.arguments.get("timeout_s")]
        given = [limit for limit in limits if limit is not None]
        if given:
            terminal.limit(min(given))

    def _yield_s(self, arguments: Arguments) -> float:
        most = MAX_YIELD_MS if self._room.interactive else MAX_YIELD_ALONE_MS
        wanted: int = arguments.get("yield_ms", DEFAULT_YIELD_MS)
        return min(max(wanted, MIN_YIELD_MS), most) / 1000


def _environment_fault(env: Mapping[str, str]) -> str:
    """Why further variables cannot be set, or ''."""
    if any(not name or "=" in name or "\0" in name + value for name, value in env.items()):
        return "`env`: a name is empty or holds `=`, or a NUL is in it"
    size = sum(len(f"{name}={value}".encode("utf-8", errors="surrogatepass")) for name, value in env.items())
    if size > MAX_COMMAND_BYTES:
        return f"`env` has {size:,} bytes, at most {MAX_COMMAND_BYTES:,} are possible; pass a file instead"
    return ""


def _directory_fault(cwd: Path, policy: Policy) -> str:
    """Why no command can run there, or ''; of what the sandbox hides not even whether it exists is told."""
    if policy.mode is not Mode.OFF:
        need = reading_need(cwd, replace(policy, mask_env_files=False))
        if need is not None:
            return f"the working directory cannot be used: {need.reason}"
    return "" if cwd.is_dir() else f"`{cwd}` is no directory"


def _grant_fault(arguments: Arguments, policy: Policy) -> str:
    """Why nobody could grant the path that is asked for, or ''."""
    if arguments.get("needs") != Grant.WRITE_PATH:
        return ""
    place = place_of(arguments["needs_path"], policy)
    if place == policy.workspace or not policy.workspace.is_relative_to(place):
        return ""
    return f"`{place}` cannot be granted, since it holds the workspace; name less of it in `needs_path`"


async def end_interrupted(terminal: "Terminal") -> None:
    """End a command whose call was cancelled; a second cancellation meanwhile kills it at once."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    try:
        await terminal.stop()
    except asyncio.CancelledError:
        task.uncancel()
        terminal.kill()
        await terminal.gone.wait()


def _identity(running: "Running") -> Spawned:
    """bwrap leads a group of its own; everything inside dies with it."""
    return Spawned(
        pid=running.pid,
        started_at_ticks=running.started_at_ticks,
        boot_id=running.boot_id,
        process_group=running.pid,
    )
