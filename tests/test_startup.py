"""What starting costs: which modules are loaded before they are needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {
    "openai",
    "anthropic",
    "textual",
    "pydantic",
    "rich",
    "prompt_toolkit",
    "mcp",
    "jsonschema",
    "git",
    "httpx2",
}


def imported(*argv: str, home: Path) -> set[str]:
    """Top-level packages that a start of the program loads."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "agent_tui", *argv],
        capture_output=True,
        text=True,
        env=environ,
        cwd=home,
    )
    lines = [
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    ]
    assert "agent_tui.cli.entry" in lines or argv == ("--version",), done.stderr[-500:]
    return {name.split(".")[0] for name in lines}


@pytest.mark.parametrize(
    "argv",
    [
        ("--version",),
        ("--help",),
        ("exec", "--help"),
        ("exec", "hi"),  # no model: everything up to the configuration runs
        ("config", "show"),
        ("sessions", "list"),
        ("completions", "bash"),
    ],
    ids=" ".join,
)
def test_no_heavy_package_is_loaded(argv: tuple[str, ...], tmp_path: Path) -> None:
    assert imported(*argv, home=tmp_path) & HEAVY == set()


def test_the_version_needs_no_parser(tmp_path: Path) -> None:
    assert (
        imported("--version", home=tmp_path) & {"argparse", "asyncio", "json", "dataclasses", "sqlite3"}
        == set()
    )


def test_a_wrong_line_ends_before_configuration_is_read(tmp_path: Path) -> None:
    assert imported("exec", "--nonsense", home=tmp_path) & {"asyncio", "sqlite3"} == set()
