"""Token counts without a tokenizer: an estimate by character class, corrected by what providers report.

The classes and weights were fitted against a real vocabulary, o200k: 0.94 to 1.18 of the true count
over code, prose, diffs, listings, lock files, hex and CJK, where bytes/4 is 0.36 to 1.2. Arguments of
calls, results, schemas and system text all count.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from agent_tui.frozen import frozen
from context.items import (
    CallPart,
    Image,
    NoticeItem,
    OpaquePart,
    ReasoningPart,
    ResponseItem,
    ResultItem,
    TextPart,
    ToolSchema,
)
from context.units import item_ids
from context.view import ExchangeUnit, FinalUnit, NoticeUnit, SummaryUnit, Unit, UserUnit, View

TOKENS_PER_IMAGE = 1600
ITEM_OVERHEAD = 6  # role, separators and ids of one message
FACTOR_RANGE = (0.7, 1.6)
_FACTOR_WEIGHT = 0.3  # of the newest observation in the moving average

_NARROW = (
    r"(?P<word>[A-Za-z]+)|(?P<digits>[0-9]{1,3})|(?P<blank>\s{2,}|[^\S ]| (?=[0-9]))|(?P<space> )"
    r"|(?P<ascii>[!-/:-@\[-`{-~]+)"
)
_FIRST_CJK = "\u1100"
_CJK = r"|(?P<cjk>[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+)"
_OTHER = r"|(?P<other>.)"
_PIECES, _PIECES_WITH_CJK = _NARROW + _OTHER, _NARROW + _CJK + _OTHER


def text_tokens(text: str) -> int:
    """Estimate of one text; runs at a few MB a second."""
    total = 0.0
    # To compile what finds CJK takes 1.5 ms, and the text of a start has none of it.
    is_narrow = text.isascii() or max(text) < _FIRST_CJK
    for found in re.finditer(_PIECES if is_narrow else _PIECES_WITH_CJK, text, re.DOTALL):
        length = found.end() - found.start()
        match found.lastgroup:
            case "word":
                total += 1 if length <= 7 else length / 5
            case "digits" | "blank":
                total += 1
            case "space":  # vocabularies hold words with the space before them
                continue
            case "ascii" | "cjk":
                total += 0.75 * length
            case _:
                total += 0.4
    return int(total + 0.999)


def _images_tokens(images: Sequence[Image]) -> int:
    return TOKENS_PER_IMAGE * len(images)


def _response_tokens(response: ResponseItem) -> int:
    total = ITEM_OVERHEAD
    for part in response.parts:
        match part:
            case CallPart():
                total += ITEM_OVERHEAD + text_tokens(part.tool) + text_tokens(part.arguments)
            case ReasoningPart():
                # Encrypted reasoning is longer than the tokens it stands for: about 4 characters each.
                total += max(text_tokens(part.text), len(part.raw or "") // 6)
            case TextPart():
                total += text_tokens(part.text)
            case OpaquePart():
                total += len(part.raw) // 4
    return total


def _notices_tokens(notices: Sequence[NoticeItem]) -> int:
    return sum(ITEM_OVERHEAD + text_tokens(notice.text) for notice in notices)


def item_tokens(item: ResponseItem | ResultItem) -> int:
    """Estimate of one item, uncorrected."""
    if isinstance(item, ResponseItem):
        return _response_tokens(item)
    return ITEM_OVERHEAD + text_tokens(item.text) + _images_tokens(item.images)


def unit_tokens(unit: Unit, tokens_of: Callable[[ResponseItem | ResultItem], int] = item_tokens) -> int:
    """Estimate of one unit, uncorrected; `tokens_of` gives that of the items of an exchange."""
    match unit:
        case UserUnit():
            own = ITEM_OVERHEAD + text_tokens(unit.item.text) + _images_tokens(unit.item.images)
            return own + _notices_tokens(unit.notices)
        case ExchangeUnit():
            results = sum(tokens_of(result) for result in unit.results)
            return tokens_of(unit.response) + results + _notices_tokens(unit.notices)
        case FinalUnit():
            return _response_tokens(unit.response) + _notices_tokens(unit.notices)
        case NoticeUnit():
            return _notices_tokens((unit.notice, *unit.notices))
        case SummaryUnit():
            return ITEM_OVERHEAD + text_tokens(unit.text)


def tools_tokens(tools: Sequence[ToolSchema]) -> int:
    """Estimate of the tool list."""
    return sum(
        ITEM_OVERHEAD + text_tokens(tool.name) + text_tokens(tool.description) + text_tokens(tool.parameters)
        for tool in tools
    )


@frozen
class Breakdown:
    """What fills the window, in corrected tokens (`/context`)."""

    system: int
    tools: int
    project: int
    summary: int
    user: int
    responses: int
    results: int

    @property
    def total(self) -> int:
        return (
            self.system + self.tools + self.project + self.summary + self.user + self.responses + self.results
        )


class Meter:
    """Size of views in tokens: the last real prompt size plus an estimate of what came since.

    One for each session; `factor` is the moving average of real over estimated, 0.7 to 1.6.
    """

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        self._cache: dict[tuple[str, ...], tuple[Unit, int]] = {}
        self._items: dict[str, tuple[ResponseItem | ResultItem, int]] = {}
        self._fixed: tuple[tuple[str, str, tuple[ToolSchema, ...]], int] | None = None
        self._counted: tuple[tuple[Unit, ...], int] = ((), 0)  # units of a view before its last, their sum
        self._anchor: tuple[tuple[Unit, ...], int, int] | None = None  # units, raw, real

    def raw(self, view: View) -> int:
        """Uncorrected estimate of a whole view; a view that goes on from the one before it costs
        only what is new in it."""
        units, known, total = view.units, *self._counted
        if len(units) <= len(known) or units[: len(known)] != known:  # compares by identity first
            known, total = (), 0
        total += sum(self.unit(unit) for unit in units[len(known) : -1])
        self._counted = (units[:-1], total)
        return self.fixed(view) + total + sum(self.unit(unit) for unit in units[-1:])

    def unit(self, unit: Unit) -> int:
        """Uncorrected estimate of one unit, remembered while the unit stays the same."""
        key = item_ids(unit)
        known = self._cache.get(key)
        if known is not None and (known[0] is unit or known[0] == unit):
            return known[1]
        tokens = unit_tokens(unit, self._item)
        self._cache[key] = (unit, tokens)
        return tokens

    def _item(self, item: ResponseItem | ResultItem) -> int:
        """Estimate of one item, remembered by itself: an epoch shortens others of its unit."""
        known = self._items.get(item.id)
        if known is not None and known[0] is item:
            return known[1]
        tokens = item_tokens(item)
        self._items[item.id] = (item, tokens)
        return tokens

    def tokens(self, view: View) -> int:
        """Best estimate of the prompt tokens of a view."""
        raw = self.raw(view)
        if self._anchor is not None:
            units, anchor_raw, real = self._anchor
            if raw >= anchor_raw and _goes_on(view.units, units):
                return real + round((raw - anchor_raw) * self.factor)
        return round(raw * self.factor)

    def observe(self, view: View, real: int) -> None:
        """Learn from the prompt tokens a provider reported for `view`."""
        raw = self.raw(view)
        if raw <= 0 or real <= 0:
            return
        low, high = FACTOR_RANGE
        seen = min(high, max(low, real / raw))
        self.factor = min(high, max(low, (1 - _FACTOR_WEIGHT) * self.factor + _FACTOR_WEIGHT * seen))
        self._anchor = (view.units, raw, real)

    def recall(self, view: View, responses: Collection[str]) -> None:
        """Learn after a resume from what the log holds: the prompt size reported with the newest of
        `responses`, ids of those that were made from this view's beginning."""
        for index in range(len(view.units) - 1, -1, -1):
            unit = view.units[index]
            if not isinstance(unit, ExchangeUnit | FinalUnit) or unit.response.id not in responses:
                continue
            usage = unit.response.usage
            if usage.input_tokens and not usage.estimated:
                self.observe(replace(view, units=view.units[:index]), usage.input_tokens)
                return

    def forget(self) -> None:
        """Begin anew: another model counts otherwise."""
        self.factor, self._anchor = 1.0, None

    def breakdown(self, view: View) -> Breakdown:
        """Where the tokens go; together as many as `tokens` says, but for rounding."""
        share = self.tokens(view) / max(1, self.raw(view))

        def scaled(tokens: int) -> int:
            return round(tokens * share)

        exchanges = [unit for unit in view.units if isinstance(unit, ExchangeUnit)]
        responses = sum(_response_tokens(unit.response) for unit in exchanges)
        responses += sum(self.unit(unit) for unit in view.units if isinstance(unit, FinalUnit))
        results = sum(self.unit(unit) - _response_tokens(unit.response) for unit in exchanges)
        return Breakdown(
            system=scaled(text_tokens(view.system)),
            tools=scaled(tools_tokens(view.tools)),
            project=scaled(text_tokens(view.project)),
            summary=scaled(sum(self.unit(unit) for unit in view.units if isinstance(unit, SummaryUnit))),
            user=scaled(
                sum(self.unit(unit) for unit in view.units if isinstance(unit, UserUnit | NoticeUnit))
            ),
            responses=scaled(responses),
            results=scaled(results),
        )

    def fixed(self, view: View) -> int:
        """Uncorrected estimate of system, project instructions and tools."""
        key = (view.system, view.project, view.tools)
        if self._fixed is None or self._fixed[0] != key:
            total = text_tokens(view.system) + text_tokens(view.project) + tools_tokens(view.tools)
            self._fixed = (key, total)
        return self._fixed[1]


def _goes_on(units: tuple[Unit, ...], earlier: tuple[Unit, ...]) -> bool:
    """Whether a view begins with the units of an earlier one; the last may have got notices since."""
    last = len(earlier) - 1
    if last < 0:
        return True
    if len(units) <= last or units[:last] != earlier[:last]:
        return False
    return item_ids(units[last])[0] == item_ids(earlier[last])[0]
