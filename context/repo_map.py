"""A map of a project: its definitions, ranked by how many other files refer to them.

Symbols come from tree-sitter grammars that are installed as wheels (extra `repomap`); a language
without one is left out and named. Tags are cached by path, size and modification time, so that a
second map costs only what changed.
"""

import importlib
import importlib.util
import sqlite3
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent_tui.frozen import frozen

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

MAX_FILE_BYTES = 512 * 1024
MAX_FILES = 5_000
DEFAULT_LIMIT_BYTES = 8 * 1024

_PYTHON = """
(class_definition name: (identifier) @def) @node
(function_definition name: (identifier) @def) @node
(call function: (identifier) @ref)
(call function: (attribute attribute: (identifier) @ref))
(import_from_statement name: (dotted_name (identifier) @ref))
"""
_JAVASCRIPT = """
(function_declaration name: (identifier) @def) @node
(class_declaration name: (_) @def) @node
(method_definition name: (property_identifier) @def) @node
(lexical_declaration (variable_declarator name: (identifier) @def value: (arrow_function))) @node
(call_expression function: (identifier) @ref)
(call_expression function: (member_expression property: (property_identifier) @ref))
(new_expression constructor: (identifier) @ref)
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(interface_declaration name: (type_identifier) @def) @node
(type_alias_declaration name: (type_identifier) @def) @node
(type_identifier) @ref
"""
)
_GO = """
(function_declaration name: (identifier) @def) @node
(method_declaration name: (field_identifier) @def) @node
(type_spec name: (type_identifier) @def) @node
(call_expression function: (identifier) @ref)
(call_expression function: (selector_expression field: (field_identifier) @ref))
(type_identifier) @ref
"""
_RUST = """
(function_item name: (identifier) @def) @node
(struct_item name: (type_identifier) @def) @node
(enum_item name: (type_identifier) @def) @node
(trait_item name: (type_identifier) @def) @node
(call_expression function: (identifier) @ref)
(call_expression function: (field_expression field: (field_identifier) @ref))
(call_expression function: (scoped_identifier name: (identifier) @ref))
(type_identifier) @ref
"""


@frozen
class _Grammar:
    module: str  # of the wheel
    factory: str  # its function that gives the language
    query: str


_GRAMMARS = {
    ".py": _Grammar(module="tree_sitter_python", factory="language", query=_PYTHON),
    ".pyi": _Grammar(module="tree_sitter_python", factory="language", query=_PYTHON),
    ".js": _Grammar(module="tree_sitter_javascript", factory="language", query=_JAVASCRIPT),
    ".mjs": _Grammar(module="tree_sitter_javascript", factory="language", query=_JAVASCRIPT),
    ".jsx": _Grammar(module="tree_sitter_javascript", factory="language", query=_JAVASCRIPT),
    ".ts": _Grammar(module="tree_sitter_typescript", factory="language_typescript", query=_TYPESCRIPT),
    ".tsx": _Grammar(module="tree_sitter_typescript", factory="language_tsx", query=_TYPESCRIPT),
    ".go": _Grammar(module="tree_sitter_go", factory="language", query=_GO),
    ".rs": _Grammar(module="tree_sitter_rust", factory="language", query=_RUST),
}


# Source files that no grammar is known for here: named in a map, so that nobody takes it for whole.
_UNKNOWN = frozenset(
    ".c .h .cc .cpp .hpp .cs .java .kt .scala .swift .rb .php .pl .lua .ex .erl .hs .ml .clj .zig".split()
)
CacheError = sqlite3.Error  # what `TagCache` raises where its file cannot be used


def is_source(path: Path) -> bool:
    """Whether a map would look into the file."""
    return path.suffix in _GRAMMARS


def has_grammar() -> bool:
    """Whether a map can be made here at all: the grammar of one language is installed. Imports nothing."""
    return any(importlib.util.find_spec(grammar.module) is not None for grammar in _GRAMMARS.values())


@frozen
class Tag:
    """A definition (with its first source line) or a reference."""

    name: str
    kind: Literal["def", "ref"]
    line: int  # from 1
    text: str = ""


@frozen
class RepoMap:
    """The rendered map and what it leaves out."""

    text: str
    files: int  # files looked at
    shown: int  # definitions in `text`
    left_out: int  # definitions that did not fit
    without_grammar: tuple[str, ...] = ()  # suffixes whose grammar is not installed


@lru_cache(maxsize=16)
def _tools_of(suffix: str) -> "tuple[Parser, Query] | None":
    grammar = _GRAMMARS.get(suffix)
    if grammar is None:
        return None
    try:
        from tree_sitter import Language, Parser, Query

        module = importlib.import_module(grammar.module)
    except ImportError:
        return None
    language = Language(getattr(module, grammar.factory)())
    return Parser(language), Query(language, grammar.query)


def tags_of(suffix: str, source: bytes) -> tuple[Tag, ...]:
    """Definitions and references of one file; empty where its language has no grammar here."""
    ready = _tools_of(suffix)
    if ready is None:
        return ()
    from tree_sitter import QueryCursor

    parser, query = ready
    captures = QueryCursor(query).captures(parser.parse(source).root_node)
    lines = source.split(b"\n")
    definitions = {
        (node.start_byte, node.end_byte): Tag(
            name=_text(node.text),
            kind="def",
            line=node.start_point[0] + 1,
            text=_text(lines[node.start_point[0]]).strip()[:160],
        )
        for node in captures.get("def", [])
    }
    references = [
        Tag(name=_text(node.text), kind="ref", line=node.start_point[0] + 1)
        for node in captures.get("ref", [])
        if (node.start_byte, node.end_byte) not in definitions
    ]
    return (*definitions.values(), *references)


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", errors="replace")


class TagCache:
    """Tags by path, size and modification time, in one SQLite file that may be deleted any time."""

    def __init__(self, path: Path) -> None:
        try:
            self._connection = _opened(path)
        except sqlite3.DatabaseError:  # damaged: it holds nothing that cannot be made again
            path.unlink(missing_ok=True)
            self._connection = _opened(path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def get(self, path: Path) -> tuple[Tag, ...]:
        """Tags of a file, from the cache where it did not change; empty for what cannot be read."""
        try:
            facts = path.stat(follow_symlinks=False)
            if not stat.S_ISREG(facts.st_mode):
                return ()
            stamp = f"{facts.st_mtime_ns}:{facts.st_size}"
            name = str(path)
            row = self._connection.execute("SELECT stamp FROM files WHERE path = ?", (name,)).fetchone()
            if row is not None and row[0] == stamp:
                return tuple(self._stored(name))
            if facts.st_size > MAX_FILE_BYTES:
                return ()
            tags = tags_of(path.suffix, path.read_bytes())
        except OSError:
            return ()
        self._store(name, stamp, tags)
        return tags

    def _stored(self, name: str) -> Iterator[Tag]:
        query = "SELECT name, kind, line, text FROM tags WHERE path = ?"
        for tag, kind, line, text in self._connection.execute(query, (name,)):
            yield Tag(name=tag, kind=kind, line=line, text=text)

    def _store(self, name: str, stamp: str, tags: Sequence[Tag]) -> None:
        self._connection.execute("BEGIN")
        self._connection.execute("DELETE FROM tags WHERE path = ?", (name,))
        self._connection.executemany(
            "INSERT INTO tags VALUES (?, ?, ?, ?, ?)", [(name, t.name, t.kind, t.line, t.text) for t in tags]
        )
        self._connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (name, stamp))
        self._connection.execute("COMMIT")


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
        "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, stamp TEXT NOT NULL);"
        "CREATE TABLE IF NOT EXISTS tags (path TEXT, name TEXT, kind TEXT, line INTEGER, text TEXT);"
        "CREATE INDEX IF NOT EXISTS tags_path ON tags (path);"
    )
    return connection


def build_map(
    root: Path,
    files: Iterable[Path],
    *,
    tags: Callable[[Path], Sequence[Tag]],
    limit_bytes: int = DEFAULT_LIMIT_BYTES,
    focus: Sequence[str] = (),
) -> RepoMap:
    """Rank the definitions of `files` and render as many as fit.

    A definition counts by the number of other files that refer to its name, divided among the
    files that define that name; files whose path holds a word of `focus` come first.
    """
    sources = [path for path in files if path.suffix in _GRAMMARS or path.suffix in _UNKNOWN]
    wanted = [path for path in sources if is_source(path)][:MAX_FILES]
    missing = tuple(sorted({path.suffix for path in sources if _tools_of(path.suffix) is None}))
    defined: dict[Path, list[Tag]] = {}
    definers: dict[str, set[Path]] = defaultdict(set)
    referrers: dict[str, set[Path]] = defaultdict(set)
    for path in wanted:
        for tag in tags(path):
            if tag.kind == "def":
                defined.setdefault(path, []).append(tag)
                definers[tag.name].add(path)
            else:
                referrers[tag.name].add(path)

    def score(path: Path, tag: Tag) -> float:
        named = sum(word.lower() in f"{path.relative_to(root)} {tag.name}".lower() for word in focus)
        return named * 100 + len(referrers[tag.name] - {path}) / len(definers[tag.name])

    ranked = sorted(
        ((score(path, tag), path, tag) for path, found in defined.items() for tag in found),
        key=lambda entry: (-entry[0], str(entry[1]), entry[2].line),
    )
    return _render(root, ranked, limit_bytes, len(wanted), missing)


def _render(
    root: Path, ranked: Sequence[tuple[float, Path, Tag]], limit: int, files: int, missing: tuple[str, ...]
) -> RepoMap:
    chosen: dict[Path, list[Tag]] = {}
    size = shown = 0
    for _, path, tag in ranked:
        name = path.relative_to(root).as_posix()
        cost = len(tag.text.encode()) + 8 + (0 if path in chosen else len(name.encode()) + 2)
        if size + cost > limit:
            break
        size += cost
        shown += 1
        chosen.setdefault(path, []).append(tag)
    lines: list[str] = []
    for path, found in chosen.items():
        lines.append(f"{path.relative_to(root).as_posix()}:")
        lines.extend(f"{tag.line:5} {tag.text}" for tag in sorted(found, key=lambda tag: tag.line))
    return RepoMap(
        text="\n".join(lines),
        files=files,
        shown=shown,
        left_out=len(ranked) - shown,
        without_grammar=missing,
    )
