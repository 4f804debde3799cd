"""Where the program starts: `agent-tui` and `python -m agent_tui`. Imports next to nothing itself."""

import sys


def main() -> int:
    """Run the command line; returns the exit code, or ends with it."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from agent_tui import __version__

        print(f"agent-tui {__version__}")
        return 0
    try:
        from agent_tui.startup import leave, name_home, occupy_streams

        occupy_streams()
        name_home()
        from agent_tui.cli.entry import run

        return leave(run(sys.argv[1:]))
    except KeyboardInterrupt:  # before anything was begun
        return 130


if __name__ == "__main__":
    sys.exit(main())
