"""Prints docs/errors.md from the code: every line that ends the program, with its exit code."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_tui.models.retry import RULES

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("agent_tui", "sandbox", "checkpoints")
# Error class → exit code. A subclass of one of them counts as it, unless it is named itself.
CODES = {
    "UsageError": 2,
    "UnavailableError": 5,
    "SessionBusyError": 5,
    "AgentError": 1,
    "CatalogError": 2,
    "NoSessionError": 2,
    "NotThereError": 2,
    "ReplayError": 2,
    "SandboxError": 5,
    "CheckpointError": 5,
    "RecordsError": 5,
    "OwnedError": 5,
}
HEAD = """# Errors

Written by `scripts/errors.py` from the code. Each failure before or after a run is one line on stderr,
`agent-tui: WHAT; WHAT TO DO`; `…` stands for a name, a value or the system's own words. `--debug` adds the
traceback. How a run itself can end is in the [reference](reference.md).
"""
GROUPS = {
    2: "## Exit code 2: the command line, the environment or a settings file is wrong",
    5: "## Exit code 5: the sandbox, checkpoints or the state store cannot be had where they are required",
    1: "## Exit code 1: the model, its provider, or a failure of our own",
}


@dataclass(frozen=True, order=True)
class Line:
    """One message of the code."""

    code: int
    said: str
    advice: str


def lines() -> Iterator[Line]:
    """Every message that is raised as one of the classes, its fields as `…`."""
    paths = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    codes = dict(CODES)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name not in codes:
                above = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in codes]
                codes.update((node.name, codes[name]) for name in above)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in codes:
                message = _template(node.args[0]) if node.args else ""
                if any(char.isalpha() for char in message):
                    said, _, advice = message.partition("; ")
                    yield Line(code=codes[node.func.id], said=said, advice=advice)


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
        return "".join(map(str, parts))
    if isinstance(node, ast.BinOp):
        return _template(node.left) + _template(node.right)
    return ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|") or "–"


def main() -> None:
    """Write the page to standard output."""
    print(HEAD)
    found = sorted(set(lines()))
    for code, title in GROUPS.items():
        print(f"{title}\n\n| It says | What to do |\n|---|---|")
        for line in found:
            if line.code == code:
                print(f"| {_cell(line.said)} | {_cell(line.advice)} |")
        print()
    print("## Failures of the model's side\n")
    print("A run tells them and repeats what may pass, with the same bytes; it ends with exit code 1.\n")
    print("| Class | Repeated | `fallback` models are tried |\n|---|---|---|")
    for kind, rule in RULES.items():
        repeated = f"up to {rule.retries} times" if rule.retries else "no"
        print(
            f"| {kind.name.lower().replace('_', ' ')} | {repeated} | {'yes' if rule.falls_back else 'no'} |"
        )


if __name__ == "__main__":
    main()
