"""What was inspected, in words: settings, costs, checkpoints, sessions, terminals, a rollback."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from agent_tui.engine.types import end_word
from agent_tui.figures import count
from agent_tui.granted import contained
from agent_tui.safe_text import one_line, visible
from agent_tui.short_path import short_path
from checkpoints.sizes import size_text

_PHASES = {
    "turn_start": "before your message {}",
    "before_call": "before {}",
    "after_call": "after {}",
    "turn_end": "at the end of a turn",
    "before_rollback": "before a rollback",
    "after_rollback": "after a rollback",
}
_ACTIONS = {"delete": "Delete", "rmdir": "Delete", "mode": "Change the mode of"}  # others change


def text(data: Any) -> list[str]:
    """Text as it is, such as a diff."""
    return visible(str(data)).splitlines() or ["Nothing changed."]


def spoken_diff(data: Any) -> list[str]:
    """A diff whose added and removed lines say so, for a screen reader."""
    return [spoken(line) for line in text(data)]


def spoken(line: str) -> str:
    """One line of a diff, with a word for what its first character says."""
    if line.startswith(("+++", "---")):
        return line
    word = {"+": "added: ", "-": "removed: "}.get(line[:1])
    return line if word is None else word + line[1:]


def pairs(data: Any) -> list[str]:
    """One line for each fact; settings with the layer they are from."""
    if not isinstance(data, Mapping):
        return [_entry(entry) for entry in data] or ["Nothing."]
    return [f"{one_line(str(key))}: {_value(value)}" for key, value in data.items()] or ["Nothing."]


def _value(value: Any) -> str:
    if isinstance(value, Mapping) and set(value) == {"value", "origin"}:
        held = value["value"]
        words = ("on" if held else "off") if isinstance(held, bool) else one_line(str(held))
        return f"{words}, from {one_line(str(value['origin']))}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else one_line(str(value))


def _entry(entry: Any) -> str:
    if isinstance(entry, Mapping):
        return ", ".join(f"{one_line(str(key))} {one_line(str(value))}" for key, value in entry.items())
    return one_line(str(entry))


def costs(data: Any) -> list[str]:
    """One line for the turn, its newest run, the session, and each model."""
    scopes = {**data, **{f"model {name}": tally for name, tally in data["models"].items()}}
    return [f"{one_line(name)}: {_tally(scopes[name])}" for name in scopes if name not in ("models", "steps")]


def _tally(tally: Mapping[str, Any]) -> str:
    cost = "price unknown" if tally["cost_usd"] is None else f"{tally['cost_usd']:.4f} dollars"
    return (
        f"{count(tally['requests'], 'request')}, {tally['input_tokens']:,} tokens in ("
        f"{tally['cache_read_tokens']:,} read from a cache, "
        f"{tally['cache_write_tokens']:,} written to one), "
        f"{tally['output_tokens']:,} out, {cost}"
    )


def checkpoints(data: Any) -> list[str]:
    """One line each, newest first."""
    return [checkpoint(found) for found in data] or [
        "No checkpoints yet. One is taken before the first change."
    ]


def points(data: Any) -> list[Any]:
    """Of a session's checkpoints, newest first: before a message, or before a call that changed something."""
    found, changes_later = [], False
    for each in data:
        phase = each["cause"]["phase"]
        if phase == "turn_start" or (phase == "before_call" and (each.get("after") or changes_later)):
            found.append(each)
        changes_later = bool(each.get("changes"))
    return found


def kept(data: Any) -> list[str]:
    """What they take and for how long they are kept."""
    return [f"They take {size_text(data['size_bytes'])} on disk and are kept {data['days']:g} days."]


def checkpoint(found: Mapping[str, Any]) -> str:
    """`7f3a/17, 13:51: before make, 2 files changed since`."""
    cause = found["cause"]
    said = one_line(str(cause["summary"] or ""), strict=True)
    words = _PHASES.get(str(cause["phase"]), "before {}").format(said).strip()
    at = time.strftime("%H:%M", time.localtime(float(found["created_at"])))
    changes = found.get("after") or ()
    since = f", {count(len(changes), 'file')} changed after it" if changes else ""
    return f"{one_line(str(found['id']), strict=True)}, {at}: {words}{since}"


def plan(data: Any) -> list[str]:
    """Every path of a rollback; conflicts first."""
    lines = [
        f"  Conflict: {one_line(found['path'], strict=True)}, {one_line(found['reason'])}; "
        "yours stays unless you choose"
        for found in data["conflicts"]
    ]
    for step in data["operations"]:
        detail = f", {one_line(step['detail'])}" if step.get("detail") else ""
        word = "Create" if step.get("creates") else _ACTIONS.get(step["action"], "Change")
        folder = "/" * (step["action"] in ("mkdir", "rmdir"))
        lines.append(f"  {word}: {one_line(step['path'], strict=True)}{folder}{detail}")
    lines += [
        f"  Stays: {one_line(path, strict=True)}, not made by the agent" for path in data.get("kept", ())
    ]
    lines += [
        f"  Not covered by undo: {one_line(found['path'], strict=True)}, "
        + one_line("; ".join(filter(None, (found["reason"], found.get("since")))))
        for found in data.get("uncovered", ())
    ]
    if data.get("head_moved"):
        lines.append(f"  Stays: .git, your HEAD moved {one_line(data['head_moved'], strict=True)}")
    return lines or ["  No file would change."]


def session(found: Mapping[str, Any], everywhere: bool) -> str:
    """`7f3a: make empty input safe, 23 messages, today`; with its directory where those of all are listed."""
    facts = [
        one_line(str(found.get("title") or "no message")),
        count(int(found.get("messages") or 0), "message"),
    ]
    at = float(found.get("updated_at") or 0)
    facts.append(time.strftime("%d %b %H:%M", time.localtime(at)))
    if found.get("forked_from"):
        facts.append(f"fork of {one_line(str(found['forked_from']), strict=True)}")
    if everywhere:
        facts.append(f"in {one_line(short_path(str(found.get('workspace') or '?')), strict=True)}")
    ended = str(found.get("ended") or "")
    if found.get("damage"):
        facts.append("damaged")
    elif found.get("live"):
        facts.append("waiting" if ended == "waiting" else "open in another terminal")
    elif ended:
        facts.append(end_word(ended))
    return f"{one_line(str(found.get('id')))}: {', '.join(facts)}"


def terminals(data: Any) -> list[str]:
    """State, command, place, sandbox and newest line of each."""
    lines = []
    for found in data:
        tail = one_line(str(found.get("tail", "")).rstrip().rpartition("\n")[2])
        said = f" Last line: {tail}" if tail else ""
        place = f" In {one_line(short_path(str(found['cwd'])), strict=True)}." if found.get("cwd") else ""
        command = one_line(str(found["command"]), strict=True)
        held = contained(str(found["sandbox"])) if found.get("sandbox") else ""
        how = f" {one_line(held[0].upper() + held[1:], strict=True)}." if held else ""
        lines.append(f"{one_line(str(found['id']))}, {_terminal_state(found)}: {command}.{place}{how}{said}")
    return lines or ["No terminals. Commands that outlive their call appear here."]


def _terminal_state(found: Mapping[str, Any]) -> str:
    if found["state"] != "ended":
        waits = ", waiting for input" if found.get("awaits_input") else ""
        return "stopping" if found.get("stopping_at") else f"{one_line(str(found['state']))}{waits}"
    return (
        f"ended, signal {one_line(str(found['signal']))}"
        if found.get("signal")
        else f"ended, exit {found.get('exit_code')}"
    )


def grants(data: Any) -> list[str]:
    """What is allowed or denied without asking; the ids are for `/approvals remove ID`."""
    return [_grant(found) for found in data] or ["Nothing is allowed beyond one call."]


def _grant(found: Mapping[str, Any]) -> str:
    rule = one_line(str(found.get("rule", "")), strict=True)
    facts = [f"{one_line(str(found.get('action', 'allow')))} {rule}", one_line(str(found["scope"]))]
    if found.get("allows"):
        facts.append(f"lets run {one_line(str(found['allows']), strict=True)}")
    if found.get("grant"):
        facts.append(f"in the sandbox with: {one_line(str(found['grant']), strict=True)}")
    return f"{one_line(str(found['id']))}: {', '.join(facts)}"


def offer(found: Mapping[str, Any]) -> str:
    """`PROVIDER/MODEL: 272,000 tokens, OPENAI_API_KEY`."""
    facts = [one_line(str(found.get("where") or "")), one_line(str(found.get("state") or ""))]
    if found.get("context_window"):
        facts.insert(0, f"{found['context_window']:,} tokens")
    if found.get("price_input") is not None and found.get("price_output") is not None:
        facts.append(f"{found['price_input']:g} and {found['price_output']:g} dollars per million in and out")
    return f"{one_line(str(found['name']), strict=True)}: {', '.join(fact for fact in facts if fact)}"


def numbered(lines: Sequence[str]) -> list[str]:
    """A list to choose from."""
    return [f"  {number}. {line}" for number, line in enumerate(lines, 1)]
