"""Token counts out of what servers send, and an estimate where they send none."""

from typing import Any

from context.items import Usage

BYTES_PER_TOKEN = 4


def number(value: Any) -> int:
    """A count; anything else is 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def estimated_usage(sent_bytes: int, written_chars: int) -> Usage:
    """Our own estimate, marked as such."""
    return Usage(
        input_tokens=sent_bytes // BYTES_PER_TOKEN,
        output_tokens=-(-written_chars // BYTES_PER_TOKEN),
        estimated=True,
    )
