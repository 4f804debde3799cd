"""`agent-tui sessions`: the stored sessions of this workspace, or of all."""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TextIO

from agent_tui.errors import AgentError, UsageError
from agent_tui.figures import count
from agent_tui.safe_text import one_line, visible
from agent_tui.short_path import long_path
from checkpoints.index import DISK_FULL, SessionEntry

ACTIONS = ("list", "show", "export", "rm")
FORMATS = ("jsonl", "markdown", "replay", "otlp")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `sessions` takes."""
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="list")
    parser.add_argument("id", nargs="?", metavar="ID", help="a session; the start of an id is enough")
    parser.add_argument("--all", action="store_true", help="list: of every workspace")
    parser.add_argument("--yes", action="store_true", help="rm: do not ask")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--format", choices=FORMATS, help="of an export; default jsonl")
    parser.add_argument("-o", "--output", metavar="FILE", help="where what is shown or exported goes")


def run(arguments: argparse.Namespace) -> int:
    """List, show, export or remove."""
    from agent_tui import stored
    from agent_tui.cli.settings import load

    _check(arguments)
    settings = load(arguments)
    folder = settings.state_dir
    if arguments.action == "list":
        entries = stored.listed(folder, None if arguments.all else settings.workspace)
        print(_as_json(entries) if arguments.json else _table(entries, arguments.all), end="")
        return 0
    place = stored.find(folder, arguments.id)
    if arguments.action == "rm":
        if not (arguments.yes or arguments.json or _may_remove(place.id)):
            raise AgentError("sessions rm: nothing was removed")
        stored.remove(place)
        print(json.dumps({"removed": place.id}) if arguments.json else f"removed session {place.id}")
    elif _is_markdown(arguments):
        _print(stored.markdown(place), arguments.output)
    elif arguments.format == "replay":
        from agent_tui.config.providers import keys_in

        _print(stored.replay(place, keys_in(settings, os.environ)), arguments.output)
    elif arguments.format == "otlp":
        _print(stored.otlp(place), arguments.output)
    else:
        _print(stored.json_lines(place), arguments.output)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    action = arguments.action
    if action == "list" and arguments.id is not None:
        raise UsageError(f"sessions list: it takes no ID; `agent-tui sessions show {arguments.id}` shows one")
    if action != "list" and not arguments.id:
        raise UsageError(f"sessions {action}: no ID; `agent-tui sessions` lists them")
    if action != "list" and arguments.all:
        raise UsageError(
            f"sessions {action}: `--all` is for the list; an ID names a session of any workspace"
        )
    if action != "export" and arguments.format:
        raise UsageError(f"sessions {action}: `--format` is for an export")
    if action != "rm" and arguments.yes:
        raise UsageError(f"sessions {action}: `--yes` is for `rm`")
    if action in ("list", "rm") and arguments.output is not None:
        raise UsageError(f"sessions {action}: `--output` is for `show` and `export`")
    if arguments.json and arguments.format == "markdown":
        raise UsageError(
            "sessions export: `--json` and `--format markdown` exclude each other; leave one out"
        )


def _may_remove(session: str) -> bool:
    """A person is asked before a session is gone for good; a script means what it says."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    print(f"remove session {session} and its output for good? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _is_markdown(arguments: argparse.Namespace) -> bool:
    return arguments.format == "markdown" or (arguments.action == "show" and not arguments.json)


def _print(blocks: AsyncGenerator[str, None], output: str | None) -> None:
    if not output:
        asyncio.run(_copy(blocks, sys.stdout))
        return
    try:
        with long_path(output).open("w", encoding="utf-8") as stream:
            asyncio.run(_copy(blocks, stream))
    except OSError as error:
        raise UsageError(f"sessions export: `{output}` cannot be written: {error.strerror}") from error


async def _copy(blocks: AsyncGenerator[str, None], stream: TextIO) -> None:
    for_person = stream.isatty()  # a file or a program gets what was said as it is
    async with aclosing(blocks):  # the reader of the output may go away
        async for block in blocks:
            text = visible(block) if for_person else block.encode("utf-8", "replace").decode("utf-8")
            stream.write(text + "\n")


def _as_json(entries: Sequence[SessionEntry]) -> str:
    rows = [
        {
            "id": entry.id,
            "workspace": entry.workspace,
            "title": entry.title,
            "model": entry.model,
            "created_at": entry.created_at,
            "updated_at": entry.updated_at,
            "turns": entry.turns,
            "live": entry.owner is not None,
            "damage": entry.damage,
        }
        for entry in entries
    ]
    return json.dumps(rows, indent=2) + "\n"


def _table(entries: Sequence[SessionEntry], with_workspace: bool) -> str:
    if not entries:
        return "no sessions are stored here; `--all` shows those of other directories\n"
    lines = []
    for entry in entries:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.updated_at))
        turns = count(entry.turns, "turn")
        damage = DISK_FULL if entry.damage == DISK_FULL else "damaged" if entry.damage else ""
        state = "  open" if entry.owner else f"  {damage}" if damage else ""
        where = f"  {one_line(entry.workspace, strict=True)}" if with_workspace else ""
        lines.append(f"{entry.id}  {when}  {turns:>8}  {one_line(entry.title)}{where}{state}\n")
    return "".join(lines)
