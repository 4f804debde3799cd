"""What a model adapter takes and gives: the request, stream parts, classed errors.

The engine imports this module and no other of `agent_tui.models`.
"""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Literal, Protocol

from agent_tui.frozen import frozen
from context.items import ModelOrigin, Part, StopReason, Usage
from context.view import View


class ErrorKind(StrEnum):
    """Classes of model failures; which of them retry or fall back is decided in `retry`."""

    TIMEOUT = "timeout"
    STALLED = "stalled"  # the stream went silent
    CUT = "cut"  # the connection ended before the response did
    CONNECTION = "connection"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    OVERLOADED = "overloaded"
    UNAVAILABLE = "unavailable"
    BAD_REQUEST = "bad_request"
    NO_MODEL = "no_model"  # the provider has none of that name
    CONTEXT_OVERFLOW = "context_overflow"
    AUTH = "auth"
    REFUSAL = "refusal"
    MALFORMED = "malformed"  # the response cannot be understood


@frozen
class ModelError:
    """A failed model call, as a value; `message` is one line for people and never holds a key."""

    kind: ErrorKind
    message: str
    http_status: int | None = None
    retry_after_s: float | None = None
    context_window: int | None = None  # the limit the provider stated with CONTEXT_OVERFLOW
    key_name: str = ""  # with AUTH: the variable or setting that keys come from
    is_key_sent: bool = True  # with AUTH
    is_local: bool = False  # with NO_MODEL: the provider is a server on this machine

    @property
    def told(self) -> str:
        """The message, and which key it is about."""
        return f"{self.message}; check the key in `{self.key_name}`" if self.key_name else self.message


@frozen
class ModelRequest:
    """One request; the adapter turns it into bytes, and the same request gives the same bytes."""

    view: View
    model: str
    max_output_tokens: int | None = None
    effort: str | None = None  # reasoning effort: minimal, low, medium, high
    tool_choice: Literal["auto", "none"] = "auto"
    output_schema: str | None = None  # JSON Schema text the final answer must fit
    cache_key: str = ""  # the session id
    idle_timeout_s: float = 120.0  # silence in the stream, before the first part as well


@frozen
class TextDelta:
    """A piece of answer text; `offset` counts characters of the answer before it."""

    text: str
    offset: int


@frozen
class ReasoningDelta:
    """A piece of reasoning text."""

    text: str
    offset: int


@frozen
class CallProgress:
    """Arguments of a call are being written; nothing of it may run yet."""

    index: int
    tool: str
    arguments_chars: int


@frozen
class Completed:
    """The response is whole; last part of a good stream.

    Calls carry `call_id` equal to `provider_id`; the engine gives them ids of its own on ingest.
    """

    parts: tuple[Part, ...]
    stop: StopReason
    usage: Usage
    origin: ModelOrigin
    response_id: str = ""
    left_out: tuple[str, ...] = ()  # why units were not sent: a bug of ours, to be shown


@frozen
class Failed:
    """The response will not come; last part of a failed stream. Nothing of it may enter the log."""

    error: ModelError


StreamPart = TextDelta | ReasoningDelta | CallProgress | Completed | Failed


@frozen
class ModelInfo:
    """What is known of a model; prices are USD per million tokens, None where unknown."""

    provider: str
    model: str
    context_window: int
    max_output: int
    price_input: float | None = None
    price_output: float | None = None
    price_cache_read: float | None = None
    price_cache_write: float | None = None
    images: bool = False
    reasoning: bool = False
    long_from: int | None = None  # above so many prompt tokens the whole request costs more
    long_input: float = 1.0  # times the input prices
    long_output: float = 1.0
    known: bool = True  # False: a safe default is in use

    @property
    def name(self) -> str:
        """`PROVIDER/MODEL`."""
        return f"{self.provider}/{self.model}"

    @property
    def assumption(self) -> str:
        """What a person should know of a model that nothing is known of, or ''."""
        if self.known:
            return ""
        return (
            f"model `{self.name}` is not in the catalogue: a context window of {self.context_window:,} "
            f'tokens is assumed; set `providers.{self.provider}.models."{self.model}".context_window`'
        )


def cost_usd(usage: Usage, info: ModelInfo) -> float | None:
    """What a response cost, or None where the price is unknown.

    A cache price that is not stated counts as the input price, so an estimate is never too low.
    """
    if info.price_input is None or info.price_output is None:
        return None
    read_price = info.price_input if info.price_cache_read is None else info.price_cache_read
    write_price = info.price_input if info.price_cache_write is None else info.price_cache_write
    plain = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
    into = plain * info.price_input + usage.cache_read_tokens * read_price
    into += usage.cache_write_tokens * write_price
    out = usage.output_tokens * info.price_output
    if info.long_from is not None and usage.input_tokens > info.long_from:
        into, out = into * info.long_input, out * info.long_output
    return (into + out) / 1_000_000


class Model(Protocol):
    """One model behind one dialect."""

    @property
    def info(self) -> ModelInfo:
        """What is known of the model; changes only by `with_window`-like configuration."""

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Send and yield parts; ends with exactly one `Completed` or `Failed`, and never raises
        but for cancellation, which closes the connection. Does not retry."""

    def body(self, request: ModelRequest) -> bytes:
        """The exact bytes `stream` would send (`debug request`); raises nothing."""
