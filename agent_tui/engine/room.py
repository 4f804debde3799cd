"""What the status line is told of the room that a model has."""

from dataclasses import replace

from agent_tui.engine.events import StatusChanged
from agent_tui.models.base import ModelInfo
from context.budget import Window


def of_window(window: Window, used: int | None = None) -> StatusChanged:
    """The limits of a window, and how many tokens of it are used."""
    return StatusChanged(
        context_used=used,
        context_window=window.size,
        context_soft=window.soft,
        context_hard=window.input,
    )


def of_model(info: ModelInfo) -> StatusChanged:
    """Another model answers, and what it has room for."""
    window = Window(size=info.context_window, max_output=info.max_output)
    return replace(of_window(window), model=info.name)
