"""Keeps compaction from running for nothing or for ever. Pure state, stored with epochs."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from agent_tui.frozen import frozen

INEFFECTIVE_LIMIT = 2
MIN_FREED_SHARE = 0.10
REOPEN_GROWTH_SHARE = 0.20
REREAD_CALLS = 10
MIN_REREADS = 3  # fewer may be by chance, as of files that were changed
BREAKER_FAILURES = 3
BREAKER_HALF_OPEN_S = 600.0
MAX_EPOCHS_A_REQUEST = 2


@frozen
class Guard:
    """What earlier epochs came to."""

    ineffective: int = 0  # in a row
    off_at_tokens: int | None = None  # automatic compaction is off since the view had this size
    hidden_keys: tuple[str, ...] = ()  # hashes of the keys of calls that the newest epoch hid
    calls_since: int = 0
    rereads: int = 0
    pinned_calls: tuple[str, ...] = ()  # results protected in the next epoch
    reread_strikes: int = 0
    summary_failures: int = 0
    summary_failed_at: float = 0.0  # UTC seconds

    def may_run(self, tokens: int, input_budget: int) -> bool:
        """Whether an automatic epoch may run for a view of `tokens`."""
        if self.off_at_tokens is None:
            return True
        return tokens - self.off_at_tokens >= reopening_growth(input_budget)

    def after_epoch(
        self,
        before: int,
        after: int,
        soft: int,
        input_budget: int,
        keys: Iterable[str],
        *,
        floor: bool = False,
    ) -> "Guard":
        """Judge an epoch by sizes before and after it, in tokens. One that hid all but the newest, since
        automatic ones are off, does not switch them on again."""
        effective = after < soft and before - after >= MIN_FREED_SHARE * input_budget
        ineffective = self.ineffective + (not effective) if floor or not effective else 0
        return replace(
            self,
            ineffective=ineffective,
            off_at_tokens=after if ineffective >= INEFFECTIVE_LIMIT else None,
            hidden_keys=tuple(dict.fromkeys(_short_hash(key) for key in keys)),
            calls_since=0,
            rereads=0,
            pinned_calls=(),
            reread_strikes=self.reread_strikes + self._was_asked_again(),
        )

    def _was_asked_again(self) -> bool:
        """Whether most calls asked again, where the next epoch comes before as many as are looked at: in a
        small window."""
        few = MIN_REREADS <= self.rereads <= REREAD_CALLS // 2
        return few and self.calls_since < REREAD_CALLS and 2 * self.rereads > self.calls_since

    def reopened(self) -> "Guard":
        """After the window grew, the model changed, the person asked, or a rollback made the view another."""
        return replace(self, ineffective=0, off_at_tokens=None)

    def with_other_model(self) -> "Guard":
        """Reopened, and summaries may be tried again."""
        return replace(self.reopened(), summary_failures=0)

    def after_call(self, call_id: str, key: str) -> "Guard":
        """Count a call that asks again for what the newest epoch hid."""
        if self.calls_since >= REREAD_CALLS or not self.hidden_keys:
            return self
        again = _short_hash(key) in self.hidden_keys
        rereads = self.rereads + again
        pinned = (*self.pinned_calls, call_id) if again else self.pinned_calls
        struck = again and rereads == REREAD_CALLS // 2 + 1
        return replace(
            self,
            calls_since=self.calls_since + 1,
            rereads=rereads,
            pinned_calls=pinned,
            reread_strikes=self.reread_strikes + struck,
        )

    def summary_allowed(self, now: float) -> bool:
        """Whether the breaker lets a model summary be tried."""
        if self.summary_failures < BREAKER_FAILURES:
            return True
        return now - self.summary_failed_at >= BREAKER_HALF_OPEN_S

    def after_summary(self, ok: bool, now: float) -> "Guard":
        """Count a model summary; a failure is an error, a time-out or a rejected text."""
        if ok:
            return replace(self, summary_failures=0)
        return replace(self, summary_failures=self.summary_failures + 1, summary_failed_at=now)


def reopening_growth(input_budget: int) -> int:
    """Tokens by which a view has to grow until automatic compaction that was switched off is tried again."""
    return round(REOPEN_GROWTH_SHARE * input_budget)


def _short_hash(key: str) -> str:
    """Keys hold whole command lines; their hash is enough to know one again."""
    return hashlib.sha256(key.encode("utf-8", errors="surrogatepass")).hexdigest()[:16]
