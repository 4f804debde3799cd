"""`agent-tui debug`: look at the next request of a session, or at how approvals see a command line."""

import argparse
import json

from agent_tui.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `debug` takes."""
    parser.add_argument("action", choices=("request", "classify"))
    parser.add_argument("subject", nargs="?", metavar="ID | COMMAND LINE")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print it; nothing runs and nothing is sent."""
    from agent_tui.cli.settings import configure

    config, settings = configure(arguments, interactive=True)
    if arguments.action == "classify":
        if not arguments.subject:
            raise UsageError("debug classify: no command line; such as `agent-tui debug classify 'git push'`")

        from agent_tui.oneoff import classify

        seen = classify(config, arguments.subject, as_text=not arguments.json)
        print(json.dumps(seen, indent=2) if arguments.json else seen)
        return 0

    if arguments.subject == "":
        raise UsageError("debug request: the ID is empty; without one it is the newest session's")

    from agent_tui.oneoff import next_request

    print(next_request(config, settings, arguments.subject or ""))
    return 0
