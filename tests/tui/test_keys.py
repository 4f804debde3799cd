"""Every key of the tables: the bytes a terminal sends for it, and what it does where."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.engine.commands import Decide, Interrupt, Settle, Submit
from agent_tui.engine.types import Decision, InputKind, TaskStatus
from agent_tui.tui.screens.diff import DiffView
from agent_tui.tui.screens.help import HelpView
from agent_tui.tui.screens.pager import PagerView
from agent_tui.tui.screens.terminals import AttachedView, TerminalsView
from agent_tui.tui.screens.view import View
from tests.tui import gallery, scenes
from tests.tui.driving import Driven, driven

ESC = b"\x1b"
ALT_UP, ALT_DOWN = b"\x1b[1;3A", b"\x1b[1;3B"
CTRL_UP, CTRL_DOWN = b"\x1b[1;5A", b"\x1b[1;5B"
UP, DOWN, RIGHT, LEFT = b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D"
HOME, END, PAGE_UP, PAGE_DOWN = b"\x1b[H", b"\x1b[F", b"\x1b[5~", b"\x1b[6~"
F1, F2, F3, F4 = b"\x1bOP", b"\x1bOQ", b"\x1bOR", b"\x1bOS"
WORKING = scenes.command_runs
COMPACTING = [events.StatusChanged(activity="compacting")]
PAUSED = [events.TaskChanged(task_id="t1", status=TaskStatus.PAUSED)]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Keys typed into a scene, each element at once; `.` waits until a prompt takes keys."""

    keys: Sequence[bytes]
    play: Callable[[], Sequence[events.Body]] = list
    check: Callable[[Driven], bool]


def sent(*bodies: commands.CommandBody) -> Callable[[Driven], bool]:
    """Exactly these commands went to the engine, facts that were asked for left out."""
    return lambda it: [b for b in it.engine.sent if not isinstance(b, commands.Inspect)] == list(bodies)


def draft(text: str, caret: int | None = None) -> Callable[[Driven], bool]:
    """The editor holds this, and nothing was sent."""
    return lambda it: (
        it.app.editor.text == text
        and it.engine.sent == []
        and caret in (None, it.app.editor.cursor_location[1])
    )


def view(kind: type[View]) -> Callable[[Driven], bool]:
    return lambda it: isinstance(it.app.screen, kind)


def shows(*words: str) -> Callable[[Driven], bool]:
    return lambda it: all(word in it.screen for word in words)


def main_screen(it: Driven) -> bool:
    return len(it.app.screen_stack) == 1


def decided(decision: Decision, **fields: str) -> Callable[[Driven], bool]:
    return sent(Decide(approval_id="ap1", decision=decision, digest="d1", **fields))


def settled(choice: str) -> Callable[[Driven], bool]:
    return sent(Settle(question_id="l1", choice=choice))  # type: ignore[arg-type]


def steer(text: str, *, now: bool = False) -> Submit:
    return Submit(text=text, kind=InputKind.STEER, now=now)


def top(it: Driven) -> tuple[int, int]:
    return it.app.transcript._top


EDITOR = {
    "enter sends": Case(keys=[b"go\r"], check=sent(Submit(text="go"))),
    "enter of an empty editor sends nothing": Case(keys=[b"\r"], check=sent()),
    "enter steers while working": Case(play=WORKING, keys=[b"go\r"], check=sent(steer("go"))),
    "enter goes on when paused": Case(play=lambda: PAUSED, keys=[b"\r"], check=sent(commands.Continue())),
    "enter tries again at once": Case(play=gallery.retry, keys=[b"\r"], check=sent(commands.Continue())),
    "ctrl+j": Case(keys=[b"a\nb"], check=draft("a\nb")),
    "alt+enter": Case(keys=[b"a\x1b\rb"], check=draft("a\nb")),
    "alt+enter, kitty": Case(keys=[b"a\x1b[13;3ub"], check=draft("a\nb")),
    "shift+enter, kitty": Case(keys=[b"a\x1b[13;2ub"], check=draft("a\nb")),
    "shift+enter, modifyOtherKeys": Case(keys=[b"a\x1b[27;2;13~b"], check=draft("a\nb")),
    "backslash enter": Case(keys=[b"a\\\rb"], check=draft("a\nb")),
    "tab queues while working": Case(
        play=WORKING, keys=[b"go\t"], check=sent(Submit(text="go", kind=InputKind.QUEUE))
    ),
    "tab keeps an idle draft": Case(keys=[b"go\t"], check=draft("go")),
    "tab completes a list": Case(keys=[b"/theme\t"], check=draft("/theme ")),
    "ctrl+s steers now": Case(play=WORKING, keys=[b"go\x13"], check=sent(steer("go", now=True))),
    "ctrl+enter, kitty": Case(play=WORKING, keys=[b"go\x1b[13;5u"], check=sent(steer("go", now=True))),
    "ctrl+enter, modifyOtherKeys": Case(
        play=WORKING, keys=[b"go\x1b[27;5;13~"], check=sent(steer("go", now=True))
    ),
    "ctrl+s of an empty editor takes the newest steer": Case(
        play=WORKING,
        keys=[b"\x13"],
        check=sent(
            commands.EditPending(input_id="i2", text=None),
            steer("keep the old behaviour for None too", now=True),
        ),
    ),
    "ctrl+_ undoes": Case(keys=[b"ab", b"\x17", b"\x1f"], check=draft("ab")),
    "alt+z redoes": Case(keys=[b"ab", b"\x17", b"\x1f", b"\x1bz"], check=draft("")),
    "ctrl+shift+z redoes, kitty": Case(keys=[b"ab", b"\x17", b"\x1f", b"\x1b[122;6u"], check=draft("")),
    "ctrl+a": Case(keys=[b"ab\x01"], check=draft("ab", 0)),
    "ctrl+e": Case(keys=[b"ab\x01\x05"], check=draft("ab", 2)),
    "home and end": Case(keys=[b"ab" + HOME + b"x" + END + b"y"], check=draft("xaby", 4)),
    "alt+b": Case(keys=[b"one two\x1bb"], check=draft("one two", 4)),
    "alt+f": Case(keys=[b"one two\x01\x1bf"], check=draft("one two", 3)),
    "ctrl+left and ctrl+right": Case(
        keys=[b"one two\x1b[1;5D", b"\x1b[1;5D", b"\x1b[1;5C"], check=draft("one two", 3)
    ),
    "ctrl+w": Case(keys=[b"one two\x17"], check=draft("one ")),
    "alt+backspace": Case(keys=[b"one two\x1b\x7f"], check=draft("one ")),
    "ctrl+u": Case(keys=[b"one two" + LEFT + b"\x15"], check=draft("o")),
    "ctrl+k": Case(keys=[b"one two\x01\x0b"], check=draft("")),
    "ctrl+y": Case(keys=[b"one two\x17\x01\x19"], check=draft("twoone ")),
    "alt+d": Case(keys=[b"one two\x01\x1bd"], check=draft(" two")),
    "left, right, backspace, delete": Case(
        keys=[b"abcd" + LEFT * 2 + RIGHT + b"\x7f\x1b[3~"], check=draft("ab")
    ),
    "ctrl+d deletes forward": Case(keys=[b"ab\x01\x04"], check=draft("b")),
    "ctrl+d quits on an empty editor": Case(keys=[b"\x04"], check=sent(commands.Shutdown())),
    "up and down go through the history": Case(
        keys=[b"one\r", b"two\r", UP, UP, DOWN],
        check=lambda it: it.app.editor.text == "two",
    ),
    "ctrl+p and ctrl+n": Case(
        keys=[b"one\r", b"two\r", b"\x10", b"\x10", b"\x0e"], check=lambda it: it.app.editor.text == "two"
    ),
    "ctrl+r, again, ctrl+s": Case(
        keys=[b"make a\r", b"make b\r", b"\x12", b"make", b"\x12", b"\x13", b"\x12"],
        check=lambda it: it.app.editor.text == "make a" and "history: make▏ · 2 of 2" in it.screen,
    ),
    "enter takes a hit of ctrl+r": Case(
        keys=[b"make a\r", b"\x12", b"mak", b"\r"],
        check=lambda it: it.app.editor.text == "make a" and "history" not in it.screen,
    ),
    "esc leaves ctrl+r": Case(
        keys=[b"make a\r", b"old", b"\x12", b"mak", ESC], check=lambda it: it.app.editor.text == "old"
    ),
    "up of an empty editor takes the pending message": Case(
        play=WORKING, keys=[UP], check=sent(commands.EditPending(input_id="i3", text=None))
    ),
    "alt+up": Case(play=WORKING, keys=[ALT_UP], check=sent(commands.EditPending(input_id="i3", text=None))),
    "slash lists commands": Case(keys=[b"/"], check=shows("Tab complete · Enter run · Esc close")),
    "an at sign lists files": Case(keys=[b"see @slu"], check=shows("> slugify.py")),
    "! runs a command": Case(keys=[b"!ls\r"], check=sent(commands.RunShell(command="ls"))),
    "!! keeps it from the model": Case(
        keys=[b"!!ls\r"], check=sent(commands.RunShell(command="ls", to_context=False))
    ),
    "a question mark in a draft is a letter": Case(keys=[b"a?"], check=draft("a?")),
    "ctrl+v without a picture says so": Case(keys=[b"\x16"], check=shows("clipboard")),
    "ctrl+g without an editor says so": Case(
        keys=[b"\x07"], check=shows("no editor: set $VISUAL or $EDITOR")
    ),
    "ctrl+x ctrl+e without an editor says so": Case(
        keys=[b"\x18\x05"], check=shows("no editor: set $VISUAL or $EDITOR")
    ),
    "alt+down": Case(
        play=WORKING, keys=[ALT_DOWN], check=sent(commands.EditPending(input_id="i3", text=None))
    ),
    "ctrl+q": Case(keys=[b"a\x11b"], check=draft("ab")),
    "ctrl+backslash": Case(keys=[b"a\x1cb"], check=draft("ab")),
    "alt and punctuation": Case(keys=[b"a\x1b;b"], check=draft("a;b")),
    "a paste": Case(keys=[b"\x1b[200~a\r\n/quit\ty\x1b[201~"], check=draft("a\n/quit\ty")),
}

STOPPING = {
    "esc interrupts": Case(play=WORKING, keys=[ESC], check=sent(Interrupt())),
    "esc esc kills": Case(play=WORKING, keys=[ESC, ESC], check=sent(Interrupt(), Interrupt(force=True))),
    "esc esc at once kills": Case(
        play=WORKING, keys=[ESC + ESC], check=sent(Interrupt(), Interrupt(force=True))
    ),
    "esc esc opens rewind": Case(keys=[ESC, ESC], check=shows("rewind · go back to before")),
    "esc esc at once opens rewind": Case(keys=[ESC + ESC], check=shows("rewind · go back to before")),
    "rewind keeps the draft": Case(
        keys=[b"draft", ESC + ESC, ESC], check=lambda it: it.app.editor.text == "draft" and main_screen(it)
    ),
    "esc closes a list": Case(keys=[b"/co", ESC], check=lambda it: "Tab complete" not in it.screen),
    "esc closes a view": Case(keys=[F1, ESC], check=main_screen),
    "q closes a view": Case(keys=[F1, b"q"], check=main_screen),
    "esc leaves a picked block": Case(play=WORKING, keys=[CTRL_UP, ESC, b"x"], check=draft("x")),
    "esc at a prompt denies and pauses": Case(
        play=scenes.asks, keys=[ESC], check=decided(Decision.DENY_AND_PAUSE)
    ),
    "ctrl+c clears the draft, which the history keeps": Case(
        keys=[b"draft", b"\x03", UP], check=draft("draft")
    ),
    "esc stops a compaction": Case(play=lambda: COMPACTING, keys=[ESC], check=sent(Interrupt())),
    "ctrl+c stops a compaction": Case(play=lambda: COMPACTING, keys=[b"\x03"], check=sent(Interrupt())),
    "ctrl+c interrupts": Case(play=WORKING, keys=[b"\x03"], check=sent(Interrupt())),
    "ctrl+c twice kills": Case(
        play=WORKING, keys=[b"\x03", b"\x03"], check=sent(Interrupt(), Interrupt(force=True))
    ),
    "ctrl+c says how to quit": Case(keys=[b"\x03"], check=shows("Ctrl+C again to quit")),
    "ctrl+c twice quits": Case(keys=[b"\x03", b"\x03"], check=sent(commands.Shutdown())),
}

LOOKING = {
    "f1": Case(keys=[F1], check=view(HelpView)),
    "? of an empty editor": Case(keys=[b"?"], check=view(HelpView)),
    "ctrl+t": Case(keys=[b"\x14"], check=view(PagerView)),
    "f2": Case(keys=[F2], check=view(PagerView)),
    "ctrl+f": Case(keys=[b"\x06"], check=lambda it: view(PagerView)(it) and "find:" in it.screen),
    "f3": Case(keys=[F3], check=view(TerminalsView)),
    "ctrl+b": Case(keys=[b"\x02"], check=view(TerminalsView)),
    "f4": Case(keys=[F4], check=lambda it: not it.app.mouse_on and "mouse off" in it.screen),
    "f4 twice": Case(keys=[F4, F4], check=lambda it: it.app.mouse_on),
    "ctrl+l": Case(keys=[b"draft\x0c"], check=draft("draft")),
    "page up": Case(
        play=scenes.finished,
        keys=[PAGE_UP],
        check=lambda it: not it.app.transcript.following and "End newest" in it.screen,
    ),
    "page down": Case(
        play=scenes.finished, keys=[PAGE_UP, PAGE_DOWN], check=lambda it: it.app.transcript.following
    ),
    "home of an empty editor": Case(play=WORKING, keys=[HOME], check=lambda it: top(it) == (0, 0)),
    "end of an empty editor": Case(
        play=WORKING, keys=[HOME, END], check=lambda it: it.app.transcript.following
    ),
    "ctrl+home": Case(play=WORKING, keys=[b"x\x1b[1;5H"], check=lambda it: top(it) == (0, 0)),
    "ctrl+end": Case(
        play=WORKING, keys=[b"x\x1b[1;5H", b"\x1b[1;5F"], check=lambda it: it.app.transcript.following
    ),
    "ctrl+up picks": Case(play=scenes.finished, keys=[CTRL_UP], check=shows("Esc leave")),
    "ctrl+down picks the next": Case(
        play=scenes.finished,
        keys=[CTRL_UP, CTRL_UP, CTRL_DOWN],
        check=lambda it: it.app.transcript.picked == len(it.app.transcript.blocks) - 1,
    ),
    "ctrl+o shows more of the newest": Case(
        play=scenes.finished,
        keys=[b"\x0f"],
        check=lambda it: any(block.expanded for block in it.app.transcript.blocks),
    ),
    "d on a picked block": Case(play=gallery.cards, keys=[CTRL_UP, b"d"], check=view(DiffView)),
    "enter on a picked block": Case(
        play=gallery.thought, keys=[CTRL_UP, CTRL_UP, b"\r"], check=shows("The function strips everything")
    ),
    "y on a picked block": Case(
        play=gallery.thought, keys=[CTRL_UP, b"y"], check=lambda it: it.app.clipboard == "I look."
    ),
    "b on a picked block": Case(play=gallery.cards, keys=[CTRL_UP, b"b"], check=shows("rollback ·")),
    "a letter returns to the editor": Case(play=gallery.cards, keys=[CTRL_UP, b"x"], check=draft("x")),
    "ctrl+] leaves a terminal": Case(keys=[F3, b"\r", b"\x1d"], check=view(TerminalsView)),
    "f3 leaves a terminal": Case(keys=[F3, b"\r", F3], check=view(TerminalsView)),
    "other keys go to the terminal": Case(
        keys=[F3, b"\r", b"q\x03" + UP + ESC],
        check=lambda it: (
            view(AttachedView)(it)
            and [b.chars for b in it.engine.sent_of(commands.TerminalInput)][1:]
            == ["q", "\x03", "\x1b[A", "\x1b"]  # type: ignore[attr-defined]
        ),
    ),
}


def body(it: Driven) -> int:
    """First line in view of an open view."""
    assert isinstance(it.app.screen, View)
    return it.app.screen.body.top


VIEWS = {
    "j": Case(play=scenes.finished, keys=[F2, b"g", b"j"], check=lambda it: body(it) == 1),
    "k": Case(play=scenes.finished, keys=[F2, b"g", b"jjk"], check=lambda it: body(it) == 1),
    "down and up": Case(
        play=scenes.finished, keys=[F2, b"g", DOWN + DOWN + UP], check=lambda it: body(it) == 1
    ),
    "d in the pager": Case(play=scenes.finished, keys=[F2, b"{", b"d"], check=view(DiffView)),
    "g": Case(play=scenes.finished, keys=[F2, b"g"], check=lambda it: body(it) == 0),
    "G": Case(play=scenes.finished, keys=[F2, b"g", b"G"], check=shows("100%")),
    "space": Case(play=scenes.finished, keys=[F2, b"g", b" "], check=lambda it: body(it) > 1),
    "page down and page up": Case(
        play=scenes.finished, keys=[F2, b"g", PAGE_DOWN + PAGE_UP], check=lambda it: body(it) == 0
    ),
    "b": Case(play=scenes.finished, keys=[F2, b"g", b" b"], check=lambda it: body(it) == 0),
    "home and end": Case(play=scenes.finished, keys=[F2, HOME, END], check=shows("100%")),
    "slash finds": Case(
        play=scenes.finished,
        keys=[F2, b"g", b"/64 passed\r"],
        check=lambda it: it.app.screen.body.marked >= 0,
    ),  # type: ignore[attr-defined]
    "n and N go to other hits": Case(
        play=scenes.finished,
        keys=[F2, b"g", b"/slugify\r", b"n", b"N", b"N"],
        check=lambda it: it.app.screen.body.marked > 20,  # type: ignore[attr-defined]
    ),
    "ctrl+c closes a view": Case(keys=[b"draft", F1, b"\x03"], check=draft("draft")),
    "ctrl+c interrupts in a view": Case(
        play=WORKING, keys=[F1, b"\x03"], check=lambda it: view(HelpView)(it) and sent(Interrupt())(it)
    ),
    "ctrl+c leaves what is searched for": Case(
        play=WORKING, keys=[F2, b"/slug\x03"], check=lambda it: view(PagerView)(it) and sent()(it)
    ),
    "f1 over a view, and back": Case(keys=[F2, F1, F1], check=view(PagerView)),
    "f2 closes its view": Case(keys=[F2, F2], check=main_screen),
    "ctrl+t over a view": Case(keys=[F1, b"\x14"], check=view(PagerView)),
    "f3 over a view, and back": Case(keys=[F1, F3, b"\x02"], check=view(HelpView)),
    "f4 in a view": Case(keys=[F1, F4], check=lambda it: not it.app.mouse_on and "mouse off" in it.screen),
    "ctrl+f finds in a view": Case(keys=[F1, b"\x06", b"queue"], check=shows("find: queue")),
    "ctrl+home and ctrl+end in a view": Case(
        play=scenes.finished,
        keys=[F2, b"\x1b[1;5H", b"\x1b[1;5F", b"\x1b[1;5H"],
        check=lambda it: body(it) == 0,
    ),
    "3 in a diff names a checkpoint": Case(
        play=scenes.finished, keys=[b"/diff\r", b"3", b"7f3a/14\r"], check=shows("diff · since 7f3a/14")
    ),
    "a paste goes to what is written in a view": Case(
        play=scenes.finished,
        keys=[b"/diff\r", b"3", b"\x1b[200~7f3a/14\n\x1b[201~", b"\r"],
        check=shows("diff · since 7f3a/14"),
    ),
    "s in a narrow diff says from where on": Case(
        play=scenes.finished, keys=[b"/diff\r", b"s", b"s"], check=shows("side by side from 120 columns on")
    ),
    "no hit is said": Case(
        play=scenes.finished, keys=[F2, b"/nowhere\r"], check=shows('No match for "nowhere"')
    ),
    "] and [ in the pager": Case(
        play=scenes.finished, keys=[F2, b"g", b"]", b"["], check=lambda it: body(it) == 0
    ),
}

PROMPTS = {
    "y": Case(play=scenes.asks, keys=[b".", b"y"], check=decided(Decision.ONCE)),
    "s": Case(play=scenes.asks, keys=[b".", b"s"], check=decided(Decision.SESSION)),
    "p shows the rule": Case(play=scenes.asks, keys=[b".", b"p"], check=shows("save a rule", "save and run")),
    "e edits": Case(
        play=scenes.asks,
        keys=[b".", b"e", b"!\r"],
        check=decided(Decision.EDIT, edited="make publish INDEX=staging!"),
    ),
    "n": Case(play=scenes.asks, keys=[b".", b"n"], check=decided(Decision.DENY)),
    "f takes words": Case(
        play=scenes.asks, keys=[b".", b"f", b"no\r"], check=decided(Decision.DENY, feedback="no")
    ),
    "v": Case(play=scenes.asks, keys=[b".", b"v"], check=shows("1 line, 26 bytes")),
    "g": Case(play=gallery.leaves_sandbox, keys=[b".", b"g"], check=shows("network on")),
    "? says why": Case(
        play=scenes.asks, keys=[b".", b"?"], check=shows("because   not a known safe command")
    ),
    "a digit": Case(play=scenes.asks, keys=[b".", b"2"], check=decided(Decision.SESSION)),
    "the digit of deny": Case(play=scenes.asks, keys=[b".", b"5"], check=decided(Decision.DENY)),
    "enter alone accepts nothing": Case(play=scenes.asks, keys=[b".", b"\r"], check=sent()),
    "arrows and enter": Case(
        play=scenes.asks, keys=[b".", DOWN, DOWN, UP, b"\r"], check=decided(Decision.ONCE)
    ),
    "an unarmed key goes to the draft": Case(play=scenes.asks, keys=[b"y"], check=draft("y")),
    "tab goes to the editor": Case(play=scenes.asks, keys=[b".", b"\t", b"y"], check=draft("y")),
    "tab stays in an empty editor": Case(
        play=scenes.asks,
        keys=[b".", b"\t", b".", b"x\x7f", b"."],
        check=lambda it: draft("")(it) and shows("Shift+Tab answer it", "·  once")(it),
    ),
    "shift+tab comes back": Case(
        play=scenes.asks, keys=[b"x", b"\x1b[Z", b"n"], check=decided(Decision.DENY)
    ),
    "a paste goes to the draft": Case(
        play=scenes.asks, keys=[b".", b"\x1b[200~y\x1b[201~"], check=draft("y")
    ),
    **{
        f"{name} of an armed prompt": Case(play=scenes.asks, keys=[b".", key], check=view(kind))
        for name, key, kind in (
            ("f1", F1, HelpView),
            ("f2", F2, PagerView),
            ("ctrl+t", b"\x14", PagerView),
            ("ctrl+f", b"\x06", PagerView),
            ("f3", F3, TerminalsView),
            ("ctrl+b", b"\x02", TerminalsView),
        )
    },
    "f4 of an armed prompt": Case(play=scenes.asks, keys=[b".", F4], check=lambda it: not it.app.mouse_on),
    "page up scrolls behind an armed prompt": Case(
        play=lambda: [*scenes.finished(), *scenes.asks()],
        keys=[b".", PAGE_UP],
        check=lambda it: not it.app.transcript.following,
    ),
    "ctrl+up of an armed prompt picks, and y copies": Case(
        play=scenes.asks,
        keys=[b".", CTRL_UP, b"y"],
        check=lambda it: sent()(it) and it.app.clipboard != "",
    ),
    "tab of a picked block goes to the editor": Case(
        play=scenes.asks, keys=[CTRL_UP, b"\t", b"x"], check=draft("x")
    ),
    "shift+tab of a picked block goes to the prompt": Case(
        play=scenes.asks, keys=[CTRL_UP, b"\x1b[Z", b"n"], check=decided(Decision.DENY)
    ),
    "a held key answers once": Case(play=scenes.asks, keys=[b".", b"yyy"], check=decided(Decision.ONCE)),
    "] and [ step": Case(
        play=lambda: [*scenes.asks(), *scenes.approval(2, "rm -r build")],
        keys=[b".", b"]", b".", b"[", b".", b"]"],
        check=shows("> 2  waiting", "2 of 2"),
    ),
    "right and left step": Case(
        play=lambda: [*scenes.asks(), *scenes.approval(2, "rm -r build")],
        keys=[b".", RIGHT, b".", LEFT],
        check=shows("> 1  waiting", "1 of 2"),
    ),
    "k keeps a lost result": Case(play=gallery.lost, keys=[b".", b"k"], check=settled("keep")),
    "b shows what going back before it would do": Case(
        play=gallery.lost,
        keys=[b".", b"b"],
        check=lambda it: sent()(it) and shows("rollback · files · to", "roll back", "Esc back")(it),
    ),
    "enter goes back before it once that was seen": Case(
        play=gallery.lost,
        keys=[b".", b"b", b"\r", b"f", b"c", b" ", b".", b"\r"],
        check=sent(Settle(question_id="l1", choice="rollback", conflicts={"README.md": "take"})),
    ),
    "esc leaves what going back would do for the question": Case(
        play=gallery.lost, keys=[b".", b"b", b".", ESC, b".", b"k"], check=settled("keep")
    ),
    "a asks again": Case(play=gallery.lost, keys=[b".", b"a", b"."], check=shows("yes, run it again")),
    "x stops": Case(play=gallery.lost, keys=[b".", b"x"], check=settled("stop")),
    "esc stops": Case(play=gallery.lost, keys=[ESC], check=settled("stop")),
    "y and n answer no lost result": Case(play=gallery.lost, keys=[b".", b"y", b"n"], check=sent()),
    "a digit answers a question": Case(
        play=gallery.question, keys=[b".", b"1"], check=sent(commands.Answer(question_id="q1", text="SQLite"))
    ),
    "esc leaves a question": Case(
        play=gallery.question, keys=[ESC], check=sent(commands.Answer(question_id="q1", text=None))
    ),
    "page up scrolls behind an unarmed prompt": Case(
        play=lambda: [*scenes.finished(), *scenes.asks()],
        keys=[PAGE_UP],
        check=lambda it: not it.app.transcript.following,
    ),
}

PENDING = {
    "enter": Case(
        play=WORKING,
        keys=[ALT_UP, ALT_UP, b"\r"],
        check=lambda it: it.engine.sent[-1] == commands.EditPending(input_id="i3", text=None),
    ),
    "delete": Case(
        play=WORKING, keys=[ALT_UP, ALT_UP, b"\x1b[3~"], check=lambda it: "i3" in it.app.session.dropped
    ),
    "s": Case(
        play=WORKING,
        keys=[ALT_UP, ALT_UP, b"s"],
        check=lambda it: it.engine.sent[-1] == steer("then update the changelog", now=True),
    ),
    "t": Case(
        play=WORKING,
        keys=[ALT_UP, ALT_UP, b"t"],
        check=lambda it: (
            it.engine.sent[-1]
            == commands.EditPending(input_id="i3", text="then update the changelog", kind=InputKind.STEER)
        ),
    ),
    "up and q": Case(
        play=WORKING,
        keys=[ALT_UP, ALT_UP, UP, b"q"],
        check=lambda it: (
            it.engine.sent[-1]
            == commands.EditPending(
                input_id="i2", text="keep the old behaviour for None too", kind=InputKind.QUEUE
            )
        ),
    ),
    "esc": Case(play=WORKING, keys=[ALT_UP, ALT_UP, ESC, b"x"], check=lambda it: it.app.editor.text == "x"),
}

CASES = {
    f"{where}: {what}": case
    for where, table in (
        ("editor", EDITOR),
        ("stopping", STOPPING),
        ("looking", LOOKING),
        ("views", VIEWS),
        ("prompts", PROMPTS),
        ("pending", PENDING),
    )
    for what, case in table.items()
}


@pytest.mark.parametrize("name", CASES)
async def test_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(variable, raising=False)
    case = CASES[name]
    async with driven(tmp_path, case.play(), on=gallery.Scene().on) as it:
        for data in case.keys:
            await (it.wait_for_arming() if data == b"." else it.feed(data))
        assert case.check(it), it.screen
