"""A command that may reach single hosts wants another one: the gate judges that like a call, and a person
may be asked while the command waits."""

import asyncio

from agent_tui.engine.asking import ask_meanwhile
from agent_tui.engine.events import ApprovalDecided
from agent_tui.engine.ports import GatedCall, Verdict
from agent_tui.engine.prepare import Prepared
from agent_tui.engine.scope import Scope
from agent_tui.engine.stop import StoppedError
from agent_tui.engine.types import Decision
from checkpoints.records import RecordsError
from tools.types import READS_NOTHING, Assessment, CallClass

WHY = "first connection to this host; the command waits for it"
_MOST_ASKED = 16
_SERVICES = {22: "ssh", 80: "http", 443: "https"}


class Connecting:
    """Of one running call; one question at a time."""

    def __init__(self, scope: Scope, call: Prepared) -> None:
        self._scope = scope
        self._call = call
        self._turn = asyncio.Lock()
        self._waiting: set[asyncio.Event] = set()  # of each connection: set when it is over with it
        self._has_ended = False
        self._asked = 0

    async def end(self) -> None:
        """The call has its outcome. No question of it is open when this returns: what lives on of it is
        judged, but nobody is asked any more."""
        self._has_ended = True
        for over in self._waiting:
            over.set()
        async with self._turn:
            pass

    async def connects(self, host: str) -> str:
        """Why the command may not reach a host (`sandbox.targets`), or ''. May be cancelled."""
        over = asyncio.Event()
        self._waiting.add(over)
        try:
            return await asyncio.shield(asyncio.ensure_future(self._judged(self._gated(host), over)))
        finally:
            over.set()
            self._waiting.discard(over)

    async def _judged(self, call: GatedCall, over: asyncio.Event) -> str:
        async with self._turn:
            verdict = self._scope.ports.gate.judge(call, self._next_id())
            try:
                return await self._settled(call, verdict, over)
            except StoppedError:
                return self._asks_nobody(over)
            except RecordsError:  # the run ends of it at its next step
                return "the session cannot be written"

    async def _settled(self, call: GatedCall, verdict: Verdict, over: asyncio.Event) -> str:
        decided: ApprovalDecided | None = None
        while verdict.asked is not None:
            if why := self._asks_nobody(over):
                return why
            if decided is None:  # else it is the same question, asked again
                if self._asked == _MOST_ASKED:
                    return f"this command has asked about {_MOST_ASKED} hosts already"
                self._asked += 1
            decided = await ask_meanwhile(self._scope, verdict.asked, over)
            if decided.decision is Decision.DENY_AND_PAUSE:
                self._scope.stop.pause("you denied a connection and paused")
            verdict = self._scope.ports.gate.settle(call, verdict.asked, decided)
        if verdict.kind == "allow":
            return ""
        if decided is None:
            return (
                "by a rule of the user" if verdict.by == "rule" else "it was not granted, and nobody is asked"
            )
        return "by the user" + (f', who says: "{decided.feedback}"' if decided.feedback else "")

    def _asks_nobody(self, over: asyncio.Event) -> str:
        """Why no person is asked, or ''."""
        stop = self._scope.stop
        if stop.now.is_set() or stop.skipping.is_set():
            return "the call was stopped"
        if self._has_ended or over.is_set():
            return "nobody is asked about hosts once the call has its result; start it anew"
        return "the run is paused, so nobody is asked" if stop.pausing else ""

    def _gated(self, host: str) -> GatedCall:
        command = str(self._call.arguments.get("cmd", ""))
        return GatedCall(
            call_id=self._call.call_id,
            tool=self._call.tool,
            arguments={"cmd": command, "host": host},
            assessment=Assessment(
                action="network",
                call_class=CallClass.ASK,
                reason=WHY,
                shown=_shown(host),
                effects=READS_NOTHING,
                keys=(f"host {host}",),
            ),
            during=command,
        )

    def _next_id(self) -> str:
        return f"a{self._scope.session.fold.asked + 1}"


def _shown(host: str) -> str:
    from sandbox.targets import parse

    target = parse(host)
    service = _SERVICES.get(target.port)
    return f"{target.name}  port {target.port}" + (f"  ({service})" if service else "")
