"""Starts the interface on a terminal, and leaves the terminal as it was.

`run(start, config, …)` owns the event loop. `start` is awaited after the first paint and returns
the engine: the screen is there before stores are opened and model SDKs are imported. Keys typed
until then are in the draft, a message sent early is delivered once the engine is up. The exit code
is returned; what `start` raises as `AgentError`, and any internal error, is raised again after the
terminal was restored, for the command line to print.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.engine.types import Config
from agent_tui.tui import toolkit
from agent_tui.tui.probe import Probe
from context.items import Image

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp
    from agent_tui.tui.link import Start


def run(
    start: "Start", config: Config, *, initial_prompt: str | None = None,
    images: Sequence[Image] = (), offered: str = "",
) -> int:  # fmt: skip
    """Run the interface to its end; 0, or 130 and 143 after SIGINT and SIGTERM. `offered` is a message
    that Enter sends as the first one."""
    descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
    probe = Probe(descriptor)
    toolkit.prepare()
    from agent_tui.tui.app import AgentApp

    look = toolkit.look_for(config.interface, probe.answers())
    app = AgentApp(start, config, initial_prompt=initial_prompt, images=images, offered=offered, look=look)
    return on_terminal(app, descriptor)


def on_terminal(app: "AgentApp", descriptor: int) -> int:
    """Run the app between a guardian and the words for the scrollback."""
    from agent_tui import handover
    from agent_tui.tui import driver, leaving

    driver.add_keys()
    with driver.guarded(descriptor) as app.guardian:
        code = app.run(mouse=app.config.interface.get("mouse", "true") != "false")
    leaving.write(app.session, app.glyphs, is_kept=app.session.is_kept and not app.config.ephemeral)
    if app.outside.next_arguments is not None and app.failure is None:
        handover.become(app.outside.next_arguments, app.config.workspace)
    if app.failure is not None:
        raise app.failure
    return code if code is not None else app.return_code or 0
