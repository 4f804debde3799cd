"""Messages that wait: steering now, and what comes back of one that was not delivered."""

from pathlib import Path

from agent_tui.engine import commands, events
from agent_tui.engine.types import InputKind
from context.items import Image
from tests.tui import scenes
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
