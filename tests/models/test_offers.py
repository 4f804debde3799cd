"""What a person can choose from: models with a key, and those of servers on this machine."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.config.layers import resolve
from agent_tui.models.offers import FRESH_S, Offer, Offers
from agent_tui.session_models import offers_of
from tests.model_server.fixture import ModelServer

CLOSED = "http://127.0.0.1:9/v1"
QUIET = {name: {"base_url": CLOSED} for name in ("ollama", "lmstudio", "llamacpp", "vllm")}


class FakeClock:
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def dripping() -> Iterator[str]:
    """Address of a server that sends a byte now and then, for ever."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not stop.wait(0.02):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    stop.set()
    thread.join()
    listener.close()


async def test_only_providers_with_a_key_offer_their_models() -> None:
    names = [offer.name for offer in await Offers(QUIET, {"ANTHROPIC_API_KEY": "k"}).list()]
    assert names and all(name.startswith("anthropic/") for name in names)


@pytest.mark.parametrize(
    ("environ", "where"), [({}, "no key: ANY_KEY"), ({"ANY_KEY": "k"}, "ANY_KEY")], ids=["none", "any"]
)
async def test_what_the_person_set_up_is_offered_and_says_what_is_missing(
    environ: dict[str, str], where: str
) -> None:
    table = {**QUIET, "mine": {"api": "chat", "base_url": "https://x.example/v1", "models": {"a": {}}}}
    assert await Offers(table, environ, any_key="ANY_KEY").list() == (Offer(name="mine/a", where=where),)


async def test_models_of_the_settings_and_of_local_servers_are_offered_once(
    model_server: ModelServer,
) -> None:
    model_server.script([], models=["small", "large"])
    sizes = {"context_window": 64_000, "max_output": 1_000}
    mine = {"api": "chat", "base_url": model_server.base_url(), "local": True, "models": {"large": sizes}}
    where = model_server.base_url().partition("://")[2].partition("/")[0]
    assert await Offers({**QUIET, "mine": mine}, {}).list() == (
        Offer(name="mine/small", where=where, price_input=0.0, price_output=0.0),
        Offer(
            name="mine/large",
            where=where,
            context_window=64_000,
            price_input=0.0,
            price_output=0.0,
            reasoning=False,
        ),
    )


async def test_servers_are_asked_again_after_a_while_only(model_server: ModelServer) -> None:
    model_server.script([], models=["old"])
    clock = FakeClock()
    mine = {"api": "chat", "base_url": model_server.base_url(), "local": True}
    offers = Offers({**QUIET, "mine": mine}, {}, clock=clock)
    first = await offers.list()
    model_server.script([], models=["new"])
    assert await offers.list() == first
    clock.now += FRESH_S + 1
    assert [offer.name for offer in await offers.list()] == ["mine/new"]


async def test_a_server_that_drips_holds_nobody_up(dripping: str) -> None:
    mine = {"api": "chat", "base_url": dripping, "local": True}
    assert await Offers({**QUIET, "mine": mine}, {}).list() == ()


async def test_a_provider_whose_entry_is_wrong_hides_no_other() -> None:
    table = {**QUIET, "broken": {"api": "telex"}}
    assert await Offers(table, {"OPENAI_API_KEY": "k"}).list()


async def test_the_server_whose_address_was_given_with_the_model_offers_its_models(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.script([], models=["coder", "small"])
    flags = {"model": "compatible/coder", "base_url": model_server.base_url()}
    found = resolve(
        flags, [f'providers.{name}.base_url="{CLOSED}"' for name in QUIET], environ={"HOME": str(tmp_path)},
        directory=tmp_path, is_trusted=lambda *_: False,
    )  # fmt: skip
    assert [offer["name"] for offer in await offers_of(found)()] == ["compatible/coder", "compatible/small"]
