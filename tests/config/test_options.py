"""The option table is whole and consistent."""

import re

from agent_tui.config.options import EXEC_OPTIONS, OPTIONS, RUN_OPTIONS, Option, by_name, find
from agent_tui.config.values import BadValueError, from_text
from agent_tui.engine.types import EFFORTS, ApprovalPolicy
from agent_tui.models.catalog import find_model, find_provider
from agent_tui.models.example import EXAMPLE_MODEL
from sandbox.policy import Limits, Mode
from tests.program import ROOT


def test_every_option_has_a_key_and_a_variable_of_its_own() -> None:
    variables = [option.environment for option in OPTIONS if option.environment]
    assert len(set(variables)) == len(variables)
    assert all(find(option.key) is option for option in OPTIONS if "*" not in option.key)


def test_defaults_are_values_of_their_option() -> None:
    for option in OPTIONS:
        if option.choices and option.default is not None:
            assert option.default in option.choices
        if option.kind == "flag" and option in RUN_OPTIONS + EXEC_OPTIONS:
            assert option.default is False
        if option.strictest and option.choices:
            assert set(option.strictest) == set(option.choices)


def test_choices_are_the_words_of_the_engine() -> None:
    """The table is read where nothing of the engine is loaded, so it has its own."""
    words = {"effort": EFFORTS, "approval": tuple(ApprovalPolicy)}
    assert {name: by_name(name).choices for name in words} == words
    assert set(by_name("sandbox").choices) == set(Mode)


def test_a_tightening_option_can_be_ranked() -> None:
    for option in OPTIONS:
        if option.project == "tighten":
            assert option.strictest or option.kind in ("integer", "number"), option.name


def test_product_options_are_all_there() -> None:
    flags = {flag for option in RUN_OPTIONS + EXEC_OPTIONS for flag in option.flags}
    wanted = (
        "-m --model --base-url -C --cd --add-dir -s --sandbox --network -a --approval --profile -i --image"
        " --ephemeral --no-checkpoints --require-checkpoints --verify --max-turns --max-tool-calls"
        " --max-tokens --max-cost --timeout --json -o --output-last-message --output-schema"
        " --on-lost-result --answer"
    )
    assert set(wanted.split()) <= flags


def test_texts_become_values() -> None:
    def value(option: Option, text: str) -> object:
        try:
            return from_text(option, text)
        except BadValueError as problem:
            return str(problem)

    assert [value(by_name("network"), text) for text in ("1", "TRUE", "off", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert value(by_name("network"), "maybe") == "must be true or false, not `maybe`"
    assert value(by_name("max_cost"), "1.5") == 1.5
    assert [value(by_name(name), "0") for name in ("max_cost", "max_tool_calls", "max_idle_steps")] == [0] * 3
    assert value(by_name("max_turns"), "1.5") == "must be a whole number from 1 up, not `1.5`"
    assert value(by_name("timeout"), "0") == "must be a number above 0, not `0`"
    assert value(by_name("add_dir"), "/a\n/b") == ("/a", "/b")


def test_every_option_says_what_counts_where_nothing_is_set() -> None:
    silent = [o.name for o in OPTIONS if "*" not in o.key and o.default is None and not o.unset]
    assert silent == []


def test_the_words_for_unset_limits_are_what_the_sandbox_does() -> None:
    limits = Limits()
    sizes = (limits.file_size_bytes, limits.tmp_bytes)
    assert [by_name(f"limits.{name}").unset for name in ("tasks", "file_size_bytes", "tmp_bytes")] == [
        str(limits.tasks),
        *(f"{size // 2**30} GiB" for size in sizes),
    ]
    assert limits.memory_bytes is None


def test_one_model_is_the_example_everywhere_and_it_exists() -> None:
    pages = [*(ROOT / "agent_tui").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    provider, model = EXAMPLE_MODEL.split("/")
    named = {
        (page.name, name) for page in pages for name in re.findall(r"openai/gpt-[\w.-]+\w", page.read_text())
    }
    assert {name for _, name in named} == {EXAMPLE_MODEL}
    found, _ = find_model(find_provider(provider), model)
    assert found.known
