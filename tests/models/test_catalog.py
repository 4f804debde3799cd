from typing import Any

import pytest

from agent_tui.models.base import ModelInfo, cost_usd
from agent_tui.models.catalog import CatalogError, Quirks, find_model, find_provider, provider_names
from agent_tui.models.route import find_route
from context.items import Usage


def info(provider: str, model: str, overrides: Any = None) -> ModelInfo:
    return find_model(find_provider(provider, overrides), model)[0]


def test_every_entry_of_the_catalogue_is_well_formed() -> None:
    for name in provider_names():
        provider = find_provider(name)
        for model in provider.table.get("models", {}):
            found, _ = find_model(provider, model)
            assert found.known and found.max_output < found.context_window
            assert (found.price_cache_read or 0) <= (found.price_input or 0) <= (found.price_output or 0)


def test_a_dated_name_is_the_model_without_the_date() -> None:
    dated = info("anthropic", "claude-haiku-4-5-20251001")
    assert (dated.context_window, dated.price_output, dated.known) == (200_000, 5.0, True)


def test_an_unknown_model_gets_a_safe_default_and_says_so() -> None:
    route = find_route("openai/nobody-knows")
    assert (route.info.context_window, route.info.price_input, route.info.known) == (32_000, None, False)
    told = route.info.assumption
    assert "not in the catalogue" in told and 'models."' in told and "context_window" in told


def test_a_user_overrides_every_value() -> None:
    own = {
        "compatible": {"base_url": "http://127.0.0.1:1/v1", "models": {"m": {"context_window": 16_000}}},
        "openai": {"models": {"gpt-5.5": {"price_input": 1, "quirks": {"cache_key": False}}}},
    }
    assert info("compatible", "m", own).context_window == 16_000
    found, quirks = find_model(find_provider("openai", own), "gpt-5.5")
    assert (found.price_input, found.price_output) == (1, 30.0)
    assert quirks == Quirks(
        max_tokens_field="max_completion_tokens", system_role="developer", effort="reasoning_effort"
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"models": {"m": {"context_windw": 1}}}, "unknown key `context_windw`"),
        ({"models": {"m": {"context_window": "big"}}}, "`context_window` cannot be `big`"),
        ({"models": {"m": {"context_window": True}}}, "`context_window` cannot be `True`"),
        ({"models": {"m": {"price_input": -1}}}, "cannot be negative"),
        ({"models": {"m": {"known": True}}}, "unknown key `known`"),
        ({"quirks": {"effort": "telepathy"}}, "`effort` cannot be `telepathy`"),
        ({"api": "soap"}, "`api` must be"),
    ],
)
def test_a_wrong_value_is_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        find_route("compatible/m", base_url="http://127.0.0.1:1/v1", providers={"compatible": table})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "base_url", "message"),
    [
        ("gpt-5.5", "", "must be written as PROVIDER/MODEL"),
        ("nobody/m", "", "unknown provider `nobody`"),
        ("compatible/m", "", "needs an address"),
        ("compatible/m", "localhost:8000", "must begin with http"),
        ("openai/", "", "PROVIDER/MODEL"),
    ],
)
def test_a_name_or_address_that_cannot_be_used_is_explained(name: str, base_url: str, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        find_route(name, base_url=base_url)
    assert message in str(caught.value)


def test_an_address_with_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(CatalogError) as caught:
        find_route("compatible/m", base_url="https://ann:swordfish@models.example/v1")
    assert "api_key_env" in str(caught.value) and "swordfish" not in str(caught.value)


def test_model_names_may_hold_slashes() -> None:
    assert find_route("openrouter/qwen/qwen3-coder").info.model == "qwen/qwen3-coder"


@pytest.mark.parametrize(
    ("url", "needs_key"),
    [
        ("http://127.0.0.1:8080/v1", False),
        ("http://localhost:8080/v1", False),
        ("http://[::1]:8080/v1", False),
        ("http://192.168.1.5:8080/v1", True),
        ("https://127.0.0.1.evil.example/v1", True),
        ("https://localhost.evil.example/v1", True),
    ],
)
def test_only_loopback_needs_no_key(url: str, needs_key: bool) -> None:
    assert find_route("compatible/m", base_url=url).needs_key is needs_key


def test_the_address_fits_the_sdk_of_the_dialect() -> None:
    assert find_route("anthropic/m", base_url="http://127.0.0.1:1/v1/").base_url == "http://127.0.0.1:1"
    assert find_route("openai/m", base_url="http://127.0.0.1:1/v1/").base_url == "http://127.0.0.1:1/v1"


PRICED = ModelInfo(
    provider="p",
    model="m",
    context_window=10,
    max_output=1,
    price_input=2.0,
    price_output=10.0,
    price_cache_read=0.2,
    price_cache_write=2.5,
    long_from=1_000_000,
    long_input=2.0,
    long_output=1.5,
)


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(input_tokens=1_000_000, output_tokens=100_000), 3.0),
        (Usage(input_tokens=1_000_000, cache_read_tokens=500_000), 1.1),
        (Usage(input_tokens=1_000_000, cache_write_tokens=1_000_000), 2.5),
        (Usage(input_tokens=2_000_000, output_tokens=100_000), 9.5),
        (Usage(), 0.0),
    ],
)
def test_cost(usage: Usage, usd: float) -> None:
    assert cost_usd(usage, PRICED) == pytest.approx(usd)


def test_an_unknown_price_has_no_cost_and_a_local_model_costs_nothing() -> None:
    usage = Usage(input_tokens=5, output_tokens=5)
    assert cost_usd(usage, info("openai", "nobody-knows")) is None
    assert cost_usd(usage, info("ollama", "qwen3")) == 0.0


def test_a_provider_without_a_dialect_says_what_to_add() -> None:
    with pytest.raises(CatalogError, match=r"is not set; add it to `\[providers.work\]`"):
        find_route("work/m", providers={"work": {"base_url": "http://127.0.0.1:1/v1"}})
