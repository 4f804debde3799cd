"""What a provider refused, in the one sentence that all front ends show."""

from typing import Literal

from agent_tui.frozen import frozen
from agent_tui.models.base import ErrorKind, ModelError, ModelInfo


@frozen
class Rejection:
    """The key or the model is refused, and not what was asked."""

    what: Literal["key", "model"]
    sentence: str


def rejection_of(error: ModelError, info: ModelInfo, *, has_answered: bool) -> Rejection | None:
    """None for any other failure. `has_answered`: the model did so before in this session."""
    if error.kind is ErrorKind.NO_MODEL:
        verb = "installed" if error.is_local else "offered"
        more = " any more" if has_answered else ""
        return Rejection(what="model", sentence=f"no model: `{info.name}` is not {verb}{more}")
    if error.kind is not ErrorKind.AUTH:
        return None
    status = f" ({error.http_status})" if error.http_status else ""
    name = error.key_name
    if not (name or status):
        said = f"no key for {info.provider}"  # it could not be fetched
    elif error.is_key_sent:
        said = f"{info.provider} refused the key{f' in {name}' if name else ''}{status}"
    else:
        said = f"{info.provider} asks for a key{f', and {name} holds none' if name else ''}{status}"
    return Rejection(what="key", sentence=said)
