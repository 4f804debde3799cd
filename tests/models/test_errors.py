"""The table from what providers send to classes of failure."""

import time
from typing import Any

import pytest

from agent_tui.models.base import ErrorKind, ModelError
from agent_tui.models.errors import from_response, retry_after
from agent_tui.models.line import one_line
from agent_tui.models.transport import MAX_REFUSAL_BYTES

NOW = 1_000_000_000.0  # 2001-09-09 01:46:40 UTC


def openai(message: str, kind: str | None = None, code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(kind: str, message: str = "no") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}


K = ErrorKind
TABLE: list[tuple[int | None, Any, ErrorKind, int | None]] = [
    (400, openai("bad", "invalid_request_error"), K.BAD_REQUEST, None),
    (401, openai("Incorrect API key provided", "invalid_request_error", "invalid_api_key"), K.AUTH, None),
    (403, openai("Country not supported", "request_forbidden"), K.AUTH, None),
    (
        404,
        openai("The model `x` does not exist", "invalid_request_error", "model_not_found"),
        K.NO_MODEL,
        None,
    ),
    (403, openai("Project has no access to model `x`", None, "model_not_found"), K.NO_MODEL, None),
    (404, openai('model "qwen3-coder:30b" not found, try pulling it first', "api_error"), K.NO_MODEL, None),
    (
        404,
        {"error": {"message": "The model `a` does not exist.", "type": "NotFound"}},
        K.NO_MODEL,
        None,
    ),
    (404, {"error": {"code": 404, "message": "models/x is not found for API version v1"}}, K.NO_MODEL, None),
    (404, anthropic("not_found_error", "model: claude-x"), K.NO_MODEL, None),
    (400, openai("Model Not Exist", "invalid_request_error"), K.NO_MODEL, None),
    (400, {"error": {"message": "a/b is not a valid model ID", "code": 400}}, K.NO_MODEL, None),
    (400, {"error": "Invalid model: x"}, K.NO_MODEL, None),
    (400, openai("Invalid model output: file not found in the input"), K.BAD_REQUEST, None),
    (400, openai("tool `model` is not found"), K.BAD_REQUEST, None),
    (408, "", K.TIMEOUT, None),
    (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, K.BAD_REQUEST, None),
    (429, openai("Rate limit reached", "requests", "rate_limit_exceeded"), K.RATE_LIMIT, None),
    (
        429,
        openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
        K.QUOTA,
        None,
    ),
    (429, anthropic("rate_limit_error"), K.RATE_LIMIT, None),
    (429, "", K.RATE_LIMIT, None),
    (402, {"error": {"message": "Insufficient Balance", "type": "unknown_error"}}, K.QUOTA, None),
    (402, {"error": {"code": 402, "message": "Insufficient credits"}}, K.QUOTA, None),
    (
        400,
        anthropic("invalid_request_error", "Your credit balance is too low to access the API"),
        K.QUOTA,
        None,
    ),
    (401, anthropic("authentication_error"), K.AUTH, None),
    (403, anthropic("permission_error"), K.AUTH, None),
    (404, anthropic("not_found_error"), K.BAD_REQUEST, None),
    (413, anthropic("request_too_large"), K.CONTEXT_OVERFLOW, None),
    (413, "<html><title>413 Request Entity Too Large</title></html>", K.CONTEXT_OVERFLOW, None),
    (500, anthropic("api_error"), K.UNAVAILABLE, None),
    (500, openai("The server had an error", "server_error"), K.UNAVAILABLE, None),
    (502, "<html><title>502 Bad Gateway</title></html>", K.UNAVAILABLE, None),
    (503, openai("Slow Down", "server_error", "slow_down"), K.OVERLOADED, None),
    (503, {"message": "Service unavailable"}, K.UNAVAILABLE, None),
    (
        503,
        {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}},
        K.UNAVAILABLE,
        None,
    ),
    (504, "upstream timed out", K.TIMEOUT, None),
    (504, anthropic("timeout_error"), K.TIMEOUT, None),
    (529, anthropic("overloaded_error", "Overloaded"), K.OVERLOADED, None),
    (None, anthropic("overloaded_error", "Overloaded"), K.OVERLOADED, None),
    (None, {"code": "rate_limit_exceeded", "message": "slow"}, K.RATE_LIMIT, None),
    (None, {"error": {"code": 429, "message": "Provider returned error"}}, K.RATE_LIMIT, None),
    (None, {"error": "something broke"}, K.UNAVAILABLE, None),
    (400, openai("blocked by our content management policy", None, "content_filter"), K.REFUSAL, None),
    (
        400,
        openai("Your request was flagged", "invalid_request_error", "content_policy_violation"),
        K.REFUSAL,
        None,
    ),
    (418, "short and stout", K.BAD_REQUEST, None),
    (200, {"error": {"message": "model crashed"}}, K.UNAVAILABLE, None),
    # overflow, in the words of the servers that have them
    (
        400,
        openai(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 "
            "tokens. Please reduce the length of the messages.",
            "invalid_request_error",
            "context_length_exceeded",
        ),
        K.CONTEXT_OVERFLOW,
        128_000,
    ),
    (
        400,
        anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        K.CONTEXT_OVERFLOW,
        200_000,
    ),
    (
        400,
        anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it",
        ),
        K.CONTEXT_OVERFLOW,
        200_000,
    ),
    (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size. try increasing the context size",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9000,
                "n_ctx": 4096,
            }
        },
        K.CONTEXT_OVERFLOW,
        4096,
    ),
    (
        400,
        {"object": "error", "message": "This model's maximum context length is 4,096 tokens.", "code": 400},
        K.CONTEXT_OVERFLOW,
        4096,
    ),
    (
        400,
        {"message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"},
        K.CONTEXT_OVERFLOW,
        32_768,
    ),
    (
        400,
        openai("Invalid request: Your request exceeded model token limit: 131072", "invalid_request_error"),
        K.CONTEXT_OVERFLOW,
        131_072,
    ),
    (
        400,
        "The number of tokens to keep from the initial prompt is greater than the context length",
        K.CONTEXT_OVERFLOW,
        None,
    ),
    (
        400,
        {
            "error": {
                "message": "The input token count exceeds the maximum number of tokens allowed (1048576)."
            }
        },
        K.CONTEXT_OVERFLOW,
        1_048_576,
    ),
    (
        None,
        {
            "code": "context_length_exceeded",
            "message": "Your input exceeds the context window of this model.",
        },
        K.CONTEXT_OVERFLOW,
        None,
    ),
    (
        400,
        openai("This model's maximum prompt length is 131072 but the request has 200000"),
        K.CONTEXT_OVERFLOW,
        131072,
    ),
]


@pytest.mark.parametrize(("status", "body", "kind", "window"), TABLE)
def test_provider_shapes(status: int | None, body: Any, kind: ErrorKind, window: int | None) -> None:
    error = from_response(status, body, now=NOW)
    assert (error.kind, error.context_window) == (kind, window)
    assert error.message and "\n" not in error.message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": "1152"}, 1152.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:47 GMT"}, 7.0),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_every_way_it_is_said(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_the_key_is_never_repeated() -> None:
    body = openai("Incorrect API key provided: sk-12345678", "invalid_request_error", "invalid_api_key")
    error = from_response(401, body, now=NOW, secrets=("sk-12345678",))
    assert error == ModelError(kind=K.AUTH, message="Incorrect API key provided: …", http_status=401)


def test_a_message_is_one_short_printable_line() -> None:
    assert one_line("a\x1b[31m\n\tb" + "c" * 900) == "a [31m b" + "c" * 492 + "…"


def test_the_text_of_a_provider_behind_a_router_is_told() -> None:
    body = {
        "error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "too many tools"}}
    }
    assert from_response(400, body, now=NOW).message == "Provider returned error: too many tools"


@pytest.mark.parametrize("piece", ["model:", "model ", "<", "<title>", "unknown model ", "n_ctx "])
def test_no_text_keeps_the_program_busy(piece: str) -> None:
    begun = time.process_time()
    from_response(404, (piece * MAX_REFUSAL_BYTES)[:MAX_REFUSAL_BYTES], now=NOW)
    assert time.process_time() - begun < 5


def test_of_a_page_its_title_is_told_and_else_its_text() -> None:
    page = "<html><head><TITLE>\n502 Bad\nGateway</TITLE></head><p>nginx</p></html>"
    assert from_response(502, page, now=NOW).message == "502 Bad Gateway"
    assert from_response(502, "<p>no\n<b>upstream</b></p>", now=NOW).message == "no upstream"
