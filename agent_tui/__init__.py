"""A coding agent that lives in the terminal."""

from agent_tui import _imports

_imports.pin()

__version__ = "0.1.0"
