"""`rules.toml`: saved rules beside the configuration, read whole and written atomically.
The format for people: docs/reference.md, "Rules of approval".

[[rule]]
action = "allow"                # or "ask", "deny"
run = "make publish INDEX=staging"   # or line, edit, read, write, host, tool
workspace = "/home/me/src/shop" # without it: in every workspace
directory = "/home/me/src/shop"
grant = "network"               # beyond the sandbox; with grant_detail for a path
"""

import contextlib
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agent_tui import kept_file
from agent_tui.engine.rule_scope import breadth
from agent_tui.engine.rules import KINDS, Action, Rule, words_of
from agent_tui.errors import AgentError, UsageError
from agent_tui.toml_text import toml_table
from tools.types import Grant

_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*rule[ \t]*\]\]", re.MULTILINE)
_FOR_STAR = ("a", "1", ":1", "1::1")  # a name, a number, and what completes an IPv6 address
_KEYS = frozenset(("action", "workspace", "directory", "grant", "grant_detail", *KINDS))


class RulesError(AgentError):
    """The rules file could not be written; the text says why."""


def load_rules(path: Path) -> tuple[Rule, ...]:
    """Every rule of the file, none when it does not exist. Raises UsageError with file and line:
    a rules file that cannot be read may hold a denial, so nothing starts without it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text") from error
    try:
        document = toml_table(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    return _rules_of(document, text, path)


def _rules_of(document: dict[str, Any], text: str, path: Path) -> tuple[Rule, ...]:
    unknown = sorted(set(document) - {"rule"})
    tables = document.get("rule", [])
    if unknown or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{path}: only `[[rule]]` tables are known here, not `{(unknown or ['rule'])[0]}`")
    lines = [text.count("\n", 0, header.start()) + 1 for header in _HEADER.finditer(text)]
    if len(lines) != len(tables):  # a header inside a multi-line string, or an inline list
        lines = [0] * len(tables)
    return tuple(_rule_of(table, line, path) for table, line in zip(tables, lines, strict=True))


def _rule_of(table: dict[str, Any], line: int, path: Path) -> Rule:
    where = f"{path}:{line}"
    unknown = sorted(set(table) - _KEYS)
    kinds = [kind for kind in KINDS if kind in table]
    if unknown:
        raise UsageError(f"{where}: unknown key `{unknown[0]}`")
    if not all(isinstance(value, str) for value in table.values()):
        raise UsageError(f"{where}: the values of a rule are strings")
    if len(kinds) != 1:
        raise UsageError(f"{where}: a rule has exactly one of {', '.join(f'`{kind}`' for kind in KINDS)}")
    try:
        rule = Rule(
            action=Action(table.get("action", "")),
            pattern=f"{kinds[0]} {_body(kinds[0], table[kinds[0]])}",
            workspace=table.get("workspace", ""),
            directory=table.get("directory", ""),
            grant=Grant(table.get("grant", "none")),
            grant_detail=table.get("grant_detail", ""),
            line=line,
        )
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error
    return _checked(rule, where)


def _body(kind: str, text: str) -> str:
    return " ".join(words_of(text)) if kind == "run" else text


def _checked(rule: Rule, where: str) -> Rule:
    reason = breadth(rule.pattern) if rule.action is Action.ALLOW else ""
    if rule.action is Action.ALLOW and rule.grant is Grant.NO_SANDBOX:
        reason = "leaving the sandbox is asked each time"
    if not reason and not _names_a_host(rule):
        reason = "a host is written as `pip.test:443` or `[2001:db8::1]:443`"
    if not rule.body or reason:
        raise UsageError(f"{where}: `{rule.body}` cannot be a rule: {reason or 'it names nothing'}")
    return rule


def _names_a_host(rule: Rule) -> bool:
    """Whether the hosts in it are spelled as they are dialled: another spelling would match nothing."""
    named = [rule.grant_detail] if rule.grant is Grant.HOST else []
    if rule.kind == "host" and rule.action is Action.ALLOW:
        named.append(rule.body)
    elif rule.kind == "host":  # the port may be left out
        found = [rule.body.replace("*", text) for text in _FOR_STAR]
        return any(_is_host(text) or _is_host(f"{text}:1") for text in found)
    return all(map(_is_host, named))


def _is_host(text: str) -> bool:
    from sandbox.targets import parse

    try:
        return str(parse(text)) == text
    except ValueError:
        return False


def save_rules(path: Path, rules: Sequence[Rule]) -> None:
    """Add rules, in place of those with the same pattern and place. Raises RulesError."""
    with _locked(path):
        document = _document(path)
        tables = document.setdefault("rule", _array())
        for rule in rules:
            _checked(rule, str(path))
            for index in reversed(range(len(tables))):
                if _same_place(tables[index], rule):
                    del tables[index]
            tables.append(_table(rule))
        _write(path, document)


def remove_rule(path: Path, rule_id: str) -> bool:
    """Take a rule out of the file; False when there is none of that id. Raises RulesError."""
    with _locked(path):
        ids = [rule.id for rule in load_rules(path)]
        if rule_id not in ids:
            return False
        document = _document(path)
        for index in reversed(range(len(ids))):
            if ids[index] == rule_id:
                del document["rule"][index]
        if not document["rule"]:
            del document["rule"]
        _write(path, document)
    return True


def _same_place(table: Any, rule: Rule) -> bool:
    body = table.get(rule.kind)
    return (
        body is not None
        and _body(rule.kind, str(body)) == rule.body
        and str(table.get("workspace", "")) == rule.workspace
        and str(table.get("directory", "")) in ("", rule.directory)
    )


def _table(rule: Rule) -> Any:
    import tomlkit

    table = tomlkit.table()
    table["action"] = str(rule.action)
    table[rule.kind] = rule.body
    for key in ("workspace", "directory"):
        if getattr(rule, key):
            table[key] = getattr(rule, key)
    if rule.grant is not Grant.NONE:
        table["grant"] = str(rule.grant)
    if rule.grant_detail:
        table["grant_detail"] = rule.grant_detail
    table.add(tomlkit.nl())
    return table


def _array() -> Any:
    import tomlkit

    return tomlkit.aot()


def _document(path: Path) -> Any:
    """The file with its comments and order, to be changed and written back."""
    import tomlkit

    load_rules(path)  # refuses a damaged file rather than writing over it
    return tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with _told(path), kept_file.locked(path.parent):
        yield


def _write(path: Path, document: Any) -> None:
    import tomlkit

    with _told(path):
        kept_file.write(path, tomlkit.dumps(document))


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RulesError(f"{path}: cannot be written: {error.strerror}") from error
