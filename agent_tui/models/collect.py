"""Puts a response together from pieces, whatever a server forgets, repeats or misnumbers."""

import json
import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from agent_tui.frozen import mutable
from agent_tui.models.base import CallProgress, ReasoningDelta, TextDelta
from context.items import CallPart

_SURROGATE = "[\ud800-\udfff]"


def mend(text: str) -> str:
    """Surrogate pairs that came as two escapes become the one character, lone ones U+FFFD."""
    if text.isascii() or not re.search(_SURROGATE, text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class TextFlow:
    """Text or reasoning as it comes: gives the deltas, keeps the whole."""

    def __init__(self, kind: type[TextDelta] | type[ReasoningDelta]) -> None:
        self._kind = kind
        self._pieces: list[str] = []
        self._held = ""
        self.chars = 0

    def feed(self, piece: str) -> Iterator[TextDelta | ReasoningDelta]:
        """The delta for a piece, none while a character is only half there."""
        text = self._held + piece
        self._held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        text = mend(text[:-1] if self._held else text)
        if text:
            yield self._kind(text=text, offset=self.chars)
            self._pieces.append(text)
            self.chars += len(text)

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces)


@mutable
class _OpenCall:
    position: int
    index: int | None
    provider_id: str
    tool: str = ""
    pieces: list[str] = field(default_factory=list)
    chars: int = 0

    @property
    def arguments(self) -> str:
        return mend("".join(self.pieces))


class CallCollector:
    """Collects the `tool_calls` deltas of a Chat stream.

    A piece opens a call when its index is new, when it brings another id on the same index, or when it
    names a tool after arguments have begun; otherwise it goes to the call of its index, and without an
    index to the last one.
    """

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def feed(self, piece: dict[str, Any]) -> CallProgress:
        """Take one element of `delta.tool_calls`."""
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        index = piece.get("index")
        index = index if isinstance(index, int) and not isinstance(index, bool) else None
        ident = _text(piece.get("id"))
        name = _text(function.get("name"))
        call = self._find(index, ident, name)
        if call is None:
            call = _OpenCall(position=len(self._calls), index=index, provider_id=ident)
            self._calls.append(call)
        call.provider_id = call.provider_id or ident
        if name and name != call.tool:
            call.tool += name
        arguments = _arguments(function.get("arguments"))
        if arguments:
            call.pieces.append(arguments)
            call.chars += len(arguments)
        return CallProgress(index=call.position, tool=call.tool, arguments_chars=call.chars)

    def _find(self, index: int | None, ident: str, name: str) -> _OpenCall | None:
        if index is None:
            found = next((c for c in reversed(self._calls) if ident and c.provider_id == ident), None)
            last = self._calls[-1] if self._calls else None
            call = found or (None if ident and last and last.provider_id else last)
        else:
            call = next((c for c in reversed(self._calls) if c.index == index), None)
        return None if call is None or _opens_another(call, ident, name) else call

    @property
    def chars(self) -> int:
        """Length of all arguments so far."""
        return sum(call.chars for call in self._calls)

    def finish(self) -> Iterator[CallPart]:
        """The calls in the order they were opened; missing ids become ours."""
        for number, call in enumerate(self._calls, start=1):
            ident = call.provider_id or f"call_{number}"
            yield CallPart(call_id=ident, provider_id=ident, tool=call.tool, arguments=call.arguments)

    @property
    def is_cut(self) -> bool:
        """The last arguments end in the middle: the output limit was hit, whatever the server says."""
        return bool(self._calls) and is_cut(self._calls[-1].arguments)


def is_cut(arguments: str) -> bool:
    """JSON that is good so far and ends too early; bad JSON and whole JSON are not cut."""
    if not arguments.strip():
        return False
    try:
        json.loads(arguments)
    except json.JSONDecodeError as error:
        rest = arguments[error.pos :].rstrip()
        is_half_word = any(word.startswith(rest) for word in ("true", "false", "null", "-"))
        is_half_escape = "escape" in error.msg and len(rest) < len("\\uXXXX")
        return is_half_word or is_half_escape or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):  # a number of too many digits, nesting that is too deep
        return False
    return False


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _opens_another(call: _OpenCall, ident: str, name: str) -> bool:
    """The piece found `call` by its index or place, and yet belongs to a new one."""
    if ident and call.provider_id:
        return ident != call.provider_id
    # Servers without ids may repeat the name in each piece; a name after whole arguments is a new call.
    return bool(name and call.pieces) and (name != call.tool or _is_object(call.arguments))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """Arguments as text; some servers send the object itself."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return _text(value)


class ThinkTags:
    """Splits `<think>…</think>` at the start of an answer into reasoning and text, piece by piece."""

    _OPENINGS = ("<think>", "<thinking>")

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""  # not empty while inside
        self._is_decided = False
        self._is_trimming = False  # blank lines between the reasoning and the answer

    def feed(self, piece: str) -> tuple[str, str]:
        """Reasoning and text that are certain by now."""
        if self._is_decided and not self._closing:
            return "", self._trimmed(piece)
        self._held += piece
        if not self._is_decided:
            start = self._held.lstrip()
            opening = next((tag for tag in self._OPENINGS if start.startswith(tag)), "")
            if opening:
                self._closing = "</" + opening[1:]
                self._held = start[len(opening) :]
            elif any(tag.startswith(start) for tag in self._OPENINGS):
                return "", ""
            self._is_decided = True
        return self._split()

    def _split(self) -> tuple[str, str]:
        held = self._held
        if not self._closing:
            self._held = ""
            return "", held
        place = held.find(self._closing)
        if place >= 0:
            self._held, closing, self._closing = "", self._closing, ""
            self._is_trimming = True
            return held[:place], self._trimmed(held[place + len(closing) :])
        keep = next((n for n in range(len(self._closing) - 1, 0, -1) if held.endswith(self._closing[:n])), 0)
        self._held = held[len(held) - keep :]
        return held[: len(held) - keep], ""

    def _trimmed(self, text: str) -> str:
        if self._is_trimming:
            text = text.lstrip()
            self._is_trimming = not text
        return text

    def end(self) -> tuple[str, str]:
        """What was held back, when the answer is over."""
        held, self._held = self._held, ""
        return (held, "") if self._closing else ("", held)
