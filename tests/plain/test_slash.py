"""What the lines of line mode that begin with a slash mean."""

import pytest

from agent_tui.engine.commands import Set
from agent_tui.plain.slash import parse


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("/sandbox read-only", "sandbox", "read-only"),
        ("/sandbox network on", "network", "on"),
        ("/sandbox net off", "network", "off"),
        ("/sandbox add ../more", "add_dir", "../more"),
        ("/approvals never", "approval", "never"),
    ],
)
def test_what_guards_the_machine_is_set(line: str, key: str, value: str) -> None:
    assert parse(line).body == Set(key=key, value=value)
