"""The toolbox: every built-in tool by name, checked, assessed and run. Implements the engine's port."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sandbox.policy import Policy
from sandbox.probe import ProbeResult
from sandbox.shared_network import SharedNetwork
from tools.apply_patch import ApplyPatch
from tools.exec_command import CommandRoom, ExecCommand
from tools.list_files import ListFiles
from tools.output.spool import Budget
from tools.read_file import ReadFile
from tools.request_user_input import RequestUserInput
from tools.ripgrep import find_ripgrep
from tools.schema import ArgumentCheck
from tools.search_files import SearchFiles
from tools.terminals import Terminals
from tools.types import (
    STOP,
    Arguments,
    Assessment,
    CallSink,
    Invocation,
    Offered,
    Outcome,
    OutcomeStatus,
    TerminalNews,
    Tool,
    ToolSpec,
)
from tools.update_plan import UpdatePlan
from tools.versions import Versions
from tools.view_image import ViewImage
from tools.write_stdin import SIGNALS, WriteStdin, keys

_PERSON_WRITE_S = 2.0


@runtime_checkable
class Refusing(Protocol):
    """A tool that can tell before anybody is asked that a call would come to nothing."""

    async def refusal(self, arguments: Arguments, policy: Policy) -> str:
        """The answer to the call, or '' where it may work. Reads what the model may read, no more."""


@runtime_checkable
class Readying(Protocol):
    """A tool whose calls take a while to begin."""

    async def make_ready(self, invocation: Invocation) -> None:
        """Do ahead of `run` what changes nothing; what hinders it is told by `run`."""

    async def drop(self, call_id: str) -> None:
        """Take back what was made ready and not run; nothing of it is left when this returns."""


def build_toolbox(
    *,
    artifacts: Path,
    probe: ProbeResult,
    interactive: bool = True,
    image_capable: bool = False,
    environ: Mapping[str, str] | None = None,
    ripgrep: Callable[[], str | None] = find_ripgrep,
    more: Sequence[Tool] = (),
) -> "Toolbox":
    """All tools of a session, and `more` that were made elsewhere. `artifacts` is the directory of its
    stored output: ids of terminals go on from what is found there. Workspace and further roots come
    with the policy of each call."""
    artifacts.mkdir(parents=True, exist_ok=True, mode=0o700)
    terminals, versions = Terminals(artifacts), Versions(artifacts / "versions.jsonl")
    shared_network = SharedNetwork(probe.bwrap) if probe.shared_network else None
    room = CommandRoom(
        probe=probe,
        shared_network=shared_network,
        terminals=terminals,
        budget=Budget.beside(artifacts),
        interactive=interactive,
        environ=os.environ if environ is None else environ,
    )
    patch = ApplyPatch(versions)
    tools: tuple[Tool, ...] = (
        patch,
        ExecCommand(room),
        ListFiles(),
        ReadFile(versions, artifacts),
        SearchFiles(ripgrep),
        ViewImage(image_capable),
        WriteStdin(terminals),
        *more,
    )
    answered: tuple[Offered, ...] = (RequestUserInput(), UpdatePlan())
    return Toolbox(tools, answered, patch, terminals, shared_network)


class Toolbox:
    """See `agent_tui.engine.ports.Toolbox` for the contract of each method. `answered` are those whose
    calls the engine answers itself."""

    def __init__(
        self,
        tools: Sequence[Tool],
        answered: Sequence[Offered],
        patch: ApplyPatch,
        terminals: Terminals,
        shared_network: SharedNetwork | None,
    ) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        offered: dict[str, Offered] = {**self._tools, **{one.spec.name: one for one in answered}}
        self._offered = dict(sorted(offered.items()))
        self._readying = {name: one for name, one in self._offered.items() if isinstance(one, Readying)}
        self._patch = patch
        self._terminals = terminals
        self._shared_network = shared_network
        self._check = ArgumentCheck({name: one.spec for name, one in self._offered.items()})

    def schemas(self) -> tuple[ToolSpec, ...]:
        """All tools, sorted by name."""
        return tuple(one.spec for one in self._offered.values())

    def check(self, tool: str, arguments: str) -> Arguments | str:
        """Arguments that make a call, or why they do not."""
        checked = self._check.check(tool, arguments)
        if isinstance(checked, str):
            return checked
        fault = _unusable(checked) or self._offered[tool].refuse(checked)
        return f"Invalid arguments for `{tool}`: {fault}" if fault else checked

    def assess(self, tool: str, arguments: Arguments, policy: Policy) -> Assessment:
        """How the gate sees the call."""
        return self._offered[tool].assess(arguments, policy)

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:
        """Run to an outcome. Commands end by the ladder when the task is cancelled, reads are left
        behind, writes are finished: in each case the outcome says what came of it."""
        try:
            return await self._tools[invocation.tool].run(invocation, sink)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            return Outcome(
                status=OutcomeStatus.INTERRUPTED,
                text="Interrupted by the user; nothing was changed by this call",
            )

    async def predict(self, tool: str, arguments: Arguments, policy: Policy) -> Mapping[str, tuple[str, str]]:
        """Hashes before and after of the files that a patch writes."""
        return await self._patch.predict(arguments, policy) if tool == self._patch.spec.name else {}

    async def preview(self, tool: str, arguments: Arguments, policy: Policy) -> str:
        """Diff of what a patch writes."""
        return await self._patch.preview(arguments, policy) if tool == self._patch.spec.name else ""

    async def texts(self, tool: str, arguments: Arguments, policy: Policy) -> Mapping[str, str | None] | str:
        """The files of a patch as they would be."""
        return await self._patch.texts(arguments, policy) if tool == self._patch.spec.name else {}

    async def rewritten(
        self, tool: str, arguments: Arguments, texts: Mapping[str, str], policy: Policy
    ) -> Arguments | str:
        """The patch that makes other ones of them."""
        if tool != self._patch.spec.name:
            return f"`{tool}` makes no files"
        return await self._patch.rewritten(arguments, texts, policy)

    async def refusal(self, tool: str, arguments: Arguments, policy: Policy) -> str:
        """Why a call would come to nothing now."""
        made = self._offered[tool]
        return await made.refusal(arguments, policy) if isinstance(made, Refusing) else ""

    async def make_ready(self, invocation: Invocation) -> None:
        """Begin what can be begun of a call before it counts as started."""
        tool = self._readying.get(invocation.tool)
        if tool is not None:
            await tool.make_ready(invocation)

    async def drop(self, call_id: str) -> None:
        """Take that back where the call was not run."""
        for tool in self._readying.values():
            await tool.drop(call_id)

    def terminals(self) -> Sequence[Mapping[str, Any]]:
        """Live and recently ended ones."""
        return self._terminals.listing()

    def terminal_news(self) -> AsyncIterator[TerminalNews]:
        """Output and ends of terminals as they come; for one reader, never ends."""
        return self._terminals.news()

    def terminal_hides(self, terminal: str) -> bool:
        """Whether it echoes nothing now."""
        entry = self._terminals.get(terminal)
        return entry is not None and entry.terminal is not None and entry.terminal.running.hides_input()

    async def terminal_input(
        self, terminal: str, chars: str, signal: str, size: tuple[int, int] | None
    ) -> str:
        """What a person types."""
        entry = self._terminals.get(terminal)
        if entry is None or entry.terminal is None or not entry.is_live:
            return f"terminal `{terminal}` is not live"
        if signal == STOP:
            self._terminals.stop(entry)
            return ""
        if signal and signal not in SIGNALS:
            return f"no signal `{signal}`; there are {', '.join((*SIGNALS, STOP))}"
        if size is not None:
            entry.terminal.resize(*size)
        if signal:
            entry.terminal.signal(signal)
        data = keys(chars)
        if data and await entry.terminal.write(data, _PERSON_WRITE_S) < len(data):
            return f"terminal `{terminal}` does not take input now"
        return ""

    async def close(self) -> None:
        """End every terminal and everything it started."""
        await self._terminals.close()
        if self._shared_network:
            await self._shared_network.close()


def _unusable(arguments: Arguments) -> str:
    """No path, pattern or command line can hold a NUL."""
    for name, value in arguments.items():
        if isinstance(value, str) and "\0" in value and name not in ("chars", "patch", "old", "new"):
            return f"field `{name}` holds a NUL character"
    return ""
