"""Layer 1: shortens results that a newer one has superseded, in place.

Ids, order and count stay. Only what is provably outdated or repeated is shortened: a read by a
read that contains it or by a later write of that file, a search by the same search, a command by
the very same command, a poll by the next poll of the same terminal. Pictures are left out where a
newer one came: each costs as much as a page, and far more bytes.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from context.facts import CallFact
from context.items import CallPart, Image, Replacement, ResultItem
from context.view import ExchangeUnit, Unit, UserUnit

MIN_SAVED_CHARS = 200  # below this a replacement is not worth a changed prefix
LARGE_ARGUMENT_CHARS = 1024


def shrink(
    units: Sequence[Unit], facts: Mapping[str, CallFact], protected: Collection[str]
) -> tuple[Replacement, ...]:
    """Replacements for the unprotected units; `protected` are item ids of messages and responses."""
    exchanges = [unit for unit in units if isinstance(unit, ExchangeUnit)]
    order = [
        facts[call.call_id] for unit in exchanges for call in unit.response.calls if call.call_id in facts
    ]
    superseding = _superseding(order)
    open_failures = open_failure_calls(order)
    replacements: list[Replacement] = []
    for unit in exchanges:
        if unit.response.id in protected:
            continue
        for call, result in zip(unit.response.calls, unit.results, strict=True):
            fact = facts.get(call.call_id)
            if fact is None:
                continue
            newer = superseding.get(call.call_id)
            if newer is not None and call.call_id not in open_failures:
                replacements.extend(_short_result(result, fact, newer))
            if fact.kind == "write" and fact.passed:
                replacements.extend(_short_arguments(unit.response.id, call))
    shortened = {one.item_id for one in replacements}
    return (
        *replacements,
        *(one for one in _without_pictures(units, protected) if one.item_id not in shortened),
    )


def _without_pictures(units: Sequence[Unit], protected: Collection[str]) -> Iterator[Replacement]:
    """The unprotected messages and results with pictures, without them; the newest unit that has some keeps
    its own."""
    having = [unit for unit in units if _has_pictures(unit)]
    for unit in having[:-1]:
        if isinstance(unit, UserUnit) and unit.item.id not in protected:
            text = _naming(unit.item.text, unit.item.images)
            yield Replacement(item_id=unit.item.id, call_id="", message_text=text)
        elif isinstance(unit, ExchangeUnit) and unit.response.id not in protected:
            for one in unit.results:
                if one.images:
                    text = _naming(one.text, one.images)
                    yield Replacement(item_id=one.id, call_id=one.call_id, result_text=text)


def _has_pictures(unit: Unit) -> bool:
    if isinstance(unit, UserUnit):
        return bool(unit.item.images)
    return isinstance(unit, ExchangeUnit) and any(result.images for result in unit.results)


def _naming(text: str, pictures: Sequence[Image]) -> str:
    """The text of what had these pictures, and their names in their place."""
    lines = [f"[no longer shown: picture {one.name or one.media_type}]" for one in pictures]
    return "\n".join([text, *lines] if text else lines)


def _superseding(order: Sequence[CallFact]) -> dict[str, CallFact]:
    """Call id → the newest call that makes its result outdated; O(n) over calls and their targets."""
    found: dict[str, CallFact] = {}
    by_key: dict[tuple[str, str], CallFact] = {}
    reads: dict[str, list[CallFact]] = {}
    writes: dict[str, CallFact] = {}
    for newer in reversed(order):
        older_of = by_key.get((newer.kind, newer.key))
        if newer.kind == "read":
            covering = writes.get(newer.target) or next(
                (read for read in reads.get(newer.target, ()) if _covers(read, newer)), None
            )
            if covering is not None:
                found[newer.call_id] = covering
            elif newer.passed:
                reads.setdefault(newer.target, []).append(newer)
        elif newer.kind == "poll" and newer.terminal:
            last = by_key.setdefault(("poll", newer.terminal), newer)
            if last is not newer:
                found[newer.call_id] = last
        elif newer.kind in ("search", "exec"):
            if older_of is not None:
                found[newer.call_id] = older_of
            else:
                by_key[(newer.kind, newer.key)] = newer
        elif newer.kind == "write" and newer.passed:
            for change in newer.changes:
                writes.setdefault(change.path, newer)
    return found


def _covers(newer: CallFact, older: CallFact) -> bool:
    first_ok = newer.first_line is None or newer.first_line <= (older.first_line or 1)
    last_ok = newer.last_line is None or (older.last_line is not None and newer.last_line >= older.last_line)
    return first_ok and last_ok


def open_failure_calls(order: Sequence[CallFact]) -> frozenset[str]:
    """The last failure of each command that has not passed since: never shortened."""
    last: dict[str, CallFact] = {}
    for fact in order:
        if fact.kind == "exec":
            last[fact.key] = fact
    return frozenset(fact.call_id for fact in last.values() if not fact.passed)


def _short_result(result: ResultItem, fact: CallFact, newer: CallFact) -> list[Replacement]:
    text = describe(fact)
    if fact.kind == "exec" and fact.sha256 == newer.sha256:
        text += f"; same output as call {newer.call_id}"
    elif fact.kind == "exec" and fact.first_error:
        text += f"; first error: {fact.first_error[:200]}"
    else:
        text += f"; newer: call {newer.call_id}"
    text = f"[shortened: {text}]"
    if len(result.text) - len(text) < MIN_SAVED_CHARS and not result.images:
        return []
    return [Replacement(item_id=result.id, call_id=result.call_id, result_text=text)]


def describe(fact: CallFact) -> str:
    """One line: tool, target, outcome, size, where the rest is."""
    outcome = fact.status if fact.exit_code is None else f"exit {fact.exit_code}"
    lines = ""
    if fact.first_line is not None or fact.last_line is not None:
        lines = f" lines {fact.first_line or 1}-{fact.last_line or 'end'}"
    parts = [f"{fact.tool} {fact.target[:300]}{lines}", outcome]
    if fact.total_bytes:
        parts.append(f"{fact.total_bytes:,} bytes, {fact.total_lines:,} lines")
    if fact.artifact:
        parts.append(f"full output {fact.artifact}")
    if fact.sha256:
        parts.append(f"sha256 {fact.sha256[:12]}")
    return "; ".join(parts)


def _short_arguments(item_id: str, call: CallPart) -> list[Replacement]:
    """Long strings in the arguments of an applied edit become a size and a hash, inside valid JSON."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return []
    if not isinstance(arguments, dict):
        return []
    short = {
        name: _applied(value) if isinstance(value, str) and len(value) > LARGE_ARGUMENT_CHARS else value
        for name, value in arguments.items()
    }
    if short == arguments:
        return []
    return [
        Replacement(
            item_id=item_id,
            call_id=call.call_id,
            arguments=json.dumps(short, ensure_ascii=False, separators=(",", ":")),
        )
    ]


def _applied(value: str) -> str:
    data = value.encode("utf-8", errors="surrogatepass")
    return f"[{len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()[:12]}, applied]"
