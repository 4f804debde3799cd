"""An agent to be killed: starts the script given, says so, and waits. Arguments: base, mode, tty, script."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from sandbox.launch import spawn
from sandbox.policy import Mode
from sandbox.probe import probe
from tests.sandbox.worlds import World


async def main(base: Path, mode: str, tty: str, script: str) -> None:
    world = World(base=base, mark="")
    running = await spawn(
        ["bash", "-c", script],
        policy=world.policy(mode=Mode(mode)),
        cwd=world.ws,
        probe=probe(world.state),
        environ=world.environ(),
        tty=tty == "tty",
    )
    print("started", running.root_pid, flush=True)
    await running.ended()


asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
