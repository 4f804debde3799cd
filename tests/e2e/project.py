"""A small git project with a failing test, and scripts of a model that mends it."""

import subprocess
from pathlib import Path
from typing import Any

from tests.program import Program

SOURCE = """def add(a, b):
    return a - b
"""
TEST = """import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)


if __name__ == "__main__":
    unittest.main()
"""
CHECK = "python3 -m unittest -q test_calc"
PATCH = """*** Begin Patch
*** Update File: calc.py
@@ def add(a, b):
-    return a - b
+    return a + b  # of another length: byte code is told apart by second and size
*** End Patch
"""


def make(program: Program) -> None:
    """Write it into the workspace and commit it."""
    (program.workspace / "calc.py").write_text(SOURCE)
    (program.workspace / "test_calc.py").write_text(TEST)
    git(program, "init", "-q", "-b", "main")
    git(program, "add", ".")
    git(program, "-c", "user.name=p", "-c", "user.email=p@example.org", "commit", "-q", "-m", "first")


def git(program: Program, *argv: str) -> str:
    """The person's own git."""
    done = subprocess.run(
        ["git", *argv], cwd=program.workspace, env=program.environ, check=True, capture_output=True, text=True
    )
    return done.stdout


def passes(program: Program) -> bool:
    """Whether the project's test passes, run outside of everything."""
    done = subprocess.run(
        ["python3", "-B", "-m", "unittest", "-q", "test_calc"], cwd=program.workspace, capture_output=True
    )
    return done.returncode == 0


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """One call of a step."""
    return {"tool": tool, "arguments": arguments}


def mending() -> list[dict[str, Any]]:
    """Look, test, read, patch, test, say."""
    return [
        {"text": "I look first.", "calls": [call("list_files"), call("exec_command", cmd=CHECK)]},
        {"calls": [call("read_file", path="calc.py"), call("search_files", pattern="add")]},
        {"calls": [call("apply_patch", patch=PATCH)]},
        {"calls": [call("exec_command", cmd=CHECK)]},
        {"text": "`add` subtracted; it adds now and the test passes."},
    ]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, byte code left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
