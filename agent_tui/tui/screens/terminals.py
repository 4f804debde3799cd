"""Live and ended terminals: look, attach and type, stop (F3, Ctrl+B, `/ps`)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual import events

from agent_tui.engine.commands import Subject, TerminalInput
from agent_tui.granted import BARE, contained
from agent_tui.safe_text import one_line
from agent_tui.tui import words, xterm_keys
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.link import RefusedError
from agent_tui.tui.screens.view import ListView, View
from agent_tui.tui.transcript.lines import Line, Span, clip, plain, untrusted, width_of, with_right, wrap
from agent_tui.tui.transcript.look import Look
from tools.types import STOP

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

Entry = Mapping[str, Any]
REFRESH_S = 0.5  # the times count, so the list is drawn again in any case
KILL_AFTER_S = 5.0  # of INT and TERM before it
LEAVE = "ctrl+right_square_bracket"


class TerminalsView(ListView[Entry]):
    """The list, with the tail of the picked one."""

    act = "terminals"
    keys_second = "↑ ↓ move · Esc close"

    @property
    def keys_first(self) -> str:  # type: ignore[override]  # computed where the base has a value
        if self.picked is not None and self.picked.get("state") == "live":
            return "Enter attach and type · x stop · o all output · i Ctrl+C to it"
        return "o all output"

    async def load(self) -> None:
        await self.fetch()
        self.set_interval(REFRESH_S, self.fetch)

    async def fetch(self) -> None:
        """Ask again."""
        try:
            found = list(await self.agent.link.ask(Subject.TERMINALS))
        except RefusedError as error:
            self.failure, found = str(error), []
        found.sort(key=lambda each: each.get("state") != "live")  # live ones first
        picked = self.picked and self.picked.get("id")
        at = next((index for index, each in enumerate(found) if each.get("id") == picked), 0)
        self.set_items(found, at=at)

    def title_words(self) -> tuple[str, str]:
        live = sum(each.get("state") == "live" for each in self.items)
        return "terminals", f"{live} live · {len(self.items) - live} ended"

    def empty(self) -> str:
        return "No terminals. Commands that outlive their call appear here"

    def row(self, item: Entry, look: Look) -> Line:
        state, until = str(item.get("state", "")), float(item.get("ended_at") or 0)
        until = until or (self.agent.clock.wall() if state == "live" else 0)  # of a lost one nobody knows
        passed = words.clock(until - float(item.get("started_at") or 0)) if until else ""
        lead = f"{look.glyphs.terminal} {item.get('id', '')!s:<3} {state:<6} {passed:>5}   "
        right = self._right(item, look)
        column = max(width_of(self._right(each, look)) for each in self.items)
        room = min(look.width * 2 // 3, look.width - 3 - column)
        command = untrusted(one_line(str(item.get("command", ""))), strict=True)
        left = clip([Span(lead), *command], room, look.glyphs.more)
        return with_right(left, (*right, Span(" " * (column - width_of(right)))), look.width - 2)

    def _right(self, item: Entry, look: Look) -> Line:
        news = own_words(self._news(item, look), look.glyphs)
        if item.get("stopping_at"):  # whole: it tells what comes next
            return (Span(news, "muted"),)
        return clip(untrusted(news, "muted"), look.width // 3 - 3, look.glyphs.more)

    def _news(self, item: Entry, look: Look) -> str:
        """How it ended, how far its end is, that it waits, or its newest line."""
        if item.get("state") == "ended":
            return _end(item)
        if item.get("stopping_at"):
            asked = self.agent.clock.wall() - float(item["stopping_at"])
            left = f" · next: kill {words.clock(KILL_AFTER_S - asked)}" if asked < KILL_AFTER_S else ""
            return (
                f"stopping{left}" if left and look.narrow else f"stopping · asked {words.clock(asked)}{left}"
            )
        if item.get("awaits_input"):
            return "waiting for input"
        return one_line(str(item.get("tail", "")).rstrip().rpartition("\n")[2])

    def detail(self, look: Look) -> list[Line]:
        item = self.picked
        if item is None:
            return []
        facts = [str(item.get("id"))]
        facts += [f"in {words.home(str(item['cwd']))}"] if item.get("cwd") else []
        facts.append(f"started by call {item.get('call_id', '')}")
        told = [untrusted(one_line(fact), "muted", strict=True) for fact in facts]
        if item.get("sandbox"):
            role = "alarm" if item["sandbox"] == BARE else "muted"
            told.append(untrusted(contained(str(item["sandbox"])), role, strict=True))
        if item.get("size_bytes") is not None:
            told.append([Span(words.size(int(item["size_bytes"])), "muted")])
        between = Span(own_words(" · ", look.glyphs), "muted")
        spans = [span for fact in told for span in (between, *fact)][1:]
        indent = (Span("  "),)
        head = wrap(spans, look.width, first=indent, rest=indent)
        tail = str(item.get("tail", "")).rstrip("\n").split("\n")
        room = max(self.body.size.height - len(self.items) - len(head) - 3, 3)
        bar = (Span("  "), Span(look.glyphs.output + " ", "rule"))
        shown = [(*bar, *clip(untrusted(text), look.width - 4, look.glyphs.more)) for text in tail[-room:]]
        return [*head, *shown]

    def press(self, key: str, character: str) -> bool:
        item = self.picked
        if item is None:
            return False
        name, command = str(item.get("id")), str(item.get("command", ""))
        if key == "enter" and item.get("state") == "live":
            self.agent.push_screen(AttachedView(self.agent, name, command))
        elif character == "o":
            self.agent.views.output(f"{name} · {command}", str(item.get("ref", "")))
        elif (character in ("x", "i") or key == "enter") and item.get("state") != "live":
            self.say(f"{name} is not live")
        elif character == "x":
            self.agent.link.send(TerminalInput(terminal=name, signal=STOP))
            self.say(f"asked {name} to end")
        elif character == "i":
            self.agent.link.send(TerminalInput(terminal=name, signal="INT"))
        else:
            return False
        return True


class AttachedView(View):
    """One terminal, which has all rows but the last: every key but Ctrl+] goes to it."""

    def __init__(self, agent: "AgentApp", terminal: str, command: str) -> None:
        super().__init__(agent)
        self._terminal = terminal
        self._command = command
        self._tail = ""
        self._deaf = ""  # why nothing can be typed; empty where it can
        self.head.display = self.foot.display = False

    @property
    def keys_second(self) -> str:  # type: ignore[override]  # computed where the base has a value
        room, more = max(self.agent.size.width - 40, 10), self.agent.glyphs.more
        command = plain(clip([Span(one_line(self._command))], room, more))
        return f"{self._terminal} {command} · {self._deaf or 'you type here'} · Ctrl+] leave"

    async def load(self) -> None:
        await self.fetch()
        self.set_interval(0.2, self.fetch)

    def on_resize(self) -> None:  # also once it is opened
        super().on_resize()
        width, height = self.agent.size
        self.agent.link.send(TerminalInput(terminal=self._terminal, columns=width, rows=height - 1))

    async def fetch(self) -> None:
        """The newest output."""
        try:
            found = await self.agent.link.ask(Subject.TERMINALS)
        except RefusedError:
            return
        row = next((each for each in found if each.get("id") == self._terminal), None)
        if row is None:
            self.close()
            return
        shown = str(row.get("tail", "")), _deaf(row)
        if shown != (self._tail, self._deaf):
            self._tail, self._deaf = shown
            self.draw()
            self.body.scroll(10**9)

    def content(self, look: Look) -> Sequence[Line]:
        return [tuple(clip(untrusted(text), look.width, look.glyphs.more)) for text in self._tail.split("\n")]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if self._is_for_another(event):
            return
        if event.key in (LEAVE, "f3"):
            self.close()
            return
        if self.is_small:
            self._take(event)
            return
        chars = xterm_keys.sent(event.key, event.character)
        if chars and not self._deaf:
            self.agent.link.send(TerminalInput(terminal=self._terminal, chars=chars))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if not self.is_small and not self._deaf:
            self.agent.link.send(TerminalInput(terminal=self._terminal, chars=event.text))


def _deaf(item: Entry) -> str:
    if item.get("state") == "ended":
        return f"ended, {_end(item)}"
    return "takes no input" if item.get("state") != "live" or not item.get("takes_input", True) else ""


def _end(item: Entry) -> str:
    signal = item.get("signal")
    return f"signal {signal}" if signal else f"exit {item.get('exit_code')}"
