"""The rules of a Chat Completions request."""

import json
import re
from typing import Any

KEYS = {
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "response_format",
    "prompt_cache_key",
    "store",
}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


def check(request: dict[str, Any], issued: dict[str, Any]) -> list[str]:
    breaches = [f"unknown parameter `{key}`" for key in request if key not in KEYS]
    if not isinstance(request.get("model"), str) or not request.get("model"):
        breaches.append("`model` is missing")
    if "stream_options" in request and not request.get("stream"):
        breaches.append("`stream_options` needs `stream`")
    if request.get("reasoning_effort", "low") not in EFFORTS:
        breaches.append("`reasoning_effort` is unknown")
    breaches += _tools(request)
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*breaches, "`messages` is empty"]
    return [*breaches, *_messages(messages)]


def _tools(request: dict[str, Any]) -> list[str]:
    tools = request.get("tools")
    if tools is None:
        return ["`tool_choice` without tools"] if "tool_choice" in request else []
    if not tools:
        return ["`tools` is an empty list"]
    names = [tool.get("function", {}).get("name", "") for tool in tools]
    breaches = [f"bad tool name `{name}`" for name in names if not NAME.match(name)]
    if names != sorted(set(names)):
        breaches.append("tools are repeated or not sorted by name")
    if not all(isinstance(tool["function"].get("parameters"), dict) for tool in tools):
        breaches.append("tool `parameters` must be an object")
    return breaches


def _messages(messages: list[dict[str, Any]]) -> list[str]:
    breaches: list[str] = []
    open_ids: list[str] = []
    seen: set[str] = set()
    said_user = False
    for index, message in enumerate(messages):
        role = message.get("role")
        where = f"messages[{index}] ({role})"
        if open_ids and role != "tool":
            breaches.append(f"{where} stands before the results of {open_ids}")
            open_ids = []
        if role == "tool":
            expected = open_ids.pop(0) if open_ids else None
            if message.get("tool_call_id") != expected:
                breaches.append(f"{where} answers `{message.get('tool_call_id')}`, expected `{expected}`")
            breaches += _content(message.get("content"), where)
        elif role == "assistant":
            if not said_user:
                breaches.append(f"{where} stands before any user message")
            breaches += _assistant(message, where, seen)
            open_ids = [str(call.get("id")) for call in message.get("tool_calls") or []]
        elif role in ("system", "developer"):
            if index != 0:
                breaches.append(f"{where} is not first")
            breaches += _content(message.get("content"), where)
        elif role == "user":
            said_user = True
            breaches += _content(message.get("content"), where)
        else:
            breaches.append(f"{where}: unknown role")
    if open_ids:
        breaches.append(f"calls {open_ids} have no result")
    if messages[-1].get("role") == "assistant":
        breaches.append("the last message is the assistant's")
    return breaches


def _assistant(message: dict[str, Any], where: str, seen: set[str]) -> list[str]:
    breaches = [f"{where}: unknown field `{key}`" for key in message if key not in ASSISTANT_KEYS]
    calls = message.get("tool_calls")
    content = message.get("content")
    if calls is not None and not calls:
        breaches.append(f"{where}: `tool_calls` is an empty list")
    if content is None and not calls:
        breaches.append(f"{where} has neither text nor calls")
    if content is not None:
        breaches += _content(content, where)
    for call in calls or []:
        breaches += _call(call, where, seen)
    return breaches


ASSISTANT_KEYS = {"role", "content", "tool_calls", "reasoning_content", "reasoning"}


def _call(call: dict[str, Any], where: str, seen: set[str]) -> list[str]:
    breaches = []
    ident = call.get("id")
    function = call.get("function", {})
    if not isinstance(ident, str) or not ident or ident in seen:
        breaches.append(f"{where}: call id `{ident}` is missing or used twice")
    seen.add(str(ident))
    if call.get("type") != "function" or not NAME.match(str(function.get("name", ""))):
        breaches.append(f"{where}: call `{ident}` has a bad type or name")
    return breaches + arguments(function.get("arguments"), f"{where}: call `{ident}`")


def arguments(text: Any, where: str) -> list[str]:
    try:
        good = isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        good = False
    return [] if good else [f"{where}: arguments are not a JSON object"]


def _content(content: Any, where: str) -> list[str]:
    if isinstance(content, str):
        return [] if content.strip() else [f"{where} has blank text"]
    if not isinstance(content, list) or not content:
        return [f"{where} has no content"]
    breaches = []
    for part in content:
        if part.get("type") == "text":
            breaches += [] if str(part.get("text", "")).strip() else [f"{where} has a blank text part"]
        elif part.get("type") == "image_url":
            url = part.get("image_url", {}).get("url", "")
            breaches += [] if url.startswith("data:image/") else [f"{where} has a bad image"]
        else:
            breaches.append(f"{where} has a part of type `{part.get('type')}`")
    return breaches
