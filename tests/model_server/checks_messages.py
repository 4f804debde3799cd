"""The rules of an Anthropic Messages request."""

import re
from typing import Any

KEYS = {
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "thinking",
    "output_config",
    "metadata",
}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
IDENT = re.compile(r"[a-zA-Z0-9_-]+\Z")
MARKS = 4  # cache breakpoints a request may have


def check(request: dict[str, Any], issued: dict[str, Any]) -> list[str]:
    breaches = [f"unknown parameter `{key}`" for key in request if key not in KEYS]
    if not isinstance(request.get("model"), str) or not request.get("model"):
        breaches.append("`model` is missing")
    if not isinstance(request.get("max_tokens"), int) or request["max_tokens"] < 1:
        breaches.append("`max_tokens` is missing")
    breaches += _thinking(request)
    breaches += _tools(request)
    breaches += _system(request.get("system"))
    if _marks(request) > MARKS:
        breaches.append(f"{_marks(request)} cache marks, at most {MARKS} are allowed")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*breaches, "`messages` is empty"]
    return [*breaches, *_messages(messages), *_signed(messages, request, issued)]


def _thinking(request: dict[str, Any]) -> list[str]:
    thinking = request.get("thinking", {"type": "disabled"})
    if thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens", 0)
        if not 1024 <= budget < request.get("max_tokens", 0):
            return [f"the thinking budget {budget} is not within 1024 and `max_tokens`"]
        if request.get("tool_choice", {}).get("type", "auto") not in ("auto", "none"):
            return ["thinking allows no forced tool"]
    elif thinking.get("type") not in ("disabled", "adaptive"):
        return ["`thinking` is unknown"]
    return []


def _tools(request: dict[str, Any]) -> list[str]:
    tools = request.get("tools")
    if tools is None:
        return ["`tool_choice` without tools"] if "tool_choice" in request else []
    names = [str(tool.get("name", "")) for tool in tools]
    breaches = [f"bad tool name `{name}`" for name in names if not NAME.match(name)]
    if not names or names != sorted(set(names)):
        breaches.append("tools are empty, repeated or not sorted by name")
    if not all(isinstance(tool.get("input_schema"), dict) for tool in tools):
        breaches.append("tool `input_schema` must be an object")
    return breaches


def _system(system: Any) -> list[str]:
    if system is None or (isinstance(system, str) and system.strip()):
        return []
    if isinstance(system, str):
        return ["`system` is blank"]
    return [breach for block in system for breach in _block(block, "system", ("text",))]


def _marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(_marks(item) for item in value.values())
    return sum(_marks(item) for item in value) if isinstance(value, list) else 0


def _messages(messages: list[dict[str, Any]]) -> list[str]:
    breaches: list[str] = []
    open_ids: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        where = f"messages[{index}] ({role})"
        if role != ("user" if index % 2 == 0 else "assistant"):
            breaches.append(f"{where}: user and assistant do not take turns")
        if not isinstance(content, list) or not content:
            breaches.append(f"{where} has no list of blocks")
            continue
        if role == "user":
            breaches += _user(content, where, open_ids)
            open_ids = []
        else:
            breaches += _assistant(content, where, seen)
            open_ids = [str(block.get("id")) for block in content if block.get("type") == "tool_use"]
    if open_ids:
        breaches.append(f"calls {open_ids} have no result")
    if messages[-1].get("role") != "user":
        breaches.append("the last message is the assistant's")
    return breaches


def _user(content: list[dict[str, Any]], where: str, open_ids: list[str]) -> list[str]:
    breaches = []
    answered = [str(b.get("tool_use_id")) for b in content if b.get("type") == "tool_result"]
    first = [b.get("type") for b in content[: len(open_ids)]]
    if answered != open_ids or any(kind != "tool_result" for kind in first):
        breaches.append(f"{where} answers {answered}, expected {open_ids} as its first blocks")
    for block in content:
        if block.get("type") == "tool_result":
            inner = block.get("content")
            if isinstance(inner, list):
                breaches += [x for part in inner for x in _block(part, where, ("text", "image"))]
            elif not isinstance(inner, str) or not inner.strip():
                breaches.append(f"{where} has a blank result")
            if not isinstance(block.get("is_error", False), bool):
                breaches.append(f"{where}: `is_error` is not a boolean")
        else:
            breaches += _block(block, where, ("text", "image"))
    return breaches


def _assistant(content: list[dict[str, Any]], where: str, seen: set[str]) -> list[str]:
    breaches = []
    for block in content:
        if block.get("type") == "tool_use":
            ident = str(block.get("id", ""))
            if not IDENT.match(ident) or ident in seen:
                breaches.append(f"{where}: call id `{ident}` is malformed or used twice")
            seen.add(ident)
            if not NAME.match(str(block.get("name", ""))) or not isinstance(block.get("input"), dict):
                breaches.append(f"{where}: call `{ident}` has a bad name or input")
        else:
            breaches += _block(block, where, ("text", "thinking", "redacted_thinking"))
    if content[-1].get("type") in ("thinking", "redacted_thinking"):
        breaches.append(f"{where} ends in thinking")
    return breaches


def _block(block: dict[str, Any], where: str, kinds: tuple[str, ...]) -> list[str]:
    kind = block.get("type")
    if kind not in kinds:
        return [f"{where} has a block of type `{kind}`"]
    if kind == "text" and not str(block.get("text", "")).strip():
        return [f"{where} has a blank text block"]
    if kind == "thinking" and not block.get("signature"):
        return [f"{where} has thinking without a signature"]
    if kind == "image" and block.get("source", {}).get("type") != "base64":
        return [f"{where} has a bad image"]
    return []


def _signed(messages: list[dict[str, Any]], request: dict[str, Any], issued: dict[str, Any]) -> list[str]:
    """Signed thinking goes back unchanged, to its model alone, and whole inside the running loop."""
    breaches = []
    model = request.get("model")
    running_from = max((i for i, m in enumerate(messages) if _is_spoken(m)), default=0)
    for index, message in enumerate(messages):
        blocks = [b for b in message.get("content", []) if isinstance(b, dict)]
        where = f"messages[{index}]"
        thought = [b for b in blocks if b.get("type") in ("thinking", "redacted_thinking")]
        for block in thought:
            known = issued.get(f"signed:{block.get('signature', block.get('data'))}")
            if known is None or known["block"] != block:
                breaches.append(f"{where} has thinking that was not made here or was changed")
            elif known["model"] != model:
                breaches.append(f"{where}: thinking of `{known['model']}` goes to `{model}`")
        for block in blocks:
            known = issued.get(f"use:{block.get('id')}") if block.get("type") == "tool_use" else None
            if known and known["model"] == model and index > running_from and known["blocks"] != thought:
                breaches.append(f"{where}: the thinking before call `{block['id']}` is missing")
    return breaches


def _is_spoken(message: dict[str, Any]) -> bool:
    content = message.get("content", [])
    return message.get("role") == "user" and not any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )
