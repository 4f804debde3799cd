"""Prints docs/errors.md from the code: every line that ends the program, with its exit code."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
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
    "BadValueError": 2,
}
# What stands before the message of a class that is never told alone: the flag, variable or key.
BEFORE = {"BadValueError": "… "}
ANY = "…"
DEEPEST, MOST = 8, 60  # steps from a message to its words, and ways to say it
HEAD = """# Errors

Written by `scripts/errors.py` from the code. Each failure before or after a run is one line on stderr,
`agent-tui: WHAT; WHAT TO DO`; `…` stands for a name, a value or the system's own words. `--debug` adds the
traceback. How a run itself can end is in the [reference](reference.md); what is refused inside a session is
told there, with the reason.
"""
GROUPS = {
    2: "## Exit code 2: the command line, the environment or a settings file is wrong",
    5: "## Exit code 5: the sandbox, checkpoints or the state store cannot be had where they are required",
    1: "## Exit code 1: the model, its provider, or a failure of our own",
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, order=True)
class Line:
    """One message of the code."""

    code: int
    said: str
    advice: str


@dataclass(frozen=True)
class Place:
    """Where an expression stands: its module, and the function around it."""

    module: str
    function: ast.FunctionDef | ast.AsyncFunctionDef | None


@cache
def sources() -> dict[str, str]:
    """Every module of ours, by its name."""
    paths = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    return {
        name.removesuffix(".__init__"): path.read_text(encoding="utf-8")
        for name, path in zip(names, paths, strict=True)
    }


@cache
def tree(module: str) -> ast.Module:
    """A module, parsed when it is needed."""
    return ast.parse(sources()[module])


@cache
def calls() -> tuple[tuple[str, ast.Call, Place], ...]:
    """Every call of a plain name that may be the making of an error, with its place."""
    found: list[tuple[str, ast.Call, Place]] = []

    def visit(node: ast.AST, place: Place, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Call(func=ast.Name(id=name)):
                    found.append((name, child, place))
                case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
                    found.append((inside, child, place))  # a class that words its message itself
            there = Place(place.module, child) if isinstance(child, _FUNCTIONS) else place
            visit(child, there, child.name if isinstance(child, ast.ClassDef) else inside)

    for module, source in sources().items():
        if "Error(" in source or "_unavailable(" in source:
            visit(tree(module), Place(module, None), "")
    return tuple(found)


@cache
def classes() -> dict[str, str]:
    """Every class that has another above it, and the first of these."""
    return dict(re.findall(r"^class (\w+)\((\w+)", "\n".join(sources().values()), re.MULTILINE))


@cache
def codes() -> dict[str, int]:
    """Exit code of each error class, subclasses included."""
    found = dict(CODES)
    for name, above in classes().items():
        if above in found:
            found.setdefault(name, found[above])
    return found


def lines() -> Iterator[Line]:
    """Every message of one of the classes, what is filled in as `…`."""
    for name, call, place in calls():
        if name in codes() and call.args:
            for message in texts(call.args[0], place):
                if says_something(message):
                    yield _line(codes()[name], f"{BEFORE.get(name, '')}{message}")
    for returned, place in _returned("_line", "agent_tui.cli.entry"):  # of what nobody caught
        for message in texts(returned, place):
            if says_something(message.removeprefix("agent-tui: ")):
                yield _line(1, message.removeprefix("agent-tui: "))


def _line(code: int, message: str) -> Line:
    said, _, advice = message.partition("; ")
    return Line(code=code, said=said, advice=advice)


def reasons() -> Iterator[Line]:
    """Why the sandbox cannot be had, with what to do: both stand apart in the code."""
    for name, call, place in calls():
        if name == "_unavailable" and len(call.args) == 4:
            yield from _pairs(call.args[2], call.args[3], place)
    for name in _functions("sandbox.diagnosis"):
        for returned, place in _returned(name, "sandbox.diagnosis"):
            if isinstance(returned, ast.Tuple):
                said, advice = returned.elts
                yield from _pairs(said, advice, place)


def _pairs(said: ast.expr, advice: ast.expr, place: Place) -> Iterator[Line]:
    for pair in product(texts(said, place), texts(advice, place)):
        if is_phrase(pair[0]) and pair[1] != ANY:
            yield Line(CODES["SandboxError"], *pair)


def says_something(message: str) -> bool:
    """Whether more of it is fixed than a name."""
    is_told = len(re.findall("[A-Za-z-]{2,}", message)) > 1 or message.startswith("--")
    return is_told and not message.endswith(": ")


def is_phrase(text: str) -> bool:
    """Whether there are words in it that say something, and not only names and values."""
    return re.search("[a-z]{2,} [a-z]{2,}", text) is not None


def texts(node: ast.expr, place: Place, depth: int = 0) -> list[str]:
    """The ways in which an expression can read, `…` for what only a run can tell."""
    if depth > DEEPEST:
        return [ANY]
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return _joined(parts, place, depth)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _together([texts(left, place, depth), texts(right, place, depth)])
        case ast.IfExp(body=one, orelse=other):
            return [*texts(one, place, depth), *texts(other, place, depth)]
        case ast.BoolOp(op=ast.Or(), values=values):
            return [text for value in values for text in texts(value, place, depth) if text]
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return texts(value, place, depth)
        case _:
            return [
                text for each, there in _meanings(node, place) for text in texts(each, there, depth + 1)
            ] or [ANY]


def _joined(parts: list[ast.expr], place: Place, depth: int) -> list[str]:
    found = []
    for part in parts:
        inner = (
            texts(part.value, place, depth + 1)
            if isinstance(part, ast.FormattedValue)
            else texts(part, place)
        )
        # only phrases are written out: names and values have too many forms
        is_told = not isinstance(part, ast.FormattedValue) or any(map(is_phrase, inner))
        found.append(inner if is_told else [ANY])
    return _together(found)


def _together(parts: list[list[str]]) -> list[str]:
    ways = 1
    for part in parts:
        ways *= len(set(part))
    if ways > MOST:
        parts = [part if len(part) == 1 else [ANY] for part in parts]
    return ["".join(way) for way in product(*(dict.fromkeys(part) for part in parts))]


def _meanings(node: ast.expr, place: Place) -> Iterator[tuple[ast.expr, Place]]:
    """The expressions that a name, an attribute or a call stands for."""
    match node:
        case ast.Name(id=name):
            yield from _named(name, place)
        case (
            ast.Attribute(value=ast.Name(id="self"), attr=name)
            | ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name))
        ):
            yield from _returned(name, place.module)
        case ast.Call(func=ast.Name(id=name)):
            yield from _returned(name, place.module)
            for module, original in _imports(place.module).get(name, ()):
                yield from _returned(original, module)


def _named(name: str, place: Place) -> Iterator[tuple[ast.expr, Place]]:
    inside = list(ast.walk(place.function)) if place.function else []
    for node in (*inside, *tree(place.module).body):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                yield value, place
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                yield value, place
            case ast.NamedExpr(target=ast.Name(id=target), value=value) if target == name:
                yield value, place
            case ast.ExceptHandler(name=target, type=ast.Name(id=kind)) if target == name:
                yield from _raised(kind)
    for module, original in _imports(place.module).get(name, ()):
        yield from _named(original, Place(module, None))


def _raised(kind: str) -> Iterator[tuple[ast.expr, Place]]:
    """What is said with a class of ours that ends no program by itself."""
    if kind in classes() and kind not in codes():
        yield from ((call.args[0], there) for made, call, there in calls() if made == kind and call.args)


def _returned(name: str, module: str) -> Iterator[tuple[ast.expr, Place]]:
    for function in _functions(module).get(name, ()):
        for inner in ast.walk(function):
            if isinstance(inner, ast.Return) and inner.value is not None:
                yield inner.value, Place(module, function)


@cache
def _functions(module: str) -> dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]]:
    found: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    for node in ast.walk(tree(module)):
        if isinstance(node, _FUNCTIONS):
            found.setdefault(node.name, []).append(node)
    return found


@cache
def _imports(module: str) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module in sources():
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, []).append((node.module, alias.name))
    return found


def _cell(text: str) -> str:
    return re.sub("…+", "…", " ".join(text.split())).replace("|", "\\|") or "–"


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
    print("### Why commands cannot run in a sandbox\n\n| It says | What to do |\n|---|---|")
    for line in sorted(set(reasons())):
        print(f"| {_cell(line.said)} | {_cell(line.advice)} |")
    print("\n## Failures of the model's side\n")
    print("A run tells them and repeats what may pass, with the same bytes; it ends with exit code 1.\n")
    print("| Class | Repeated | `fallback` models are tried |\n|---|---|---|")
    for kind, rule in RULES.items():
        repeated = f"up to {rule.retries} times" if rule.retries else "no"
        print(
            f"| {kind.name.lower().replace('_', ' ')} | {repeated} | {'yes' if rule.falls_back else 'no'} |"
        )


if __name__ == "__main__":
    main()
