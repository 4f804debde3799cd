"""`agent-tui rollback`: files, conversation, or both back to a checkpoint; and that taken back."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.cli.checkpoints import printable, title, when
from agent_tui.errors import AgentError, UsageError
from agent_tui.figures import count
from agent_tui.safe_text import visible

if TYPE_CHECKING:
    from agent_tui.rewind import Conversation, Mode
    from checkpoints.catalog import Row
    from checkpoints.joined import Joined
    from checkpoints.types import Choice, Conflict, RollbackPlan, RollbackResult

_CHOICES: "dict[str, Choice]" = {"k": "keep", "t": "take", "m": "merge"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `rollback` takes."""
    parser.add_argument("id", nargs="?", metavar="ID", help="a checkpoint; default: before the last turn")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--files-only", action="store_true", help="leave the conversation as it is")
    what.add_argument("--conversation-only", action="store_true", help="leave the files as they are")
    parser.add_argument(
        "--path", dest="paths", metavar="P", action="append", default=[], help="only this path"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    theirs = parser.add_mutually_exclusive_group()
    theirs.add_argument(
        "--keep-external", action="store_true", help="files changed by others stay as they are"
    )
    theirs.add_argument("--overwrite", action="store_true", help="files changed by others go back as well")
    parser.add_argument("--redo", action="store_true", help="take the last rollback back")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Plan, ask, go back, verify; 0 only when every path is as the checkpoint has it."""
    from agent_tui.cli.settings import load
    from checkpoints.offline import opened
    from sandbox.placeholders import present

    settings = load(arguments)
    _check(arguments)
    stand_ins = partial(present, settings.state_dir)
    stand_ins()  # what a crash left in the workspace goes first
    with opened(settings.workspace, settings.state_dir, arguments.id or "", stand_ins) as (core, row):
        _settle_cut(core, arguments)
        if arguments.redo:
            return _redo(core, settings.state_dir, arguments)
        return _go_back(core, row, settings.state_dir, arguments)


def _check(arguments: argparse.Namespace) -> None:
    about_files = [f"--{name}" for name in ("keep-external", "overwrite") if getattr(arguments, _dest(name))]
    if arguments.paths:
        about_files.append("--path")
    parts = [f"--{name}" for name in ("files-only", "conversation-only") if getattr(arguments, _dest(name))]
    more = [*about_files, *parts, *(["--dry-run"] if arguments.dry_run else [])]
    if arguments.redo and (arguments.id is not None or more):
        what = f"`{more[0]}`" if more else "an ID"
        raise UsageError(
            f"rollback: `--redo` takes back the last rollback as a whole; it cannot go with {what}"
        )
    if arguments.conversation_only and about_files:
        raise UsageError(
            f"rollback: `{about_files[0]}` is about files; it cannot go with `--conversation-only`"
        )
    if arguments.id == "" or "" in arguments.paths:
        what = "ID" if arguments.id == "" else "path"
        raise UsageError(f"rollback: the {what} is empty; `agent-tui checkpoints` lists what there is")


def _dest(name: str) -> str:
    return name.replace("-", "_")


def _asks(arguments: argparse.Namespace) -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty() and not arguments.yes and not arguments.json


def _mode(arguments: argparse.Namespace) -> "Mode":
    if arguments.files_only or arguments.paths:
        return "files"
    return "conversation" if arguments.conversation_only else "both"


def _settle_cut(core: "Joined", arguments: argparse.Namespace) -> None:
    """A rollback that was killed is taken back before anything else, or finished if a person says so."""
    for line in core.set_aside_damaged():
        _tell(line)
    cut = core.cut()
    if cut is None:
        return
    said = f"a rollback to {cut.target} was cut after {cut.done} of {cut.total} steps"
    if arguments.dry_run:
        _tell(f"{said}; `agent-tui rollback` finishes it or takes it back first")
        return
    may_ask = _asks(arguments)
    if may_ask:
        print(f"{printable(said)}; finish it? [y/N, N takes it back] ", end="", flush=True)
    is_wanted = may_ask and sys.stdin.readline().strip().lower() in ("y", "yes")
    core.recover(complete=is_wanted)
    _tell(f"{said}; it was {'finished' if is_wanted else 'taken back'}")


def _go_back(core: "Joined", row: "Row", state_dir: Path, arguments: argparse.Namespace) -> int:
    from checkpoints.rollback import Request

    mode = _mode(arguments)
    plan = core.plan(row, arguments.paths) if mode != "conversation" else None
    with ExitStack() as stack:
        conversation = _conversation(state_dir, row, mode, arguments, stack)
        hidden = conversation.would_hide(row.checkpoint()) if conversation and mode != "files" else (0, 0)
        if arguments.json and arguments.dry_run:
            print(json.dumps({"target": row.id, "mode": mode, "plan": asdict(plan) if plan else None}))
        elif not arguments.json:
            _print_plan(row, plan, hidden)
        choices = {} if arguments.dry_run else _choices(core, row, plan, arguments)
        if not hidden[0] and _leaves_files(plan, choices, arguments):
            if not arguments.json:
                print("  nothing to change")
            return 0 if arguments.dry_run else _report_idle(row.id, mode, plan, as_json=arguments.json)
        if arguments.dry_run:
            return 0
        default = _default_choice(plan, arguments)
        _confirm(arguments)
        files = None
        if plan is not None:
            request = Request(target=row.id, paths=tuple(arguments.paths), choices=choices, default=default)
            files = core.run(request)
        if conversation is not None:
            asyncio.run(conversation.hide(row.checkpoint(), files, mode))
    return _report(row.id, mode, files, as_json=arguments.json)


def _leaves_files(
    plan: "RollbackPlan | None", choices: "dict[str, Choice]", arguments: argparse.Namespace
) -> bool:
    """Whether no file would change: nothing differs, or only what was chosen to stay."""
    if plan is None or not (plan.operations or plan.conflicts):
        return True
    keeps = arguments.keep_external or (choices and set(choices.values()) == {"keep"})
    return not plan.operations and bool(keeps)


def _choices(
    core: "Joined", row: "Row", plan: "RollbackPlan | None", arguments: argparse.Namespace
) -> "dict[str, Choice]":
    """What a person says of each conflict; nothing where nobody can be asked, or a flag says it for all."""
    found: dict[str, Choice] = {}
    if plan is None or not plan.conflicts or not _asks(arguments):
        return found
    if arguments.keep_external or arguments.overwrite:
        return found
    print("conflicts: k keeps yours (Enter too), t takes the checkpoint's, m merges the two, d shows what")
    print("differs; K, T and M say it for all that follow")
    said = ""
    for conflict in plan.conflicts:
        while not said.isupper():
            print(f"  {printable(conflict.path)} [k/t/m/d] ", end="", flush=True)
            line = sys.stdin.readline()
            if not line:
                raise AgentError("rollback: nothing was done")
            said = line.strip() or "k"
            if said == "d":
                print(visible(core.compared(row, None, [conflict.path])[1]), end="")
            elif said.lower() in _CHOICES:
                break
            said = ""
        found[conflict.path] = _CHOICES[said.lower()]
    return found


def _conversation(
    state_dir: Path, row: "Row", mode: "Mode", arguments: argparse.Namespace, stack: ExitStack
) -> "Conversation | None":
    """The stored conversation of the checkpoint's session, owned while we change it.

    Raises SessionBusyError when it is open elsewhere and would have to change.
    """
    from agent_tui import rewind
    from agent_tui.errors import SessionBusyError

    if arguments.dry_run:
        return rewind.peek(state_dir, row.session) if mode != "files" else None
    try:
        found = rewind.own(state_dir, row.session)
    except SessionBusyError as error:
        if mode == "files":
            return None
        raise SessionBusyError(
            f"session `{row.session}` is open elsewhere: use `/rollback` there, or `--files-only` here"
        ) from error
    if found is None and mode == "conversation":
        raise UsageError(f"the conversation of session `{row.session}` is not stored any more")
    if found is not None:
        stack.callback(found.close)
    return found


def _default_choice(plan: "RollbackPlan | None", arguments: argparse.Namespace) -> "Choice":
    if arguments.overwrite:
        return "take"
    if plan is not None and plan.conflicts and not arguments.keep_external and not _asks(arguments):
        names = ", ".join(f"`{printable(conflict.path)}`" for conflict in plan.conflicts[:3])
        rest = f" and {len(plan.conflicts) - 3} more" if len(plan.conflicts) > 3 else ""
        raise AgentError(
            f"rollback: changed by others since {plan.target}: {names}{rest}; nothing was done; "
            "leave them with `--keep-external` or replace them with `--overwrite`"
        )
    return "keep"


def _confirm(arguments: argparse.Namespace) -> None:
    if arguments.yes:
        return
    if not sys.stdin.isatty() or arguments.json:
        if arguments.redo:
            raise UsageError("rollback: nobody can be asked here; take the rollback back with `--yes`")
        raise UsageError("rollback: nobody can be asked here; look with `--dry-run`, then give `--yes`")
    print("redo? [y/N] " if arguments.redo else "roll back? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise AgentError("rollback: nothing was done")


# --- redo -------------------------------------------------------------------------------------------


def _redo(core: "Joined", state_dir: Path, arguments: argparse.Namespace) -> int:
    from agent_tui import rewind
    from checkpoints.rollback import Rollback

    newest = Rollback(core.main).to_redo()
    conversation = rewind.own(state_dir, newest.session if newest else core.main.session)
    with ExitStack() as stack:
        if conversation is not None:
            stack.callback(conversation.close)
        if newest is None and (conversation is None or not conversation.can_redo):
            raise UsageError("rollback: there is no rollback to take back here")
        if newest is not None and not arguments.json:
            print(f"redo: back to {newest.undo}, the state before the rollback to {newest.target}")
            for line in plan_lines(core.plan(core.main.resolve(newest.undo))):
                print(line)
        _confirm(arguments)
        files = core.redo() if newest is not None else None
        if conversation is not None and conversation.can_redo:
            asyncio.run(conversation.unhide(files))
    target = files.target if files else core.main.session
    return _report(target, "both", files, as_json=arguments.json, is_redo=True)


# --- words ------------------------------------------------------------------------------------------


def _print_plan(row: "Row", plan: "RollbackPlan | None", hidden: tuple[int, int]) -> None:
    print(f"back to {row.id}: {printable(title(row))}")
    for line in plan_lines(plan) if plan else ():
        print(line)
    items, said = hidden
    if items:
        messages = f", {count(said, 'message')} back to the editor" if said else ""
        print(f"  conversation   {count(items, 'item')} hidden{messages}")


def plan_lines(plan: "RollbackPlan") -> list[str]:
    """The plan in groups: conflicts first, then what changes, what comes, what goes, what stays."""
    operations = [(one, f"{one.path}{_slash(one.action)}  {one.detail}") for one in plan.operations]
    groups = [
        (
            "conflict",
            [f"{one.path}  {one.reason}{_since(one)}" for one in plan.conflicts],
        ),
        (
            "change",
            [line for one, line in operations if not one.creates and not _deletes(one.action)],
        ),
        ("create", [line for one, line in operations if one.creates]),
        ("delete", [line for one, line in operations if _deletes(one.action)]),
        ("stays", [*plan.kept, *(f"{gap.path}  {gap.told}" for gap in plan.uncovered)]),
        ("stays", [f".git  your HEAD moved: {plan.head_moved}; not touched"] if plan.head_moved else []),
    ]
    return [f"  {name:<9} {printable(entry.rstrip())}" for name, entries in groups for entry in entries]


def _since(conflict: "Conflict") -> str:
    return f", {when(conflict.changed_at)}" if conflict.changed_at else ""


def _deletes(action: str) -> bool:
    return action in ("delete", "rmdir")


def _slash(action: str) -> str:
    return "/" if action in ("mkdir", "rmdir") else ""


def _report(
    target: str, mode: "Mode", files: "RollbackResult | None", *, as_json: bool, is_redo: bool = False
) -> int:
    if as_json:
        print(json.dumps({"target": target, "mode": mode, "files": asdict(files) if files else None}))
        return 1 if files is not None and files.mismatches else 0
    verb = "redone, back to" if is_redo else "rolled back to"
    again = f"rollback {files.undo}" if is_redo and files else "rollback --redo"
    done = _verified(files) if files else "conversation"
    print(f"{verb} {target}: {done}; `agent-tui {again}` takes this back")
    if files is not None:
        for line in _remarks(files):
            print(f"  {printable(line)}")
    return 1 if files is not None and files.mismatches else 0


def _report_idle(target: str, mode: "Mode", plan: "RollbackPlan | None", *, as_json: bool) -> int:
    """Nothing was to be done, and nothing was: there is nothing to redo either."""
    from checkpoints.types import RollbackResult

    if as_json:
        kept = (*plan.kept, *(conflict.path for conflict in plan.conflicts)) if plan else ()
        files = RollbackResult(target=target, undo="", changed=(), kept=kept)
        print(json.dumps({"target": target, "mode": mode, "files": asdict(files) if plan else None}))
    return 0


def _verified(files: "RollbackResult") -> str:
    if files.mismatches:
        told = count(len(files.mismatches), "path")
        return f"{told} {'differs' if told == '1 path' else 'differ'} from the checkpoint"
    return f"{count(len(files.changed), 'path')} changed, verified"


def _remarks(files: "RollbackResult") -> Sequence[str]:
    return [
        *(f"differs: {one}" for one in files.mismatches),
        *(f"kept yours: {one}" for one in files.kept),
        *(f"merged with yours: {one}" for one in files.merged if one not in files.merged_with_markers),
        *(f"merged with conflict markers: {one}" for one in files.merged_with_markers),
    ]


def _tell(text: str) -> None:
    print(f"agent-tui: {printable(text)}", file=sys.stderr)
