"""Fake ports of the engine: a scripted model, tools that only keep a record, a clock that stands."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_tui.engine.commands import Command, CommandBody
from agent_tui.engine.events import ApprovalAsked, ApprovalDecided, Body, Event, SessionStarted
from agent_tui.engine.ports import GatedCall, Ports, Verdict
from agent_tui.engine.runtime import EngineRuntime
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Session
from agent_tui.engine.types import ApprovalPolicy, Config, Decision, SandboxStatus
from agent_tui.models.base import (
    Completed,
    Failed,
    ModelError,
    ModelInfo,
    ModelRequest,
    StreamPart,
    TextDelta,
)
from checkpoints.records import SessionRecords
from checkpoints.types import (
    Author,
    Cause,
    Checkpoint,
    Choice,
    FileChange,
    Health,
    Kept,
    Phase,
    RollbackPlan,
    RollbackResult,
    Uncovered,
)
from context.items import CallPart, ModelOrigin, ResponseItem, StopReason, TextPart, Usage
from context.view import ExchangeUnit, View
from sandbox.policy import Mode, Policy
from tests.waiting import WAIT_S
from tools.types import (
    READS_NOTHING,
    Arguments,
    Assessment,
    CallClass,
    CallSink,
    Effects,
    Invocation,
    Outcome,
    OutcomeStatus,
    PathSet,
    TerminalNews,
    ToolSpec,
)

ORIGIN = ModelOrigin(provider="fake", model="fake", api="chat")
Step = list[StreamPart | Callable[[], Awaitable[None]]]


def text(answer: str, usage: Usage | None = None) -> Step:
    """A step that answers with text only."""
    return [
        TextDelta(text=answer, offset=0),
        Completed(parts=(TextPart(text=answer),), stop=StopReason.END, usage=usage or Usage(), origin=ORIGIN),
    ]


def calls(*wanted: tuple[str, dict[str, Any] | str], usage: Usage | None = None, said: str = "") -> Step:
    """A step that asks for calls; arguments as an object, or as raw text."""
    parts = [
        CallPart(
            call_id=f"p{number}",
            provider_id=f"p{number}",
            tool=tool,
            arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
        )
        for number, (tool, arguments) in enumerate(wanted)
    ]
    texts = (TextPart(text=said),) if said else ()
    return [Completed(parts=(*texts, *parts), stop=StopReason.CALLS, usage=usage or Usage(), origin=ORIGIN)]


def failed(error: ModelError) -> Step:
    """A step that fails."""
    return [Failed(error=error)]


def check_view(view: View) -> None:
    """What every provider demands: each call has one result, adjacent and in order."""
    for unit in view.units:
        if isinstance(unit, ExchangeUnit):
            declared = [call.call_id for call in unit.response.calls]
            assert [result.call_id for result in unit.results] == declared


class FakeModel:
    """Plays a list of steps; records every request and checks it."""

    def __init__(self, steps: Sequence[Step], info: ModelInfo | None = None) -> None:
        self.steps = list(steps)
        self.requests: list[ModelRequest] = []
        self._info = info or ModelInfo(
            provider="fake", model="fake", context_window=100_000, max_output=4_000
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        self.requests.append(request)
        check_view(request.view)
        assert self.steps, "the script of the model is used up"
        for part in self.steps.pop(0):
            if callable(part):
                await part()
            else:
                yield part

    def body(self, request: ModelRequest) -> bytes:
        return repr(request).encode()


class FakeToolbox:
    """Tools by name prefix: `read…` reads, `write…` writes its path, `exec…` writes all, `ask…` asks.

    `run` appends to `ran`, and does what `behaviour` holds for the tool.
    """

    def __init__(self) -> None:
        self.ran: list[tuple[str, Mapping[str, Any]]] = []
        self.behaviour: dict[str, Callable[[Invocation, CallSink], Awaitable[Outcome]]] = {}
        self.ready: set[str] = set()  # calls that were made ready, and neither run nor dropped
        self.live: list[Mapping[str, Any]] = []
        self.news: asyncio.Queue[TerminalNews] = asyncio.Queue()
        self.hides = False  # terminals show nothing of what is typed
        self.closed = False

    def schemas(self) -> tuple[ToolSpec, ...]:
        names = (
            "ask_exec",
            "exec_command",
            "read_file",
            "request_user_input",
            "update_plan",
            "write_file",
            "write_stdin",
        )
        return tuple(ToolSpec(name=name, description=name, parameters={"type": "object"}) for name in names)

    def check(self, tool: str, arguments: str) -> Arguments | str:
        try:
            value = json.loads(arguments)
        except ValueError as error:
            return f"The arguments are not valid JSON: {error}"
        if tool not in {schema.name for schema in self.schemas()}:
            return f"There is no tool `{tool}`"
        return value if isinstance(value, dict) else "The arguments are not an object"

    def assess(self, tool: str, arguments: Arguments, policy: Policy) -> Assessment:
        path = Path(str(arguments.get("path", "/w/x")))
        action, effects, read_only = "command", Effects(), False
        files: tuple[Path, ...] = ()
        if tool.startswith("read"):
            action, read_only = "read", True
            effects = Effects(reads=PathSet(paths=(path,)), writes=PathSet(), network=False, idempotent=True)
        elif tool == "write_file":
            action, files = "edit", (path,)
            effects = Effects(reads=PathSet(), writes=PathSet(paths=(path,)), network=False)
        elif tool == "write_stdin" and not arguments.get("chars"):
            action, read_only = "read", True
            effects = replace(READS_NOTHING, terminal=str(arguments.get("session", "")))
        elif tool in ("request_user_input", "update_plan"):
            action, read_only = "question", True
            effects = replace(READS_NOTHING, exclusive=True)
        return Assessment(
            action=action,  # type: ignore[arg-type] # one of the literals above
            call_class=CallClass.AUTO,
            reason="fake",
            shown=str(arguments.get("cmd") or arguments.get("path") or tool),
            effects=effects,
            read_only=read_only,
            files=files,
        )

    async def make_ready(self, invocation: Invocation) -> None:
        self.ready.add(invocation.call_id)

    async def drop(self, call_id: str) -> None:
        self.ready.discard(call_id)

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:
        self.ready.discard(invocation.call_id)
        self.ran.append((invocation.tool, invocation.arguments))
        behaviour = self.behaviour.get(invocation.tool)
        if behaviour is not None:
            return await behaviour(invocation, sink)
        return Outcome(status=OutcomeStatus.SUCCEEDED, text=f"ran {invocation.tool}", exit_code=0)

    async def predict(self, tool: str, arguments: Arguments, policy: Policy) -> Mapping[str, tuple[str, str]]:
        if tool != "write_file":
            return {}
        return {str(arguments["path"]): (str(arguments.get("before", "")), str(arguments.get("after", "")))}

    async def preview(self, tool: str, arguments: Arguments, policy: Policy) -> str:
        return "+" + str(arguments.get("path", ""))

    async def texts(self, tool: str, arguments: Arguments, policy: Policy) -> Mapping[str, str | None] | str:
        return {str(arguments["path"]): str(arguments.get("after", ""))} if tool == "write_file" else {}

    async def rewritten(
        self, tool: str, arguments: Arguments, texts: Mapping[str, str], policy: Policy
    ) -> Arguments | str:
        return {**arguments, "after": next(iter(texts.values()))}

    async def refusal(self, tool: str, arguments: Arguments, policy: Policy) -> str:
        return str(arguments.get("refused", ""))

    def terminals(self) -> Sequence[Mapping[str, Any]]:
        return self.live

    async def terminal_news(self) -> AsyncIterator[TerminalNews]:
        while True:
            yield await self.news.get()

    def terminal_hides(self, terminal: str) -> bool:
        return self.hides

    async def terminal_input(
        self, terminal: str, chars: str, signal: str, size: tuple[int, int] | None
    ) -> str:
        return "" if any(one["id"] == terminal for one in self.live) else "there is no such terminal"

    async def close(self) -> None:
        self.closed = True
        self.live = [{**one, "state": "ended", "signal": "KILL"} for one in self.live]


class FakeCheckpointer:
    """Counts; `changes` are what the next checkpoint after a call finds."""

    def __init__(self) -> None:
        self.taken: list[Checkpoint] = []
        self.changes: list[tuple[FileChange, ...]] = []
        self.uncovered: tuple[Uncovered, ...] = ()
        self.error: Exception | None = None
        self.rolled_back: list[str] = []
        self.chosen: dict[str, Choice] = {}  # of files in conflict, in the last rollback
        self.off = False
        self.added: list[Path] = []

    def add(self, folder: Path) -> None:
        self.added += [folder] if folder not in self.added else []

    def health(self) -> Health:
        return Health(state="off" if self.off else "ok")

    def hurry(self) -> None: ...

    async def take(self, cause: Cause) -> Checkpoint:
        if self.error is not None:
            raise self.error
        number = len(self.taken) + 1
        changes = self.changes.pop(0) if cause.phase is Phase.AFTER_CALL and self.changes else ()
        checkpoint = Checkpoint(
            id=f"{cause.session}/{number}",
            session=cause.session,
            seq=number,
            created_at=0.0,
            cause=cause,
            tree=str(number),
            changes=changes,
            uncovered=self.uncovered,
        )
        self.taken.append(checkpoint)
        return checkpoint

    async def changes_since(self, checkpoint_id: str) -> tuple[FileChange, ...]:
        return (FileChange(path="x", kind="M", author=Author.AGENT),)

    async def list(self, session: str | None = None) -> tuple[Checkpoint, ...]:
        return tuple(reversed(self.taken))

    async def diff(self, older: str, newer: str | None = None, paths: Sequence[str] = ()) -> str:
        return f"diff {older} {newer or 'now'}"

    async def plan(self, target: str, paths: Sequence[str] = ()) -> RollbackPlan:
        return RollbackPlan(target=target, operations=(), conflicts=())

    async def rollback(
        self,
        target: str,
        *,
        paths: Sequence[str] = (),
        choices: Mapping[str, Choice] | None = None,
        default: Choice = "keep",
        session: str = "",
    ) -> RollbackResult:
        self.rolled_back.append(target)
        self.chosen = dict(choices or {})
        return RollbackResult(target=target, undo=f"{session}/undo", changed=(), kept=())

    async def kept(self) -> Kept:
        return Kept(size_bytes=0, days=14)

    async def redo(self, session: str = "") -> RollbackResult:
        return RollbackResult(target=f"{session}/undo", undo=f"{session}/again", changed=(), kept=())

    async def close(self) -> None: ...


class FakeClock:
    """Stands still until told."""

    def __init__(self, at: float = 1_000.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


class FakeGate:
    """Allows everything but tools whose name starts with `ask`; a decision settles it."""

    def __init__(self, workspace: Path) -> None:
        self._policy = Policy(mode=Mode.WORKSPACE_WRITE, workspace=workspace, state_dir=workspace / ".state")
        self.salt = ""  # changes every digest
        self.unavailable = False
        self.judged: list[str] = []

    def policy(self) -> Policy:
        return self._policy

    def approval(self) -> ApprovalPolicy:
        return ApprovalPolicy.ON_REQUEST

    def judge(self, call: GatedCall, approval_id: str) -> Verdict:
        self.judged.append(call.call_id)
        if not call.tool.startswith("ask"):
            return Verdict(kind="allow", policy=self._policy)
        if self.unavailable:
            return Verdict(kind="deny", text="approval unavailable", unavailable=True)
        return Verdict(kind="ask", asked=self._asked(call, approval_id))

    def settle(self, call: GatedCall, asked: ApprovalAsked, decided: ApprovalDecided) -> Verdict:
        if decided.decision in (Decision.DENY, Decision.DENY_AND_PAUSE):
            return Verdict(kind="deny", by="person", text=f"denied: {decided.feedback}")
        if decided.decision is not Decision.EDIT and self.digest(call) != asked.digest:
            return Verdict(kind="ask", asked=self._asked(call, asked.approval_id + "x"))
        return Verdict(kind="allow", policy=self._policy, by="person")

    def escalate(
        self, call: GatedCall, outcome: Outcome, changes: Sequence[FileChange], approval_id: str
    ) -> ApprovalAsked | None:
        return self._asked(call, approval_id)

    def digest(self, call: GatedCall) -> str:
        return f"{call.tool}:{json.dumps(call.arguments, sort_keys=True)}:{self.salt}"

    def restore(self, asked: ApprovalAsked, decided: ApprovalDecided) -> None: ...

    def setting(self, key: str, value: str) -> Callable[[], None]:
        def enforce() -> None:
            if key == "sandbox":
                self._policy = replace(self._policy, mode=Mode(value))

        return enforce

    def grants(self) -> Sequence[Mapping[str, Any]]:
        return ()

    def revoke(self, grant_id: str) -> bool:
        return False

    def _asked(self, call: GatedCall, approval_id: str) -> ApprovalAsked:
        return ApprovalAsked(
            approval_id=approval_id,
            call_id=call.call_id,
            tool=call.tool,
            assessment=call.assessment,
            cwd="/w",
            why="fake",
            sandbox="fake",
            digest=self.digest(call),
            choices=tuple(Decision),
        )


def at_once(error: ModelError, attempt: int) -> float | None:
    """A retry policy: three attempts, no delay."""
    return 0.0 if attempt < 3 else None


@dataclass
class Engine:
    """An engine over real SQLite with fake ports, and what came out of it."""

    root: Path
    model: FakeModel
    config: Config
    toolbox: FakeToolbox = field(default_factory=FakeToolbox)
    checkpointer: FakeCheckpointer = field(default_factory=FakeCheckpointer)
    clock: FakeClock = field(default_factory=FakeClock)
    retry: Any = at_once
    in_memory: bool = False
    wrap: Callable[[SessionRecords], Any] = lambda records: records
    seen: list[Event] = field(default_factory=list)

    async def __aenter__(self) -> "Engine":
        self.gate = FakeGate(self.root)
        self.records = await SessionRecords.open(None if self.in_memory else self.root / "session.db")
        self.session = await Session.load(self.wrap(self.records), self.clock)
        self.runtime = EngineRuntime(
            config=self.config,
            session=self.session,
            ports=Ports(
                model=self.model,
                toolbox=self.toolbox,
                checkpointer=self.checkpointer,
                gate=self.gate,
                retry=self.retry,
            ),
            start=SessionStarted(
                session_id="0123abcd",
                workspace=str(self.root),
                model="fake/fake",
                system="be brief",
                settings={
                    "approval": str(self.config.approval),
                    "sandbox": str(self.config.sandbox),
                    "verify": self.config.verify or "",
                },
            ),
            artifacts=self.root,
            sandbox=SandboxStatus(available=True, mode=Mode.WORKSPACE_WRITE, network=False),
        )
        self._reader = self.runtime.events()
        self._changed = asyncio.Event()
        self._reading = asyncio.create_task(self._read())
        self._running = asyncio.create_task(self.runtime.run())
        self._count = 0
        return self

    async def __aexit__(self, *error: object) -> None:
        from agent_tui.engine.commands import Shutdown

        if self._running.cancelled():
            return
        if not self._running.done():
            self.send(Shutdown())
        await self._running
        await self._reading

    @property
    def ports(self) -> Ports:
        """Those of the session as they are now."""
        return self.runtime._work.ports

    def use(self, **changes: Any) -> None:
        """Let the session work with other ports from here on."""
        self.runtime._work.use(replace(self.ports, **changes))

    def scope(self) -> Scope:
        """What a turn that begins now would work with."""
        return self.runtime._work.scope()

    async def idle(self) -> None:
        """Return when all commands are obeyed and nothing runs."""
        work = self.runtime._work
        while work.is_busy or not self.runtime._commands.empty():
            running = work.task
            await (asyncio.wait({running}) if running and not running.done() else asyncio.sleep(0))

    async def crash(self) -> None:
        """Stop as a killed process does: nothing more is stored, nothing is closed properly."""
        doomed = [self._running, self._reading]
        turn = self.runtime._work.task
        doomed += [turn] if turn is not None else []
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)
        await self.records.close()

    async def _read(self) -> None:
        async for event in self._reader:
            self.seen.append(event)
            self._changed.set()

    def send(self, body: CommandBody) -> str:
        self._count += 1
        self.runtime.send(Command(id=f"k{self._count}", body=body))
        return f"k{self._count}"

    async def wait(self, *kinds: type, count: int = 1, since: int = 0) -> Body:
        """The newest event of these kinds once there are `count` of them after index `since`."""
        while True:
            found = [e.body for e in self.seen[since:] if isinstance(e.body, kinds)]
            if len(found) >= count:
                return found[count - 1]
            if self._running.done():
                self._running.result()
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), WAIT_S)

    def bodies(self, *kinds: type) -> list[Any]:
        return [event.body for event in self.seen if isinstance(event.body, kinds)]


def engine(root: Path, *steps: Step, **settings: Any) -> Engine:
    """An engine on a directory; run again on it, it resumes the session there."""
    parts = {
        name: settings.pop(name)
        for name in list(settings)
        if name in ("in_memory", "wrap", "info", "toolbox", "checkpointer", "clock", "retry")
    }
    info = parts.pop("info", None)
    config = Config(
        workspace=root, state_dir=root / ".state", config_dir=root / ".config", model=None, **settings
    )
    return Engine(root=root, model=FakeModel(steps, info), config=config, **parts)


def last_results(request: ModelRequest) -> list[str]:
    """The results of the newest exchange of a request."""
    exchanges = [unit for unit in request.view.units if isinstance(unit, ExchangeUnit)]
    return [result.text for result in exchanges[-1].results]


def responses(log: Sequence[Any]) -> list[ResponseItem]:
    """The responses in a log."""
    return [item for item in log if isinstance(item, ResponseItem)]
