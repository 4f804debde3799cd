"""The environment of the checkout, for the programs in Python beside this module."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv" / "bin" / "python"
_ENSURE = (
    '. "$(dirname "$0")/environment.sh"; ensure_environment dev-stamp "$root/scripts/requirements-dev.lock"'
)


def enter() -> None:
    """Go on in it, with the checkout on the path; it is made the first time, as `scripts/test` does."""
    if Path(sys.prefix) != PYTHON.parents[1]:
        name = Path(sys.argv[0]).name
        made = subprocess.run(["sh", "-c", _ENSURE, str(ROOT / "scripts" / name)])
        if made.returncode != 0:
            sys.exit(made.returncode)
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    sys.path.insert(0, str(ROOT))
