"""What runs in a session, one thing at a time: turns, a command of the person, a compaction.

Whatever begins gets a scope of its own; another model that is chosen meanwhile answers from the next
request on. Beside it run the asides, which nothing waits for.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path

from agent_tui.engine import inbox, room
from agent_tui.engine.by_hand import ByHand
from agent_tui.engine.commands import Compact, RunShell, Set
from agent_tui.engine.compaction import Compactor
from agent_tui.engine.desk import Early
from agent_tui.engine.events import Refused, StatusChanged
from agent_tui.engine.framing import view_of
from agent_tui.engine.loop import Turn
from agent_tui.engine.own_calls import run_own
from agent_tui.engine.ports import Ports
from agent_tui.engine.relay import Relay
from agent_tui.engine.resume import Recovery
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Session
from agent_tui.engine.settings import SettingError, apply, change
from agent_tui.engine.snapshots import Snapshots
from agent_tui.engine.stop import Stop, StoppedError
from agent_tui.engine.title import give_title, wants_title
from agent_tui.engine.types import Config, TaskStatus
from agent_tui.engine.waits import Waits
from agent_tui.engine.wave import Wave
from checkpoints.records import RecordsError
from context.budget import Window
from context.estimate import Meter
from context.items import CompactionItem, NoticeItem, ResponseItem, RollbackItem

NOTHING_PAUSED = "there is no paused task"
_CHANGE_THE_VIEW = (CompactionItem, RollbackItem)


class Work:
    """The one task that works on a session, and what it works with."""

    def __init__(
        self, *, config: Config, session: Session, ports: Ports, artifacts: Path, boot_id: str
    ) -> None:
        self.config = config
        self.session = session
        self.ports = ports  # with the chosen model, whichever answers in a turn
        self.stop = Stop()  # the orders to what runs
        self.wake = asyncio.Event()  # a wait for the next attempt ends
        self.waits = Waits()
        self.early: Early = {}
        self.by_hand = ByHand(session)
        self.task: asyncio.Task[None] | None = None
        self.asides: set[asyncio.Task[None]] = set()  # inspections, the lookout, the title
        self._artifacts = artifacts
        self._boot_id = boot_id
        self._relay = Relay(ports)
        self._meter = Meter()
        self._answers = deque(config.answers)
        self._continues: list[str] = []  # commands to go on that no turn has taken up
        self._naming: asyncio.Task[None] | None = None
        self.recovery = Recovery(self.scope())

    # --- what it works with -------------------------------------------------------------------

    def scope(self) -> Scope:
        """For what begins now."""
        return Scope(
            session=self.session,
            config=self.config,
            ports=self._relay.ports,
            relay=self._relay,
            stop=self.stop,
            waits=self.waits,
            meter=self._meter,
            artifacts=self._artifacts,
            boot_id=self._boot_id,
            answers=self._answers,
            early=self.early,
            by_hand=self.by_hand,
        )

    def use(self, ports: Ports) -> None:
        """Work with these ports; a run that is under way asks another model from its next request on."""
        is_other = ports.model is not self.ports.model
        self.ports = ports
        if self.is_busy and is_other:
            self._relay.choose(ports.model)
            self.wake.set()  # a wait for the next attempt ends now
        elif not self.is_busy:
            self._relay = Relay(ports)
            self._meter = Meter() if is_other else self._meter  # another model counts otherwise

    def recall_sizes(self) -> None:
        """Measure on from the newest prompt size that this model's provider reported."""
        log, model = self.session.fold.log, self.ports.model.info.model
        since = max((n for n, item in enumerate(log) if isinstance(item, _CHANGE_THE_VIEW)), default=-1)
        own = [item for item in log[since + 1 :] if isinstance(item, ResponseItem)]
        scope = self.scope()
        self._meter.recall(view_of(scope), {item.id for item in own if item.origin.model == model})

    # --- its tasks ----------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Something runs."""
        return self.task is not None and not self.task.done()

    def aside(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run beside the one task."""
        task = asyncio.create_task(work)
        self.asides.add(task)
        task.add_done_callback(self.asides.discard)
        return task

    def start_turn(self) -> None:
        """Start driving when idle; a turn that runs takes what waits by itself."""
        if not self.is_busy:
            self._begin(self._drive(wanted=True))

    def go_on(self, cause: str) -> str:
        """Take a paused task up; a turn follows, or one is open, or it is refused: whoever asked is never
        left waiting."""
        if self.is_busy and self.session.fold.is_running:
            self.wake.set()
            return ""
        if not self.is_busy and self.session.fold.task_status is not TaskStatus.PAUSED:
            return NOTHING_PAUSED
        if self.recovery.undecided:
            return self.recovery.undecided
        self._continues.append(cause)
        self.start_turn()
        return ""

    def run_shell(self, body: RunShell, cause: str) -> None:
        """Begin the person's own command; nothing may run."""
        self._begin(self._shell(body, cause))

    def compact(self, body: Compact, cause: str) -> None:
        """Begin a compaction, or take one back; nothing may run."""

        def do(compactor: Compactor) -> Awaitable[str]:
            return compactor.undo() if body.undo else compactor.manual(body.focus)

        self._begin(self._compacting(do, cause, ""))

    async def switch_model(self, body: Set, cause: str) -> str:
        """Change the model; a view too big for it is compacted first, as work of its own, or in a run
        before the next request. Returns a refusal or ''."""
        try:
            info = apply(self.ports, body.key, body.value).model.info
        except SettingError as error:
            return str(error)
        window = Window(size=info.context_window, max_output=info.max_output)
        scope = self.scope()
        if self.is_busy or not Compactor(scope, lambda: view_of(scope)).is_too_big_for(window):
            return await self.change(body, cause)
        self._begin(self._shrink_and_switch(body, window, cause))
        return ""

    async def change(self, body: Set, cause: str) -> str:
        """Change a setting at once; returns a refusal or ''."""
        try:
            self.use(await change(self.session, self.ports, body.key, body.value, cause))
        except SettingError as error:
            return str(error)
        return ""

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        self.task = asyncio.create_task(work)

    # --- what runs in the one -----------------------------------------------------------------

    async def _drive(self, *, wanted: bool) -> None:
        """Turns until nothing waits that may start one; `wanted`: the first even without a message."""
        if self._relay.has_choice:
            self._return_to_chosen_model()
        while wanted or self.session.fold.inbox or self._continues:
            wanted, asked = False, self._continues
            self._continues = []
            self.stop = Stop()
            if await Turn(self.scope(), self.recovery, wake=self.wake).run() is None:
                for cause in asked:
                    self.session.show(Refused(command_id=cause, reason=NOTHING_PAUSED), cause=cause)
            self._return_to_chosen_model()
            self._give_title()
            paused = self.session.fold.task_status is TaskStatus.PAUSED
            if paused and not self.stop.now.is_set():
                await inbox.give_back(self.session, "the run stopped")
            used = self._meter.tokens(view_of(self.scope()))  # with the last answer, as `/context` counts
            self.session.show(StatusChanged(activity="", branch=self.ports.branch(), context_used=used))

    def _return_to_chosen_model(self) -> None:
        if self._relay.has_changed or self._relay.is_planning or self._relay.has_choice:
            self._relay = Relay(self.ports)
            self._meter = Meter()
            self.recall_sizes()
            self.session.show(room.of_model(self.ports.model.info))

    def _give_title(self) -> None:
        """Only one is asked for, however many turns end before it is there."""
        is_asked = self._naming is not None and not self._naming.done()
        if not is_asked and wants_title(self.scope()):
            self._naming = self.aside(give_title(self.scope()))

    async def _shell(self, body: RunShell, cause: str) -> None:
        """The person's own command; its output goes to the model when it is wanted there."""
        self.stop = Stop()
        scope = self.scope()
        try:
            wave = Wave(scope, Snapshots(scope), self.session.fold.steps)
            own = {"cmd": body.command}
            outcome = await run_own(scope, wave, "exec_command", own, "person", to_model=body.to_context)
            if body.to_context:
                text = f"The user ran `{body.command}`:\n{outcome.text}"
                await self.session.commit(NoticeItem(id=self.session.item_id("n"), text=text), cause=cause)
        except StoppedError:
            pass
        except RecordsError as error:
            self.session.show(Refused(command_id=cause, reason=str(error)))
        await self._drive(wanted=False)

    async def _shrink_and_switch(self, body: Set, window: Window, cause: str) -> None:
        before = self.ports.model

        async def do(compactor: Compactor) -> str:
            await compactor.shrink_for(window, body.value)
            is_newest = self.ports.model is before
            return await self.change(body, cause) if is_newest else "another model was chosen meanwhile"

        await self._compacting(do, cause, "the model is as before")

    async def _compacting(self, do: Callable[[Compactor], Awaitable[str]], cause: str, kept: str) -> None:
        self.stop = Stop()
        scope = self.scope()
        self.session.show(StatusChanged(activity="compacting"))
        try:
            refusal = await do(Compactor(scope, lambda: view_of(scope)))
        except StoppedError:
            refusal = kept  # a stop leaves that as it is, besides the view
        except RecordsError as error:
            refusal = str(error)
        if refusal:
            self.session.show(Refused(command_id=cause, reason=refusal), cause=cause)
        self.session.show(StatusChanged(activity=""))
        await self._drive(wanted=False)
