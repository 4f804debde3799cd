"""An engine that plays a list of events with timing and keeps the commands it was sent."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from agent_tui.engine import commands, events

Play = Sequence[float | events.Body]  # a number is a pause in seconds


class FakeEngine:
    """Implements `commands.Engine`; `on` says what to play in answer to a command."""

    def __init__(
        self,
        play: Play = (),
        *,
        on: Callable[[commands.CommandBody], Play] | None = None,
        at: float = 1_000.0,
    ) -> None:
        self.sent: list[commands.CommandBody] = []
        self.at = at  # time stamp of every event
        self._play = list(play)
        self._on = on or (lambda body: ())
        self._queue: asyncio.Queue[events.Event] = asyncio.Queue()
        self._seq = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._started = False

    @property
    def is_quiet(self) -> bool:
        """Whether it was started and everything was played and read."""
        return self._started and not self._tasks and self._queue.empty()

    async def start(self) -> commands.Engine:
        """What the interface awaits after its first paint."""
        self._started = True
        self.play(self._play)
        return self

    def play(self, play: Play) -> None:
        """Play more events, after those that are being played."""
        task = asyncio.create_task(self._run(list(play)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def emit(self, body: events.Body) -> None:
        """One event, now."""
        self._seq += 1
        self._queue.put_nowait(events.Event(seq=self._seq, at=self.at, run_id="r1", body=body))

    async def _run(self, play: Play) -> None:
        for each in play:
            if isinstance(each, int | float):
                await asyncio.sleep(each)
            else:
                self.emit(each)

    def send(self, command: commands.Command) -> None:
        self.sent.append(command.body)
        body = command.body
        if isinstance(body, commands.Shutdown):
            self.emit(events.SessionClosed(reason=body.why))
            return
        answer = self._on(body)
        if isinstance(body, commands.Inspect):
            if answer:
                first = answer[0]
                assert isinstance(first, events.Inspected | events.Refused)
                kind = type(first)
                fields = (
                    {"data": first.data} if isinstance(first, events.Inspected) else {"reason": first.reason}
                )
                self.emit(kind(command_id=command.id, **fields))
            else:
                self.emit(events.Refused(command_id=command.id, reason="nothing to inspect here"))
            return
        if answer:
            self.play(answer)

    async def _events(self) -> AsyncIterator[events.Event]:
        while True:
            yield await self._queue.get()

    def events(self) -> AsyncIterator[events.Event]:
        return self._events()

    def sent_of(self, kind: type) -> list[commands.CommandBody]:
        """The commands of one kind, in order."""
        return [body for body in self.sent if isinstance(body, kind)]
