"""Saves what was said in a session and plays it again, offline, for bug reports and tests.

One JSON object a line: a response of the model, or `{"said": TEXT, "origin": …}` of the person, in their
order. What could be a secret is masked on the way out; pictures and results of tools are not saved.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agent_tui.frozen import frozen
from agent_tui.models.base import ErrorKind, ModelError
from agent_tui.models.scripted import SCRIPTED, ScriptedCall, ScriptedModel, Step
from context.codec import DecodeError, decode, encode
from context.items import (
    CallPart,
    Item,
    OpaquePart,
    Origin,
    ReasoningPart,
    ResponseItem,
    StopReason,
    TextPart,
    UserItem,
)

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abp])[-_][A-Za-z0-9_-]{12,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"
    r"|(?i:bearer)\s+[A-Za-z0-9._~+/-]{12,}=*"
)
_MASK = "‹hidden›"
PROVIDER = "replay"
Made = TypeVar("Made")


class ReplayError(ValueError):
    """A line of a saved session cannot be read; the text names it."""


@frozen
class Said:
    """What the person typed, and how many responses had come before it."""

    text: str
    after: int
    steer: bool = False


def saved_lines(items: Iterable[Item], *, secrets: Iterable[str] = (), home: str = "") -> Iterator[str]:
    """What person and model said among `items`, one line each, without signatures and sealed reasoning.

    `secrets` are values to mask beside what looks like one; `home` becomes `~`.
    """
    known = [value for value in secrets if len(value) >= 4]
    for item in items:
        match item:
            case ResponseItem():
                line = encode(item)
            case UserItem(text=text, origin=origin) if origin is not Origin.ANSWER:  # the call asks again
                line = {"said": text, "origin": str(origin)}
            case _:
                continue
        yield json.dumps(_masked(line, known, home.rstrip("/")), ensure_ascii=False)


def _masked(value: Any, secrets: list[str], home: str) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, _MASK)
        value = _SECRETS.sub(_MASK, value)
        return value.replace(home + "/", "~/") if home else value
    if isinstance(value, dict):
        return {
            key: None if key == "raw" and value.get("type") != "OpaquePart" else _masked(item, secrets, home)
            for key, item in value.items()
        }
    return [_masked(item, secrets, home) for item in value] if isinstance(value, list) else value


def steps_of(lines: Iterable[str]) -> list[Step]:
    """The responses among saved lines as a script. Raises ReplayError."""
    return [entry for entry in _entries(lines) if isinstance(entry, Step)]


def said_in(path: Path) -> tuple[Said, ...]:
    """What the person typed in a saved session, in order. Raises ReplayError."""
    entries = _of_file(path, _entries)
    return tuple(entry for entry in entries if isinstance(entry, Said))


def _entries(lines: Iterable[str]) -> list[Step | Said]:
    entries: list[Step | Said] = []
    responses = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = _entry(json.loads(line), responses)
        except (DecodeError, ValueError, RecursionError) as error:
            raise ReplayError(f"line {number} is no part of a saved session: {error}") from error
        responses += isinstance(entry, Step)
        entries.append(entry)
    return entries


def _entry(value: Any, responses: int) -> Step | Said:
    if isinstance(value, dict) and isinstance(value.get("said"), str):
        return Said(text=value["said"], after=responses, steer=value.get("origin") == Origin.STEER)
    return _step(decode(ResponseItem, value))


def _step(response: ResponseItem) -> Step:
    calls: list[ScriptedCall] = []
    reasoning = ""
    for part in response.parts:
        match part:
            case CallPart(tool=tool, arguments=arguments, provider_id=ident):
                calls.append(ScriptedCall(tool=tool, arguments=arguments, id=ident))
            case ReasoningPart(text=text):
                reasoning += text
            case TextPart() | OpaquePart():
                pass  # text is joined below; what a provider did for itself cannot be played
    return Step(
        text=response.text,
        reasoning=reasoning,
        calls=tuple(calls),
        usage=response.usage,
        stop=None if response.stop is StopReason.INTERRUPTED else response.stop,
    )


def replay_model(lines: Iterable[str], *, name: str = "saved") -> ScriptedModel:
    """A model that gives the saved responses in their order, and then says that there are no more.

    `name` is what it is called after `replay/`. Raises ReplayError.
    """
    steps = steps_of(lines)
    waiting = iter(steps)
    message = f"the saved session ends here, after {len(steps)} responses"
    end = Step(error=ModelError(kind=ErrorKind.BAD_REQUEST, message=message))
    info = replace(SCRIPTED, provider=PROVIDER, model=name)
    return ScriptedModel(lambda _: next(waiting, end), info=info)


def replay_file(path: Path) -> ScriptedModel:
    """`replay_model` of a file that `sessions export --format replay` wrote. Raises ReplayError."""
    return _of_file(path, partial(replay_model, name=str(path)))


def _of_file(path: Path, make: Callable[[list[str]], Made]) -> Made:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ReplayError(f"`{path}` cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReplayError(f"`{path}` is no saved session: it is not UTF-8 text") from error
    try:
        return make(lines)
    except ReplayError as error:
        raise ReplayError(f"`{path}`: {error}; `sessions export --format replay` writes such files") from None
