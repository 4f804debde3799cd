"""Who made the changes since a checkpoint: the evidence a rollback decides by.

Walks the checkpoints of one session after the target. Between two neighbours the changes belong to
the author recorded with the later one; a rollback gives each path back the author it had at the
checkpoint it went to, so that a redo never makes the user's own text look like ours.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from checkpoints.catalog import Row
from checkpoints.snapshot import State
from checkpoints.states import Pair, Trees, covered_pairs, parents
from checkpoints.types import Author, Phase


@dataclass(frozen=True, slots=True)
class Trace:
    """The last known change of a path since the target."""

    author: Author
    creator: Author | None  # who made it exist, when it did not at the target
    at: float
    seq: int
    agent_seq: int = 0  # the newest checkpoint that held the agent's own version; 0: none
    outside: Author | None = None  # a change since the target that may be the user's
    outside_at: float | None = None


@dataclass(slots=True)
class History:
    """What is known of every path that changed since the target."""

    base_seq: int
    traces: dict[bytes, list[Trace]]

    def last(self, path: bytes) -> Trace | None:
        """The last change; None when nothing recorded changed it."""
        found = self.traces.get(path)
        return found[-1] if found else None

    def _at(self, path: bytes, seq: int) -> Trace | None:
        found = [trace for trace in self.traces.get(path, ()) if trace.seq <= seq]
        return found[-1] if found else None

    def record(self, row: Row, pairs: dict[bytes, Pair]) -> None:
        """Take in what changed up to that checkpoint."""
        target = int(row.target.rpartition("/")[2]) if row.cause.phase is Phase.AFTER_ROLLBACK else None
        author_of = authors(row)
        for path, (before, after) in pairs.items():
            last = self.last(path)
            author = author_of(path)
            if target is not None and author is Author.ROLLBACK:
                trace = self._restored(path, row, target)
            else:
                agent_seq = row.seq if author is Author.AGENT else (last.agent_seq if last else 0)
                creator = last.creator if last else None
                if before is None:
                    creator = author
                elif after is None:
                    creator = None
                trace = self._changed(last, author, creator, row, agent_seq)
            self.traces.setdefault(path, []).append(trace)

    @staticmethod
    def _changed(
        last: Trace | None, author: Author, creator: Author | None, row: Row, agent_seq: int
    ) -> Trace:
        outside, outside_at = (last.outside, last.outside_at) if last else (None, None)
        if author in (Author.EXTERNAL, Author.TERMINAL):
            outside, outside_at = author, row.created_at
        return Trace(author, creator, row.created_at, row.seq, agent_seq, outside, outside_at)

    def _restored(self, path: bytes, row: Row, target: int) -> Trace:
        known = self._at(path, target) if target > self.base_seq else None
        if known is not None:
            return replace(known, at=row.created_at, seq=row.seq)
        return Trace(Author.ROLLBACK, Author.ROLLBACK, row.created_at, row.seq)


def authors(row: Row) -> Callable[[bytes], Author]:
    """Who changed each path between a checkpoint and the one before it."""
    if row.only is None:
        return lambda _: row.author
    named = [os.fsencode(name) for name in row.only]
    own = {*named, *(above for path in named for above in parents(path))}  # folders come with their files
    return lambda path: row.author if path in own else Author.EXTERNAL


def history(trees: Trees, target: Row, target_state: State, later: Iterable[tuple[Row, State]]) -> History:
    """Everything known since the target; `later` are its session's checkpoints after it, in order.

    Raises DamagedStoreError when a state on the way cannot be read.
    """
    found = History(target.seq, {})
    state = target_state
    for row, newer in later:
        if newer.oid != state.oid:
            found.record(row, covered_pairs(trees, state, newer))
            state = newer
    return found
