"""`agent-tui sandbox -- CMD …`: run a command in exactly the sandbox that `exec_command` uses."""

import argparse

from agent_tui.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `sandbox` takes; `--mode` is its long name for `--sandbox`."""
    parser.add_argument("--mode", metavar="MODE", help="as --sandbox")
    parser.add_argument("argv", nargs="*", metavar="CMD", help="after `--`: the command and its arguments")


def run(arguments: argparse.Namespace) -> int:
    """Run it with stdio passed through; returns its exit status."""
    if not arguments.argv:
        raise UsageError("sandbox: no command; such as `agent-tui sandbox -- ls -la`")

    if arguments.mode is not None:
        if arguments.setting_sandbox not in (None, arguments.mode):
            raise UsageError("sandbox: `--mode` and `--sandbox` are the same; give one of them")
        arguments.setting_sandbox = arguments.mode

    from agent_tui.cli.settings import configure

    config, _ = configure(arguments, interactive=False)

    from agent_tui.oneoff import run_in_sandbox

    return run_in_sandbox(config, arguments.argv)
