"""How much of a model's window a view may take."""

from agent_tui.frozen import frozen

SAFETY_SHARE = 0.02
OUTPUT_SHARE = 0.20
SOFT_SHARE = 0.80
TARGET_SHARE = 0.50
OVERFLOW_TARGET_SHARE = 0.60
RESULT_TOKENS = 10_000
RESULT_SHARE = 0.15
STEP_SHARE = 0.30


@frozen
class Window:
    """The token limits that follow from a model's window."""

    size: int
    max_output: int

    @property
    def reserved_output(self) -> int:
        """Tokens kept free for the answer."""
        return min(self.max_output, round(self.size * OUTPUT_SHARE))

    @property
    def input(self) -> int:
        """The input budget, and the hard limit of a view."""
        return max(1, self.size - self.reserved_output - round(self.size * SAFETY_SHARE))

    @property
    def soft(self) -> int:
        """Above this a compaction epoch runs before the next request."""
        return round(self.input * SOFT_SHARE)

    @property
    def target(self) -> int:
        """What an epoch brings a view down to; the gap to `soft` is the hysteresis."""
        return round(self.input * TARGET_SHARE)

    @property
    def result(self) -> int:
        """Most tokens of one result."""
        return min(RESULT_TOKENS, round(self.input * RESULT_SHARE))

    @property
    def step(self) -> int:
        """Most tokens of all results of one step."""
        return round(self.input * STEP_SHARE)

    @property
    def ledger_bytes(self) -> int:
        """Most bytes of the evidence ledger: 8 KiB or 4 % of the input budget at 4 bytes a token."""
        return max(8 * 1024, round(self.input * 0.04 * 4))
