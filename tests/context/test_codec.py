import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.codec import DecodeError, decode, encode
from context.items import Item, UserItem
from tests.context.logs import make_log
from tools.types import Artifact, Outcome, OutcomeStatus


@given(st.integers(0, 10_000), st.integers(0, 15))
def test_items_survive_json(seed: int, steps: int) -> None:
    for item in make_log(seed, steps).items:
        assert decode(Item, json.loads(json.dumps(encode(item)))) == item


def test_unknown_keys_are_ignored_and_missing_ones_take_their_default() -> None:
    assert decode(UserItem, {"type": "UserItem", "id": "i", "text": "t", "later": 1}) == UserItem(
        id="i", text="t"
    )


@pytest.mark.parametrize(
    "value",
    [None, 3, [], {"type": "Nope"}, {"type": []}, {"type": "UserItem"}, {"type": "UserItem", "id": 3}],
)
def test_what_does_not_fit_is_refused(value: object) -> None:
    with pytest.raises(DecodeError):
        decode(UserItem, value)
    with pytest.raises(DecodeError):
        decode(Item, value)


def test_paths_come_back_as_paths() -> None:
    outcome = Outcome(
        status=OutcomeStatus.SUCCEEDED,
        text="",
        artifact=Artifact(ref="out/c1.1", path=Path("/state/c1.1.out"), size_bytes=3),
    )
    assert decode(Outcome, json.loads(json.dumps(encode(outcome)))) == outcome
