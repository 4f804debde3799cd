"""From a route to a model that can be asked."""

from collections.abc import Callable, Mapping
from functools import partial

from agent_tui.models.keys import find_key
from agent_tui.models.remote import Dialect, RemoteModel
from agent_tui.models.route import Route
from agent_tui.models.transport import Endpoint, Sdk, Transport
from context.items import Api

_PATHS: Mapping[Api, str] = {
    "chat": "/chat/completions",
    "responses": "/responses",
    "messages": "/v1/messages",
}


def sdk_of(api: Api) -> Sdk:
    """The SDK that carries a dialect, for `transport.preload`."""
    return "anthropic" if api == "messages" else "openai"


def open_model(route: Route, *, api_key: str = "", key_name: str = "", strict: bool = False) -> RemoteModel:
    """The model of a route; `strict`: see `RemoteModel`, the others: see `open_transport`."""
    return RemoteModel(
        info=route.info,
        quirks=route.quirks,
        dialect=dialect_of(route.api),
        transport=open_transport(route, api_key=api_key, key_name=key_name),
        strict=strict,
    )


def open_transport(route: Route, *, api_key: str = "", key_name: str = "") -> Transport:
    """The way to a route's provider; connects on its first request, and fetches the key then where none is
    given and the route says where it is. `key_name` is what a refused key is to be looked for in."""
    key: str | Callable[[], str] = api_key.strip()  # a line end comes along easily
    if not key and route.has_key_source:
        key = partial(find_key, route.api_key_command, route.api_key_keyring)
        key_name = "api_key_command" if route.api_key_command else "api_key_keyring"
    endpoint = Endpoint(
        sdk=sdk_of(route.api),
        base_url=route.base_url,
        path=_PATHS[route.api],
        api_key=key,
        key_name=key_name or route.api_key_env,
        headers=route.headers,
    )
    return Transport(endpoint)


def dialect_of(api: Api) -> Dialect:
    """Both directions of an API; its module is imported on first use."""
    match api:
        case "chat":
            from agent_tui.models.chat import ChatDialect

            return ChatDialect()
        case "responses":
            from agent_tui.models.responses import ResponsesDialect

            return ResponsesDialect()
        case "messages":
            from agent_tui.models.messages import MessagesDialect

            return MessagesDialect()
