"""Each failure word has a drill that passes; `scripts/drills` prints the same as a report."""

from pathlib import Path

import pytest

from tests.drills.every import DRILLS
from tests.drills.place import Drill, Place
from tests.model_server.fixture import ModelServer

WORDS = {
    "timeout",
    "rate limit",
    "tool fault",
    "duplicate message",
    "interruption",
    "cancel",
    "corrupt state",
    "over-reach",
    "disk full",
    "clock change",
    "provider down",
    "sandbox missing",
    "two owners",
}


@pytest.mark.parametrize("drill", DRILLS.values(), ids=[word.replace(" ", "-") for word in DRILLS])
def test_drill(drill: Drill, tmp_path: Path, model_server: ModelServer) -> None:
    assert drill.run(Place.at(tmp_path, model_server))


def test_every_failure_word_has_a_drill() -> None:
    assert set(DRILLS) == WORDS
