"""Every request is judged as strictly as the strictest provider would; a breach is one sentence."""

import json
from typing import Any

from tests.model_server import checks_chat, checks_messages, checks_responses

CHARS_PER_TOKEN = 4  # a rough lower bound of tokens is enough to catch a request far above the window


def check(dialect: str, body: bytes, *, options: dict[str, Any], issued: dict[str, Any]) -> list[str]:
    """All breaches of one request body."""
    try:
        request = json.loads(body.decode("utf-8"))
    except ValueError as error:
        return [f"the body is not JSON in UTF-8: {error}"]
    if not isinstance(request, dict):
        return ["the body is not an object"]
    breaches = [*_texts(request, ""), *DIALECTS[dialect](request, issued)]
    window = options.get("window")
    if window and len(body) / CHARS_PER_TOKEN > window:
        breaches.append(f"about {len(body) // CHARS_PER_TOKEN} tokens do not fit the window of {window}")
    text = body.decode("utf-8")
    for wanted in options.get("must_contain", []):
        if json.dumps(wanted)[1:-1] not in text and json.dumps(wanted, ensure_ascii=False)[1:-1] not in text:
            breaches.append(f"`{wanted}` is missing from the request")
    return breaches


def _texts(value: Any, where: str) -> list[str]:
    if isinstance(value, str):
        bad = "\0" in value or any(0xD800 <= ord(char) <= 0xDFFF for char in value)
        return [f"{where} holds a NUL or a lone surrogate"] if bad else []
    if isinstance(value, dict):
        return [breach for key, item in value.items() for breach in _texts(item, f"{where}.{key}")]
    if isinstance(value, list):
        return [breach for index, item in enumerate(value) for breach in _texts(item, f"{where}[{index}]")]
    return []


DIALECTS = {"chat": checks_chat.check, "responses": checks_responses.check, "messages": checks_messages.check}
