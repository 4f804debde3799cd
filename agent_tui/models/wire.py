"""What the three dialects share on the way out: canonical bytes, call ids, fixed texts, unit checks."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from context.items import CallPart, Image, NoticeItem, ResultItem
from context.view import ExchangeUnit, FinalUnit, NoticeUnit, SummaryUnit, Unit, UserUnit, View

NO_OUTPUT = "(no output)"
_NAME_ILLEGAL = "[^a-zA-Z0-9_-]"
_UNSENDABLE = "[\x00\ud800-\udfff]"  # NUL and lone surrogates are refused everywhere


def dumps(value: Any) -> str:
    """JSON as it goes over the wire: the order of the keys given, no blanks, no escapes of Unicode."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def to_bytes(body: Mapping[str, Any]) -> bytes:
    """The body of a request."""
    return dumps(body).encode("utf-8")


def clean(text: str) -> str:
    """Text a provider accepts: NUL and lone surrogates become U+FFFD."""
    return text if is_clean(text) else re.sub(_UNSENDABLE, "�", text)


def is_clean(text: str) -> bool:
    """Ten times as fast as the pattern, and every byte of every request passes through."""
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def arguments_object(arguments: str) -> dict[str, Any]:
    """Arguments as the object every dialect must carry; `{}` for what is none.

    Some servers encode the object twice; the inner one counts.
    """
    try:
        value = json.loads(arguments)
        if isinstance(value, str):
            value = json.loads(value)
        return _cleaned(value) if isinstance(value, dict) else {}
    except (ValueError, RecursionError):
        return {}


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def arguments_text(arguments: str) -> str:
    """Arguments as text: as the model sent them where they are an object, else repaired."""
    try:
        if isinstance(json.loads(arguments), dict) and is_clean(arguments) and "\\u" not in arguments:
            return arguments
    except (ValueError, RecursionError):
        return "{}"
    return dumps(arguments_object(arguments))


class CallIds:
    """Ids of one request: the provider's own where it may be used, unique, the same for the same view."""

    def __init__(self, pattern: str, length: int) -> None:
        """`pattern` matches one character that is not allowed; longer ids are cut at `length`."""
        self._illegal = re.compile(pattern)
        self._length = length
        self._used: set[str] = set()
        self._repeats: dict[str, int] = {}

    def give(self, call: CallPart, *, is_own: bool) -> str:
        """The wire id of the next call, in the order of the view. A provider's id goes back to the model
        that gave it, the engine's to others: so theirs never take one that this model gives."""
        name = (call.provider_id if is_own else "") or call.call_id
        label = self._illegal.sub("_", clean(name))[: self._length] or "call"
        wanted = label
        while wanted in self._used:  # counted by label: some models begin at the same id in every turn
            number = self._repeats[label] = self._repeats.get(label, 1) + 1
            suffix = f"_{number}"
            wanted = label[: self._length - len(suffix)] + suffix
        self._used.add(wanted)
        return wanted


def tool_name(call: CallPart) -> str:
    """The tool as every provider accepts it; a model may have made up any name, or none."""
    return re.sub(_NAME_ILLEGAL, "_", call.tool)[:64] or "unnamed"


def project_text(project: str) -> str:
    """The first user text: the project's own instructions."""
    return f"<project-instructions>\n{clean(project)}\n</project-instructions>"


def summary_text(summary: SummaryUnit) -> str:
    """The user text that stands for what a compaction hid."""
    return f"<earlier-work>\n{clean(summary.text)}\n</earlier-work>"


def notice_text(notice: NoticeItem) -> str:
    """A line of the runtime, told apart from what the person says."""
    return f"<notice>\n{clean(notice.text)}\n</notice>"


def result_text(result: ResultItem) -> str:
    """A result's text; never blank, which providers refuse."""
    return clean(result.text) if result.text.strip() else NO_OUTPUT


def image_stand_in(image: Image) -> str:
    """Said in place of a picture to a model that takes none."""
    return f"[picture {image.name or image.media_type} not shown: this model reads text only]"


def notices_of(unit: Unit) -> tuple[NoticeItem, ...]:
    """Notices in the order they are said."""
    match unit:
        case NoticeUnit(notice=notice, notices=notices):
            return (notice, *notices)
        case UserUnit(notices=notices) | ExchangeUnit(notices=notices) | FinalUnit(notices=notices):
            return notices
        case SummaryUnit():
            return ()


def broken(unit: Unit) -> str:
    """Why a unit cannot be sent in any dialect, or '': whole exchanges only."""
    if isinstance(unit, FinalUnit) and unit.response.calls:
        return f"response {unit.response.id} has calls and no results"
    if not isinstance(unit, ExchangeUnit):
        return ""
    declared = [call.call_id for call in unit.response.calls]
    answered = [result.call_id for result in unit.results]
    if declared != answered or len(set(declared)) != len(declared) or not declared:
        return f"response {unit.response.id} declares {declared} and is answered {answered}"
    return ""


def sound_units(view: View) -> tuple[list[Unit], tuple[str, ...]]:
    """The units that may be sent, and why others may not: the validator's last word before sending."""
    reasons = [broken(unit) for unit in view.units]
    kept = [unit for unit, reason in zip(view.units, reasons, strict=True) if not reason]
    return kept, tuple(filter(None, reasons))


def running_turn_start(units: Iterable[Unit]) -> int:
    """Index of the unit that started the running turn: the last prompt that is not a steer."""
    start = 0
    for index, unit in enumerate(units):
        if isinstance(unit, UserUnit) and unit.item.origin != "steer":
            start = index
    return start
