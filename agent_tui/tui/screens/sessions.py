"""Stored sessions: find, resume, fork, rename, delete."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from textual import events

from agent_tui.engine.commands import Set, Subject
from agent_tui.engine.types import end_word
from agent_tui.safe_text import one_line
from agent_tui.tui import words
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import ListView
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, untrusted, width_of, wrap
from agent_tui.tui.transcript.look import Look

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

Entry = Mapping[str, Any]

ELSEWHERE = "open in another terminal"
SORTS = ("newest", "oldest", "title", "messages")
_FILES, _MESSAGES = 7, 10  # columns


def when(at: float, now: float) -> str:
    """`today 14:31`, `yesterday`, `24 Nov`."""
    then, today = time.localtime(at), time.localtime(now)
    if then[:3] == today[:3]:
        return f"today {words.time_of_day(at)}"
    if then[:3] == time.localtime(now - 86_400)[:3]:
        return "yesterday"
    return time.strftime("%d %b", then).lstrip("0")


def _moment(at: float, now: float) -> str:
    """`13:40`, or the day where it was another."""
    return words.time_of_day(at) if time.localtime(at)[:3] == time.localtime(now)[:3] else when(at, now)


def ended_words(item: Entry, own: str) -> str:
    """How a session stands, in the words of 3.7."""
    if item.get("damage"):
        return "damaged"
    if item.get("id") == own:
        return "this one"
    reason = str(item.get("ended") or "")
    if item.get("live"):
        return "waiting" if reason == "waiting" else ELSEWHERE
    return end_word(reason)


class SessionsView(ListView[Entry]):
    """Enter leaves this session, which is kept, and continues the picked one."""

    keys_of_none = "a all workspaces"

    def __init__(self, agent: "AgentApp") -> None:
        super().__init__(agent)
        self._all: list[Entry] = []
        self._taken: dict[
            str, list[float]
        ] = {}  # session → times of its checkpoints, UTC seconds, newest first
        self._everywhere = False
        self._sort = 0
        self._deleting = ""  # id that `x` was pressed on
        self._elsewhere = ""  # id that Enter was pressed on, which another process has open

    @property
    def keys_first(self) -> str:  # type: ignore[override]  # computed where the base has a value
        is_own = self.picked is not None and self.picked.get("id") == self.agent.session.session_id
        return "Enter resume · f fork · r rename · a all workspaces" + ("" if is_own else " · x delete")

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        return f"/ find · Tab sort: {SORTS[self._sort]} · Esc close"

    async def load(self) -> None:
        await self._fetch()
        with suppress(RefusedError):  # the list is what counts
            for each in await self.agent.link.ask(Subject.CHECKPOINTS):  # newest first
                self._taken.setdefault(each["session"], []).append(each["created_at"])
            self.draw()

    async def _fetch(self, **args: str) -> None:
        """The list, after what `args` asks to be done to one of them."""
        try:
            self._all = list(await self.agent.link.ask(Subject.SESSIONS, **args))
        except RefusedError as error:
            if self.loaded:
                self.say(str(error))
            else:
                self.failure = str(error)
        self._filter()

    @property
    def _here(self) -> list[Entry]:
        here = self.agent.session.workspace
        return [each for each in self._all if self._everywhere or str(each.get("workspace", here)) == here]

    def _filter(self) -> None:
        wanted = (self._finding or self._found).lower()
        shown = [each for each in self._here if wanted in f"{each.get('id')} {each.get('title')}".lower()]
        shown.sort(key=lambda each: -float(each.get("updated_at") or 0))
        match SORTS[self._sort]:
            case "oldest":
                shown.reverse()
            case "title":
                shown.sort(key=lambda each: str(each.get("title") or "").lower())
            case "messages":
                shown.sort(key=lambda each: -int(each.get("messages") or 0))
        picked = self.picked["id"] if self.picked else ""
        at = next((index for index, each in enumerate(shown) if each.get("id") == picked), 0)
        self.set_items(shown, at=at)

    def title_words(self) -> tuple[str, str]:
        where = "all workspaces" if self._everywhere else "this workspace"
        forks = sum(bool(each.get("forked_from")) for each in self._here)
        right = str(len(self._here)) + (f" · {words.count(forks, 'fork')}" if forks else "")
        return f"sessions · {where}", right

    def empty(self) -> str:
        if self._finding or self._found:
            return f'No match for "{self._finding or self._found}"'
        return "No sessions here yet. a shows all workspaces"

    def header(self, look: Look) -> list[Line]:
        wanted = self._finding if self._finding is not None else self._found
        rows: list[Line] = []
        if wanted:
            count = f"{look.glyphs.separator}{len(self.items)} of {len(self._here)}"
            rows.append((Span("  find: ", "muted"), *untrusted(wanted, "strong"), Span(count, "muted")))
        if not self.items:
            return rows
        numbers = "" if look.narrow else "messages  files  "
        left = f"  {'id':<9} {'last used':<12} {'title':<{self._title_room(look)}} "
        return [*rows, BLANK, (Span(f"{left}{numbers}ended", "muted"),)]

    def _title_room(self, look: Look) -> int:
        taken = 2 + 10 + 13 + 1 + (0 if look.narrow else _MESSAGES + _FILES) + 11
        return max(look.width - taken, 8)

    def row(self, item: Entry, look: Look) -> Line:
        used = when(float(item.get("updated_at") or 0), self.agent.clock.wall())
        mark = "+" if item.get("forked_from") else ""
        room = self._title_room(look)
        shown = one_line(str(item.get("title") or "(no message)"))
        title = clip(untrusted(shown), room, look.glyphs.more)
        state = ended_words(item, self.agent.session.session_id)
        cells: list[Span] = [
            *untrusted(f"{str(item.get('id', ''))[:8] + mark:<9} ", strict=True),
            Span(f"{used:<12} "),
            *title,
            Span(" " * (room - width_of(title) + 1)),
        ]
        if not look.narrow and state != ELSEWHERE:
            numbers = (
                f"{item.get('messages', '')!s:>{_MESSAGES - 2}}  {item.get('files', '')!s:>{_FILES - 2}}  "
            )
            cells.append(Span(numbers, "muted"))
        return (*cells, *untrusted(state, "muted"))

    def detail(self, look: Look) -> list[Line]:
        item = self.picked
        if item is None:
            return []
        lead = f"  {item.get('id')}  "
        rest = (Span(" " * len(lead)),)
        rows: list[Line] = []
        if item.get("damage"):
            rows += wrap(untrusted(str(item["damage"]), "attention"), look.width, first=rest, rest=rest)
        if item.get("last"):
            last = untrusted(f'last: "{one_line(str(item["last"]))}"')
            rows.append(clip([*rest, *last], look.width, look.glyphs.more))
        text = own_words(" · ", look.glyphs).join(map(one_line, self._facts(item)))
        rows.append(clip([*rest, *untrusted(text, "muted")], look.width, look.glyphs.more))
        rows[0] = (Span(lead, "strong"), *rows[0][1:])
        return rows

    def _facts(self, item: Entry) -> list[str]:
        """What it took, what can be taken back, what it changed."""
        model = str(item.get("model") or "")
        facts = [model.partition("/")[2] or model] if model else []
        facts += [words.money(float(item["cost_usd"]))] if item.get("cost_usd") else []
        used, window = int(item.get("context_tokens") or 0), int(item.get("context_window") or 0)
        facts += [f"{min(used * 100 // window, 100)}% of the window"] if used and window else []
        if taken := self._taken.get(str(item.get("id"))):
            facts.append(f"undo from {_moment(taken[-1], self.agent.clock.wall())}")
        facts += [words.home(str(item.get("workspace") or ""))] if self._everywhere else []
        if item.get("forked_from") and not item.get("fork_title"):  # it says so itself
            facts.append(f"fork of {item['forked_from']}")
        if item.get("files"):
            files = ", ".join(map(str, item.get("paths") or ()))
            facts.append(words.count(int(item["files"]), "file") + (f": {files}" if files else ""))
        return facts

    # --- keys ----------------------------------------------------------------------------------

    def _rename(self, title: str) -> None:
        item = self.picked
        if item is None:
            return
        if item.get("id") == self.agent.session.session_id:
            self.agent.link.send(Set(key="title", value=title))
            self.run_worker(self._fetch())  # answered after the change: commands are obeyed in order
        else:
            self.run_worker(self._fetch(rename=str(item["id"]), title=title))

    def _find_key(self, event: events.Key) -> None:
        super()._find_key(event)
        if self._finding is None and event.key == "escape":
            self._found = ""
        self._filter()

    def _find_next(self, by: int) -> None:
        """The rows are those that were found."""

    def press(self, key: str, character: str) -> bool:
        item = self.picked
        doomed, self._deleting = self._deleting, ""
        watched, self._elsewhere = self._elsewhere, ""
        if watched and character == "w":
            self.agent.views.watch(watched)
            return True
        if doomed:
            if character == "x" and item is not None and item.get("id") == doomed:
                if self.is_armed:
                    self.run_worker(self._delete(doomed))
                else:
                    self._ask_to_delete(doomed)
                    self.too_early()
            return character == "x" or key == "escape"
        if character == "a":
            self._everywhere = not self._everywhere
            self._filter()
        elif key == "tab":
            self._sort = (self._sort + 1) % len(SORTS)
            self._filter()
        elif key == "escape" and self._found:
            self._found = ""
            self._filter()
        elif item is not None and (key == "enter" or character in ("f", "r", "x")):
            self._press_item(item, "enter" if key == "enter" else character)
        else:
            return False
        return True

    def _press_item(self, item: Entry, act: str) -> None:
        name, own = str(item["id"]), self.agent.session.session_id
        if act == "f":
            self.agent.outside.switch(name, fork=True)
        elif act == "r":
            self.ask_line("title", one_line(str(item.get("title") or "")), self._rename)
        elif act == "x" and name == own:
            self.say("this session is open here; leave it first")
        elif act == "x":
            self._ask_to_delete(name)
        elif name == own:
            self.close()
        elif item.get("live"):
            self._elsewhere = name
            self.say(f"{name} is {ELSEWHERE}: w watch · f continue a copy")
        else:
            self.agent.outside.switch(name)

    def _ask_to_delete(self, name: str) -> None:
        self._deleting = name
        taken = len(self._taken.get(name, ()))
        stay = f" its {words.count(taken, 'checkpoint')} stay{'s' * (taken == 1)};" if taken else ""
        self.ask_again(f"delete {name} and its output for good?{stay}", "x again · Esc")

    async def _delete(self, name: str) -> None:
        await self._fetch(remove=name)
        if not any(each.get("id") == name for each in self._all):
            self.say(f"{name} is deleted")
