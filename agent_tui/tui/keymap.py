"""`[keys]` of the settings laid over the tables of `keys`: an action gets the keys that are named."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent_tui.errors import UsageError
from agent_tui.frozen import frozen
from agent_tui.tui import keys

PREFIX = "keys."
_NAME = r"(?:(?:ctrl|alt|shift|super)\+)*(?:f\d{1,2}|[a-z0-9]|[a-z_]{2,})"
_TYPED = r"(?:shift\+)?(?:[a-z0-9]|space|[a-z_]+_mark)"  # these are text, and answer prompts


@frozen
class Keymap:
    """Key → action: everywhere, in the editor, in an empty editor; and the keys of a new line."""

    anywhere: Mapping[str, str]
    editor: Mapping[str, str]
    empty_editor: Mapping[str, str]
    new_line: frozenset[str]


DEFAULT = Keymap(
    anywhere=keys.ANYWHERE,
    editor=keys.EDITOR,
    empty_editor=keys.EMPTY_EDITOR,
    new_line=frozenset(keys.NEW_LINE),
)
ACTIONS = frozenset([*keys.EDITOR.values(), *keys.EMPTY_EDITOR.values(), "new_line"])


def keymap_of(interface: Mapping[str, str], config_file: Path) -> Keymap:
    """The keys of a start. Raises UsageError for an action or key that is unknown, a key that is text,
    and a key used twice in one place; it names the file, and the line where that can be told."""
    said = {name.removeprefix(PREFIX): text for name, text in interface.items() if name.startswith(PREFIX)}
    wanted = {action: _read(action, text, config_file) for action, text in said.items()}
    if not wanted:
        return DEFAULT
    anywhere = _laid_over(keys.ANYWHERE, wanted)
    own = {key: action for key, action in keys.EDITOR.items() if key not in keys.ANYWHERE}
    editor = {**anywhere, **_laid_over(own, wanted)}
    empty = _laid_over(
        keys.EMPTY_EDITOR, {name: wanted[name] for name in wanted if name not in editor.values()}
    )
    new_line = frozenset(wanted.get("new_line", keys.NEW_LINE))
    for action, chosen in wanted.items():
        _check_free(action, chosen, config_file, {**empty, **editor, **dict.fromkeys(new_line, "new_line")})
    return Keymap(anywhere=anywhere, editor=editor, empty_editor=empty, new_line=new_line)


def _laid_over(table: Mapping[str, str], wanted: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    kept = {key: action for key, action in table.items() if action not in wanted}
    for action in dict.fromkeys(table.values()):
        for key in wanted.get(action, ()):
            kept.setdefault(key, action)
    return kept


def _check_free(action: str, chosen: Iterable[str], file: Path, table: Mapping[str, str]) -> None:
    for key in chosen:
        if table.get(key) != action:
            raise UsageError(f"{_where(file, action)}: key `{key}` of `{action}` is that of `{table[key]}`")


def _read(action: str, text: str, file: Path) -> tuple[str, ...]:
    if action not in ACTIONS:
        known = ", ".join(sorted(ACTIONS))
        raise UsageError(f"{_where(file, action)}: unknown action `{action}`; there are {known}")
    found = tuple(re.split(r"[\s,]+", text.strip().lower()))
    for key in found:
        if not re.fullmatch(_NAME, key):
            raise UsageError(
                f"{_where(file, action)}: `{key}` is no key; write it as `ctrl+x`, `alt+n` or `f5`"
            )
        if re.fullmatch(_TYPED, key):
            raise UsageError(
                f"{_where(file, action)}: key `{key}` is text and answers prompts; add `ctrl` or `alt`"
            )
    return found


def _where(file: Path, action: str) -> str:
    """`~/.config/agent-tui/config.toml:12`; without the line where it is not in that file."""
    try:
        rows = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        rows = []
    said = re.compile(rf"\s*(?:keys\.)?{re.escape(action)}\s*=")
    row = next((n for n, row in enumerate(rows, 1) if said.match(row)), None)
    return f"{file}:{row}" if row is not None else f"{file}: [keys]"
