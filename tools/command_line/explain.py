"""How approvals see a command line, as plain data for `debug classify`; nothing is run."""

from typing import Any

from sandbox.policy import Mode
from tools.command_line.classify import Classified, classify
from tools.command_line.display import make_visible
from tools.command_line.parts import Part, Setting
from tools.types import Grant


def explain(command: str, setting: Setting) -> dict[str, Any]:
    """JSON-ready: class, reason, grant and its way, hard line, rule keys, and each sub-command."""
    found = classify(command, setting)
    return {
        "command": command,
        "class": str(found.call_class),
        "reason": found.reason,
        "read_only": found.read_only,
        "grant": None if found.grant is Grant.NONE else str(found.grant),
        "grant_automatic": found.grant_is_automatic and setting.mode is Mode.WORKSPACE_WRITE,
        "hard_line": found.hard_line,
        "keys": list(found.keys),
        "unknown": list(found.unknown),
        "commands": [_part(part) for part in found.parts],
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "command": part.text,
        "line": part.line,
        "within": part.within,
        "class": str(part.call_class),
        "read_only": part.reads_only,
        "reason": part.reason or "only reads",
    }


def explain_text(command: str, setting: Setting) -> str:
    """The same for a person, a line for each fact; everything untrusted made visible."""
    found = classify(command, setting)
    lines = [f"class     {found.call_class}", f"why       {make_visible(found.reason)}"]
    if found.grant is not Grant.NONE:
        lines.append(f"grant     {_grant(found, setting.mode)}")
    if found.hard_line:
        lines.append("always    a person is asked, in every mode")
    lines.append(f"effect    {'reads only' if found.read_only else 'may write'}")
    lines += [f"  {part.call_class!s:7} {make_visible(_where(part))}" for part in found.parts]
    return "\n".join([*lines, *(f"rule key  {make_visible(key)}" for key in found.keys)])


def _grant(found: Classified, mode: Mode) -> str:
    words = str(found.grant).replace("_", " ")
    if found.grant_is_automatic and mode is Mode.WORKSPACE_WRITE:
        return f"{words}, given without a question"
    return f"{words}, asked for"


def _where(part: Part) -> str:
    inside = f" (inside {part.within})" if part.within else ""
    return f"{part.text}{inside}: {part.reason or 'only reads'}"
