"""`agent-tui doctor`: what works here, and what to do about what does not."""

import argparse
import json
import os
import sys

from agent_tui.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `doctor` takes."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print every check; 0 only when the main job can run."""
    from dataclasses import asdict

    from agent_tui.cli.settings import load
    from agent_tui.doctor import examine
    from agent_tui.safe_text import one_line

    settings, problem = None, ""
    try:
        settings = load(arguments)
    except UsageError as error:
        problem = str(error)
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    checks = list(examine(settings, problem, os.environ, has_terminal))
    failed = [check for check in checks if check.status == "failed"]
    code = failed[0].exit_code if failed else 0
    if arguments.json:
        rows = [
            {name: value for name, value in asdict(check).items() if name != "exit_code"} for check in checks
        ]
        print(json.dumps({"ok": not failed, "exit_code": code, "checks": rows}, indent=2))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            fix = f"; {check.fix}" if check.fix else ""
            print(one_line(f"{check.status:<7}  {check.name:<{width}}  {check.detail}{fix}", strict=True))
    return code
