import pytest

from agent_tui.models.local import ListingError, LocalServer, find_local_servers, list_models
from tests.model_server.fixture import ModelServer

CLOSED = "http://127.0.0.1:9/v1"  # the discard port: nobody listens


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


async def test_only_servers_that_answer_are_found(model_server: ModelServer) -> None:
    model_server.script([], models=["a"])
    table = {name: {"base_url": CLOSED} for name in ("ollama", "lmstudio", "llamacpp", "vllm")}
    table["mine"] = {"api": "chat", "base_url": model_server.base_url(), "local": True}
    found = await find_local_servers(table)
    assert found == (LocalServer(provider="mine", base_url=model_server.base_url(), models=("a",)),)
