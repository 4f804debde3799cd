from dataclasses import replace

import pytest

from agent_tui.engine.events import (
    ApprovalDecided,
    Body,
    CallChanged,
    CallEnded,
    CallOutput,
    CallProposed,
    CallStarted,
    InputAccepted,
    InputAwaited,
    NoticeRaised,
    RetryScheduled,
    RolledBack,
    TurnEnded,
)
from agent_tui.engine.types import CallState, Decision, EndReason, InputKind, SandboxStatus
from agent_tui.plain.calls import Calls
from agent_tui.plain.progress import Progress
from agent_tui.plain.wording import Narrator
from agent_tui.plain.words import changes_text, money, sandbox_words, seconds
from checkpoints.types import Author, FileChange, RollbackResult
from context.items import Usage
from sandbox.policy import Mode
from tools.types import Grant, Outcome, OutcomeStatus


def call_ended(tool: str, outcome: Outcome, **values: object) -> CallEnded:
    base: dict[str, object] = {"changes": (), "external": (), "duration_s": 9.2}
    return CallEnded(call_id="c1", tool=tool, outcome=outcome, **(base | values))  # type: ignore[arg-type]


def told(*bodies: Body) -> list[str]:
    narrator = Narrator()
    return [line for body in bodies for line in narrator.lines(body)]


def proposed(tool: str, shown: str) -> CallProposed:
    return CallProposed(call_id="c1", step_id="s1", tool=tool, arguments="{}", shown=shown)


def test_a_failed_command_says_how_and_shows_its_last_lines() -> None:
    started = CallStarted(
        call_id="c1", attempt=1, arguments_sha256="", cwd="/w", sandbox="", spool="", boot_id=""
    )
    outcome = Outcome(
        status=OutcomeStatus.FAILED, text="one\nFAILED test_a\n1 failed, 63 passed in 8.91s", exit_code=1
    )
    assert told(proposed("exec_command", "pytest -q"), started, call_ended("exec_command", outcome)) == [
        "Running: pytest -q",
        "Failed: pytest -q, exit code 1, 9.2 seconds. Last lines:",
        "  one",
        "  FAILED test_a",
        "  1 failed, 63 passed in 8.91s",
    ]


def test_a_command_that_waits_for_input_says_how_it_is_answered_once_it_can_be() -> None:
    waits = InputAwaited(call_id="c1", waits=True)
    outcome = Outcome(status=OutcomeStatus.YIELDED, text="", terminal="t2")
    answered = "Terminal t2: waiting for input. /type t2 TEXT answers it."
    assert told(proposed("exec_command", "./ask"), waits, call_ended("exec_command", outcome)) == [
        "Waiting for input: ./ask",
        "Terminal: ./ask, lives on as t2, 9.2 seconds.",
        answered,
    ]
    again = [InputAwaited(call_id="c1", waits=now, terminal="t2") for now in (False, True)]
    assert told(*again) == [answered]


def test_a_patch_names_every_file_and_what_became_of_it() -> None:
    changes = (
        FileChange(path="slugify.py", kind="M", added=2, removed=1),
        FileChange(path="test_slugify.py", kind="A", added=14, removed=0),
    )
    ended = call_ended("apply_patch", Outcome(status=OutcomeStatus.SUCCEEDED, text=""), changes=changes)
    assert told(ended) == [
        "Patched: 2 files. Modified slugify.py, 2 lines added, 1 removed. Added test_slugify.py, 14 lines. "
        "Type /diff to read it."
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            FileChange(path="logo.png", kind="M", detail="binary, 14 KB → 15 KB"),
            "Modified logo.png, binary, 14 KB to 15 KB.",
        ),
        (
            FileChange(path="run.sh", kind="X", detail="mode 644 → 755"),
            "Changed the mode of run.sh, 644 to 755.",
        ),
        (FileChange(path="latest", kind="M", detail="link v1 → v2"), "Modified latest, link v1 to v2."),
        (FileChange(path="b", kind="R", old_path="a", added=0, removed=0), "Renamed a to b."),
        (
            FileChange(path="b", kind="R", old_path="a", added=1, removed=2),
            "Renamed a to b, 1 line added, 2 removed.",
        ),
    ],
)
def test_what_is_no_text_is_told_without_glyphs(change: FileChange, said: str) -> None:
    assert changes_text([change]) == said


def test_changes_of_others_are_not_told_as_the_calls_own() -> None:
    outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text="", exit_code=0)
    external = (FileChange(path="notes.txt", kind="M", added=3, removed=0, author=Author.EXTERNAL),)
    lines = told(call_ended("exec_command", outcome, external=external))
    assert lines[1] == (
        "External, meanwhile: Modified notes.txt, 3 lines added, 0 removed. Not by this call."
    )


def test_the_end_of_a_turn_says_why_what_and_how_it_was_checked() -> None:
    ended = TurnEnded(
        run_id="r1",
        reason=EndReason.COMPLETED,
        sentence="done",
        exit_code=0,
        usage=Usage(),
        cost_usd=0.51,
        steps=6,
        duration_s=58.0,
        changes=(FileChange(path="slugify.py", kind="M"),),
        last_check="pytest -q",
        check_result="passed after the last change",
    )
    assert told(ended)[1] == (
        "Done: 6 steps, 58 seconds, 51 cents. 1 file changed: slugify.py. "
        "Last check: pytest -q passed after the last change."
    )


def test_amounts_and_spans_are_said_in_the_unit_that_they_round_to() -> None:
    amounts = (0.0, 0.0042, 0.01, 0.51, 0.996, 1_234.5)
    assert [money(amount) for amount in amounts] == [
        "0 cents", "0.42 cents", "1 cent", "51 cents", "1.00 dollars", "1,234.50 dollars",
    ]  # fmt: skip
    spans = (1.0, 9.2, 9.96, 59.4, 59.7, 61, 125)
    assert [seconds(span) for span in spans] == [
        "1.0 second", "9.2 seconds", "10 seconds", "59 seconds", "1 minute 0 seconds", "1 minute 1 second",
        "2 minutes 5 seconds",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "hostile", ["\x1b[2J\x1b[H", "\x1b]0;t\x07", "\u009b2J", "\u202eevil", "a\rb", "x\u200by"]
)
def test_no_control_character_of_others_reaches_the_terminal(hostile: str) -> None:
    outcome = Outcome(status=OutcomeStatus.FAILED, text=hostile, exit_code=1)
    change = FileChange(path=hostile, kind="M", added=1, removed=1)
    lines = told(
        proposed("exec_command", hostile),
        call_ended("exec_command", outcome, changes=(change,)),
        NoticeRaised(text=hostile),
        InputAccepted(input_id="i", kind=InputKind.STEER, text=hostile),
    )
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for line in lines for char in line)
    assert "\u202e" not in "".join(lines)


def test_a_rollback_says_what_stayed_and_how_to_undo_it() -> None:
    files = RollbackResult(
        target="7f3a/12",
        undo="7f3a/20",
        changed=(FileChange(path="a.py", kind="M", added=1, removed=1),),
        kept=("notes.txt",),
    )
    (line,) = told(RolledBack(checkpoint_id="7f3a/12", mode="files", files=files))
    assert line.startswith("Rolled back: 1 file.")
    assert "Kept as yours: notes.txt." in line
    (nothing,) = told(RolledBack(checkpoint_id="7f3a/12", mode="files", files=replace(files, changed=())))
    assert nothing == "Rolled back: 0 files. Kept as yours: notes.txt. Type /redo to undo this."
    assert line.endswith("Type /redo to undo this.")


def test_steering_now_says_what_is_told_to_stop() -> None:
    now = InputAccepted(input_id="i1", kind=InputKind.STEER, text="less", now=True)
    started = CallStarted(
        call_id="c1", attempt=1, arguments_sha256="", cwd="/w", sandbox="", spool="", boot_id=""
    )
    assert told(proposed("exec_command", "make"), started, now)[-1] == "Steer now: 1 call told to stop."
    assert told(now) == ["Steer now: after this answer, without its calls."]


def test_what_was_edited_by_the_person_is_said() -> None:
    edited = ApprovalDecided(
        approval_id="a1", call_id="c1", decision=Decision.EDIT, by="person", edited='{"patch": "x"}'
    )
    assert told(proposed("apply_patch", "a.py"), edited) == [
        "Edited by you. The model asked for another patch."
    ]


def test_a_failure_that_repeats_is_said_once() -> None:
    retries = [RetryScheduled(attempt=n, attempts=4, delay_s=2.0, error="busy") for n in (2, 3)]
    assert told(*retries) == [
        "Provider: busy; retry 2 of 4 in 2.0 seconds.",
        "An empty line tries now.",
        "Retry 3 of 4 in 2.0 seconds.",
    ]


def test_a_steer_is_taken_after_what_runs() -> None:
    steer = InputAccepted(input_id="i", text="no", kind=InputKind.STEER)
    started = CallStarted(
        call_id="c1", attempt=1, arguments_sha256="", cwd="/w", sandbox="", spool="", boot_id=""
    )
    assert told(steer, proposed("exec_command", "make"), started, steer) == [
        "Steer: taken after this answer.",
        "Running: make",
        "Steer: taken after this call.",
    ]


@pytest.mark.parametrize(
    ("tool", "shown", "data", "said"),
    [
        ("read_file", "a.py", {"first": 1, "last": 42, "total": 42}, "Read: a.py, 42 lines."),
        ("read_file", "a.py", {"first": 7, "last": 7, "total": 1_042}, "Read: a.py, 1 line."),
        ("list_files", "src", {"total": 1_002, "shown": 500}, "Listed: src, 1,002 entries."),
        (
            "search_files",
            '"x(" in .',
            {"matches": 9, "files": 4},
            'Searched: "x(" in the directory, 9 matches in 4 files.',
        ),
    ],
)
def test_a_read_says_how_much_it_found(tool: str, shown: str, data: dict[str, int], said: str) -> None:
    outcome = Outcome(status=OutcomeStatus.SUCCEEDED, text="", data=data)
    assert told(proposed(tool, shown), call_ended(tool, outcome)) == [said]


@pytest.mark.parametrize(
    ("grant", "detail", "denial", "said"),
    [
        (Grant.READ_PATH, "/opt/sdk", "x", "not visible in it: /opt/sdk (/sandbox add /opt/sdk)"),
        (Grant.NETWORK, "example.org", "x", "network is off"),
        (Grant.WRITE_PATH, "/etc", "write to /etc denied", "write to /etc denied"),
    ],
)
def test_what_the_sandbox_denied_is_said(grant: Grant, detail: str, denial: str, said: str) -> None:
    outcome = Outcome(
        status=OutcomeStatus.FAILED,
        text="",
        denial=denial,
        denied_grant=grant,
        denied_detail=detail,
    )
    lines = told(proposed("exec_command", "make"), call_ended("exec_command", outcome))
    assert lines[-1] == f"Sandbox: {said}."


def test_a_denial_says_what_the_model_was_told() -> None:
    denied = ApprovalDecided(
        approval_id="a1", call_id="c1", decision=Decision.DENY, by="person", feedback="bump it first"
    )
    outcome = Outcome(status=OutcomeStatus.DENIED, text="")
    assert told(proposed("exec_command", "make publish"), denied, call_ended("exec_command", outcome)) == [
        "Denied: make publish. The model was told: bump it first"
    ]


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [
        (SandboxStatus(available=True, mode=Mode.WORKSPACE_WRITE, network=False), "workspace, network off"),
        (
            SandboxStatus(available=True, mode=Mode.WORKSPACE_WRITE, network=True, extra_roots=2),
            "workspace and 2 more, network on",
        ),
        (SandboxStatus(available=True, mode=Mode.OFF, network=False), "OFF, commands run as you"),
        (
            SandboxStatus(available=False, mode=Mode.READ_ONLY, network=False, detail="no bwrap"),
            "not available, each command asks: no bwrap",
        ),
    ],
)
def test_what_commands_may_touch_is_said(sandbox: SandboxStatus, words: str) -> None:
    assert sandbox_words(sandbox, "on-request") == words


def test_without_a_sandbox_and_anybody_to_ask_no_command_runs() -> None:
    none = SandboxStatus(available=False, mode=Mode.READ_ONLY, network=False, detail="no bwrap")
    assert sandbox_words(none, "never") == "not available, no command runs: no bwrap"


def test_what_still_goes_on_is_said_at_ten_and_thirty_seconds_and_then_each_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, said = 0.0, list[str]()
    monkeypatch.setattr("agent_tui.plain.progress.time.monotonic", lambda: now)
    calls = Calls()
    progress = Progress(calls, lambda line: said.append(f"{now:g}: {line}"))

    def pass_time(until: int, *, is_held: bool = False) -> None:
        nonlocal now
        while now < until:
            now += 1
            progress.look(is_held=is_held)

    pass_time(35)
    calls.lines(proposed("exec_command", "npm ci"))
    calls.lines(CallChanged(call_id="c1", state=CallState.VALIDATED, detail="for the first checkpoint"))
    pass_time(50)
    calls.lines(
        CallStarted(call_id="c1", attempt=1, arguments_sha256="", cwd="", sandbox="", spool="", boot_id="")
    )
    calls.lines(CallOutput(call_id="c1", text="one\ntwo\n"))
    calls.lines(InputAwaited(call_id="c1", waits=True))
    pass_time(200)
    pass_time(300, is_held=True)
    assert said == [
        "11: Still waiting: 10 seconds, for the model.",
        "31: Still waiting: 30 seconds, for the model.",
        "46: Still waiting: 10 seconds, npm ci, for the first checkpoint.",
        "61: Still running: 10 seconds, npm ci, 2 lines so far, waiting for input.",
        "81: Still running: 30 seconds, npm ci, 2 lines so far, waiting for input.",
        "111: Still running: 1 minute 0 seconds, npm ci, 2 lines so far, waiting for input.",
        "171: Still running: 2 minutes 0 seconds, npm ci, 2 lines so far, waiting for input.",
    ]
