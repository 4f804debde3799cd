"""Rollback and redo: from a list, with a preview, and not under a terminal that can still write."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from agent_tui.engine.commands import Redo, Rollback, Subject, TerminalInput
from agent_tui.figures import count
from agent_tui.plain import facts
from agent_tui.plain.choosing import MOST_SHOWN, Terms, chosen
from agent_tui.safe_text import one_line
from tools.types import STOP

STOP_WAIT_S = 8.0  # for terminals to end before files go back; the last of the signals comes after 5 s

Mode = Literal["files", "conversation", "both"]
_MODES: dict[Mode, str] = {
    "both": "Roll back files and conversation",
    "files": "Roll back files only",
    "conversation": "Roll back the conversation only",
}
_CHOICES = {
    "keep": "Keep yours",
    "take": "Take the checkpoint's version",
    "merge": "Merge the two",
}
_UNCHANGED = "Nothing was changed."


class GoingBack:
    """One method for each command."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._standing = terms.standing

    async def rewind(self, _: str) -> None:
        """To before a message of this session, or a call in it that changed something."""
        found = await self._terms.facts(Subject.CHECKPOINTS, session=self._standing.session_id)
        target = await self._point(facts.points(found)) if found is not None else None
        if target:
            await self.rollback(target)

    async def rollback(self, rest: str) -> None:
        """`[ID] [MODE] [PATH]`; what is left out is asked for."""
        target, _, more = rest.partition(" ")
        if target in _MODES:  # no checkpoint: it is chosen below
            target, more = "", rest
        wanted, _, path = more.strip().partition(" ")
        if wanted and wanted not in _MODES:
            self._terms.say("The mode is one of files, conversation, both.")
            return
        if path and wanted != "files":
            self._terms.say("One path goes back with the mode files.")
            return
        if not target:
            found = await self._terms.facts(Subject.CHECKPOINTS)
            target = await self._point(found) or "" if found is not None else ""
        only = {"paths": path.strip()} if path else {}
        data = await self._terms.facts(Subject.ROLLBACK_PLAN, id=target, **only) if target else None
        if data is None:
            return
        self._terms.say(f"Rollback to before {one_line(target, strict=True)}:", *facts.plan(data))
        ended = await self._terms.facts(Subject.GRANTS, ended_by=target)
        if ended and wanted != "files":
            verb = "ends" if len(ended) == 1 else "end"
            ends = f"{count(len(ended), 'grant')} {verb}"
            self._terms.say(f"With the conversation, {ends}: what was allowed for the session asks again.")
        body = await self._decided(target, [mode for mode in _MODES if wanted in ("", mode)], data, path)
        if body is None:
            self._terms.say(_UNCHANGED)
        else:
            self._terms.send(body)

    async def _decided(
        self, target: str, modes: Sequence[Mode], plan: Mapping[str, Any], path: str
    ) -> Rollback | None:
        at = await chosen(self._terms, [_MODES[mode] for mode in modes], "roll back")
        if at is None:
            return None
        touches_files = modes[at] != "conversation"
        choices = await self._choices(plan["conflicts"] if touches_files else ())
        force = await self._past_terminals() if touches_files and choices is not None else False
        if choices is None or force is None:
            return None
        paths = (path.strip(),) if path else ()
        return Rollback(checkpoint_id=target, mode=modes[at], paths=paths, choices=choices, force=force)

    async def _choices(self, conflicts: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
        """What a person says of each file in conflict, an empty line keeps it; None to go back nowhere."""
        found = {}
        for conflict in conflicts:
            path = str(conflict["path"])
            self._terms.say(f"Conflict: {one_line(path, strict=True)}, {one_line(str(conflict['reason']))}.")
            at = await chosen(self._terms, list(_CHOICES.values()), "nothing keeps yours", empty=0)
            if at is None:
                return None
            found[path] = list(_CHOICES)[at]
        return found

    async def _past_terminals(self) -> bool | None:
        """Whether files go back although a terminal may write; None to go back nowhere."""
        live = self._standing.live_terminals
        if not live:
            return False
        for each in live:
            self._terms.say(f"{each.terminal} {one_line(each.command, strict=True)} can still write.")
        at = await chosen(self._terms, ["Stop what is live first", "Go on anyway"], "terminals")
        if at != 0:
            return None if at is None else True
        for each in live:
            self._terms.send(TerminalInput(terminal=each.terminal, signal=STOP))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._standing.no_terminal.wait(), STOP_WAIT_S)
            return False
        self._terms.say("A terminal does not end; /ps lists it.")
        return None

    async def checkpoints(self, _: str) -> None:
        """What can be gone back to, and what it takes."""
        found = await self._terms.facts(Subject.CHECKPOINTS)
        if found is None:
            return
        self._terms.say(*facts.checkpoints(found))
        size = await self._terms.facts(Subject.KEPT) if found else None
        self._terms.say(*(facts.kept(size) if size is not None else ()))

    async def _point(self, found: Sequence[Mapping[str, Any]]) -> str | None:
        if not found:
            self._terms.say(*facts.checkpoints(found))
            return None
        shown = list(found)[:MOST_SHOWN]
        at = await chosen(self._terms, [facts.checkpoint(each) for each in shown], "go back to")
        return None if at is None else str(shown[at]["id"])

    async def redo(self, _: str) -> None:
        """Take the last rollback back."""
        last = self._standing.last_rollback
        if last is None:
            self._terms.say("Nothing to redo.")
            return
        if last.files is not None:
            data = await self._terms.facts(Subject.ROLLBACK_PLAN, id=last.files.undo)
            if data is None:
                return
            self._terms.say("Redo:", *facts.plan(data))
        is_wanted = await chosen(self._terms, ["Redo it"], "redo") is not None
        force = await self._past_terminals() if is_wanted and last.files is not None else False
        if not is_wanted or force is None:
            self._terms.say(_UNCHANGED)
        else:
            self._terms.send(Redo(force=force))
