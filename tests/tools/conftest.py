"""Fixtures of the tools' tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.tools.room import Room


@pytest_asyncio.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    """A toolbox over a real sandbox; everything it started has ended afterwards."""
    made = Room(tmp_path)
    if not made.probe.available:
        pytest.skip(made.probe.detail)
    yield made
    await made.toolbox.close()
