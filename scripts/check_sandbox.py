"""Says in one line what to install when commands cannot be sandboxed here; exit code 1 then."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory


def main() -> int:
    """Run the product's own probe, with a state directory that is thrown away."""
    import agent_tui  # noqa: F401  # pins the sibling packages
    from sandbox.probe import probe

    with TemporaryDirectory() as scratch:
        result = probe(Path(scratch))
    if result.available:
        return 0
    print(f"start: sandbox: {result.detail}; {result.fix}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
