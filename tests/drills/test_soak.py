import os
from pathlib import Path

from tests.drills.place import Place
from tests.drills.soak import soak
from tests.model_server.fixture import ModelServer

STEPS = int(os.environ.get("AGENT_TUI_SOAK_STEPS", "40"))  # `scripts/soak` plays 2,000
SEED = int(os.environ.get("AGENT_TUI_SOAK_SEED", "1"))


def test_a_session_under_everything_at_once_stays_whole(tmp_path: Path, model_server: ModelServer) -> None:
    run = soak(Place.at(tmp_path, model_server), wanted=STEPS, seed=SEED)
    assert run.problems == []
    assert run.played >= STEPS
