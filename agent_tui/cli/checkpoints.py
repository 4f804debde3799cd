"""`agent-tui checkpoints`: the recorded states of this workspace."""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui.errors import UsageError
from agent_tui.figures import count
from agent_tui.safe_text import one_line, visible

if TYPE_CHECKING:
    from checkpoints.catalog import Row
    from checkpoints.offline import Listed
    from checkpoints.types import FileChange

ACTIONS = ("list", "show", "diff", "prune")
_SHOWN_CHANGES = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `checkpoints` takes."""
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="list")
    parser.add_argument("ids", nargs="*", metavar="ID", help="a checkpoint, such as `7f3a/12`")
    parser.add_argument("--days", type=float, metavar="N", help="prune: keep sessions of the last N days")
    parser.add_argument("--yes", action="store_true", help="prune: do not ask")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """List, show, compare or prune."""
    from agent_tui.cli.settings import load
    from sandbox.placeholders import present

    settings = load(arguments)
    folder = settings.state_dir
    present(folder)  # what a crash left in the workspace goes first
    _check_ids(arguments.action, arguments.ids)
    if arguments.days is not None and arguments.action != "prune":
        raise UsageError(f"checkpoints {arguments.action}: `--days` is for `prune`")
    if arguments.yes and arguments.action != "prune":
        raise UsageError(f"checkpoints {arguments.action}: `--yes` is for `prune`")
    match arguments.action:
        case "show":
            _show(settings.workspace, folder, arguments.ids[0], as_json=arguments.json)
        case "diff":
            _diff(settings.workspace, folder, arguments.ids, as_json=arguments.json)
        case "prune":
            if arguments.yes or arguments.json or _may_prune(arguments.days):
                _prune(settings.workspace, folder, arguments.days, as_json=arguments.json)
        case _:
            _list(settings.workspace, folder, as_json=arguments.json)
    return 0


def _check_ids(action: str, ids: Sequence[str]) -> None:
    least, most = {"list": (0, 0), "show": (1, 1), "diff": (1, 2), "prune": (0, 0)}[action]
    if len(ids) < least:
        raise UsageError(f"checkpoints {action}: no ID; `agent-tui checkpoints list` shows them")
    if len(ids) > most:
        raise UsageError(f"checkpoints {action}: `{ids[most]}` is one ID too many")


# --- list -------------------------------------------------------------------------------------------


def _list(workspace: Path, state_dir: Path, *, as_json: bool) -> None:
    from checkpoints.offline import NONE_YET, listed

    found = listed(workspace, state_dir)
    if as_json:
        _print_json(_facts(one.row, one.after) for one in found)
    elif not found:
        print(NONE_YET)
    else:
        print(_table(found), end="")


def _table(found: "Sequence[Listed]") -> str:
    rows = [(one.row.id, when(one.row.created_at), title(one.row), _outcome(one)) for one in found]
    width = max(len(row[0]) for row in rows)
    wide = min(44, max(len(row[2]) for row in rows))
    lines = [
        f"{name:<{width}}  {when}  {_cut(what, wide):<{wide}}  {then}".rstrip()
        for name, when, what, then in rows
    ]
    return "".join(line + "\n" for line in lines)


def title(row: "Row") -> str:
    """What a checkpoint was taken before or after, in words."""
    summary = f"`{row.cause.summary}`" if row.cause.summary else row.cause.tool or "a call"
    return {
        "turn_start": f"before your message{f' {summary}' if row.cause.summary else ''}",
        "before_call": f"before {summary}",
        "after_call": f"after {summary}",
        "turn_end": "after the turn",
        "before_rollback": f"before {row.cause.summary or 'a rollback'}",
        "after_rollback": row.cause.summary or "after a rollback",
    }[row.cause.phase.value]


def _outcome(one: "Listed") -> str:
    words = describe(one.after)
    if one.row.broken:
        words = f"! broken: {one.row.broken}"
    elif one.row.uncovered:
        words = f"{words}  ! not covered: {_names([gap.path for gap in one.row.uncovered])}".strip()
    return words


def describe(changes: "Sequence[FileChange]") -> str:
    """`M a.py +1 -1 · external: A notes.txt`."""
    from checkpoints.types import Author

    own = [change for change in changes if change.author is not Author.EXTERNAL]
    others = [change for change in changes if change.author is Author.EXTERNAL]
    parts = [_short(own)] if own else []
    if others:
        parts.append("external: " + _short(others))
    return " · ".join(parts)


def _short(changes: "Sequence[FileChange]") -> str:
    words = [_change(change) for change in changes[:_SHOWN_CHANGES]]
    rest = len(changes) - len(words)
    return " · ".join(words + ([f"+ {rest} more"] if rest else []))


def _change(change: "FileChange") -> str:
    name = printable(change.path)
    if change.old_path:
        name = f"{printable(change.old_path)} → {name}"
    counts = f" +{change.added} -{change.removed}" if change.added is not None else ""
    detail = f" ({printable(change.detail)})" if change.detail else ""
    return f"{change.kind} {name}{counts}{detail}"


def _names(paths: Sequence[str]) -> str:
    shown = ", ".join(printable(path) for path in paths[:3])
    return shown + (f", {len(paths) - 3} more" if len(paths) > 3 else "")


# --- show -------------------------------------------------------------------------------------------


def _show(workspace: Path, state_dir: Path, checkpoint_id: str, *, as_json: bool) -> None:
    from checkpoints.offline import listed, opened

    with opened(workspace, state_dir, checkpoint_id) as (_, row):
        after = next((one.after for one in listed(workspace, state_dir) if one.row.id == row.id), ())
    if as_json:
        _print_json([_facts(row, after)])
        return
    facts = [
        ("checkpoint", row.id),
        ("taken", f"{when(row.created_at)}, {title(row)}"),
        ("session", f"{row.session}, turn {row.cause.turn}, step {row.cause.step}"),
        ("call", f"{row.cause.call_id} {row.cause.tool}".strip()),
        ("model", row.cause.model),
        ("tree", row.state.hex()),
        ("broken", row.broken),
    ]
    for name, head in (row.heads or {}).items():
        facts.append(("repository", f"{name}: {head.branch} {head.commit[:12]}"))
    for name, value in facts:
        if value:
            print(f"{name:<11} {printable(value)}")
    _print_changes("changed since the one before", row.changes, row.change_count)
    _print_changes("changed after it, until the next", after, len(after))
    for gap in row.uncovered:
        print(f"not covered {printable(gap.path)}: {printable(gap.reason)}")


def _print_changes(heading: str, changes: "Sequence[FileChange]", total: int) -> None:
    if not changes:
        return
    print(f"{heading}:")
    for change in changes:
        by = "" if change.author.value == "agent" else f"  by: {change.author.value}"
        print(f"  {_change(change)}{by}")
    if total > len(changes):
        print(f"  + {total - len(changes)} more")


# --- diff and prune ---------------------------------------------------------------------------------


def _diff(workspace: Path, state_dir: Path, ids: Sequence[str], *, as_json: bool) -> None:
    from checkpoints.offline import opened
    from sandbox.placeholders import present

    with opened(workspace, state_dir, ids[0], partial(present, state_dir)) as (core, older):
        newer = core.main.resolve(ids[1]) if len(ids) > 1 else None
        changes, text = core.compared(older, newer)
    if as_json:
        facts = {"older": older.id, "newer": newer.id if newer else None, "diff": _json_text(text)}
        _print_json([{**facts, "changes": [asdict(change) for change in changes]}])
    else:
        _print_diff(text)


def _print_diff(text: str) -> None:
    """For a person what can be shown; a file or a program gets it as it is, so that it can be applied."""
    if sys.stdout.isatty():
        print(visible(text), end="")
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def _may_prune(days: float | None) -> bool:
    """A person is asked before more goes than goes by itself; a script means what it says."""
    if days is None or days < 0 or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    print(f"What is older than {days:g} days cannot be rolled back after this; sessions stay readable.")
    print("drop these checkpoints? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _prune(workspace: Path, state_dir: Path, days: float | None, *, as_json: bool) -> None:
    from checkpoints.offline import pruned
    from checkpoints.retention import Keep
    from checkpoints.sizes import size_text
    from checkpoints.types import NotThereError

    if days is not None and days < 0:
        raise UsageError("checkpoints prune: `--days` must not be negative")
    try:
        done, size = pruned(workspace, state_dir, Keep() if days is None else Keep(days=days))
    except NotThereError as error:
        print("" if as_json else f"{error}\n", end="")  # nothing to prune is as good as pruned
        return
    if as_json:
        _print_json([{**asdict(done), "size_bytes": size}])
        return
    rest = "" if done.finished else "; the rest is left for the next time"
    dropped = f"{count(done.checkpoints, 'checkpoint')} of {count(len(done.sessions), 'session')} dropped"
    if not done.checkpoints:
        dropped = "no checkpoint is old enough to be dropped"
    freed = f"{size_text(done.freed_bytes)} freed, {size_text(size)} kept"
    print(f"{dropped}, {freed}; the sessions stay{rest}")


# --- words ------------------------------------------------------------------------------------------


def _facts(row: "Row", after: "Sequence[FileChange]") -> dict[str, Any]:
    return {
        "id": row.id,
        "created_at": row.created_at,
        **asdict(row.cause),
        "tree": row.state.hex(),
        "changes": [asdict(change) for change in row.changes],
        "changes_after": [asdict(change) for change in after],
        "uncovered": [asdict(gap) for gap in row.uncovered],
        "broken": row.broken,
    }


def _print_json(objects: "Iterable[dict[str, Any]]") -> None:
    for one in objects:
        print(json.dumps(one))


def _json_text(text: str) -> str:
    """Bytes that are no UTF-8 have no form in JSON that every reader takes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def printable(text: str) -> str:
    """Text from files, names and errors on one line that cannot move the cursor or hide anything."""
    return one_line(text, strict=True)


def when(at: float) -> str:
    """UTC seconds as the date and time of the clock on the wall."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _cut(text: str, width: int) -> str:
    text = printable(text)
    return text if len(text) <= width else text[: width - 1] + "…"
