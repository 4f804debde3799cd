import pytest

from agent_tui.models.base import Completed, Failed, TextDelta
from agent_tui.models.replay import ReplayError, replay_model, saved_lines
from agent_tui.models.scripted import ChaosModel, ScriptedCall, ScriptedModel, ScriptError, Step
from context.items import CallPart, StopReason, TextPart
from tests.models.views import call, request, response, thought, user

ASKED = request(user("go"))


async def run(model: ScriptedModel | ChaosModel) -> list[object]:
    return [part async for part in model.stream(ASKED)]


async def test_a_script_is_played_in_order_and_not_beyond() -> None:
    model = ScriptedModel([Step(text="one"), Step(calls=(ScriptedCall(tool="t", arguments="{}"),))])
    first, second = await run(model), await run(model)
    assert isinstance(first[-1], Completed) and first[-1].parts == (TextPart(text="one"),)
    assert isinstance(second[-1], Completed) and second[-1].stop is StopReason.CALLS
    with pytest.raises(ScriptError):
        await run(model)


async def test_steps_that_are_left_are_an_error() -> None:
    model = ScriptedModel([Step(text="one"), Step(text="two")])
    await run(model)
    with pytest.raises(ScriptError):
        model.check_finished()


async def test_a_cut_step_streams_and_then_fails() -> None:
    parts = await run(ScriptedModel([Step(text="half", cut=True)]))
    assert isinstance(parts[0], TextDelta) and isinstance(parts[-1], Failed)


async def test_chaos_is_repeatable_and_never_twice_running() -> None:
    def model() -> ChaosModel:
        return ChaosModel(ScriptedModel(lambda view: Step(text="ok")), seed=7, rate=1.0)

    first, second = model(), model()
    kinds = [[type((await run(m))[-1]) for _ in range(40)] for m in (first, second)]
    assert kinds[0] == kinds[1]
    assert first.met == second.met and len(first.met) == 20


async def test_a_saved_session_plays_again_without_its_secrets() -> None:
    home, key = "/home/ann", "sk-abcdefghijklmnop"
    item = response(
        thought("hm", raw='{"signature":"x"}'),
        TextPart(text=f"key {key}, file {home}/a.txt, word swordfish"),
        call("c1.1", '{"cmd":"ls"}', provider_id="call_9"),
    )
    said = user(f"with swordfish in {home}/b").item
    lines = list(saved_lines([said, item], secrets=["swordfish"], home=home))
    assert lines[0] == '{"said": "with ‹hidden› in ~/b", "origin": "prompt"}'
    assert not any(secret in lines[1] for secret in (key, home, "swordfish", "signature"))
    done = (await run(replay_model(lines)))[-1]
    assert isinstance(done, Completed)
    assert done.parts[-1] == CallPart(
        call_id="call_9", provider_id="call_9", tool="exec_command", arguments='{"cmd":"ls"}'
    )


@pytest.mark.parametrize("line", ['{"type":"Nothing"}', pytest.param("[" * 5000, id="nested")])
def test_a_line_that_is_no_response_is_named(line: str) -> None:
    with pytest.raises(ReplayError, match="line 2"):
        replay_model(["", line])
