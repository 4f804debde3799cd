"""The rules of a Responses request."""

from typing import Any

from tests.model_server.checks_chat import NAME, arguments

KEYS = {
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "store",
    "stream",
    "include",
    "reasoning",
    "max_output_tokens",
    "text",
    "prompt_cache_key",
}
OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}


def check(request: dict[str, Any], issued: dict[str, Any]) -> list[str]:
    breaches = [f"unknown parameter `{key}`" for key in request if key not in KEYS]
    if not isinstance(request.get("model"), str) or not request.get("model"):
        breaches.append("`model` is missing")
    if request.get("store") is not False:
        breaches.append("`store` must be false: nothing of a session stays with the provider")
    if request.get("max_output_tokens", 16) < 16:
        breaches.append("`max_output_tokens` is below 16")
    breaches += _tools(request)
    items = request.get("input")
    if not isinstance(items, list) or not items:
        return [*breaches, "`input` is empty"]
    return [*breaches, *_items(items), *_reasoning(items, request, issued)]


def _tools(request: dict[str, Any]) -> list[str]:
    tools = request.get("tools")
    if tools is None:
        return ["`tool_choice` without tools"] if "tool_choice" in request else []
    names = [str(tool.get("name", "")) for tool in tools]
    breaches = [f"bad tool name `{name}`" for name in names if not NAME.match(name)]
    if not names or names != sorted(set(names)):
        breaches.append("tools are empty, repeated or not sorted by name")
    if not all(isinstance(tool.get("parameters"), dict) for tool in tools):
        breaches.append("tool `parameters` must be an object")
    return breaches


def _items(items: list[dict[str, Any]]) -> list[str]:
    breaches: list[str] = []
    open_calls: list[tuple[str, str]] = []
    answering = False
    seen: set[str] = set()
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        where = f"input[{index}] ({kind})"
        if kind in OUTPUTS.values():
            answering = True
            expected = open_calls.pop(0) if open_calls else None
            if (kind, item.get("call_id")) != expected:
                breaches.append(f"{where} answers `{item.get('call_id')}`, expected {expected}")
            breaches += _output(item.get("output"), where)
            continue
        if open_calls and (answering or kind not in (*OUTPUTS, "reasoning", "message")):
            breaches.append(f"{where} stands before the results of {open_calls}")
            open_calls = []
        if open_calls and item.get("role") in ("user", "system", "developer"):
            breaches.append(f"{where} stands before the results of {open_calls}")
            open_calls = []
        answering = False
        if kind in OUTPUTS:
            breaches += _call(item, where, seen)
            open_calls.append((OUTPUTS[kind], str(item.get("call_id"))))
        elif kind == "message":
            breaches += _message(item, where)
        elif kind != "reasoning":
            breaches.append(f"{where}: unknown item")
    if open_calls:
        breaches.append(f"calls {open_calls} have no result")
    if items[-1].get("role") == "assistant" or items[-1].get("type") == "reasoning":
        breaches.append("the last item is the assistant's")
    return breaches


def _call(item: dict[str, Any], where: str, seen: set[str]) -> list[str]:
    ident = item.get("call_id")
    breaches = []
    if not isinstance(ident, str) or not ident or len(ident) > 64 or ident in seen:
        breaches.append(f"{where}: call id `{ident}` is missing, too long or used twice")
    seen.add(str(ident))
    if not NAME.match(str(item.get("name", ""))):
        breaches.append(f"{where}: bad name")
    return breaches + arguments(item.get("arguments"), where)


def _output(output: Any, where: str) -> list[str]:
    if isinstance(output, str):
        return [] if output.strip() else [f"{where} has blank output"]
    return _parts(output, where, ("input_text", "input_image"))


def _message(item: dict[str, Any], where: str) -> list[str]:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        return [f"{where}: unknown role `{role}`"]
    content = item.get("content")
    if isinstance(content, str):
        return [] if content.strip() else [f"{where} has blank text"]
    kinds = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image")
    return _parts(content, where, kinds)


def _parts(parts: Any, where: str, kinds: tuple[str, ...]) -> list[str]:
    if not isinstance(parts, list) or not parts:
        return [f"{where} has no content"]
    breaches = [
        f"{where} has a part of type `{part.get('type')}`" for part in parts if part.get("type") not in kinds
    ]
    blank = [
        part
        for part in parts
        if part.get("type", "").endswith("_text") and not str(part.get("text", "")).strip()
    ]
    return [*breaches, *(f"{where} has a blank text part" for _ in blank)]


def _reasoning(items: list[dict[str, Any]], request: dict[str, Any], issued: dict[str, Any]) -> list[str]:
    """Sealed reasoning goes to the model that made it, unchanged, right before what it led to."""
    breaches = []
    for index, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        where = f"input[{index}] (reasoning)"
        known = issued.get(f"encrypted:{item.get('encrypted_content')}")
        following = items[index + 1] if index + 1 < len(items) else {}
        if known is None:
            breaches.append(f"{where} was not made here or was changed")
            continue
        if known["model"] != request.get("model"):
            breaches.append(f"{where} goes to `{request.get('model')}`, made by `{known['model']}`")
        if known["summary"] != item.get("summary"):
            breaches.append(f"{where}: its summary was changed")
        if following.get("call_id", following.get("type", "message")) != known["next"]:
            breaches.append(f"{where} is not followed by what it led to, `{known['next']}`")
    return breaches
