"""What the lines of line mode that begin with a slash mean."""

import pytest

from agent_tui.engine.commands import Set, TerminalInput
from agent_tui.plain.slash import COMMANDS, is_command, parse
from agent_tui.tui import slash


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
    assert parse(line, busy=True).body == Set(key=key, value=value)


def test_line_mode_knows_each_command_of_the_interface_and_when_it_may_run() -> None:
    in_lines = {name: each.anytime for name, each in COMMANDS.items()}
    on_screen = {each.name: each.anytime for each in slash.TABLE}
    assert on_screen == {name: in_lines.get(name) for name in on_screen} | {"doctor": False}


def test_what_waits_until_the_turn_is_over_says_so() -> None:
    assert parse("/rollback", busy=True).text == (
        "/rollback waits until the turn is over; Ctrl+C interrupts it"
    )
    assert parse("/rollback", busy=False).menu == "rollback"
    assert "(when idle)" in next(
        line for line in parse("/help", busy=True).text.splitlines() if line.startswith("/rollback")
    )


@pytest.mark.parametrize(("line", "meant"), [("/etc/x is odd", False), ("/rolback", True), ("a/b", False)])
def test_a_path_is_no_command(line: str, meant: bool) -> None:
    assert is_command(line) == meant


@pytest.mark.parametrize(("typed", "chars"), [("^C", "^C"), ("a ^C", "a ^C\r"), ("", "\r")])
def test_a_key_is_typed_without_an_enter(typed: str, chars: str) -> None:
    assert parse(f"/type t1 {typed}", busy=True).body == TerminalInput(terminal="t1", chars=chars)


@pytest.mark.parametrize("line", ["/queue", "/now", "/copy", "/mouse", "/theme dark"])
def test_what_does_nothing_here_says_why(line: str) -> None:
    found = parse(line, busy=True)
    assert found.body is None
    assert found.text
