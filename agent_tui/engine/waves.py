"""Cuts a batch into waves by declared effects and path overlap. Pure."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tools.types import Effects, PathSet

MAX_CONCURRENT = 8
MAX_COMMANDS = 4  # of them commands

K = TypeVar("K")


def cut_waves(calls: Sequence[tuple[K, Effects]]) -> list[list[K]]:
    """Waves in the order of the model: a call joins the newest wave if it conflicts with none in it.

    No call overtakes one before it, so a wave never waits for a later one.
    """
    waves: list[list[tuple[K, Effects]]] = []
    for key, effects in calls:
        if not waves or any(conflict(effects, other) for _, other in waves[-1]):
            waves.append([])
        waves[-1].append((key, effects))
    return [[key for key, _ in wave] for wave in waves]


def startable(wave: Sequence[K], is_command: Callable[[K], bool]) -> list[K]:
    """The first calls of a wave, as many as may run at the same time: none that is stored as started waits
    for its turn, while settings change and stops come."""
    commands = 0
    for place, call in enumerate(wave):
        commands += is_command(call)
        if place == MAX_CONCURRENT or commands > MAX_COMMANDS:
            return list(wave[:place])
    return list(wave)


def conflict(one: Effects, other: Effects) -> bool:
    """Whether two calls may not run at the same time."""
    if one.exclusive or other.exclusive:
        return True
    if one.terminal is not None and one.terminal == other.terminal:
        return True
    return (
        overlap(one.writes, other.writes)
        or overlap(one.writes, other.reads)
        or overlap(one.reads, other.writes)
    )


def overlap(one: PathSet, other: PathSet) -> bool:
    """Whether two path sets share a path; a directory contains what is below it."""
    if is_empty(one) or is_empty(other):
        return False
    if one.everything or other.everything:
        return True
    return any(_contains(a, b) or _contains(b, a) for a in one.paths for b in other.paths)


def is_empty(paths: PathSet) -> bool:
    """Whether nothing is touched."""
    return not paths.everything and not paths.paths


def _contains(parent: Path, child: Path) -> bool:
    return parent == child or parent in child.parents
