"""Commands that ask on: go back with a preview, another session, another model, the session as a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from agent_tui import exporting, handover
from agent_tui.attachment import facts_of, read_image
from agent_tui.engine.commands import CommandBody, Redo, Rollback, Set, Subject
from agent_tui.errors import UsageError
from agent_tui.plain import facts, watching
from agent_tui.plain.retelling import Retelling
from agent_tui.plain.standing import Standing
from agent_tui.plain.watching import Watching
from agent_tui.plain.wording import count
from agent_tui.safe_text import one_line
from context.items import Image

MOST_SHOWN = 20  # entries of a numbered list

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


class Terms(watching.Terms, Protocol):
    """What a menu needs of the line-mode interface."""

    standing: Standing

    def send(self, body: CommandBody) -> None:
        """To the engine."""

    async def facts(self, subject: Subject, **args: str) -> Any | None:
        """What an `Inspect` gives; None after its refusal was printed."""


class Menus:
    """One method for each; `next_arguments` is what `agent-tui` is started with after this session."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._standing = terms.standing
        self._config = terms.standing.config
        self.next_arguments: list[str] | None = None
        self._images: list[Image] = []
        self._watching = Watching(terms)

    async def run(self, name: str, rest: str) -> bool:
        """Run the menu of that name; False when the session is to be left."""
        await {
            "checkpoints": self._checkpoints,
            "output": self._output,
            "rollback": self._rollback,
            "redo": self._redo,
            "watch": self._watch,
            "resume": self._resume,
            "fork": self._fork,
            "new": self._new,
            "model": self._model,
            "export": self._export,
            "image": self._image,
        }[name](rest)
        return self.next_arguments is None

    def take_images(self) -> tuple[Image, ...]:
        """The pictures for a message that is being sent."""
        taken, self._images = tuple(self._images), []
        return taken

    async def _image(self, rest: str) -> None:
        if not rest:
            self._terms.say("/image FILE takes a PNG, JPEG, GIF or WebP picture.")
            return
        try:
            found = read_image(self._config.workspace / Path(rest).expanduser())
        except UsageError as error:
            self._terms.say(one_line(str(error), strict=True))
            return
        self._images.append(found)
        facts_found = facts_of(found)
        across, down = facts_found.pixels
        self._terms.say(
            f"Image: {one_line(found.name, strict=True)}, {across:,} by {down:,} pixels, about "
            f"{facts_found.tokens:,} tokens, goes with the next message."
        )

    async def _chosen(self, lines: Sequence[str], prompt: str, empty: int | None = None) -> int | None:
        """Index of the chosen line, `empty` for an empty one; None where the person turned away."""
        self._terms.say(*facts.numbered(lines))
        while True:
            typed = await self._terms.ask(f"{prompt}, 1 to {len(lines)}, or nothing> ")
            if typed is None:
                return None
            if not typed.strip():
                return empty
            if typed.strip().isdigit() and 1 <= int(typed) <= len(lines):
                return int(typed) - 1
            self._terms.say(f"Type a number from 1 to {len(lines)}, or nothing.")

    async def _output(self, rest: str) -> None:
        """All that is kept of what a terminal wrote."""
        found = await self._terms.facts(Subject.TERMINALS)
        wanted = next((each for each in found or () if each["id"] == rest), None)
        if wanted is None:
            self._terms.say("/output TERMINAL prints all of it; /ps lists them.")
            return
        text = await self._terms.facts(Subject.OUTPUT, ref=str(wanted.get("ref", "")))
        if text is not None:
            self._terms.say(*(facts.text(text) if text else ["It wrote nothing."]))

    # --- going back ----------------------------------------------------------------------------

    async def _rollback(self, rest: str) -> None:
        target, _, wanted = rest.partition(" ")
        if target in _MODES:  # no checkpoint: it is chosen below
            target, wanted = "", rest
        if wanted and wanted not in _MODES:
            self._terms.say("The mode is one of files, conversation, both.")
            return
        if not target:
            target = await self._point() or ""
        data = await self._terms.facts(Subject.ROLLBACK_PLAN, id=target) if target else None
        if data is None:
            return
        self._terms.say(f"Rollback to before {one_line(target, strict=True)}:", *facts.plan(data))
        ended = await self._terms.facts(Subject.GRANTS, ended_by=target)
        if ended and wanted != "files":
            verb = "ends" if len(ended) == 1 else "end"
            ends = f"{count(len(ended), 'grant')} {verb}"
            self._terms.say(f"With the conversation, {ends}: what was allowed for the session asks again.")
        modes: list[Mode] = [mode for mode in _MODES if wanted in ("", mode)]
        at = await self._chosen([_MODES[mode] for mode in modes], "roll back")
        asked = () if at is None or modes[at] == "conversation" else data["conflicts"]
        choices = await self._choices(asked)
        if at is None or choices is None:
            self._terms.say("Nothing was changed.")
        else:
            self._terms.send(Rollback(checkpoint_id=target, mode=modes[at], choices=choices))

    async def _choices(self, conflicts: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
        """What a person says of each file in conflict, an empty line keeps it; None to go back nowhere."""
        found = {}
        for conflict in conflicts:
            path = str(conflict["path"])
            self._terms.say(f"Conflict: {one_line(path, strict=True)}, {one_line(str(conflict['reason']))}.")
            at = await self._chosen(list(_CHOICES.values()), "nothing keeps yours", empty=0)
            if at is None:
                return None
            found[path] = list(_CHOICES)[at]
        return found

    async def _checkpoints(self, _: str) -> None:
        found = await self._terms.facts(Subject.CHECKPOINTS)
        if found is None:
            return
        self._terms.say(*facts.checkpoints(found))
        size = await self._terms.facts(Subject.KEPT) if found else None
        self._terms.say(*(facts.kept(size) if size is not None else ()))

    async def _point(self) -> str | None:
        found = await self._terms.facts(Subject.CHECKPOINTS)
        if not found:
            self._terms.say(*(facts.checkpoints(found) if found is not None else ()))
            return None
        shown = list(found)[:MOST_SHOWN]
        at = await self._chosen([facts.checkpoint(each) for each in shown], "go back to")
        return None if at is None else str(shown[at]["id"])

    async def _redo(self, _: str) -> None:
        last = self._standing.last_rollback
        if last is None:
            self._terms.say("Nothing to redo.")
            return
        if last.files is not None:
            data = await self._terms.facts(Subject.ROLLBACK_PLAN, id=last.files.undo)
            if data is None:
                return
            self._terms.say("Redo:", *facts.plan(data))
        if await self._chosen(["Redo it"], "redo") is not None:
            self._terms.send(Redo())

    # --- other sessions ------------------------------------------------------------------------

    async def _resume(self, rest: str) -> None:
        if rest:
            self.next_arguments = handover.resuming(self._config, rest, plain=True)
            return
        here = str(self._config.workspace)
        found = [
            each
            for each in await self._terms.facts(Subject.SESSIONS) or ()
            if str(each.get("workspace", here)) == here and each.get("id") != self._standing.session_id
        ]
        if not found:
            self._terms.say("No other session here yet.")
            return
        found.sort(key=lambda each: -float(each.get("updated_at") or 0))
        shown = found[:MOST_SHOWN]
        at = await self._chosen([facts.session(each, self._standing.session_id) for each in shown], "resume")
        if at is None:
            return
        name = str(shown[at]["id"])
        if shown[at].get("live"):
            self._terms.say(f"{name} is open in another terminal.")
            at = await self._chosen(["Watch it", "Continue a copy"], "what to do")
            if at is not None:
                await (self._watch(name) if at == 0 else self._fork(name))
            return
        self.next_arguments = handover.resuming(self._config, name, plain=True)

    async def _watch(self, rest: str) -> None:
        if not rest:
            self._terms.say("/watch ID follows a session that is open elsewhere; /sessions lists them.")
        elif await self._watching.watch(rest):
            await self._fork(rest)

    async def _fork(self, rest: str) -> None:
        name = rest or self._standing.session_id
        self.next_arguments = handover.resuming(self._config, name, fork=True, plain=True)

    async def _new(self, _: str) -> None:
        self.next_arguments = ["--plain", *self.flags()]

    def flags(self) -> list[str]:
        """Flags for another start with the model and the guards of this session."""
        return handover.anew(self._config, self._standing.model, self._standing.address)

    # --- the rest ------------------------------------------------------------------------------

    async def _model(self, rest: str) -> None:
        if rest:
            self._terms.send(Set(key="model", value=rest))
            return
        self._terms.say(f"Model: {one_line(self._standing.model, strict=True) or 'none'}.")
        found: Sequence[Mapping[str, Any]] = await self._terms.facts(Subject.MODELS) or ()
        if not found:
            self._terms.say("Name another one: /model PROVIDER/MODEL")
            return
        at = await self._chosen([facts.offer(each) for each in found], "use")
        if at is not None:
            self._terms.send(Set(key="model", value=str(found[at]["name"])))

    async def _export(self, rest: str) -> None:
        """The session in the words of line mode; never over a file that exists."""
        stored = await self._terms.facts(Subject.TRANSCRIPT, after="0")
        if stored is None:
            return
        try:
            text = "\n".join(Retelling().lines(stored)) + "\n"
            file = exporting.write(self._config, self._standing.session_id, rest, text)
        except UsageError as error:
            self._terms.say(one_line(str(error), strict=True))
        else:
            self._terms.say(f"The session is in {one_line(str(file), strict=True)}.")
