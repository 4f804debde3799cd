"""Command line → `Syntax`: the only reader of shell syntax in the product (tree-sitter-bash).

It decides how often a person is asked, never what a command may do: that is the sandbox. So it is
built to say "not understood" early: a node type that is not named here, a byte that belongs to no
token, and anything the grammar itself was unsure of all end as `Unknown`.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from tools.command_line.code_words import evaluated_word, is_code, variable_scripts
from tools.command_line.nodes import (
    assignment_of,
    declared_text,
    leaves_of,
    redirections_of,
    shown,
    strange_gap,
    with_targets_last,
    words_of_test,
)
from tools.command_line.starting import Inner
from tools.command_line.syntax import Redirection, SimpleCommand, Syntax, Unknown, Word, Wrap
from tools.command_line.unwrap import unwrap
from tools.command_line.words import WORD_TYPES, source_for_grammar, static_document, text_of, word_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_DEPTH = 60  # of nested syntax; deeper is not understood
MAX_SCRIPTS = 8  # `sh -c` inside `sh -c` …
MAX_COMMANDS = 2000
MAX_MOVES = 20  # redirections that stand before arguments; further ones are not understood

_PLAIN = frozenset(
    ("program", "list", "subshell", "if_statement", "elif_clause", "else_clause", "negated_command")
)
_LOOPS = frozenset(("for_statement", "c_style_for_statement", "while_statement"))
_UNEVEN = frozenset(
    (
        "for_statement",
        "c_style_for_statement",
        "while_statement",
        "do_group",
        "case_statement",
        "case_item",
        "function_definition",
        "variable_assignments",
        "unset_command",
    )
)
_TOKENS = frozenset(
    (
        *("(", ")", "{", "}", ";", ";;", ";&", ";;&", "&", "&&", "||", "|", "|&", "\n", "!"),
        *("if", "then", "elif", "else", "fi", "for", "select", "in", "while", "until", "do", "done"),
        *("case", "esac", "function", "unset"),
    )
)
_RESERVED = frozenset(
    "! { } [[ ]] if then elif else fi for select while until do done case esac in function coproc".split()
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the line a node stands."""

    depth: int = 0
    pipeline: int = 0
    within: str = ""


@dataclass(slots=True)
class _Reading:
    """What was found so far; grows while the tree is walked."""

    scripts: int = 0  # how many `sh -c` deep
    commands: list[SimpleCommand] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    is_flat: bool = True
    is_background: bool = False
    self_calls: list[str] = field(default_factory=list)
    pipelines: int = 0
    loops: int = 0
    is_cut: bool = False  # there is more than was followed

    def lose(self, what: str, node: "Node") -> None:
        self.unknown.append(Unknown(what=what, line=node.start_point[0] + 1))

    def cut(self, line: int) -> None:
        self.is_cut = True
        self.unknown.append(Unknown(what="more than can be followed", line=line))


def parse(line: str) -> Syntax:
    """The syntax of a whole command line; never raises, whatever the text."""
    return _finish(line, _read(line, _Reading(), _Place()))


def _finish(line: str, reading: _Reading) -> Syntax:
    return Syntax(
        source=line,
        commands=tuple(reading.commands[:MAX_COMMANDS]),
        unknown=tuple(reading.unknown),
        is_flat=reading.is_flat and not reading.unknown,
        is_background=reading.is_background,
        is_cut=reading.is_cut,
        self_calls=tuple(reading.self_calls),
    )


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _read(line: str, reading: _Reading, place: _Place) -> _Reading:
    source = source_for_grammar(line)
    root = _parser().parse(source).root_node
    gap = strange_gap(root, source)  # first: moving words must not lose what stands between them
    moves = 0
    while gap is None and moves < MAX_MOVES:
        moved = with_targets_last(root, source)
        if moved is None:
            break
        source, moves = moved, moves + 1
        root = _parser().parse(source).root_node
        gap = strange_gap(root, source)
    if root.has_error:
        reading.lose("the syntax of the line", root)
    if gap is not None:
        reading.unknown.append(Unknown(what="a character outside of any word", line=gap))
    _visit(root, reading, place)
    return reading


def _visit(node: "Node", reading: _Reading, place: _Place) -> None:
    """Read one statement and all in it."""
    if place.depth > MAX_DEPTH or len(reading.commands) > MAX_COMMANDS:
        reading.cut(node.start_point[0] + 1)
        return
    inner = replace(place, depth=place.depth + 1)
    kind = node.type
    if kind == "command":
        _command(node, reading, inner)
    elif kind == "redirected_statement":
        _redirected(node, reading, inner)
    elif kind == "pipeline":
        _pipeline(node, reading, inner)
    elif kind == "test_command":
        _test(node, reading, inner)
    elif kind in ("variable_assignment", "declaration_command"):
        _declaration(node, reading, inner)
    elif kind in _PLAIN | _UNEVEN or (kind == "compound_statement" and text_of(node).startswith("{")):
        _group(node, reading, inner)
    elif kind in WORD_TYPES or kind == "variable_name":
        _expansions(node, reading, inner)
    elif kind not in _TOKENS and kind != "comment":
        reading.lose(shown(node), node)
        _group_children(node, reading, inner)


def _group(node: "Node", reading: _Reading, place: _Place) -> None:
    if node.type in _UNEVEN:
        reading.is_flat = False
    if node.type == "function_definition":
        _function(node, reading)
    if node.type == "unset_command" and is_code(text_of(node)):
        reading.lose(shown(node), node)
    first = len(reading.commands)
    _group_children(node, reading, place)
    if node.type in _LOOPS:
        reading.loops += 1
        loop = (reading.loops, text_of(node.children[0]))
        reading.commands[first:] = [replace(command, loop=loop) for command in reading.commands[first:]]


def _group_children(node: "Node", reading: _Reading, place: _Place) -> None:
    for child in node.children:
        if child.type == "&":
            reading.is_background = True
        _visit(child, reading, place)


def _function(node: "Node", reading: _Reading) -> None:
    """Remember a function that starts itself again twice or in the background: a fork bomb."""
    name_node = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name_node is None or body is None:
        return
    name = text_of(name_node)
    leaves = [text_of(leaf) for leaf in leaves_of(body)]
    if leaves.count(name) > 1 or (name in leaves and "&" in leaves):
        reading.self_calls.append(name)


def _pipeline(node: "Node", reading: _Reading, place: _Place) -> None:
    if not place.pipeline:
        reading.pipelines += 1
        place = replace(place, pipeline=reading.pipelines)
    _group_children(node, reading, place)


def _command(node: "Node", reading: _Reading, place: _Place) -> None:
    words: list[Word] = []
    assignments: list[Word] = []
    redirections: list[Redirection] = []
    end = -1
    for child in node.children:
        if child.start_byte == end and child.type in WORD_TYPES:
            reading.lose("words that run together", child)
        end = child.end_byte if child.type in WORD_TYPES or child.type == "command_name" else -1
        if child.type == "command_name":
            words.append(word_of(child.children[0]) if len(child.children) == 1 else _lost(child, reading))
        elif child.type == "variable_assignment":
            assignments.append(assignment_of(child))
        elif child.type in WORD_TYPES:
            words.append(word_of(child))
        elif child.type.endswith("_redirect"):
            redirections.extend(_redirections(child, reading))
        else:
            reading.lose(shown(child), child)
    if words and not words[0].quoted and words[0].text in _RESERVED:
        reading.lose(shown(node), node)
    command = SimpleCommand(
        words=tuple(words),
        assignments=tuple(assignments),
        redirections=tuple(redirections),
        line=node.start_point[0] + 1,
        pipeline=place.pipeline,
        within=place.within,
    )
    _add(command, node, reading, place)


def _lost(node: "Node", reading: _Reading) -> Word:
    reading.lose(shown(node), node)
    return Word(source=text_of(node), text=None)


def _add(command: SimpleCommand, node: "Node", reading: _Reading, place: _Place) -> None:
    """Keep the command, then what its words and its wrapper start."""
    inner = unwrap(command)
    if inner.wrap is Wrap.PLAIN and (command.assignments or command.redirections):
        inner = replace(inner, wrap=Wrap.OTHER)
    reading.commands.append(replace(command, wrap=inner.wrap))
    for child in node.children:
        _expansions(child, reading, replace(place, within=command.name or "?"))
    _start(inner, reading, replace(place, depth=place.depth + 1), command)
    _start_by_words(command, command.assignments, reading, place)


def _start_by_words(
    command: SimpleCommand, assignments: tuple[Word, ...], reading: _Reading, place: _Place
) -> None:
    """Code in what the command sets, and in words that it evaluates itself."""
    scripts = variable_scripts(assignments)
    _start(Inner(wrap=Wrap.OTHER, scripts=scripts), reading, replace(place, depth=place.depth + 1), command)
    if evaluated_word(command):
        reading.unknown.append(Unknown(what=f"a word that `{command.name}` evaluates", line=command.line))


def _start(inner: Inner, reading: _Reading, place: _Place, outer: SimpleCommand) -> None:
    """Commands behind a plain wrapper stand where the wrapper stands."""
    if inner.wrap is not Wrap.PLAIN:
        place = replace(place, within=outer.name or "?")
    for words in inner.commands:
        command = SimpleCommand(words=words, line=outer.line, pipeline=place.pipeline, within=place.within)
        if place.depth > MAX_DEPTH:
            reading.cut(outer.line)
            return
        deeper = unwrap(command)
        reading.commands.append(replace(command, wrap=deeper.wrap))
        _start_by_words(command, (), reading, place)
        _start(deeper, reading, replace(place, depth=place.depth + 1), command)
    for script in inner.scripts:
        if reading.scripts >= MAX_SCRIPTS:
            reading.cut(outer.line)
        elif script is None:
            reading.unknown.append(Unknown(what=f"what `{outer.name}` runs", line=outer.line))
        else:
            reading.scripts += 1
            _read(script, reading, place)
            reading.scripts -= 1


def _expansions(node: "Node", reading: _Reading, place: _Place) -> None:
    """Read the statements in substitutions below a word, wherever they stand."""
    if place.depth > MAX_DEPTH:
        reading.cut(node.start_point[0] + 1)
        return
    if node.type in ("command_substitution", "process_substitution"):
        if static_document(node) is None:
            _group_children_of_substitution(node, reading, place)
        return
    for child in node.children:
        _expansions(child, reading, replace(place, depth=place.depth + 1))


def _group_children_of_substitution(node: "Node", reading: _Reading, place: _Place) -> None:
    reading.is_flat = False
    for child in node.children:
        if child.is_named:
            _visit(child, reading, replace(place, depth=place.depth + 1))


def _declaration(node: "Node", reading: _Reading, place: _Place) -> None:
    """`NAME=value` alone, or `export`, `declare` … which are commands with assignments as words."""
    reading.is_flat = False
    line = node.start_point[0] + 1
    if node.type == "variable_assignment":
        command = SimpleCommand(words=(), assignments=(assignment_of(node),), line=line, within=place.within)
    else:
        words = [Word(source=text_of(child), text=declared_text(child)) for child in node.children]
        command = SimpleCommand(words=tuple(words), line=line, within=place.within)
    reading.commands.append(command)
    _expansions(node, reading, replace(place, within=command.name or "?"))
    _start_by_words(command, command.assignments or command.words[1:], reading, place)


def _test(node: "Node", reading: _Reading, place: _Place) -> None:
    """`[ … ]` and `[[ … ]]` as a command of that name."""
    line = node.start_point[0] + 1
    command = SimpleCommand(
        words=words_of_test(node), line=line, pipeline=place.pipeline, within=place.within
    )
    reading.commands.append(command)
    _expansions(node, reading, replace(place, within=text_of(node.children[0])))
    _start_by_words(command, (), reading, place)


def _redirections(node: "Node", reading: _Reading) -> tuple[Redirection, ...]:
    found = redirections_of(node)
    if found is None:
        reading.lose(shown(node), node)
    return found or ()


def _redirected(node: "Node", reading: _Reading, place: _Place) -> None:
    """A statement with redirections: they belong to the last command of it in the source."""
    redirections: list[Redirection] = []
    statements: list[Node] = []
    for child in node.children:
        if child.type.endswith("_redirect"):
            redirections.extend(_redirections(child, reading))
        else:
            statements.append(child)
    first = len(reading.commands)
    for statement in statements:
        _visit(statement, reading, place)
    _attach(tuple(redirections), statements, first, reading, place)
    for child in node.children:
        if child.type.endswith("_redirect"):
            _inside_redirection(child, reading, place)


def _attach(
    redirections: tuple[Redirection, ...],
    statements: list["Node"],
    first: int,
    reading: _Reading,
    place: _Place,
) -> None:
    found = enumerate(reading.commands[first:], start=first)
    outer = [index for index, command in found if command.within == place.within]
    simple = not statements or statements[0].type in ("command", "list", "pipeline", "negated_command")
    if not simple:
        reading.is_flat = False
    if not outer or not simple:
        reading.commands.append(SimpleCommand(words=(), redirections=redirections, within=place.within))
        return
    last = reading.commands[outer[-1]]
    reading.commands[outer[-1]] = replace(last, redirections=last.redirections + redirections)


def _inside_redirection(node: "Node", reading: _Reading, place: _Place) -> None:
    """Statements that the grammar hangs below a here-document, and substitutions in its body."""
    for child in node.children:
        if child.type in ("heredoc_start", "heredoc_end"):
            continue
        if child.type == "heredoc_body":
            _body(child, reading, place)
        elif child.type.endswith("_redirect"):
            _inside_redirection(child, reading, place)
        elif child.type in WORD_TYPES:
            _expansions(child, reading, replace(place, within="?"))
        elif child.type not in ("<<", "<<-", "<<<", "file_descriptor") and child.is_named:
            _visit(child, reading, place)


def _body(node: "Node", reading: _Reading, place: _Place) -> None:
    """The grammar does not see backquotes in a here-document that expands."""
    start = node.parent.children[1] if node.parent is not None else node
    is_quoted = any(mark in text_of(start) for mark in "'\"\\")
    if not is_quoted and "`" in text_of(node):
        reading.lose("a backquote in a here-document", node)
    _expansions(node, reading, replace(place, within="?"))
