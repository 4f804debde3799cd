"""Line mode against a scripted engine: what is printed, and what is sent for what is typed."""

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agent_tui import __version__
from agent_tui.engine.commands import (
    INIT,
    Answer,
    Command,
    CommandBody,
    Continue,
    Decide,
    EditPending,
    Inspect,
    Interrupt,
    Redo,
    Rollback,
    RunShell,
    Set,
    Settle,
    Shutdown,
    Subject,
    Submit,
    TerminalInput,
)
from agent_tui.engine.events import (
    ApprovalAsked,
    Body,
    CallEnded,
    CallProposed,
    CallStarted,
    Event,
    InputAccepted,
    InputDelivered,
    InputReturned,
    Inspected,
    LostResultAsked,
    NoticeRaised,
    PlanChanged,
    QuestionAsked,
    Refused,
    RetryScheduled,
    RolledBack,
    SessionClosed,
    SessionStarted,
    SettingChanged,
    StatusChanged,
    TaskChanged,
    TerminalChanged,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import (
    Config,
    Decision,
    EndReason,
    InputKind,
    PlanStep,
    SandboxStatus,
    TaskStatus,
)
from agent_tui.plain import app as plain_app
from agent_tui.plain import questions
from agent_tui.plain.app import PlainApp
from agent_tui.plain.lines import Interrupted
from checkpoints.types import Cause, Checkpoint, FileChange, Health, Kept, Phase, RollbackResult
from context.codec import encode
from context.items import Image, Usage
from sandbox.policy import Mode
from tests.waiting import WAIT_S
from tools.types import READS_NOTHING, STOP, Assessment, CallClass, Outcome, OutcomeStatus


@dataclass
class FakeEngine:
    """Answers each command with the bodies a test gives for it."""

    react: Callable[[CommandBody], list[Body]]
    sent: list[CommandBody] = field(default_factory=list)
    queue: asyncio.Queue[Body] = field(default_factory=asyncio.Queue)

    def send(self, command: Command) -> None:
        self.sent.append(command.body)
        bodies = (
            [SessionClosed(reason="quit")] if isinstance(command.body, Shutdown) else self.react(command.body)
        )
        if isinstance(command.body, Submit):
            accepted = InputAccepted(input_id="n1", kind=command.body.kind, text=command.body.text)
            self.queue.put_nowait(accepted)
            self.queue.put_nowait(InputDelivered(input_id="n1", item_id="i1", step=1))
        for body in bodies:
            self.queue.put_nowait(body)

    async def events(self) -> AsyncIterator[Event]:
        number = 0
        while True:
            body = await self.queue.get()
            number += 1
            yield Event(seq=number, at=0.0, run_id="r1", body=body, cause=f"plain-{len(self.sent)}")


@dataclass
class FakeLines:
    """Typed lines by prompt; a line typed before a question stays a draft."""

    typed: list[str]
    prompts: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    half_typed: str = ""
    ended: bool = False
    aside: bool = False
    on_prompt: Callable[[str], None] = print

    async def read(self, prompt: str, draft: str = "") -> str | None:
        self.on_prompt(prompt)
        self.prompts.append(prompt)
        self.drafts.append(draft)
        self.aside = False
        for _ in range(5):
            await asyncio.sleep(0)  # let events that are already there come first
        if self.aside:
            return None
        if not self.typed:
            self.ended = True
            return None
        return self.typed.pop(0)

    def set_aside(self) -> str:
        self.aside = True
        text, self.half_typed = self.half_typed, ""
        return text


def config(tmp_path: Path) -> Config:
    return Config(workspace=tmp_path, state_dir=tmp_path, config_dir=tmp_path, model=None)


def approval(lines: int = 1) -> ApprovalAsked:
    command = "\n".join(f"make step{n}" for n in range(lines))
    assessment = Assessment(
        action="command", call_class=CallClass.ASK, reason="r", shown=command, effects=READS_NOTHING
    )
    return ApprovalAsked(
        approval_id="a1",
        call_id="c1",
        tool="exec_command",
        assessment=assessment,
        cwd="/w",
        why="not a known safe command",
        sandbox="writes in /w, network off",
        digest="d1",
        choices=(Decision.ONCE, Decision.SESSION, Decision.DENY, Decision.DENY_AND_PAUSE),
        session_key="exactly this command in this directory",
    )


READY = StatusChanged(
    model="demo/demo", approval="on-request", effort="high", branch="main", undo=Health(state="ok"),
    sandbox=SandboxStatus(available=True, mode=Mode.WORKSPACE_WRITE, network=False),
)  # fmt: skip
ENDED = TurnEnded(
    run_id="r1",
    reason=EndReason.COMPLETED,
    sentence="done",
    exit_code=0,
    usage=Usage(),
    cost_usd=None,
    steps=1,
    duration_s=1.0,
)
LOST = LostResultAsked(
    question_id="l1", call_id="c1", tool="exec_command", shown="make", started_at=1.0, cwd="/w",
    facts="its process is gone", output="", ended_at=2.0, changes=(), checkpoint_id="",
)  # fmt: skip


async def run(tmp_path: Path, lines: FakeLines, react: Callable[[CommandBody], list[Body]]) -> FakeEngine:
    engine = FakeEngine(react)
    for body in (SessionStarted(session_id="7f3a0000", workspace="/w", model="demo/demo"), READY):
        engine.queue.put_nowait(body)
    assert await asyncio.wait_for(PlainApp(engine, config(tmp_path), lines).run(None), timeout=WAIT_S) == 0
    return engine


async def test_a_line_is_submitted_and_leaving_prints_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = await run(
        tmp_path,
        FakeLines(["do it", "/quit"]),
        lambda body: [TurnStarted(task_id="t1", run_id="r1"), ENDED] if isinstance(body, Submit) else [],
    )
    assert engine.sent == [Submit(text="do it"), Shutdown()]
    assert "agent-tui resume 7f3a0000" in capsys.readouterr().out


async def test_who_speaks_is_said_first_and_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine(lambda _: [])
    for body in (
        SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d"),
        NoticeRaised(text="odd"),
        READY,
    ):
        engine.queue.put_nowait(body)
    await asyncio.wait_for(PlainApp(engine, config(tmp_path), FakeLines([])).run(None), timeout=WAIT_S)
    assert capsys.readouterr().out.splitlines()[:5] == [
        f"agent-tui {__version__}, plain mode. Directory: /w, branch main.",
        "Model: demo/demo, effort high. Sandbox: workspace, network off.",
        "Approvals: on-request. Undo: ok. Type /help for commands.",
        "",
        "Notice: odd",
    ]


async def test_an_approval_is_answered_by_number_and_digest(tmp_path: Path) -> None:
    def react(body: CommandBody) -> list[Body]:
        return [TurnStarted(task_id="t1", run_id="r1"), approval()] if isinstance(body, Submit) else [ENDED]

    engine = await run(tmp_path, FakeLines(["do it", "4", "use staging", "/quit"]), react)
    decided = next(body for body in engine.sent if isinstance(body, Decide))
    assert decided == Decide(approval_id="a1", decision=Decision.DENY, digest="d1", feedback="use staging")


async def test_a_line_begun_before_a_question_does_not_answer_it(tmp_path: Path) -> None:
    lines = FakeLines(["do it", "1", "/quit"], half_typed="1 more thing")

    def react(body: CommandBody) -> list[Body]:
        return [TurnStarted(task_id="t1", run_id="r1"), approval()] if isinstance(body, Submit) else [ENDED]

    await run(tmp_path, lines, react)
    assert lines.drafts[lines.prompts.index("answer 1 to 5> ")] == ""
    assert "1 more thing" in lines.drafts


async def test_a_long_command_is_paged_before_it_can_be_allowed(tmp_path: Path) -> None:
    lines = FakeLines(["do it", "", "1", "/quit"])

    def react(body: CommandBody) -> list[Body]:
        return [TurnStarted(task_id="t1", run_id="r1"), approval(60)] if isinstance(body, Submit) else [ENDED]

    engine = await run(tmp_path, lines, react)
    assert "Line 1 to 40 of 60. Enter for more> " in lines.prompts
    assert any(isinstance(body, Decide) and body.decision is Decision.ONCE for body in engine.sent)


async def test_the_end_of_input_at_an_approval_allows_nothing(tmp_path: Path) -> None:
    def react(body: CommandBody) -> list[Body]:
        return [TurnStarted(task_id="t1", run_id="r1"), approval()] if isinstance(body, Submit) else [ENDED]

    engine = await run(tmp_path, FakeLines(["do it"]), react)
    decided = next(body for body in engine.sent if isinstance(body, Decide))
    assert decided.decision is Decision.DENY_AND_PAUSE


async def test_a_question_takes_an_option_or_own_words(tmp_path: Path) -> None:
    question = QuestionAsked(
        question_id="q1", call_id="c1", text="Which?", options=("a", "b"), free_text=True
    )

    def react(body: CommandBody) -> list[Body]:
        return [TurnStarted(task_id="t1", run_id="r1"), question] if isinstance(body, Submit) else [ENDED]

    engine = await run(tmp_path, FakeLines(["go", "3", "neither", "/quit"]), react)
    assert Answer(question_id="q1", text="neither") in engine.sent


async def test_queue_steer_now_and_unknown_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = await run(
        tmp_path, FakeLines(["/queue later", "/now stop that", "/rolback x", "/quit"]), lambda _: []
    )
    assert engine.sent[:2] == [
        Submit(text="later", kind=InputKind.QUEUE),
        Submit(text="stop that", kind=InputKind.STEER, now=True),
    ]
    assert "did you mean /rollback?" in capsys.readouterr().out


async def test_what_only_the_screen_had_works_in_lines_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1_280, 720)
    (tmp_path / "a.png").write_bytes(header)
    (tmp_path / "b.png").write_text("no picture")
    typed = ["/image a.png", "/image b.png", "/image ~c.png", "/image \0", "/init", "what is it", "and now"]
    lines = FakeLines([*typed, "/type t2 npm test", "/type", "/quit"])
    engine = await run(tmp_path, lines, lambda _: [])
    submits = [body for body in engine.sent if isinstance(body, Submit)]
    assert [body.text for body in submits] == [INIT, "what is it", "and now"]
    assert [[image.name for image in body.images] for body in submits] == [[], ["a.png"], []]
    assert TerminalInput(terminal="t2", chars="npm test\r") in engine.sent
    said = capsys.readouterr().out
    assert "Image: a.png, 1,280 by 720 pixels, about 1,600 tokens, goes with the next message." in said
    assert "b.png` is no PNG, JPEG, GIF or WebP picture" in said
    assert f"{tmp_path}/~c.png` cannot be read: No such file or directory" in said
    assert "/\\x00` cannot be read: embedded null byte" in said
    assert "/type TERMINAL TEXT, or a key such as ^C; /ps lists them" in said


async def test_a_session_that_ends_before_it_answers_a_menu_leaves_nobody_waiting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = SessionClosed(reason="SIGTERM")
    engine = await run(
        tmp_path, FakeLines(["/checkpoints"]), lambda body: [closed] if isinstance(body, Inspect) else []
    )
    assert isinstance(engine.sent[0], Inspect)
    assert "Refused: the session is closed" in capsys.readouterr().out


async def test_a_number_begun_in_a_menu_is_no_message(tmp_path: Path) -> None:
    found = [{"name": "demo/a"}, {"name": "demo/b"}]

    def react(body: CommandBody) -> list[Body]:
        return [Inspected(command_id="plain-1", data=found)] if isinstance(body, Inspect) else [ENDED]

    engine = FakeEngine(react)
    engine.queue.put_nowait(SessionStarted(session_id="7f3a0000", workspace="/w", model="demo/demo"))
    engine.queue.put_nowait(READY)

    def half_typed(prompt: str) -> None:
        if prompt.startswith("use, "):
            lines.half_typed = "2"
            engine.queue.put_nowait(approval())

    lines = FakeLines(["/model", "3", "/quit"], on_prompt=half_typed)
    await asyncio.wait_for(PlainApp(engine, config(tmp_path), lines).run(None), timeout=WAIT_S)
    assert any(isinstance(body, Decide) and body.decision is Decision.DENY for body in engine.sent)
    assert "2" not in lines.drafts


async def test_another_session_is_named_where_input_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"/resume ab12\nnot for this one\n")
    os.close(writing)
    engine = FakeEngine(lambda _: [])
    engine.queue.put_nowait(SessionStarted(session_id="7f3a0000", workspace="/w", model="demo/demo"))
    engine.queue.put_nowait(READY)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert (
            await asyncio.wait_for(plain_app.run(engine, config(tmp_path), first=None), timeout=WAIT_S) == 0
        )
    assert engine.sent == [Shutdown()]
    assert "Go on with: agent-tui resume ab12 --plain" in capsys.readouterr().out


async def test_an_empty_line_ends_a_wait_for_the_model_whatever_came_beside_it(tmp_path: Path) -> None:
    retry = RetryScheduled(attempt=2, attempts=5, delay_s=30.0, error="busy")

    def react(body: CommandBody) -> list[Body]:
        begun: list[Body] = [TurnStarted(task_id="t1", run_id="r1"), retry, StatusChanged(context_used=10)]
        return begun if isinstance(body, Submit) else [ENDED] if isinstance(body, Continue) else []

    engine = await run(tmp_path, FakeLines(["do it", "", "", "/quit"]), react)
    assert engine.sent == [Submit(text="do it"), Continue(), Shutdown()]


@pytest.mark.parametrize(
    ("line", "begins", "ends"),
    [
        ("", [TurnStarted(task_id="t1", run_id="r2")], [ENDED]),
        (
            "!make",
            [CallProposed(call_id="p1", step_id="", tool="exec_command", arguments="{}", by="person")],
            [
                CallEnded(
                    call_id="p1", tool="exec_command", changes=(), external=(), duration_s=1.0,
                    outcome=Outcome(status=OutcomeStatus.SUCCEEDED, text=""),
                )
            ],
        ),
        ("/compact", [StatusChanged(activity="compacting")], [StatusChanged(activity="")]),
        ("/model d/small", [StatusChanged(activity="compacting")], [StatusChanged(activity="")]),
        ("/model d/big", [], [SettingChanged(key="model", value="d/big")]),
        ("1", [TurnStarted(task_id="t1", run_id="r2")], [ENDED]),
    ],
    ids=["go on", "own command", "compact", "smaller model", "other model", "lost result"],
)  # fmt: skip
async def test_the_end_of_the_input_waits_for_what_its_last_line_began(
    tmp_path: Path, line: str, begins: list[Body], ends: list[Body]
) -> None:
    ended = asyncio.Event()

    class Ending(FakeLines):
        async def read(self, prompt: str, draft: str = "") -> str | None:
            found = await super().read(prompt, draft)
            if found is None:
                ended.set()
            return found

    engine = FakeEngine(lambda _: [])
    paused = SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d", paused=True)
    for body in (paused, *([LOST] * (line == "1")), READY):
        engine.queue.put_nowait(body)
    app = asyncio.create_task(PlainApp(engine, config(tmp_path), Ending([line])).run(None))
    await asyncio.wait_for(ended.wait(), timeout=WAIT_S)
    for bodies in ([], begins, ends):
        for body in bodies:
            assert Shutdown() not in engine.sent
            engine.queue.put_nowait(body)
        for _ in range(10):  # it is taken, and would be acted on
            await asyncio.sleep(0)
    assert await asyncio.wait_for(app, timeout=WAIT_S) == 0
    assert engine.sent[1:] == [Shutdown()]


@pytest.mark.parametrize("second", ["3", "1"], ids=["stopped", "refused"])
async def test_the_end_of_the_input_waits_for_no_turn_while_a_result_stays_lost(
    tmp_path: Path, second: str
) -> None:
    engine = FakeEngine(lambda _: [])

    def react(body: CommandBody) -> list[Body]:
        is_refused = second == "1" and isinstance(body, Settle) and body.question_id == "l2"
        return [Refused(command_id=f"plain-{len(engine.sent)}", reason="no")] if is_refused else []

    engine.react = react
    paused = SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d", paused=True)
    for body in (paused, LOST, replace(LOST, question_id="l2", call_id="c2"), READY):
        engine.queue.put_nowait(body)
    app = PlainApp(engine, config(tmp_path), FakeLines(["1", second]))
    assert await asyncio.wait_for(app.run(None), timeout=WAIT_S) == 0
    choices = [body.choice for body in engine.sent if isinstance(body, Settle)]
    assert choices == ["keep", *(["keep", "stop"] if second == "1" else ["stop"])]


async def test_an_answer_about_a_lost_result_that_is_refused_leaves_the_question_open(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: [])

    def react(body: CommandBody) -> list[Body]:
        if isinstance(body, Settle) and len(engine.sent) == 1:
            return [Refused(command_id="plain-1", reason="the disk is full")]
        begun = TurnStarted(task_id="t1", run_id="r1")
        return [begun, ENDED] if isinstance(body, Settle) else []

    engine.react = react
    paused = SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d", paused=True)
    for body in (paused, LOST, READY):
        engine.queue.put_nowait(body)
    app = PlainApp(engine, config(tmp_path), FakeLines(["1", "1"]))
    assert await asyncio.wait_for(app.run(None), timeout=WAIT_S) == 0
    assert [body.choice for body in engine.sent if isinstance(body, Settle)] == ["keep", "keep"]


async def test_ctrl_c_stops_a_command_of_the_person(tmp_path: Path) -> None:
    def react(body: CommandBody) -> list[Body]:
        return [Refused(command_id="plain-1", reason="stopped")] if isinstance(body, Interrupt) else []

    class Interrupting(FakeLines):
        async def read(self, prompt: str, draft: str = "") -> str | None:
            line = await super().read(prompt, draft)
            if line == "^C":
                raise Interrupted
            return line

    engine = await run(tmp_path, Interrupting(["!make", "^C"]), react)
    assert engine.sent == [RunShell(command="make"), Interrupt(), Shutdown()]


async def test_the_instruction_files_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config(tmp_path).workspace / "AGENTS.md").write_text("be kind\n")
    await run(tmp_path, FakeLines(["/memory", "/quit"]), lambda _: [])
    assert "AGENTS.md: 1 line, 8 bytes" in capsys.readouterr().out


async def test_a_mode_alone_lists_what_can_be_gone_back_to(tmp_path: Path) -> None:
    def react(body: CommandBody) -> list[Body]:
        return [Inspected(command_id="plain-1", data=[])] if isinstance(body, Inspect) else []

    engine = await run(tmp_path, FakeLines(["/rollback files", "/quit"]), react)
    assert engine.sent == [Inspect(subject=Subject.CHECKPOINTS), Shutdown()]


@pytest.mark.parametrize(
    ("typed", "choices"),
    [
        (["2", "", "/quit"], {"a.py": "take", "b.py": "keep"}),
        (["2"], None),  # the input ends before all was said
    ],
)
async def test_files_go_back_once_every_conflict_was_answered(
    tmp_path: Path, typed: list[str], choices: dict[str, str] | None
) -> None:
    plan = {"conflicts": [{"path": name, "reason": "changed"} for name in ("a.py", "b.py")], "operations": []}
    answers = {Subject.ROLLBACK_PLAN: plan, Subject.GRANTS: []}
    engine = await run(tmp_path, FakeLines(["/rollback 7f3a/1 files", "1", *typed]), answering(answers))
    sent = [body.choices for body in engine.sent if isinstance(body, Rollback)]
    assert sent == ([] if choices is None else [choices])


def test_a_path_that_is_to_be_written_is_made_visible() -> None:
    question = replace(approval(), sandbox="writes in /w, /tmp/\x1b[2J, network off")
    *_, known = questions.parts(question, 1, 1)
    assert known[-1] == "Sandbox: writes in /w, /tmp/\\x1b[2J, network off."


def test_how_a_long_command_was_understood_is_printed() -> None:
    assessment = replace(
        approval().assessment, shown="set -eu\ncurl x | sh", parsed="set · curl | sh",
        notes=((2, "runs downloaded text in a shell"),),
    )  # fmt: skip
    *_, known = questions.parts(replace(approval(), assessment=assessment), 1, 1)
    assert known[:2] == ["As parsed: set, curl | sh", "Line 2: runs downloaded text in a shell."]
    *_, short = questions.parts(approval(), 1, 1)
    assert not [line for line in short if line.startswith("As parsed")]


def test_what_a_person_could_miss_in_a_command_is_printed() -> None:
    assessment = replace(approval().assessment, shown="p\u0443thon x.py\u200b")
    *_, known = questions.parts(replace(approval(), assessment=assessment), 1, 1)
    assert known[:2] == [
        "Beware: 1 hidden character: zero-width space.",
        'Beware: "p\u0443thon" mixes Cyrillic and Latin.',
    ]


def answering(answers: dict[Subject, Any]) -> Callable[[CommandBody], list[Body]]:
    """Answers what is inspected; every command counts, since their numbers are their ids."""
    numbers = count(1)

    def react(body: CommandBody) -> list[Body]:
        number = next(numbers)
        if not isinstance(body, Inspect):
            return []
        return [Inspected(command_id=f"plain-{number}", data=answers[body.subject])]

    return react


async def test_a_call_of_an_earlier_process_has_its_name_when_it_runs_or_ends_in_this_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [
        CallProposed(call_id=name, step_id="s1", tool="exec_command", arguments="{}", shown=shown)
        for name, shown in (("c1", "sleep 12"), ("c2", "make"))
    ]
    stored = [Event(seq=number, at=0.0, run_id="r1", body=body) for number, body in enumerate(calls, -2)]
    ran = Outcome(status=OutcomeStatus.SUCCEEDED, text="", exit_code=0)
    lost = Outcome(status=OutcomeStatus.OUTCOME_UNKNOWN, text="", data={"lost": True})
    ends = [
        CallEnded(
            call_id=name, tool="exec_command", outcome=outcome, changes=(), external=(), duration_s=12.0
        )
        for name, outcome in (("c1", ran), ("c2", lost))
    ]
    started = CallStarted(
        call_id="c1", attempt=2, arguments_sha256="", cwd="/w", sandbox="", spool="", boot_id=""
    )
    engine = FakeEngine(answering({Subject.TRANSCRIPT: stored}))
    resumed = SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d", resumed=True)
    crashed = replace(ENDED, reason=EndReason.CRASHED)
    for body in (resumed, crashed, started, *ends, READY):
        engine.queue.put_nowait(body)
    app = PlainApp(engine, config(tmp_path), FakeLines(["/quit"]))
    await asyncio.wait_for(app.run(None), timeout=WAIT_S)
    out = capsys.readouterr().out
    assert "Running: sleep 12\nRan: sleep 12, exit code 0, 12 seconds.\nUnknown: make.\n" in out


async def test_what_an_earlier_process_left_is_known_in_this_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = FileChange(path="a.py", kind="M", added=1, removed=1)
    said = [
        SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d"),
        SettingChanged(key="title", value="Mend it"),
        PlanChanged(steps=(PlanStep(text="look", status="completed"),)),
        CallEnded(
            call_id="c1", tool="apply_patch", changes=(changed,), external=(), duration_s=1.0,
            outcome=Outcome(status=OutcomeStatus.SUCCEEDED, text=""),
        ),
        RolledBack(checkpoint_id="7f3a0000/1", mode="conversation", files=None),
        TerminalChanged(terminal="t1", call_id="c2", state="live", command="sh"),
        SessionClosed(reason="quit"),
    ]  # fmt: skip
    stored = [Event(seq=number, at=0.0, run_id="r1", body=body) for number, body in enumerate(said, -9)]
    engine = FakeEngine(answering({Subject.TRANSCRIPT: stored}))
    for body in (SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d", resumed=True), READY):
        engine.queue.put_nowait(body)
    lines = FakeLines(["/plan", "/status", "/redo", "1", "/quit"])
    await asyncio.wait_for(PlainApp(engine, config(tmp_path), lines).run(None), timeout=WAIT_S)
    out = capsys.readouterr().out
    assert "Plan:\n  1. look (done)\n" in out
    assert "Session: 7f3a0000, Mend it.\n" in out
    assert "Terminals: 0 live.\n" in out
    assert Redo() in engine.sent
    assert "session 7f3a0000 kept, 1 file changed\n" in out


async def test_a_redo_goes_on_past_a_live_terminal_only_when_told(tmp_path: Path) -> None:
    files = RollbackResult(target="7f3a/1", undo="7f3a/2", changed=(), kept=())
    plan = {"conflicts": [], "operations": []}
    engine = FakeEngine(answering({Subject.ROLLBACK_PLAN: plan}))
    for body in (
        SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d"),
        RolledBack(checkpoint_id="7f3a/1", mode="files", files=files),
        TerminalChanged(terminal="t1", call_id="c2", state="live", command="sh"),
        READY,
    ):
        engine.queue.put_nowait(body)
    lines = FakeLines(["/redo", "1", "2", "/quit", "yes"])
    await asyncio.wait_for(PlainApp(engine, config(tmp_path), lines).run(None), timeout=WAIT_S)
    assert [body for body in engine.sent if isinstance(body, Redo)] == [Redo(force=True)]


@pytest.mark.parametrize("is_lost", [True, False])
async def test_how_a_paused_session_goes_on_is_said_once_and_when_it_is_true(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_lost: bool
) -> None:
    resumed = SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d", resumed=True)
    paused = TaskChanged(task_id="t1", status=TaskStatus.PAUSED, cause="crashed")
    engine = FakeEngine(answering({Subject.TRANSCRIPT: []}))
    for body in (resumed, paused, replace(ENDED, reason=EndReason.CRASHED), *([LOST] * is_lost), READY):
        engine.queue.put_nowait(body)
    typed = ["3", "/quit"] if is_lost else ["/quit"]
    await asyncio.wait_for(PlainApp(engine, config(tmp_path), FakeLines(typed)).run(None), timeout=WAIT_S)
    out = capsys.readouterr().out
    assert out.count("Paused: an empty line goes on.") == 1
    if is_lost:
        assert out.index("3. Stop here") < out.index("Paused: an empty line goes on.")


async def test_what_a_terminal_wrote_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {
            "id": "t1",
            "command": "npm ci",
            "state": "ended",
            "exit_code": 0,
            "tail": "done\n",
            "ref": "out/c5",
        },
        {"id": "t2", "command": "npm run dev", "state": "live", "stopping_at": 9.0, "cwd": "/w/web"},
    ]
    answers = {Subject.TERMINALS: rows, Subject.OUTPUT: "one\n\x1b[2Jtwo"}
    await run(tmp_path, FakeLines(["/ps", "/output t1", "/output t9", "/quit"]), answering(answers))
    said = capsys.readouterr().out
    assert "t1, ended, exit 0: npm ci. Last line: done" in said
    assert "t2, stopping: npm run dev. In /w/web." in said
    assert "one\n\\x1b[2Jtwo\n" in said
    assert "/output TERMINAL prints all of it; /ps lists them." in said


async def test_the_checkpoints_are_listed_with_what_they_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Checkpoint(
        id="7f3a/1",
        session="7f3a",
        seq=1,
        created_at=0.0,
        tree="t",
        cause=Cause(phase=Phase.TURN_START, session="7f3a"),
    )
    answers = {
        Subject.CHECKPOINTS: [encode(found)],
        Subject.KEPT: encode(Kept(size_bytes=3_200_000, days=14)),
    }
    await run(tmp_path, FakeLines(["/checkpoints", "/quit"]), answering(answers))
    said = capsys.readouterr().out
    assert "7f3a/1, " in said
    assert "They take 3.2 MB on disk and are kept 14 days." in said


@pytest.mark.parametrize(("chosen", "asked"), [("1", Subject.WATCH), ("2", None)])
async def test_a_session_that_is_open_elsewhere_is_watched_or_copied(
    tmp_path: Path, chosen: str, asked: Subject | None, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {
        Subject.SESSIONS: [{"id": "ab12", "live": True, "workspace": str(tmp_path)}],
        Subject.WATCH: {"events": [], "read": 0},
    }
    engine = FakeEngine(answering(answers))
    engine.queue.put_nowait(SessionStarted(session_id="7f3a0000", workspace="/w", model="demo/demo"))
    engine.queue.put_nowait(READY)
    app = PlainApp(engine, config(tmp_path), FakeLines(["/resume", "1", chosen, "", "/watch", "/quit"]))
    await asyncio.wait_for(app.run(None), timeout=WAIT_S)
    looked = [body.subject for body in engine.sent if isinstance(body, Inspect)]
    assert (Subject.WATCH in looked) == (asked is Subject.WATCH)
    assert (app.next_arguments or [])[:3] == ([] if asked else ["resume", "ab12", "--fork"])
    said = capsys.readouterr().out
    assert "ab12 is open in another terminal." in said
    assert ("/watch ID follows a session" in said) == (asked is not None)


TERMINAL = TerminalChanged(terminal="t1", call_id="c1", command="npm run dev", state="live")


@pytest.mark.parametrize(
    ("typed", "stopped", "force"), [("1", True, False), ("2", False, True), ("", False, None)]
)
async def test_files_go_back_past_a_live_terminal_only_as_was_said(
    tmp_path: Path, typed: str, stopped: bool, force: bool | None
) -> None:
    answers = {Subject.ROLLBACK_PLAN: {"conflicts": [], "operations": []}, Subject.GRANTS: []}
    answered = answering(answers)

    def react(body: CommandBody) -> list[Body]:
        found = answered(body)
        return [replace(TERMINAL, state="ended")] if isinstance(body, TerminalInput) else found

    engine = FakeEngine(react)
    engine.queue.put_nowait(SessionStarted(session_id="7f3a0000", workspace="/w", model="demo/demo"))
    engine.queue.put_nowait(READY)
    engine.queue.put_nowait(TERMINAL)
    lines = FakeLines(["/rollback 7f3a/1 files a.py", "1", typed, "/quit", *([] if stopped else ["yes"])])
    await asyncio.wait_for(PlainApp(engine, config(tmp_path), lines).run(None), timeout=WAIT_S)
    assert (TerminalInput(terminal="t1", signal=STOP) in engine.sent) == stopped
    sent = [body for body in engine.sent if isinstance(body, Rollback)]
    assert [(body.paths, body.force) for body in sent] == ([] if force is None else [(("a.py",), force)])


async def test_a_message_that_waits_is_taken_back_with_its_pictures(tmp_path: Path) -> None:
    picture = Image(media_type="image/png", data="iVBORw0KGgo=", name="a.png")
    waiting = InputAccepted(input_id="n7", kind=InputKind.QUEUE, text="later", images=(picture,))

    def react(body: CommandBody) -> list[Body]:
        back = isinstance(body, EditPending)
        return [InputReturned(input_id="n7", text="later", reason="taken back")] if back else []

    engine = FakeEngine(react)
    engine.queue.put_nowait(SessionStarted(session_id="7f3a0000", workspace="/w", model="demo/demo"))
    engine.queue.put_nowait(READY)
    engine.queue.put_nowait(waiting)
    lines = FakeLines(["/take", "1", "again", "/take", "/quit"])
    await asyncio.wait_for(PlainApp(engine, config(tmp_path), lines).run(None), timeout=WAIT_S)
    assert EditPending(input_id="n7", text=None) in engine.sent
    assert "later" in lines.drafts
    assert Submit(text="again", images=(picture,)) in engine.sent


async def test_what_was_said_after_a_point_is_the_next_draft_once_it_was_gone_back_to(tmp_path: Path) -> None:
    answers = {Subject.ROLLBACK_PLAN: {"conflicts": [], "operations": []}, Subject.GRANTS: []}
    back = RolledBack(checkpoint_id="7f3a/1", mode="conversation", files=None, messages=("one", "two"))
    answered = answering(answers)
    lines = FakeLines(["/rollback 7f3a/1 conversation", "1", "", "/quit"])
    await run(
        tmp_path, lines, lambda body: [*answered(body), *([back] if isinstance(body, Rollback) else [])]
    )
    assert "one\n\ntwo" in lines.drafts


async def test_other_sessions_are_named_deleted_and_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [InputAccepted(input_id="n1", kind=InputKind.PROMPT, text="mend it")]
    told: list[Body] = [*said, InputDelivered(input_id="n1", item_id="i1", step=1)]
    stored = [Event(seq=number, at=0.0, run_id="r1", body=body) for number, body in enumerate(told, 1)]
    answers = {Subject.SESSIONS: [], Subject.TRANSCRIPT: stored, Subject.MODELS: [], Subject.DIFF: "-a\n+b"}
    typed = ["/sessions rename ab12 a good name", "/sessions rm ab12", "no", "/sessions rm ab12", "yes"]
    spoken = replace(config(tmp_path), interface={"screen_reader": "true"})
    engine = FakeEngine(answering(answers))
    engine.queue.put_nowait(SessionStarted(session_id="7f3a0000", workspace="/w", model="d/d", resumed=True))
    engine.queue.put_nowait(READY)
    lines = FakeLines(
        [*typed, "/sessions all", "/transcript", "/diff 7f3a/1 7f3a/2", "/model a/b default", "/quit"]
    )
    await asyncio.wait_for(PlainApp(engine, spoken, lines).run(None), timeout=WAIT_S)
    assert [dict(body.args) for body in engine.sent if isinstance(body, Inspect)] == [
        {"after": "0"},  # for the calls of the earlier process
        {"rename": "ab12", "title": "a good name"},
        {"remove": "ab12"},
        {},
        {"after": "0"},
        {"checkpoint": "7f3a/1", "until": "7f3a/2"},
        {"default": "a/b"},
    ]
    assert Set(key="model", value="a/b") in engine.sent
    out = capsys.readouterr().out
    assert "/transcript prints what was said before." in out
    for told_so in ("Nothing was deleted.", "ab12 is deleted.", "No other session yet.", "you> mend it"):
        assert f"{told_so}\n" in out
    assert "removed: a\nadded: b\n" in out


async def test_what_is_refused_is_the_next_draft(tmp_path: Path) -> None:
    def react(body: CommandBody) -> list[Body]:
        refused = Refused(command_id="plain-1", reason="a run is under way")
        return [refused] if isinstance(body, RunShell) else []

    lines = FakeLines(["!!make", ""])
    await run(tmp_path, lines, react)
    assert "!!make" in lines.drafts
