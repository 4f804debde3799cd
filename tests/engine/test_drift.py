"""Settings that a later start says otherwise: told to the person, and to the model where it matters."""

from pathlib import Path

from agent_tui.engine.commands import Set, Submit
from agent_tui.engine.events import CallStarted, NoticeRaised, SettingChanged, TurnEnded
from agent_tui.engine.types import ApprovalPolicy
from context.items import NoticeItem
from sandbox.policy import Mode
from tests.engine.fakes import Engine, calls, engine, text
from tests.engine.test_limits import hang


def told(run: Engine) -> list[str]:
    return [body.text for body in run.bodies(NoticeRaised)]


def model_told(run: Engine) -> list[str]:
    return [item.text for item in run.session.fold.log if isinstance(item, NoticeItem)]


async def test_the_same_start_tells_nothing(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
    async with engine(tmp_path) as again:
        await again.idle()
    assert (told(again), model_told(again)) == ([], [])


async def test_another_sandbox_and_approval_are_told_to_person_and_model(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done"), verify="make test") as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded, count=1)
        await run.crash()
    other = engine(
        tmp_path, text("done"), sandbox=Mode.READ_ONLY, approval=ApprovalPolicy.UNTRUSTED, interactive=True
    )
    async with other as again:
        again.send(Submit(text="more"))
        await again.wait(TurnEnded, count=1)
    line = "approval is `untrusted`, was `on-request`; sandbox is `read-only`, was `workspace-write`"
    assert told(again) == [f"since this session was last open: {line}; verify is none, was `make test`"]
    assert model_told(again) == [f"Changed by the user, whatever was said before: {line}"]


async def test_what_was_changed_in_the_session_counts_as_what_it_was(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        run.send(Set(key="approval", value="never"))
        await run.wait(SettingChanged)
        await run.idle()
        assert model_told(run) == ["Changed by the user, whatever was said before: approval is `never`"]
    async with engine(tmp_path) as again:
        await again.idle()
    assert told(again) == ["since this session was last open: approval is `on-request`, was `never`"]


async def test_the_notice_follows_what_a_crash_left_open(tmp_path: Path) -> None:
    async with engine(tmp_path, calls(("exec_command", {"cmd": "x"}))) as run:
        run.toolbox.behaviour["exec_command"] = hang
        run.send(Submit(text="go"))
        await run.wait(CallStarted)
        await run.crash()
    settings = {"sandbox": Mode.READ_ONLY, "interactive": False}
    async with engine(tmp_path, text("done"), **settings) as again:
        again.send(Submit(text="more"))
        await again.wait(TurnEnded, count=2)
        assert again.session.fold.reader.read().incomplete == ()
    assert model_told(again)[0].endswith("sandbox is `read-only`, was `workspace-write`")
