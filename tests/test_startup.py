"""What starting costs: which modules are loaded before they are needed.

Nearly all of a start is imports. A frozen dataclass takes 0.3 ms, so data is declared with `@frozen`.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.model_server.fixture import ModelServer
from tests.program import Program, model_flags

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
    "httpx2",
}

# What calls, failures, epochs, lists and views need, and a first request does not.
LATER = {
    "agent_tui.config.edit",
    "agent_tui.engine.facts",
    "agent_tui.engine.inspection",
    "agent_tui.engine.undo",
    "agent_tui.models.errors",
    "agent_tui.models.offers",
    "agent_tui.stored",
    "context.epoch",
    "context.facts",
    "context.ledger",
    "ctypes",
    "difflib",
    "jsonschema",
    "keyring",
    "openai.resources",
    "prompt_toolkit",
    "rich",
    "sandbox.bwrap",
    "sandbox.launch",
    "sandbox.pins",
    "sandbox.trial",
    "textual",
    "tools.command_line.syntax",
    "tools.output.window",
    "tools.patch.plan",
    "tools.reading",
    "tools.searching",
}


# What only a command with a granted host needs.
OF_HOSTS = {"sandbox.listener", "sandbox.proxy", "sandbox.targets"}


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


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_a_first_request_goes_out_before_what_it_does_not_need_is_loaded(
    program: Program, model_server: ModelServer, tmp_path: Path, dialect: str
) -> None:
    """Looked at when the connection is made: what comes after the answer is loaded after it."""
    program.run("doctor")  # a first start on a machine also tries its sandbox
    names = tmp_path / "modules"
    look = (
        "import sys",
        f"note = lambda event, _: event == 'socket.connect' and open({str(names)!r}, 'a').write("
        "'\\n'.join([*sys.modules, '']))",
        "sys.addaudithook(note)",
    )
    model_server.script([{"text": "hello"}])
    started = replace(program, first="; ".join(look), extra={**program.extra, "OPENAI_API_KEY": "k"})
    ran = started.run("exec", *model_flags(dialect, model_server.base_url(dialect)), "hi")
    assert ran.code == 0, ran.err
    loaded = set(names.read_text().splitlines())
    assert "agent_tui.engine.response" in loaded
    assert loaded & (LATER | OF_HOSTS) == set()


def test_the_interface_does_not_load_what_it_never_shows() -> None:
    look = "import sys; from agent_tui.tui import toolkit; toolkit.prepare(); import agent_tui.tui.app"
    argv = [sys.executable, "-c", f"{look}; print(*sys.modules)"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(done.stdout.split())
    assert "textual.app" in loaded
    unused = ("button", "directory_tree", "input", "loading_indicator", "option_list", "select", "tree")
    assert loaded & {f"textual.widgets._{name}" for name in unused} == set()


def test_a_command_without_a_granted_host_does_not_load_the_way_to_hosts() -> None:
    look = "import sys, sandbox.launch, tools.command_result, tools.exec_command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(done.stdout.split())
    assert "sandbox.denials" in loaded
    assert loaded & OF_HOSTS == set()
