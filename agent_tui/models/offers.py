"""The models a person can choose from: of providers that have a key, and of servers on this machine.

`Offers.list` is the one place that knows; the interface asks for it as `Subject.MODELS`.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent_tui.frozen import frozen
from agent_tui.models.catalog import CatalogError, Provider, find_model, find_provider, readable_providers
from agent_tui.models.route import is_loopback

if TYPE_CHECKING:
    from agent_tui.models.local import LocalServer

FRESH_S = 30.0  # an answer of the local servers is used again for so long


@frozen
class Offer:
    """A model to choose; `where` is the variable with its key or its server, or says which key is missing."""

    name: str  # `PROVIDER/MODEL`
    where: str
    context_window: int | None = None  # tokens; None: nothing is known of the model
    price_input: float | None = None  # USD per million tokens
    price_output: float | None = None
    reasoning: bool | None = None  # whether it takes an effort; None: nothing is known of the model
    state: str = ""  # `loaded` or `not loaded`, where a server on this machine says it


class Offers:
    """What can be chosen with one configuration."""

    def __init__(
        self,
        providers: Mapping[str, Any],
        environ: Mapping[str, str],
        *,
        any_key: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`providers` is the user's table, `environ` tells which keys there are, `any_key` is the variable
        of a key for providers that name none."""
        self._providers = providers
        self._environ = environ
        self._any_key = any_key
        self._clock = clock
        self._asked_at: float | None = None
        self._servers: tuple[LocalServer, ...] = ()

    async def list(self) -> tuple[Offer, ...]:
        """Models of the catalogue and the settings first, then those that local servers name; no name
        twice. Takes at most about a second, and nothing leaves this machine; raises nothing."""
        from agent_tui.models.local import find_local_servers

        now = self._clock()
        if self._asked_at is None or now - self._asked_at > FRESH_S:
            self._servers = await find_local_servers(self._providers)
            self._asked_at = now
        found = [*self._of_settings(), *self._of_servers()]
        return tuple({offer.name: offer for offer in reversed(found)}.values())[::-1]

    def _of_settings(self) -> Iterator[Offer]:
        for provider in readable_providers(self._providers):
            where = self._key_of(provider)
            if where and not provider.local:
                for model in provider.table.get("models", {}):
                    yield from self._offer(provider, model, where)

    def _key_of(self, provider: Provider) -> str:
        """Where the key comes from, or the address that needs none; '' for a provider that nobody set up."""
        if provider.needs_base_url and not provider.base_url:
            return ""
        if is_loopback(provider.base_url):
            return _shown(provider.base_url)
        if provider.api_key_command or provider.api_key_keyring:
            return "api_key_command" if provider.api_key_command else "api_key_keyring"
        variable = provider.api_key_env or self._any_key
        if self._environ.get(variable):
            return variable
        return f"no key: {variable}" if provider.name in self._providers else ""

    def _of_servers(self) -> Iterator[Offer]:
        for server in self._servers:
            provider = find_provider(server.provider, self._providers)
            for model in server.models:
                yield from self._offer(provider, model, _shown(server.base_url), server.state_of(model))

    def _offer(self, provider: Provider, model: str, where: str, state: str = "") -> Iterator[Offer]:
        try:
            info, _ = find_model(provider, model)
        except CatalogError:
            return  # told when the model is chosen
        yield Offer(
            name=info.name,
            where=where,
            context_window=info.context_window if info.known else None,
            price_input=info.price_input,
            price_output=info.price_output,
            reasoning=info.reasoning if info.known else None,
            state=state,
        )


def _shown(base_url: str) -> str:
    return base_url.partition("://")[2].partition("/")[0]
