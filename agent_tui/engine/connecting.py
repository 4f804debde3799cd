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
_SERVICES = {22: "ssh", 80: "http", 443: "https"}


class Connecting:
    """Of one running call; one question at a time."""

    def __init__(self, scope: Scope, call: Prepared) -> None:
        self._scope = scope
        self._call = call
        self._turn = asyncio.Lock()
        self._may_ask = True

    def end(self) -> None:
        """The call has its outcome: what lives on of it is judged, but nobody is asked any more."""
        self._may_ask = False

    async def connects(self, host: str) -> str:
        """Why the command may not reach a host (`sandbox.targets`), or ''."""
        call = self._gated(host)
        async with self._turn:
            verdict = self._scope.ports.gate.judge(call, self._next_id())
            try:
                return await self._settled(call, verdict)
            except StoppedError:
                return "the run was stopped"
            except RecordsError:  # the run ends of it at its next step
                return "the session cannot be written"

    async def _settled(self, call: GatedCall, verdict: Verdict) -> str:
        decided: ApprovalDecided | None = None
        while verdict.asked is not None:
            if not self._may_ask or self._scope.stop.now.is_set():
                return "nobody is asked about hosts once the call has its result; start it anew"
            decided = await ask_meanwhile(self._scope, verdict.asked)
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
