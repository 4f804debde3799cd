"""Whether a provider can be had: its list of models, asked for with the client and the key of a request."""

import asyncio

from agent_tui.models.local import ListingError, names_in
from agent_tui.models.route import Route
from agent_tui.models.router import open_transport
from agent_tui.models.transport import TransportError

WAIT_S = 5.0
MAX_BYTES = 4 * 1024 * 1024
_WITHOUT_LIST = (400, 404, 405, 501)  # it answered, and has no such page


class UnreachableError(Exception):
    """What a run would meet with this provider; the text is one line and holds no key."""


async def listed_models(route: Route, *, api_key: str = "", key_name: str = "") -> tuple[str, ...]:
    """Names of the models that the provider says it has; none where it answers without a list.

    Takes at most ten seconds, and as long as a command that prints the key. Raises UnreachableError.
    """
    transport = open_transport(route, api_key=api_key, key_name=key_name)
    try:
        async with asyncio.timeout(2 * WAIT_S), transport.get(_page(route), idle_timeout_s=WAIT_S) as chunks:
            body = bytearray()
            async for chunk in chunks:
                body += chunk
                if len(body) > MAX_BYTES:
                    break
            return names_in(bytes(body), route.base_url)
    except ListingError:
        return ()
    except TransportError as failed:
        if failed.error.http_status in _WITHOUT_LIST:
            return ()
        raise UnreachableError(failed.error.told) from failed
    except TimeoutError as late:
        raise UnreachableError(f"no whole answer within {2 * WAIT_S:g} s") from late
    finally:
        await transport.aclose()


def _page(route: Route) -> str:
    return "/v1/models" if route.api == "messages" else "/models"
