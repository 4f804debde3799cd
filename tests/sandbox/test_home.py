"""The home as commands see it, on the root of the sandbox and below another mount of it."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sandbox import host
from sandbox.bwrap import Kind
from sandbox.launch import spawn
from sandbox.policy import Mode, Policy
from tests.sandbox.conftest import Shell, read_all

ON_ROOT = Path("/home/nobody-has-this-home")  # commands need none to exist

SCRIPT = """
cd
pwd
echo evil > planted; mkdir made; ln -s /etc link
echo evil > /.agent-tui/gitconfig; rm -f /.agent-tui/gitignore; mv /.agent-tui /moved; touch /planted
echo kept > .cache/note && cat .cache/note
git config --global core.excludesfile
ls -A /.agent-tui
"""


@pytest.mark.parametrize("place", ["on the root", "below another mount"])
async def test_the_home_is_closed_but_for_its_cache(shell: Shell, place: str) -> None:
    home = ON_ROOT if place == "on the root" else shell.world.home
    running = await spawn(
        ["bash", "-c", SCRIPT],
        policy=shell.world.policy(),
        cwd=shell.world.ws,
        probe=shell.found,
        environ=shell.world.environ() | {"HOME": str(home)},
    )
    said = await read_all(running)
    await running.ended()
    running.close()
    lines = said.splitlines()
    assert [line for line in lines if "Read-only file system" not in line] == [
        str(home), "kept", "/.agent-tui/gitignore",
            "gitconfig", "gitconfig-0", "gitconfig-of", "gitignore", "gitignore-0",
    ]  # fmt: skip
    assert said.count("Read-only file system") == 7
    assert not ON_ROOT.exists()


@pytest.mark.parametrize("option", ["extra_roots", "writable"])
def test_a_home_that_a_root_opens_is_closed_by_itself(option: str) -> None:
    policy = Policy(mode=Mode.WORKSPACE_WRITE, workspace=Path("/srv/w"), state_dir=Path("/srv/state"))
    opened = replace(policy, **{option: (ON_ROOT.parent,)})
    look = partial(host.look, home_dir=ON_ROOT, cache_dir=Path("/srv/cache"), environ={})
    assert (look(policy).home, look(policy).home_parts[0].kind) == (None, Kind.DIRECTORY)
    assert (look(opened).home, look(opened).home_parts[0].kind) == (str(ON_ROOT), Kind.TMPFS)
