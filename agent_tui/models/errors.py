"""From what providers send to `ModelError`: status codes, error objects inside streams, exceptions.

The shapes are those of the vendors' error pages and of the common local servers; `tests/models`
holds the table. Everything here is pure but `from_exception`, which reads attributes only.
"""

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from agent_tui.models.base import ErrorKind, ModelError
from agent_tui.models.line import one_line

_KIND_BY_STATUS: Mapping[int, ErrorKind] = {
    400: ErrorKind.BAD_REQUEST,
    401: ErrorKind.AUTH,
    402: ErrorKind.QUOTA,
    403: ErrorKind.AUTH,
    404: ErrorKind.BAD_REQUEST,
    405: ErrorKind.BAD_REQUEST,
    408: ErrorKind.TIMEOUT,
    409: ErrorKind.UNAVAILABLE,
    413: ErrorKind.CONTEXT_OVERFLOW,
    422: ErrorKind.BAD_REQUEST,
    425: ErrorKind.UNAVAILABLE,
    429: ErrorKind.RATE_LIMIT,
    504: ErrorKind.TIMEOUT,
    529: ErrorKind.OVERLOADED,
}

# Names that providers put into `type` or `code`. They say more than the status.
_KIND_BY_NAME: Mapping[str, ErrorKind] = {
    "authentication_error": ErrorKind.AUTH,
    "invalid_api_key": ErrorKind.AUTH,
    "permission_error": ErrorKind.AUTH,
    "permission_denied": ErrorKind.AUTH,
    "billing_error": ErrorKind.QUOTA,
    "insufficient_quota": ErrorKind.QUOTA,
    "billing_hard_limit_reached": ErrorKind.QUOTA,
    "contract_spend_limit_reached": ErrorKind.QUOTA,
    "enforced_spend_limit_reached": ErrorKind.QUOTA,
    "insufficient_balance": ErrorKind.QUOTA,
    "exceeded_current_quota_error": ErrorKind.QUOTA,
    "rate_limit_error": ErrorKind.RATE_LIMIT,
    "rate_limit_exceeded": ErrorKind.RATE_LIMIT,
    "rate_limit_reached_error": ErrorKind.RATE_LIMIT,
    "overloaded_error": ErrorKind.OVERLOADED,
    "engine_overloaded_error": ErrorKind.OVERLOADED,
    "slow_down": ErrorKind.OVERLOADED,
    "server_is_overloaded": ErrorKind.OVERLOADED,
    "timeout_error": ErrorKind.TIMEOUT,
    "api_error": ErrorKind.UNAVAILABLE,
    "server_error": ErrorKind.UNAVAILABLE,
    "internal_server_error": ErrorKind.UNAVAILABLE,
    "service_unavailable_error": ErrorKind.UNAVAILABLE,
    "invalid_request_error": ErrorKind.BAD_REQUEST,
    "invalid_prompt": ErrorKind.BAD_REQUEST,
    "not_found_error": ErrorKind.BAD_REQUEST,
    "model_not_found": ErrorKind.NO_MODEL,
    "request_too_large": ErrorKind.CONTEXT_OVERFLOW,
    "content_filter": ErrorKind.REFUSAL,
    "content_policy_violation": ErrorKind.REFUSAL,
    "cyber_policy": ErrorKind.REFUSAL,
    "bio_policy": ErrorKind.REFUSAL,
    "misalignment_policy_violation": ErrorKind.REFUSAL,
    "context_length_exceeded": ErrorKind.CONTEXT_OVERFLOW,
    "exceed_context_size_error": ErrorKind.CONTEXT_OVERFLOW,
    "context_window_exceeded": ErrorKind.CONTEXT_OVERFLOW,
    "string_above_max_length": ErrorKind.CONTEXT_OVERFLOW,
}

# How servers say that the prompt is too long; a named group `limit` is the window they state.
_OVERFLOW = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"maximum context length (?:is|of) (?P<limit>\d[\d,_]*)",  # OpenAI, vLLM, DeepSeek, OpenRouter
        r"prompt is too long: \d[\d,_]* tokens > (?P<limit>\d[\d,_]*)",  # Anthropic
        r"exceeds? (?:the )?(?:available )?context (?:size|window|length)(?: of)? \(?(?P<limit>\d[\d,_]*)",
        r"context (?:size|window|length) (?:is|of|limit:?) \(?(?P<limit>\d[\d,_]*)",
        r"input length and `max_tokens` exceed context limit: \d+ \+ \d+ > (?P<limit>\d+)",
        r"n_ctx[\"']?\s*[:=]\s*(?P<limit>\d+)",  # llama.cpp
        r"too large for model with (?P<limit>\d[\d,_]*) maximum context length",  # Mistral
        r"exceeded model token limit: (?P<limit>\d[\d,_]*)",  # Moonshot
        r"input tokens? limit (?:is|of) (?P<limit>\d[\d,_]*)",
        r"exceeds the maximum number of tokens allowed \(?(?P<limit>\d[\d,_]*)",  # Gemini
        r"maximum prompt length is (?P<limit>\d[\d,_]*)",  # xAI
        r"token count exceeds",
        r"prompt is too long",
        r"input is too long",
        r"exceeds? the (?:model'?s? )?(?:maximum )?context (?:window|length)",
        r"context (?:window|length) (?:was |is |has been )?exceeded",
        r"exceed(?:s|ed)? (?:the )?(?:available )?context size",
        r"reduce the length of the (?:messages|prompt|input)",
        r"number of tokens to keep from the initial prompt is greater than the context",  # LM Studio
    )
]
_OVERFLOW_STATUS = frozenset({400, 413, 422, 500, None})  # LM Studio and llama.cpp answer 500 at times
_QUOTA = re.compile(
    r"insufficient (?:quota|balance|credit|funds)|credit balance|exceeded your current quota", re.I
)
_REFUSED = re.compile(r"content (?:management )?(?:policy|filter)|flagged|usage polic", re.I)

# How servers say that they have no such model; many give no name for it. A name has an end: without one a
# long text full of the word takes minutes.
_NO_MODEL = re.compile(
    r"\bmodels?[ :/]{1,3}[`'\"]?[\w./:@-]{1,200}[`'\"]?,? (?:is |was )?(?:not found|does not exist)"
    r"|^model: \S+$"  # Anthropic
    r"|\bmodel not (?:found|exist)\b"
    r"|\bis not a valid model\b"  # OpenRouter
    r"|\b(?:invalid|unknown|no such) model(?: identifier| name| id)?(?:[:`'\"]| [`'\"]|$)",
    re.I,
)


def from_response(
    status: int | None,
    body: Any,
    headers: Mapping[str, str] | None = None,
    *,
    now: float,
    secrets: tuple[str, ...] = (),
) -> ModelError:
    """A failed HTTP response, or with `status` None an error object inside a stream.

    `body` is parsed JSON or text, `now` is UTC seconds (a Retry-After may be a date), `secrets` are
    never repeated in the message.
    """
    text, names, nested_status = _read(body)
    status = status if status is not None and status != 200 else nested_status
    limit = overflow_limit(text, body)
    kind = _kind(status, text, names, is_overflow=limit is not None)
    return ModelError(
        kind=kind,
        message=one_line(text or f"HTTP {status} without a text", secrets),
        http_status=status,
        retry_after_s=retry_after(headers or {}, now),
        context_window=limit or None if kind is ErrorKind.CONTEXT_OVERFLOW else None,
    )


def _kind(status: int | None, text: str, names: tuple[str, ...], *, is_overflow: bool) -> ErrorKind:
    by_name = next((_KIND_BY_NAME[name] for name in names if name in _KIND_BY_NAME), None)
    if by_name is ErrorKind.CONTEXT_OVERFLOW or (is_overflow and status in _OVERFLOW_STATUS):
        return ErrorKind.CONTEXT_OVERFLOW
    if by_name is ErrorKind.QUOTA or (status in (None, 400, 403, 429) and _QUOTA.search(text)):
        return ErrorKind.QUOTA
    if status in (None, 400, 403) and by_name in (None, ErrorKind.BAD_REQUEST) and _REFUSED.search(text):
        return ErrorKind.REFUSAL
    is_vague = status == 404 or (status in (None, 400) and by_name in (None, ErrorKind.BAD_REQUEST))
    if by_name is ErrorKind.NO_MODEL or (is_vague and _NO_MODEL.search(text)):
        return ErrorKind.NO_MODEL
    by_status = _KIND_BY_STATUS.get(status or 0)
    if by_name is not None and (by_status is None or by_status in _VAGUE):
        return by_name
    if by_status is not None:
        return by_status
    if status is not None and 400 <= status < 500:
        return ErrorKind.BAD_REQUEST
    return ErrorKind.UNAVAILABLE


_VAGUE = (ErrorKind.BAD_REQUEST, ErrorKind.RATE_LIMIT, ErrorKind.UNAVAILABLE)


def overflow_limit(text: str, body: Any = None) -> int | None:
    """The window a server states when the prompt is too long; 0 when it states none, None: no overflow."""
    stated = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(stated, dict) and isinstance(stated.get("n_ctx"), int):
        return int(stated["n_ctx"])
    for pattern in _OVERFLOW:
        found = pattern.search(text)
        if found:
            limit = found.groupdict().get("limit")
            return int(re.sub("[,_]", "", limit)) if limit else 0
    return None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait as the provider states them, in any of the ways in use; None: not stated."""
    fields = {name.lower(): value for name, value in headers.items()}
    if (milliseconds := _number(fields.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = fields.get("retry-after")
    if (seconds := _number(value)) is not None:
        return seconds
    if value:
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - now)
        except ValueError:
            return None
    return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _read(body: Any) -> tuple[str, tuple[str, ...], int | None]:
    """Text, names (most telling first) and status of an error body of any of the known shapes."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return _plain(str(body)), (), None
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return str(body or ""), (), None
    error = body.get("error", body.get("detail", body))
    if isinstance(error, str):
        return error, _names(body), _status(body)
    if not isinstance(error, dict):
        return json.dumps(error), (), None
    message = error.get("message") or error.get("detail") or body.get("message") or json.dumps(error)
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        message = f"{message}: {metadata['raw']}"  # OpenRouter: the text of the provider behind it
    return str(message), (*_names(error), *_names(body)), _status(error) or _status(body)


def _names(value: Mapping[str, Any]) -> tuple[str, ...]:
    found = (value.get("code"), value.get("type"), value.get("status"))
    return tuple(str(name).lower() for name in found if isinstance(name, str))


def _status(value: Mapping[str, Any]) -> int | None:
    for key in ("code", "status", "http_status"):
        number = value.get(key)
        if isinstance(number, int) and 400 <= number < 600:
            return number
        if isinstance(number, str) and re.fullmatch("[45][0-9][0-9]", number):
            return int(number)
    return None


def _plain(text: str) -> str:
    """A gateway's HTML page as text: its title is what counts."""
    title = re.search("<title>([^<]*)</title>", text, re.IGNORECASE)
    return title.group(1) if title else re.sub("<[^<>]*>", " ", text)
