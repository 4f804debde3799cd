"""Messages that wait: steering now, and what comes back of one that was not delivered."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.engine.types import InputKind
from checkpoints.types import Phase
from context.items import Image
from tests.tui import gallery, scenes
from tests.tui.driving import driven


def accepted(body: commands.CommandBody) -> list[events.Body]:
    if not isinstance(body, commands.Submit):
        return []
    return [
        events.InputAccepted(input_id="i9", kind=body.kind, text=body.text, images=body.images, now=body.now)
    ]


async def test_steering_now_says_that_an_answer_comes_to_its_end(tmp_path: Path) -> None:
    play = [*scenes.message("go"), *scenes.turn(), *scenes.step(1)]
    async with driven(tmp_path, play, on=accepted) as it:
        await it.type("less")
        await it.press("ctrl+s")
        assert commands.Submit(text="less", kind=InputKind.STEER, now=True) in it.engine.sent
        assert "less" in it.screen
        assert "now: after this answer, without its calls" in it.screen


async def test_steering_now_says_how_many_calls_are_told_to_stop(tmp_path: Path) -> None:
    running = [scenes.proposed(one, "exec_command", "make") + scenes.running(one) for one in ("c8", "c9")]
    play = [*scenes.turn(), *scenes.step(1), *running[0], *running[1]]
    async with driven(tmp_path, play, on=accepted) as it:
        await it.type("less")
        await it.press("ctrl+s")
        assert "↳ steer    less" in it.screen
        assert "now: 2 calls told to stop" in it.screen


async def test_pictures_of_a_message_stay_with_it(tmp_path: Path) -> None:
    picture = Image(media_type="image/png", data="aGk=", name="a.png")
    waits = events.InputAccepted(input_id="i1", kind=InputKind.STEER, text="like this", images=(picture,))
    back = events.InputReturned(input_id="i1", text="like this", reason="taken back")

    def answer(body: commands.CommandBody) -> list[events.Body]:
        return [back] if isinstance(body, commands.EditPending) else []

    async with driven(tmp_path, [*scenes.turn(), waits], on=answer) as it:
        await it.press("ctrl+s")  # the newest steer, now
        again = commands.Submit(text="like this", images=(picture,), kind=InputKind.STEER, now=True)
        assert it.engine.sent[-1] == again
    async with driven(tmp_path, [*scenes.turn(), waits], on=answer) as it:
        await it.press("alt+up", "enter")  # back in the editor, and sent once more
        assert it.engine.sent[-1] == commands.Submit(
            text="like this", images=(picture,), kind=InputKind.STEER
        )


async def test_a_rollback_of_the_conversation_counts_the_messages_and_brings_them_back(
    tmp_path: Path,
) -> None:
    picture = Image(media_type="image/png", data="aGk=", name="a.png")
    target = gallery.checkpoint(17, "say", Phase.TURN_START, step=2)
    first = events.InputAccepted(input_id="i1", kind=InputKind.PROMPT, text="first", images=(picture,))
    waits = events.InputAccepted(input_id="i3", kind=InputKind.QUEUE, text="third")
    play = [
        *scenes.message("kept", number=9),
        *scenes.turn(),
        first,
        events.InputDelivered(input_id="i1", item_id="u1", step=3),
        events.CheckpointTaken(checkpoint=target),
        *scenes.message("second", number=2, kind=InputKind.STEER),
        *scenes.end(),
        waits,
    ]

    def answer(body: commands.CommandBody) -> Sequence[events.Body]:
        if isinstance(body, commands.Rollback):
            return [
                events.InputReturned(input_id="i3", text="third", reason="rolled back"),
                events.RolledBack(
                    checkpoint_id="7f3a/17", mode="both", files=None, messages=("first", "second")
                ),
            ]
        return gallery.Scene().on(body)  # type: ignore[return-value]

    async with driven(tmp_path, play, on=answer) as it:
        await it.type("/rollback 7f3a/17\r")
        await it.until("3 items hidden, 3 messages back to the editor, 1 grant ends")
        await it.act("arm")
        await it.press("enter")
        assert "3 messages of yours are back in the editor" in it.screen
        assert "┄ 3 items hidden by rollback" in it.screen
        assert "returned to the editor" not in it.screen, "it is said once"
        assert it.app.editor.text == "first\n\nsecond\n\nthird"
        await it.press("enter")
        sent = it.engine.sent[-1]
        assert isinstance(sent, commands.Submit) and sent.images == (picture,)


@pytest.mark.parametrize("typed", ["keep me", "!make"])
async def test_what_the_engine_refuses_is_in_the_editor_again(tmp_path: Path, typed: str) -> None:
    picture = Image(media_type="image/png", data="aGk=", name="a.png")
    async with driven(tmp_path) as it:
        sent: list[commands.Command] = []
        it.engine.send = sent.append  # type: ignore[method-assign]  # its id is in the refusal
        it.app.attaching.give_back([picture])
        await it.feed(typed.encode() + b"\r")
        assert it.app.editor.text == "" and len(sent) == 1
        it.engine.emit(events.Refused(command_id=sent[0].id, reason="the disk is full"))
        await it.settle()
        assert it.app.editor.text == typed and "the disk is full" in it.screen
        await it.feed(b"\x15more\r")
        assert sent[-1].body == commands.Submit(text="more", images=(picture,)), "nor is a picture lost"


async def test_a_call_after_the_word_on_returned_messages_stands_apart(tmp_path: Path) -> None:
    ended = scenes.ended("c1", "exec_command")
    play = [*scenes.proposed("c1", "exec_command", "make"), *scenes.running("c1"), *ended]
    async with driven(tmp_path, play) as it:
        it.engine.emit(events.InputAccepted(input_id="i3", kind=InputKind.QUEUE, text="third"))
        it.engine.emit(events.InputReturned(input_id="i3", text="third", reason="interrupted"))
        await it.settle()
        it.engine.emit(*scenes.proposed("c2", "exec_command", "ls"))
        await it.settle()
        rows = it.screen.splitlines()
        at = next(index for index, row in enumerate(rows) if "1 message returned to the editor" in row)
        assert rows[at + 1] == "" and " ls" in rows[at + 2]
