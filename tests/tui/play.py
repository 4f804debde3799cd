"""Runs the real interface over a `FakeEngine` on this terminal: `python play.py SCENE DIRECTORY`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)

from agent_tui.engine import commands  # noqa: E402 - the checkout has to be on the path first
from agent_tui.tui import entry  # noqa: E402
from tests.tui import gallery, scenes  # noqa: E402
from tests.tui.fake_engine import FakeEngine, Play  # noqa: E402


def answer(body: commands.CommandBody) -> Play:
    """A model that says what it was told."""
    if isinstance(body, commands.Submit):
        said = [*scenes.message(body.text, number=len(body.text)), *scenes.turn(), *scenes.step(1)]
        return [*said, *scenes.response(1, f"You said {len(body.text)} characters"), *scenes.end()]
    if isinstance(body, commands.Interrupt):
        return scenes.end(interrupted=True)
    return ()


def main() -> int:
    name, directory = sys.argv[1], Path(sys.argv[2])
    scene = getattr(scenes, name, None) or getattr(gallery, name, list)
    engine = FakeEngine([*scenes.started(), *scene()], on=answer)
    config = scenes.config(directory, interface=dict(pair.split("=") for pair in sys.argv[3:]))
    try:
        return entry.run(engine.start, config)
    finally:
        log = directory / "sent.log"
        log.write_text("\n".join(map(repr, engine.sent)))


if __name__ == "__main__":
    sys.exit(main())
