"""Commands that ask on: what stands for each of them, and the smaller menus."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_tui import exporting
from agent_tui.attachment import facts_of, read_image
from agent_tui.engine.commands import EditPending, Set, Subject
from agent_tui.errors import UsageError
from agent_tui.plain import facts
from agent_tui.plain.choosing import Terms, chosen
from agent_tui.plain.going_back import GoingBack
from agent_tui.plain.retelling import Retelling
from agent_tui.plain.sessions import Sessions
from agent_tui.safe_text import one_line
from agent_tui.short_path import long_path, short_path
from context.items import Image


class Menus:
    """Runs one by its name."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._standing = terms.standing
        self._config = terms.standing.config
        self._sessions = sessions = Sessions(terms)
        self._images: list[Image] = []
        back = GoingBack(terms)
        self._table = {
            "checkpoints": back.checkpoints,
            "rewind": back.rewind,
            "rollback": back.rollback,
            "redo": back.redo,
            "sessions": sessions.sessions,
            "resume": sessions.resume,
            "watch": sessions.watch,
            "fork": sessions.fork,
            "new": sessions.new,
            "diff": self._diff,
            "output": self._output,
            "take": self._take,
            "model": self._model,
            "transcript": self._transcript,
            "export": self._export,
            "image": self._image,
        }

    async def run(self, name: str, rest: str) -> bool:
        """Run the menu of that name; False when the session is to be left."""
        await self._table[name](rest)
        return self.next_arguments is None

    @property
    def next_arguments(self) -> list[str] | None:
        """What `agent-tui` is started with after this session."""
        return self._sessions.next_arguments

    def flags(self) -> list[str]:
        """Flags for another start with the model and the guards of this session."""
        return self._sessions.flags()

    def take_images(self) -> tuple[Image, ...]:
        """The pictures for a message that is being sent."""
        taken, self._images = tuple(self._images), []
        return taken

    def give_back(self, images: Sequence[Image]) -> None:
        """Pictures of a message that was not delivered: for the next one."""
        self._images += images

    async def _image(self, rest: str) -> None:
        if not rest:
            self._terms.say("/image FILE takes a PNG, JPEG, GIF or WebP picture.")
            return
        try:
            found = read_image(self._config.workspace / long_path(rest))
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

    async def _diff(self, rest: str) -> None:
        older, _, newer = rest.partition(" ")
        args = {rest or "turn": "1"} if rest in ("", "turn", "session") else {"checkpoint": older}
        if newer:
            args["until"] = newer.strip()
        data = await self._terms.facts(Subject.DIFF, **args)
        if data is not None:
            show = facts.spoken_diff if self._standing.is_spoken else facts.text
            self._terms.say(*show(data))

    async def _take(self, rest: str) -> None:
        """A message that waits comes back as the next draft."""
        waiting = list(self._standing.pending.values())
        if rest:
            self._terms.send(EditPending(input_id=rest, text=None))
        elif not waiting:
            self._terms.say("No message waits.")
        else:
            lines = [f"{each.kind.value}: {one_line(each.text)}" for each in waiting]
            at = await chosen(self._terms, lines, "take back")
            if at is not None:
                self._terms.send(EditPending(input_id=waiting[at].input_id, text=None))

    async def _model(self, rest: str) -> None:
        name, _, more = rest.partition(" ")
        if more.strip() == "default":
            if await self._terms.facts(Subject.MODELS, default=name) is None:
                return
            self._terms.say(f"{one_line(name, strict=True)} is the default of later starts.")
        if name:
            self._terms.send(Set(key="model", value=name))
            return
        self._terms.say(f"Model: {one_line(self._standing.model, strict=True) or 'none'}.")
        found: Sequence[Mapping[str, Any]] = await self._terms.facts(Subject.MODELS) or ()
        if not found:
            self._terms.say("Name another one: /model PROVIDER/MODEL")
            return
        at = await chosen(self._terms, [facts.offer(each) for each in found], "use")
        if at is not None:
            self._terms.send(Set(key="model", value=str(found[at]["name"])))

    async def _transcript(self, _: str) -> None:
        """All that was said, also before this process, in the words of line mode."""
        stored = await self._terms.facts(Subject.TRANSCRIPT, after="0")
        if stored is not None:
            self._terms.say(*Retelling().lines(stored))

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
            self._terms.say(f"The session is in {one_line(short_path(file), strict=True)}.")
