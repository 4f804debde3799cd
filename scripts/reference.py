"""Prints docs/reference.md from the parsers themselves; a test compares the two."""

import os

os.environ["COLUMNS"] = "100"  # argparse wraps to the terminal

from agent_tui.cli.parser import COMMANDS, build
from agent_tui.engine.types import END_FACTS


def main() -> None:
    """Write the page to standard output."""
    print("# Reference\n\nWritten by `scripts/reference.py`; settings and their keys are in the README.")
    for name in ("", *COMMANDS):
        print(f"\n## `{f'agent-tui {name}'.strip()}`\n\n```text\n{build(name).format_help().rstrip()}\n```")
    print("\n## How a run ends\n\n| Reason | Exit code | Sentence |\n|---|---|---|")
    for reason, facts in END_FACTS.items():
        print(f"| `{reason}` | {facts.exit_code} | {facts.sentence} |")


if __name__ == "__main__":
    main()
