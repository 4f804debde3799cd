"""The model of a turn: the chosen one, and after failures that allow it the next one configured.

A model that took over answers until the end of the run: going back at each step would repeat the
failure, and every change of model costs the provider's cache. The next run begins with the chosen one.
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
        self._model: Model = ports.model
        self._choose = ports.choose_model
        self._waiting = deque(name for name in ports.fallback if name != ports.model.info.name)
        self.has_changed = False
        own_summaries = ports.summariser is ports.model
        self.ports = replace(ports, model=self, summariser=self if own_summaries else ports.summariser)

    @property
    def info(self) -> ModelInfo:
        """Of the model that answers now."""
        return self._model.info

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """See `base.Model`."""
        return self._model.stream(request)

    def body(self, request: ModelRequest) -> bytes:
        """See `base.Model`."""
        return self._model.body(request)

    def advance(self) -> tuple[bool, tuple[str, ...]]:
        """Let the next model answer, each once; whether there was one, and why others cannot."""
        problems: list[str] = []
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
