"""The model of a turn: the planner where there is one, the chosen one, and after failures the next one.

Another one chosen meanwhile answers from the next request on; the one under way is left alone.

A model that took over answers until the end of the run: going back at each step would repeat the
failure, and every change of model costs the provider's cache. The next run begins anew.
"""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace

from agent_tui.engine.ports import Ports
from agent_tui.errors import AgentError
from agent_tui.models.base import Model, ModelInfo, ModelRequest, StreamPart


class Relay:
    """Stands where a model stands; `ports` are those of the session with the relay as their model."""

    def __init__(self, ports: Ports) -> None:
        self._main: Model = ports.model
        planner = ports.planner or ports.model
        self._model: Model = ports.model if planner.info.name == ports.model.info.name else planner
        self._chosen: Model | None = None  # meanwhile, by the person
        self._choose = ports.choose_model
        self._waiting = deque(name for name in ports.fallback if name != ports.model.info.name)
        self.has_changed = False
        own_summaries = ports.summariser is ports.model
        self.ports = replace(ports, model=self, summariser=self if own_summaries else ports.summariser)

    @property
    def info(self) -> ModelInfo:
        """Of the model that answers now."""
        return self._model.info

    @property
    def is_planning(self) -> bool:
        """The planner answers."""
        return self._model is not self._main and not self.has_changed

    def hand_over(self) -> None:
        """Let the chosen model answer after the planner."""
        self._model, self.has_changed = self._main, True

    @property
    def has_choice(self) -> bool:
        """Another model was chosen and has not been asked yet."""
        return self._chosen is not None

    def choose(self, model: Model) -> None:
        """Let this model be the chosen one from the next request on."""
        self._chosen = model

    def take_choice(self) -> bool:
        """Before a request: whether another model answers now. A planner goes on and hands over to it."""
        if self._chosen is None:
            return False
        was_planning, before = self.is_planning, self._model
        self._main, self._chosen = self._chosen, None
        self._waiting = deque(name for name in self._waiting if name != self._main.info.name)
        if not was_planning:
            self._model, self.has_changed = self._main, True
        return self._model is not before

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """See `base.Model`."""
        return self._model.stream(request)

    def body(self, request: ModelRequest) -> bytes:
        """See `base.Model`."""
        return self._model.body(request)

    def advance(self) -> tuple[bool, tuple[str, ...]]:
        """Let the next model answer, each once; whether there was one, and why others cannot."""
        problems: list[str] = []
        if self.has_choice and self.take_choice():
            return True, ()
        if self.is_planning:
            self.hand_over()
            return True, ()
        while self._waiting and self._choose is not None:
            name = self._waiting.popleft()
            try:
                self._model = self._choose(name)
            except AgentError as error:
                problems.append(f"`{name}` cannot take over: {error}")
            else:
                self.has_changed = True
                return True, tuple(problems)
        return False, tuple(problems)
