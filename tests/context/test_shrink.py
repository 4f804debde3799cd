import json
from dataclasses import replace

from context.facts import CallFact, PathChange
from context.items import CallPart, Item, ResponseItem, ResultItem
from context.shrink import shrink
from context.units import units_of
from tests.context.logs import ORIGIN

LONG = "x" * 2000


class Steps:
    """A log of one call a step, with its facts."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.facts: dict[str, CallFact] = {}

    def add(self, kind: str, target: str, text: str = LONG, arguments: str = "{}", **values: object) -> str:
        number = len(self.facts) + 1
        call_id = f"c{number}"
        call = CallPart(call_id=call_id, provider_id=call_id, tool=kind, arguments=arguments)
        self.items.append(ResponseItem(id=f"r{number}", step_id="s", parts=(call,), origin=ORIGIN))
        self.items.append(
            ResultItem(id=f"o{number}", response_item_id=f"r{number}", call_id=call_id, text=text)
        )
        fact = CallFact(
            call_id=call_id,
            tool=kind,
            kind="other",
            step=number,
            target=target,
            key=target,
            status="succeeded",
        )
        values = {"kind": kind, "sha256": text[:8]} | values
        self.facts[call_id] = replace(fact, **values)  # type: ignore[arg-type]
        return call_id

    def shortened(self, protected: tuple[str, ...] = ()) -> dict[str, str]:
        found = shrink(units_of(self.items), self.facts, protected)
        return {r.call_id: r.result_text or r.arguments or "" for r in found}


def test_a_read_is_superseded_only_by_one_that_contains_its_lines() -> None:
    steps = Steps()
    one = steps.add("read", "a.py", first_line=10, last_line=20)
    other = steps.add("read", "a.py", first_line=30, last_line=90)
    steps.add("read", "a.py", first_line=1, last_line=25)
    short = steps.shortened()
    assert one in short
    assert other not in short


def test_a_read_is_superseded_by_a_later_write_of_the_file_but_not_an_earlier_one() -> None:
    steps = Steps()
    before = steps.add("read", "a.py")
    steps.add("write", "a.py", changes=(PathChange(path="a.py", kind="M"),))
    after = steps.add("read", "a.py")
    short = steps.shortened()
    assert before in short
    assert after not in short


def test_two_long_commands_that_differ_at_the_end_are_different() -> None:
    steps = Steps()
    steps.add("exec", "x" * 300 + "1")
    steps.add("exec", "x" * 300 + "2")
    assert steps.shortened() == {}


def test_a_repeated_command_becomes_a_reference_or_a_line_with_its_error() -> None:
    steps = Steps()
    same = steps.add("exec", "make", text=LONG)
    steps.add("exec", "make", text=LONG)
    different = steps.add("exec", "test", text="y" * 2000, exit_code=1, status="failed", first_error="E one")
    steps.add("exec", "test", exit_code=0)
    short = steps.shortened()
    assert "same output as call c2" in short[same]
    assert "first error: E one" in short[different]


def test_the_last_failure_of_a_command_is_never_shortened() -> None:
    steps = Steps()
    failed = steps.add("exec", "make", status="failed", exit_code=2)
    assert failed not in steps.shortened()


def test_polls_of_one_terminal_collapse_but_for_the_newest() -> None:
    steps = Steps()
    first = steps.add("poll", "t1", terminal="t1")
    other = steps.add("poll", "t2", terminal="t2")
    last = steps.add("poll", "t1", terminal="t1")
    assert first in steps.shortened()
    assert {other, last} & set(steps.shortened()) == set()


def test_protected_units_stay_as_they_are() -> None:
    steps = Steps()
    steps.add("exec", "make")
    steps.add("exec", "make")
    assert steps.shortened(protected=("r1",)) == {}


def test_the_arguments_of_an_applied_patch_become_size_and_hash_inside_valid_json() -> None:
    steps = Steps()
    arguments = json.dumps({"patch": "+" * 5000, "note": "short"})
    call = steps.add("write", "a.py", text="ok", arguments=arguments)
    short = json.loads(steps.shortened()[call])
    assert short["note"] == "short"
    assert short["patch"].startswith("[5,000 bytes, sha256 ")
