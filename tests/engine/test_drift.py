"""Settings that a later start says otherwise: told to the person, and to the model where it matters."""

from pathlib import Path
from typing import Any

from agent_tui.engine.approvals import SessionGate
from agent_tui.engine.commands import Inspect, Set, Subject, Submit
from agent_tui.engine.events import (
    CallStarted,
    Inspected,
    NoticeRaised,
    SettingChanged,
    StatusChanged,
    TurnEnded,
)
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
    assert [body.about for body in again.bodies(NoticeRaised)] == ["guard"]


async def test_what_was_changed_in_the_session_counts_as_what_it_was(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        run.send(Set(key="approval", value="never"))
        await run.wait(SettingChanged)
        await run.idle()
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


async def guarded(run: Engine) -> dict[str, Any]:
    """What the settings say of what guards the machine: value and origin."""
    run.send(Inspect(subject=Subject.SETTINGS))
    found = await run.wait(Inspected, count=len(run.bodies(Inspected)) + 1)
    assert isinstance(found, Inspected)
    names = ("sandbox", "network", "approval")
    return {name: tuple(found.data[name].values()) for name in names}


async def test_every_setting_is_shown_with_its_origin(tmp_path: Path) -> None:
    told = {"approval": "as it started", "fast_model": "not set", "theme": "dark"}
    async with engine(tmp_path, told=told, origins={"theme": "user"}) as run:
        run.send(Inspect(subject=Subject.SETTINGS))
        found = await run.wait(Inspected)
        assert isinstance(found, Inspected)
        assert found.data["theme"] == {"value": "dark", "origin": "user"}
        assert found.data["fast_model"] == {"value": "not set", "origin": "default"}
        assert found.data["approval"]["value"] == ApprovalPolicy.ON_REQUEST


def with_real_gate(run: Engine) -> None:
    gate = SessionGate(run.config, sandbox_available=True, now=lambda: 0.0)
    run.use(gate=gate)


async def test_each_change_of_what_guards_the_machine_is_shown_at_once(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done")) as run:
        with_real_gate(run)
        changes = (("sandbox", "off"), ("network", "on"), ("add_dir", "/usr/share"), ("approval", "never"))
        for count, (key, value) in enumerate(changes, 1):
            run.send(Set(key=key, value=value))
            await run.wait(SettingChanged, count=count)
        await run.idle()
        shown = [body.sandbox for body in run.bodies(StatusChanged) if body.sandbox is not None]
        now = shown[-1]
        assert (now.available, now.mode, now.network, now.extra_roots) == (True, Mode.OFF, True, 1)
        assert [body.approval for body in run.bodies(StatusChanged) if body.approval][-1] == "never"
        assert await guarded(run) == {
            "sandbox": (Mode.OFF, "session"),
            "network": (True, "session"),
            "approval": (ApprovalPolicy.NEVER, "session"),
        }


async def test_a_later_process_shows_what_guards_it_and_not_what_was_set_before(tmp_path: Path) -> None:
    async with engine(tmp_path, text("done")) as run:
        run.send(Submit(text="go"))
        await run.wait(TurnEnded)
        for key, value in (("sandbox", "read-only"), ("approval", "never")):
            run.send(Set(key=key, value=value))
        await run.wait(SettingChanged, count=2)
        await run.idle()
    async with engine(tmp_path) as again:
        await again.idle()
        assert await guarded(again) == {
            "sandbox": (Mode.WORKSPACE_WRITE, "default"),
            "network": (False, "default"),
            "approval": (ApprovalPolicy.ON_REQUEST, "default"),
        }
