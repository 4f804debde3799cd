from typing import Any

import pytest

from agent_tui.models.local import ListingError, LocalServer, find_local_servers, list_models
from tests.model_server.fixture import ModelServer

CLOSED = "http://127.0.0.1:9/v1"  # the discard port: nobody listens


def closed(**at: str) -> dict[str, dict[str, str]]:
    """The servers of the catalogue nowhere but `at` these addresses."""
    places = dict.fromkeys(("ollama", "lmstudio", "llamacpp", "vllm"), CLOSED) | at
    return {name: {"base_url": url} for name, url in places.items()}


def test_models_are_listed(model_server: ModelServer) -> None:
    model_server.script([], models=["qwen3-coder:30b", "devstral"])
    assert list_models(model_server.base_url()) == ("qwen3-coder:30b", "devstral")


@pytest.mark.parametrize("url", [CLOSED, "http://127.0.0.1:notaport/v1", "http://[127.0.0.1"])
def test_a_server_that_does_not_answer_is_named(url: str) -> None:
    with pytest.raises(ListingError, match=r"127\.0\.0\.1") as failed:
        list_models(url)
    assert "Errno" not in str(failed.value)


def test_a_page_that_is_missing_is_named(model_server: ModelServer) -> None:
    with pytest.raises(ListingError, match="404"):
        list_models(model_server.base_url() + "/nothing")


ANSWERS: dict[str, tuple[str, str, Any, list[str]]] = {
    "ollama": ("ollama", "/api/ps", {"models": [{"name": "b"}, {"name": "of another tag"}]}, ["b"]),
    "ollama, none": ("ollama", "/api/ps", {"models": []}, []),
    "lmstudio": (
        "lmstudio",
        "/api/v0/models",
        {"data": [{"id": "a", "state": "not-loaded"}, {"id": "b", "state": "loaded"}]},
        ["b"],
    ),
    "llamacpp": ("llamacpp", "/props", {"default_generation_settings": {"n_ctx": 4096}}, ["a", "b"]),
    "llamacpp, asleep": (
        "llamacpp", "/props", {"default_generation_settings": {"n_ctx": 4096}, "is_sleeping": True}, [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("provider", "page", "document", "loaded"), ANSWERS.values(), ids=list(ANSWERS))
async def test_which_models_are_loaded_is_what_the_server_says(
    model_server: ModelServer, provider: str, page: str, document: Any, loaded: list[str]
) -> None:
    model_server.script([], models=["a", "b"], pages={page: document})
    [found] = await find_local_servers(closed(**{provider: model_server.base_url()}))
    said = {True: "loaded", False: "not loaded"}
    assert [found.state_of(name) for name in ("a", "b")] == [said[name in loaded] for name in ("a", "b")]


async def test_a_router_says_of_each_model_whether_it_is_loaded(model_server: ModelServer) -> None:
    listed = [{"id": "a", "status": {"value": "unloaded"}}, {"id": "b", "status": {"value": "loaded"}}]
    pages = {"/props": {"role": "router", "default_generation_settings": {}}, "/models": {"data": listed}}
    model_server.script([], pages=pages)
    [found] = await find_local_servers(closed(llamacpp=model_server.base_url()))
    assert (found.state_of("a"), found.state_of("b")) == ("not loaded", "loaded")


@pytest.mark.parametrize("document", [[], {}, {"data": [{"id": "a"}]}, {"models": "a"}, None, "a"])
@pytest.mark.parametrize(
    ("provider", "page"),
    [("ollama", "/api/ps"), ("lmstudio", "/api/v0/models"), ("llamacpp", "/props"), ("vllm", "/props")],
)
async def test_of_a_server_that_does_not_say_it_nothing_is_said(
    model_server: ModelServer, provider: str, page: str, document: object
) -> None:
    model_server.script([], models=["a"], pages={page: document})
    [found] = await find_local_servers(closed(**{provider: model_server.base_url()}))
    assert (found.models, found.loaded, found.state_of("a")) == (("a",), None, "")


async def test_only_servers_that_answer_are_found(model_server: ModelServer) -> None:
    model_server.script([], models=["a"])
    mine = {"api": "chat", "base_url": model_server.base_url()}  # an address of this machine is enough
    away = {"api": "chat", "base_url": "http://models.invalid/v1"}
    found = await find_local_servers({**closed(), "mine": mine, "away": away})
    assert found == (LocalServer(provider="mine", base_url=model_server.base_url(), models=("a",)),)
