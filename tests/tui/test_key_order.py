"""Keys written at once: each does what it means after the one before it, wherever that left the keys."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.engine.types import InputKind
from agent_tui.tui.screens.diff import DiffView
from agent_tui.tui.screens.help import HelpView
from agent_tui.tui.screens.pager import PagerView
from tests.tui import gallery, scenes
from tests.tui.driving import Driven, driven
from tests.tui.test_keys import ALT_DOWN, ALT_UP, CTRL_UP, DOWN, ESC, F1, LEFT, RIGHT, UP, WORKING

PASTE = b"\x1b[200~%s\x1b[201~"


def holds(text: str) -> Callable[[Driven], bool]:
    """The draft is this, nothing else is open and nothing was asked of the engine."""
    return lambda it: it.app.editor.text == text and len(it.app.screen_stack) == 1 and not it.engine.sent


def interrupts(it: Driven) -> bool:
    return it.engine.sent == [commands.Interrupt()]


def deciding(it: Driven) -> bool:
    return bool(it.engine.sent_of(commands.Decide))


def opened(kind: type, text: str = "") -> Callable[[Driven], bool]:
    return lambda it: isinstance(it.app.screen, kind) and it.app.editor.text == text


PICKED = {
    "letters behind one that leaves the block": (b"fold", holds("fold")),
    "a letter of the block behind one that leaves it": (b"xb", holds("xb")),
    "letters behind esc": (ESC + b"dx", holds("dx")),
    "letters behind tab": (b"\tyd", holds("yd")),
    "a paste": (PASTE % b"dy" + b"b", holds("dyb")),
    "the caret moves": (b"ab" + LEFT + b"c", holds("acb")),
    "another block": (CTRL_UP + b"xd", holds("xd")),
    "ctrl+up at once": (ESC + CTRL_UP + b"d", opened(DiffView)),
}


@pytest.mark.parametrize(("keys", "check"), PICKED.values(), ids=PICKED)
async def test_behind_a_picked_block(tmp_path: Path, keys: bytes, check: Callable[[Driven], bool]) -> None:
    async with driven(tmp_path, gallery.cards(), on=gallery.Scene().on) as it:
        await it.feed(CTRL_UP)
        if keys.startswith(ESC + b"d"):
            await it.feed(ESC)
            keys = keys[1:]
        await it.feed(keys)
        assert check(it), it.screen


async def test_a_block_that_goes_while_it_is_picked_keeps_no_keys(tmp_path: Path) -> None:
    async with driven(tmp_path, gallery.cards(), on=gallery.Scene().on) as it:
        await it.feed(CTRL_UP)
        it.app.transcript.replace_all(it.app.transcript.blocks[:1])
        await it.feed(b"dy")
        assert it.app.editor.text == "dy", it.screen


async def test_a_prompt_that_is_turned_to_leaves_the_block(tmp_path: Path) -> None:
    async with driven(tmp_path, [*gallery.cards(), *scenes.asks()], on=gallery.Scene().on) as it:
        await it.feed(CTRL_UP)
        it.app.prompt.turn_to()
        await it.settle()
        assert it.app.transcript.picked is None
        await it.feed(b"n")
        await it.wait_for_arming()
        assert deciding(it)


PENDING = {
    "a word": (b"hello", lambda it: it.app.editor.text == "hello"),
    "a word that begins with a key of the list": (
        b"\x1bOBx",  # behind one that is
        lambda it: it.app.editor.text == "x",
    ),
    "ctrl+c interrupts": (b"\x03", lambda it: it.engine.sent[-1] == commands.Interrupt()),
    "ctrl+t": (b"\x14", opened(PagerView)),
    "f1": (F1, opened(HelpView)),
    "a paste": (PASTE % b"s", lambda it: it.app.editor.text == "s"),
    "enter, and a word": (
        b"\rsq",
        lambda it: (
            it.engine.sent[-1] == commands.EditPending(input_id="i3", text=None)
            and it.app.editor.text == "sq"
        ),
    ),
}


@pytest.mark.parametrize(("keys", "check"), PENDING.values(), ids=PENDING)
async def test_in_the_open_pending_list(tmp_path: Path, keys: bytes, check: Callable[[Driven], bool]) -> None:
    async with driven(tmp_path, WORKING(), on=gallery.Scene().on) as it:
        await it.feed(ALT_UP + ALT_UP)
        assert "Del remove" in it.screen
        await it.feed(keys)
        assert check(it), it.screen
        assert it.app.pending_list.at is None


SEARCH = {
    "a paste stays": (b"mak" + PASTE % b"+x" + b"y", lambda it: it.app.editor.text == "make a+xy"),
    "a key of the editor ends it and acts": (
        b"mak" + LEFT + b"x",
        lambda it: it.app.editor.text == "make xa",
    ),
    "letters behind enter": (b"mak\rx", lambda it: it.app.editor.text == "make ax"),
    "f1": (b"mak" + F1, opened(HelpView, "make a")),
    "another block is picked": (b"mak" + CTRL_UP + b"x", lambda it: it.app.editor.text == "make ax"),
    "a click on the pending list": (b"", lambda it: "history" not in it.screen),
}


@pytest.mark.parametrize(("keys", "check"), SEARCH.values(), ids=SEARCH)
async def test_in_the_history_search(tmp_path: Path, keys: bytes, check: Callable[[Driven], bool]) -> None:
    async with driven(tmp_path, WORKING(), on=gallery.Scene().on) as it:
        await it.feed(b"make a\r")
        await it.feed(b"\x12" + keys)
        if not keys:
            it.app.pending_list.open()
            await it.settle()
        assert check(it), it.screen


BROKEN, BEFORE_TWO = "one\ntwo", "one xtwo"
IN_EVERY_INPUT = {
    "a line is broken: kitty, shift": (b"one\x1b[13;2utwo", BROKEN),
    "a line is broken: kitty, alt": (b"one\x1b[13;3utwo", BROKEN),
    "a line is broken: modifyOtherKeys, shift": (b"one\x1b[27;2;13~two", BROKEN),
    "a line is broken: modifyOtherKeys, alt": (b"one\x1b[27;3;13~two", BROKEN),
    "a line is broken: alt": (b"one\x1b\rtwo", BROKEN),
    "a line is broken: line feed": (b"one\ntwo", BROKEN),
    "a word is passed: alt+b": (b"one two\x1bbx", BEFORE_TWO),
    "a word is passed: alt+b, kitty": (b"one two\x1b[98;3ux", BEFORE_TWO),
    "a word is passed: ctrl+left": (b"one two\x1b[1;5Dx", BEFORE_TWO),
    "a word is passed: alt+f": (b"one two\x01\x1bf\x1bf\x1bbx", BEFORE_TWO),
    "a word is removed: alt+backspace": (b"one two\x1b\x7fxtwo", BEFORE_TWO),
    "a word is removed: alt+backspace, kitty": (b"one two\x1b[127;3uxtwo", BEFORE_TWO),
}


@pytest.mark.parametrize(("keys", "text"), IN_EVERY_INPUT.values(), ids=IN_EVERY_INPUT)
async def test_keys_of_writing_do_the_same_in_every_input(tmp_path: Path, keys: bytes, text: str) -> None:
    async with driven(tmp_path, scenes.asks(), on=gallery.Scene().on) as it:
        await it.feed(keys)
        assert it.app.editor.text == text
        await it.feed(b"\x03")
        await it.wait_for_arming()
        await it.feed(b"f")
        await it.feed(keys)
        assert it.app.prompt.written == text
        assert not deciding(it)


async def test_keys_of_modify_other_keys_are_those_of_the_kitty_protocol(tmp_path: Path) -> None:
    async with driven(tmp_path) as it:
        await it.feed(b"ab\x1b[27;5;119~")  # Ctrl+W
        assert it.app.editor.text == ""
        await it.feed(b"\x1b[27;6;90~\x1b[27;5;95~\x1b[27;2;65~")  # Ctrl+Shift+Z, Ctrl+_, Shift+A
        assert it.app.editor.text == "abA"


async def test_left_and_right_are_the_alternatives_of_brackets_in_the_pager(tmp_path: Path) -> None:
    play = [*scenes.message("one", number=1), *scenes.finished(), *scenes.message("two", number=5)]
    async with driven(tmp_path, play) as it:
        await it.feed(b"\x14g")
        view = it.app.screen
        assert isinstance(view, PagerView)
        for start, bracket, arrow in ((b"g", b"]", RIGHT), (b"G", b"[", LEFT)):
            marks = []
            for key in (bracket, arrow):
                view.body.marked = -1
                await it.feed(start + key)
                marks.append(view.body.marked)
            assert marks[0] == marks[1] >= 0, marks


@pytest.mark.parametrize("row", range(1, 8))
async def test_a_digit_answers_with_its_row_to_the_last(tmp_path: Path, row: int) -> None:
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, "make publish")]) as it:
        await it.wait_for_arming()
        form = it.app.prompt.form
        assert form is not None and len(form.choices()) == 7, form
        key = form.choices()[row - 1].key
        await it.feed(b"%d" % row)
        by_digit = it.screen, it.engine.sent
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, "make publish")]) as it:
        await it.wait_for_arming()
        await it.feed(ESC if key == "Esc" else key.encode())
        assert (it.screen, it.engine.sent) == by_digit


async def test_a_digit_beyond_the_numbered_rows_of_a_question_answers_nothing(tmp_path: Path) -> None:
    async with driven(tmp_path, gallery.question()) as it:
        await it.wait_for_arming()
        assert it.app.prompt.form is not None
        rows = it.app.prompt.form.choices()
        assert rows[-1].key == "Esc" and rows[-2].key == str(len(rows) - 1)
        await it.feed(b"%d" % len(rows))
        assert not it.engine.sent


def three() -> list[events.Body]:
    texts = [("i1", "one"), ("i2", "two"), ("i3", "three")]
    return [
        *scenes.turn(),
        *(events.InputAccepted(input_id=name, kind=InputKind.STEER, text=text) for name, text in texts),
    ]


def moves(name: str, text: str, before: str) -> commands.EditPending:
    return commands.EditPending(input_id=name, text=text, before=before)


MOVED = {
    "up": (ALT_UP, "one three two", [moves("i3", "three", "i2")]),
    "up at once": (
        ALT_UP + ALT_UP,
        "three one two",
        [moves("i3", "three", "i2"), moves("i3", "three", "i1")],
    ),
    "up from the top": (UP + UP + ALT_UP, "one two three", []),
    "down": (UP + UP + ALT_DOWN, "two one three", [moves("i1", "one", "i3")]),
    "down to the end": (UP + ALT_DOWN, "one three two", [moves("i2", "two", "")]),
    "down at the end": (ALT_DOWN, "one two three", []),
}


@pytest.mark.parametrize(("keys", "order", "sent"), MOVED.values(), ids=MOVED)
async def test_alt_and_an_arrow_move_what_waits(
    tmp_path: Path, keys: bytes, order: str, sent: list[commands.EditPending]
) -> None:
    def moved(body: commands.CommandBody) -> list[events.Body]:
        assert isinstance(body, commands.EditPending) and body.text is not None
        kind = InputKind.STEER
        return [events.InputEdited(input_id=body.input_id, text=body.text, kind=kind, before=body.before)]

    async with driven(tmp_path, three(), on=moved) as it:
        it.app.pending_list.open()
        await it.feed(keys)
        assert it.engine.sent == sent
        rows = [row for row in it.screen.splitlines() if "↳ steer" in row]
        assert [row.split()[-4 if row.endswith("after this answer") else 0] for row in rows] == order.split()
        moved_row = next(row for row in rows if sent and f" {sent[0].text} " in row) if sent else "> "
        assert moved_row.startswith("> "), "the mark goes with it"


async def test_the_mark_stays_with_its_message_and_goes_with_it(tmp_path: Path) -> None:
    async with driven(tmp_path, three()) as it:
        it.app.pending_list.open()
        it.engine.emit(events.InputDelivered(input_id="i1", item_id="u1", step=2))
        await it.settle()
        assert "> ↳ steer    three" in it.screen
        it.engine.emit(events.InputDelivered(input_id="i3", item_id="u3", step=2))
        await it.settle()
        assert "Del remove" not in it.screen
        await it.feed(b"s")
        assert it.app.editor.text == "s" and not it.engine.sent


BEHIND = {"letters": b"no\rabc", "a paste": b"no\r" + PASTE % b"abc"}


@pytest.mark.parametrize("keys", BEHIND.values(), ids=BEHIND)
async def test_what_is_typed_behind_an_answer_in_words_goes_to_the_draft(tmp_path: Path, keys: bytes) -> None:
    async with driven(tmp_path, scenes.asks(), on=gallery.Scene().on) as it:
        await it.wait_for_arming()
        await it.feed(b"f")
        await it.feed(keys)
        (decided,) = it.engine.sent
        assert isinstance(decided, commands.Decide) and decided.feedback == "no"
        assert it.app.editor.text == "abc"


async def test_what_is_typed_behind_esc_in_a_prompt_goes_to_the_draft(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks(), on=gallery.Scene().on) as it:
        await it.wait_for_arming()
        await it.feed(b"f")
        await it.feed(b"no\x03yes")
        assert it.app.editor.text == "yes" and not it.engine.sent


WRITTEN = {
    "f1": (F1, lambda it: isinstance(it.app.screen, HelpView)),
    "page up": (b"\x1b[5~", lambda it: "find: slug" in it.screen and it.app.screen.body.top == 0),
}


@pytest.mark.parametrize(("keys", "check"), WRITTEN.values(), ids=WRITTEN)
async def test_keys_that_work_anywhere_work_while_a_view_is_searched(
    tmp_path: Path, keys: bytes, check: Callable[[Driven], bool]
) -> None:
    async with driven(tmp_path, scenes.finished(), on=gallery.Scene().on) as it:
        await it.feed(b"\x14/slug")
        await it.feed(keys)
        assert check(it), it.screen
        await it.feed(b"\x1b" if keys == F1 else b"")
        assert isinstance(it.app.screen, PagerView)


def copies(it: Driven) -> bool:
    return bool(it.app.clipboard)


LED_AWAY = {
    "ctrl+t, and y that copies there": (b"\x14y", copies),
    "ctrl+t, and enter of a row": (b"\x14" + DOWN + b"\r", opened(PagerView)),
    "ctrl+t, and a word": (b"\x14yes", opened(PagerView)),
    "f1": (F1 + b"y", opened(HelpView)),
    "ctrl+up, and y that copies there": (CTRL_UP + b"y", copies),
    "ctrl+t, closed again": (b"\x14qy", holds("y")),
}


@pytest.mark.parametrize(("keys", "check"), LED_AWAY.values(), ids=LED_AWAY)
async def test_a_key_behind_one_that_leads_away_from_a_prompt_answers_nothing(
    tmp_path: Path, keys: bytes, check: Callable[[Driven], bool]
) -> None:
    async with driven(tmp_path, scenes.asks(), on=gallery.Scene().on) as it:
        await it.wait_for_arming()
        await it.feed(keys)
        assert check(it), it.screen
        assert not deciding(it)
