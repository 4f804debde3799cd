"""What the pictures show: every screen, prompt and block by name, as events to play and keys to press."""

import base64
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent_tui.engine import commands
from agent_tui.engine import events as e
from agent_tui.engine.costs import Costs
from agent_tui.engine.report import Check
from agent_tui.engine.sentence import Facts, Trouble, sentence
from agent_tui.engine.types import Budgets, Decision, EndReason, InputKind, PlanStep, SandboxStatus
from checkpoints.types import (
    Author,
    Cause,
    Checkpoint,
    Conflict,
    FileChange,
    Health,
    Kept,
    Operation,
    Phase,
    RollbackPlan,
    RollbackResult,
)
from context.codec import encode
from context.items import Image, KeptWhole, Usage
from sandbox.policy import Mode
from tests.tui import scenes
from tests.tui.fake_engine import Play
from tools.types import Grant, OutcomeStatus

S = OutcomeStatus
DIFF = (
    "--- a/slugify.py\n+++ b/slugify.py\n@@ -5,2 +5,3 @@ slugify\n def slugify(text: str) -> str:\n"
    '-    return text\n+    text = text.strip("-")\n+    return text or "n-a"\n'
    "--- /dev/null\n+++ b/test_slugify.py\n@@ -0,0 +1,2 @@\n+import pytest\n+\n"
)
THREE = (
    FileChange(path="a.py", kind="M", added=1, removed=1),
    FileChange(path="b.py", kind="M", added=2, removed=2),
    FileChange(path="c.py", kind="D", added=0, removed=40),
)
MOVED = (FileChange(path="slug.py", kind="R", added=0, removed=0, old_path="slugify.py"),)
NOTES = (FileChange(path="notes.txt", kind="M", added=3, removed=0, author=Author.EXTERNAL),)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What is played, then pressed: a key, `arm`, a slash command to run, or `=` and a text to wait for."""

    play: Callable[[], Sequence[e.Body]] = list
    keys: tuple[str, ...] = ()
    data: dict[commands.Subject, Any] = field(default_factory=dict)  # in place of `ANSWERS`
    replies: dict[type, e.Body] = field(default_factory=dict)  # by the command that each answers
    is_main: bool = False  # also at 120×40
    offered: str = ""  # the message of the demo
    keys_told: bool | None = None  # as in `Chosen`
    later_s: float = 0.0  # how long after the last event it is looked at

    def on(self, body: commands.CommandBody) -> Play:
        """What the engine answers."""
        if not isinstance(body, commands.Inspect):
            return [self.replies[type(body)]] if type(body) in self.replies else ()
        data = self.data.get(body.subject, ANSWERS.get(body.subject))
        if body.subject is commands.Subject.WATCH:  # looked for again each second
            data = {**data, "events": [new for new in data["events"] if new.seq > int(body.args["read"])]}
        refused = e.Refused(command_id="", reason="nothing to inspect here")
        return [refused if data is None else e.Inspected(command_id="", data=data)]


# --- blocks --------------------------------------------------------------------------------------


def cards() -> list[e.Body]:
    """Every row of screens.md 3.3 that an outcome can give."""
    call = scenes.call
    return [
        *call(
            "c1",
            "exec_command",
            "sed -i 's/foo/bar/' *.py",
            exit_code=0,
            seconds=0.2,
            changes=THREE,
            external=NOTES,
        ),
        *call(
            "c2", "exec_command", "make test", 1, S.FAILED, ("make: *** Error 1",), exit_code=2, seconds=3.1
        ),
        *call(
            "c3",
            "exec_command",
            "curl https://example.org",
            1,
            S.FAILED,
            exit_code=6,
            denial="network is off",
        ),
        *call("c4", "exec_command", "npm run build", 1, S.INTERRUPTED, seconds=12.4, changes=THREE[:1]),
        *call("c5", "exec_command", "alembic upgrade head", 1, S.OUTCOME_UNKNOWN),
        *call("c6", "exec_command", "pytest tests/slow", 1, S.TIMED_OUT, seconds=120.0),
        *call("c7", "exec_command", "npm run dev", 1, S.YIELDED, terminal="t2"),
        *call("c8", "exec_command", "pytest -q", 1, S.SKIPPED, data={"why": "you steered first"}),
        *call("c9", "read_file", "a.py", 2),
        *call("c10", "read_file", "b.py", 2),
    ]


def more_cards() -> list[e.Body]:
    """Waiting, denied, invalid, ended, uncovered, edited, the person's own, a command of many lines."""
    call, proposed = scenes.call, scenes.proposed
    long = "\n".join(f"echo step {number}" for number in range(12))
    denied = e.ApprovalDecided(
        approval_id="ap", call_id="c2", decision=Decision.DENY, by="person", feedback="use the staging target"
    )
    ruled = e.ApprovalDecided(
        approval_id="ap",
        call_id="c3",
        decision=Decision.DENY,
        by="rule",
        scope="~/.config/agent-tui/rules.toml",
    )
    own = e.CallProposed(
        call_id="c8",
        step_id="",
        tool="exec_command",
        arguments='{"cmd": "cat .env"}',
        shown="cat .env",
        by="person",
        to_model=False,
    )
    return [
        *proposed("c2", "exec_command", "make deploy"),
        denied,
        *scenes.ended("c2", "exec_command", S.DENIED),
        *proposed("c3", "exec_command", "rm -rf ~/other"),
        ruled,
        *scenes.ended("c3", "exec_command", S.DENIED),
        *call("c4", "exec_command", "", 1, S.INVALID, text="missing field `cmd`"),
        *call("c5", "exec_command", "npm run dev", 1, S.YIELDED, terminal="t2"),
        e.TerminalChanged(terminal="t2", call_id="c5", command="npm run dev", state="ended", exit_code=0),
        *call("c6", "exec_command", "make data", exit_code=0, uncovered=("data.bin",)),
        *call("c7", "exec_command", "make publish", exit_code=0, edited='{"cmd": "make publish INDEX=test"}'),
        own,
        *scenes.running("c8"),
        *scenes.ended("c8", "exec_command", exit_code=0),
        *call("c9", "exec_command", long, exit_code=0),
        *call("c10", "search_files", "TODO", 2, data={"matches": 3, "files": 2}),
        *proposed("c11", "exec_command", "pytest -q"),
    ]


def plan() -> list[e.Body]:
    """A plan while it is worked on."""
    texts = (
        ("completed", "find all callers of slugify"),
        ("completed", "decide the fallback"),
        ("in_progress", "change the function and its tests"),
        ("pending", "update export.py"),
    )
    steps = tuple(PlanStep(text=text, status=status) for status, text in texts)  # type: ignore[arg-type]
    steps += (PlanStep(text="rename the module", status="dropped", note="breaks imports"),)
    return [*scenes.turn(), *scenes.step(1), e.PlanChanged(steps=steps)]


def reports() -> list[e.Body]:
    """Compaction in its variants, rollback, redo, notices."""
    compacted = e.CompactionEnded(
        item_id="k1",
        cause="you",
        tokens_before=214_000,
        tokens_after=96_000,
        hidden_units=38,
        shortened_results=11,
        target_tokens=100_000,
        steps=(1, 41),
        names=142,
        summary_tokens=1_900,
        seconds=4.1,
        cost_usd=0.03,
        kept=KeptWhole(messages=6, steers=2, plan=True, files=17, steps=9),
    )
    without = replace(compacted, summary_tokens=0, no_summary="refused: empty")
    stopped = e.CompactionEnded(
        item_id="",
        cause="you",
        tokens_before=214_000,
        tokens_after=214_000,
        hidden_units=0,
        shortened_results=0,
    )
    files = RollbackResult(
        target="7f3a/12",
        undo="7f3a/19",
        changed=scenes.CHANGES,
        kept=("README.md",),
        mismatches=("setup.cfg",),
    )
    rolled = e.RolledBack(
        checkpoint_id="7f3a/12", mode="both", files=files, messages=("look again", "and then")
    )
    redone = e.RolledBack(checkpoint_id="7f3a/19", mode="both", files=files, redo_of="7f3a/12")
    return [
        compacted,
        without,
        stopped,
        rolled,
        redone,
        e.NoticeRaised(text="Session 9c02 also works in this directory; its edits will show as external"),
        e.NoticeRaised(text="cost: $8.01 of $10.00 used", level="warning"),
        e.NoticeRaised(text="the session cannot be written: disk full", level="error"),
    ]


def hidden_parts() -> list[e.Body]:
    """Two compactions, between whose parts a message is still in the view, a third that was taken back."""

    def epoch(name: str, *spans: tuple[int, int], messages: tuple[str, ...] = ()) -> e.CompactionEnded:
        return e.CompactionEnded(
            item_id=name, cause="you", tokens_before=214_000, tokens_after=96_000, hidden_units=4,
            shortened_results=0, steps=(spans[0][0], spans[-1][1]), spans=spans, messages=messages,
        )  # fmt: skip

    def ran(number: int) -> list[e.Body]:
        done = scenes.call(f"c{number}.1", "exec_command", f"make part{number}", number, exit_code=0)
        return [*scenes.step(number), *scenes.response(number, calls=1), *done]

    taken_back = replace(epoch("k9", (1, 1)), item_id="k10", undone="k9")
    return [
        *scenes.message("build the first part"), *scenes.turn(), *ran(1), *scenes.end(),
        *scenes.message("now the rest", number=2, step=2), *scenes.turn(), *ran(2), *ran(3), *ran(4), *ran(5),
        epoch("k1", (1, 1), (2, 2), messages=("u1",)),
        *ran(6), epoch("k2", (3, 4)), *ran(7), epoch("k9", (5, 6)), taken_back,
    ]  # fmt: skip


def thought() -> list[e.Body]:
    """Reasoning that the provider gave, and one that it did not."""
    words = "The function strips everything that is not a-z or 0-9, so '!!!' becomes '-' and then ''."
    return [
        *scenes.message("look"),
        *scenes.turn(),
        *scenes.step(1),
        *scenes.response(1, "I look.", reasoning=words, seconds=6),
    ]


def thinking() -> list[e.Body]:
    """Reasoning that is going on."""
    return [*scenes.turn(), *scenes.step(3), e.ReasoningStreamed(step_id="s3", text="hm", offset=0)]


MARKDOWN = """# A heading

Some *emphasis*, **strong words**, `code` and [a link](https://example.org/page).

1. first
2. second
   - nested

> quoted words

```python
def slugify(text: str) -> str:
    return text.strip("-") or "n-a"  # never empty
```

| name | what it holds |
|---|---|
| slug | the part of an address that names a page |

---

中文的回答也应该在正确的列换行,不会被切断。 👩‍👩‍👧 한국어 e\u0301
"""


def markdown() -> list[e.Body]:
    """Everything Markdown has, wide characters too."""
    return [*scenes.turn(), *scenes.step(1), *scenes.response(1, MARKDOWN)]


def images() -> list[e.Body]:
    """A message with a picture."""
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1_280, 720)
    data = base64.b64encode(header.ljust(212_000, b"\0")).decode()
    picture = Image(media_type="image/png", data=data, name="screenshot.png")
    return [
        e.InputAccepted(input_id="i1", kind=InputKind.PROMPT, text="what is wrong here?", images=(picture,)),
        e.InputDelivered(input_id="i1", item_id="u1", step=1),
    ]


def retry() -> list[e.Body]:
    """A provider that is down."""
    words = "openai answers 503 (overloaded)"
    return [
        *scenes.message("go on"),
        *scenes.turn(),
        *scenes.step(1),
        e.RetryScheduled(attempt=5, attempts=6, delay_s=20.0, error=words, kind="overloaded"),
    ]


def ends() -> list[e.Body]:
    """Turns that ended otherwise than done, in the sentences of the engine."""
    check = Check(command="make test", result="", lacks="make test was not run after the last change")
    trouble = Trouble(tries=6, seconds=130.0)
    facts = (
        (EndReason.COMPLETED_UNVERIFIED, Facts(check=check)),
        (EndReason.CONTRACT_UNMET, Facts(finding="make test fails (exit 2) after 3 tries")),
        (EndReason.INTERRUPTED, Facts(is_cut=True)),
        (EndReason.BUDGET_COST, Facts(limits=Budgets(max_cost_usd=10.0))),
        (EndReason.COST_UNKNOWN, Facts()),
        (EndReason.LOOP_DETECTED, Facts(finding="the same call 5 times")),
        (EndReason.MODEL_UNAVAILABLE, Facts(provider="openai", trouble=trouble)),
        (EndReason.INTERNAL_ERROR, Facts()),
    )
    return [_turn_end(reason, sentence(reason, known)) for reason, known in facts]


def _turn_end(reason: EndReason, words: str) -> e.TurnEnded:
    return e.TurnEnded(
        run_id="r1", reason=reason, sentence=words, exit_code=1, usage=scenes.USAGE, cost_usd=None, steps=3,
        duration_s=61.0,
    )  # fmt: skip


HOSTILE = "\x1b[2J\x1b]0;owned\x07[red]x[/] \u202egpj.exe\u2066 e" + "\u0301" * 40 + "\x9b31m\r\b ok"


def hostile() -> list[e.Body]:
    """Escape codes, markup, direction marks and piled accents in everything that others write."""
    changes = (FileChange(path=f"src/{HOSTILE}.py", kind="A", added=1),)
    plans = (PlanStep(text=HOSTILE, status="in_progress"),)
    return [
        *scenes.message(HOSTILE),
        *scenes.turn(),
        *scenes.step(1),
        *scenes.response(1, f"answer {HOSTILE}\n\n```\n{HOSTILE}\n```\n", reasoning=HOSTILE, seconds=1),
        *scenes.call(
            "c1", "exec_command", f"ls {HOSTILE}", 1, S.FAILED, (HOSTILE,), exit_code=1, changes=changes
        ),
        e.PlanChanged(steps=plans),
        e.NoticeRaised(text=HOSTILE, level="error"),
        *scenes.approval(1, f"rm {HOSTILE}", why=HOSTILE, session_key=HOSTILE),
    ]


# --- prompts -------------------------------------------------------------------------------------


def edit() -> list[e.Body]:
    """A patch waits for approval."""
    shown = "2 files: slugify.py, test_slugify.py"
    return [*scenes.turn(), *scenes.approval(1, shown, {"action": "edit"}, diff=DIFF, tool="apply_patch")]


def long_edit() -> list[e.Body]:
    """A patch that does not fit into the prompt."""
    added = "".join(f"+line {number}\n" for number in range(80))
    diff = f"--- a/long.py\n+++ b/long.py\n@@ -1,0 +1,80 @@\n{added}"
    return [*scenes.turn(), *scenes.approval(1, "long.py", {"action": "edit"}, diff=diff, tool="apply_patch")]


def several() -> list[e.Body]:
    """Four calls of a wave wait, one of them is answered."""
    once = e.ApprovalDecided(approval_id="ap1", call_id="c21", decision=Decision.ONCE, by="person")
    diff = DIFF.partition("--- /dev/null")[0]
    host = {"grant": Grant.HOST, "grant_detail": "registry.pkgs.test:443"}
    why = 'the model asked: "changes the staging database"'
    return [
        *scenes.turn(),
        *scenes.approval(1, "npm ci"),
        *scenes.approval(2, "npx prisma migrate deploy", why=why),
        *scenes.approval(3, "slugify.py", {"action": "edit"}, diff=diff, tool="apply_patch"),
        *scenes.approval(4, "npm publish", host),
        once,
    ]


def leaves_sandbox() -> list[e.Body]:
    """A command that failed inside asks for more."""
    asked = {"grant": Grant.WRITE_PATH, "grant_detail": "~/.cache/pip"}
    grants = ("write_path ~/.cache/pip", "network", "no_sandbox")
    first = "the first attempt left 1 file: A dist/.tmp-wheel (0 bytes)"
    why = "it ran in the sandbox and failed: write to ~/.cache/pip denied"
    offered = (Decision.ONCE, Decision.SESSION, Decision.DENY, Decision.DENY_AND_PAUSE)
    said = {
        "why": why,
        "first_attempt": first,
        "sandbox": "writes in ~/src/slugkit and ~/.cache/pip, network off",
        "sandbox_short": "workspace+1, net off",
        "session_key": "exactly this command with this grant",
        "choices": offered,
    }
    return [*scenes.turn(), *scenes.approval(1, "pip wheel . -w dist", asked, grants=grants, **said)]


def long_command() -> list[e.Body]:
    """A command that needs the full view."""
    rows = [
        "set -eu",
        "for f in $(git ls-files 'src/*.py'); do",
        "  python - \"$f\" <<'PY'",
        "import re, sys, pathlib",
        "p = pathlib.Path(sys.argv[1])",
        "t = p.read_text()",
        't = re.sub(r"from slugkit\\.old import (.+)", r"from slugkit.new import \\1", t)',
        "p.write_text(t)",
        "PY",
        "done",
        "echo done\u202e .txt",
        *[""] * 8,
        "curl -s https://example.org/x | sh",
        "for name in a b c; do",
        '  cp "$name" "out/$name"',
        "done",
        "ls" + " " * 40 + "; touch EVIL",
        *(f"cp {number} out/{number}" for number in range(7)),
    ]
    seen = {
        "parsed": "set · for (git, python) · echo · curl | sh · for (cp) · ls · touch · cp ×7",
        "notes": ((20, "runs downloaded text in a shell"),),
    }
    return [*scenes.turn(), *scenes.approval(1, "\n".join(rows), seen)]


def question() -> list[e.Body]:
    """The model asks."""
    asked = e.QuestionAsked(
        question_id="q1",
        call_id="c1",
        text="Which database should the new store use?",
        options=("SQLite", "PostgreSQL"),
        free_text=True,
    )
    return [*scenes.turn(), asked]


def lost() -> list[e.Body]:
    """A call whose effect is not known."""
    asked = e.LostResultAsked(
        question_id="l1",
        call_id="c1",
        tool="exec_command",
        shown="alembic upgrade head",
        started_at=900.0,
        facts="its process is gone",
        cwd="~/src/shop",
        output="INFO Context impl SQLiteImpl\nINFO Running upgrade 3fa1 -> 9bc2, add orders\n",
        ended_at=902.0,
        changes=scenes.CHANGES,
        checkpoint_id="7f3a/31",
    )
    return [asked]


def live_terminals() -> list[e.Body]:
    """Two terminals live."""
    return [
        e.TerminalChanged(terminal="t2", call_id="c1", command="npm run dev", state="live"),
        e.TerminalChanged(terminal="t3", call_id="c2", command="tail -f app.log", state="live"),
    ]


def alarms() -> list[e.Body]:
    """What the status line never drops."""
    return [
        e.StatusChanged(
            sandbox=SandboxStatus(available=True, mode=Mode.OFF, network=True),
            undo=Health(state="off"),
            context_used=150_000,
            context_soft=149_000,
            cost_usd=8.1,
        )
    ]


# --- what the views ask for ------------------------------------------------------------------------


def checkpoint(
    seq: int, summary: str, phase: Phase, *changes: FileChange, turn: int = 0, step: int = 0
) -> Checkpoint:
    tool = "apply_patch" if summary.startswith("patch") else "exec_command"
    tool = tool if phase is Phase.BEFORE_CALL else ""
    cause = Cause(phase=phase, session="7f3a", summary=summary, tool=tool, turn=turn, step=step)
    return Checkpoint(
        id=f"7f3a/{seq}",
        session="7f3a",
        seq=seq,
        created_at=60.0 * seq,
        cause=cause,
        tree="t",
        changes=changes,
    )


def renamed() -> list[e.Body]:
    """A call that changed something, and what came after it."""
    return [
        *scenes.message("now rename the module", step=7),
        *scenes.turn(),
        *scenes.step(7),
        e.CheckpointTaken(checkpoint=checkpoint(17, "", Phase.BEFORE_CALL, step=7)),
        *scenes.call("c9", "exec_command", "git mv slugify.py slug.py", 7, changes=MOVED),
        *scenes.message("tell it in README.md too", 2, InputKind.STEER, 8),
        *scenes.end(),
    ]


PLAN = RollbackPlan(
    target="7f3a/17",
    operations=(
        Operation(action="write", path="export.py", detail="+1 -1"),
        Operation(action="write", path="web/app.py", detail="+2 -2"),
        Operation(action="delete", path="slug.py", detail="+0 -42"),
        Operation(action="rmdir", path="docs"),
        Operation(action="write", path="slugify.py", detail="+42 -0", creates=True),
    ),
    conflicts=(
        Conflict(
            path="README.md",
            author=Author.EXTERNAL,
            changed_at=946_684_980.0,
            reason="changed by you or another program",
            detail="+2 -0",
        ),
    ),
    kept=("notes.txt",),
)


def spent() -> dict[str, Any]:
    """What two models took."""
    costs = Costs()
    usage = Usage(input_tokens=41_000, output_tokens=900, cache_read_tokens=30_000)
    costs.add("openai/gpt-5.1", usage, 0.42, 1)
    costs.new_turn()
    costs.add("openai/gpt-5.1", replace(usage, cache_write_tokens=5_000), 0.09, 2)
    costs.add("ollama/qwen3-coder", Usage(input_tokens=4_000, output_tokens=200), None, 3)
    costs.add("openai/gpt-5.1-mini", Usage(input_tokens=300, output_tokens=9), 0.0001)  # a title: no step
    return dict(costs.shown())


KEY = "OPENAI_API_KEY"
MODELS = (
    ("openai/gpt-5.1", KEY, 272_000, (1.25, 10.0), True, ""),
    ("openai/gpt-5.1-mini", KEY, 272_000, (0.25, 2.0), True, ""),
    ("anthropic/claude-sonnet", "ANTHROPIC_API_KEY", 200_000, (3.0, 15.0), True, ""),
    ("ollama/qwen3-coder:30b", "127.0.0.1:11434", 64_000, (0.0, 0.0), False, "loaded"),
    ("mistral/devstral", "no key: MISTRAL_API_KEY", 128_000, (0.4, 2.0), False, ""),
)
SESSION = {"workspace": "/home/you/src/slugkit", "updated_at": 900.0}
Q = commands.Subject
ANSWERS: dict[commands.Subject, Any] = {
    Q.DIFF: DIFF,
    Q.CHECKPOINTS: [
        encode(checkpoint(19, "rollback to 7f3a/14", Phase.BEFORE_ROLLBACK)),
        encode(checkpoint(18, "pytest -q", Phase.BEFORE_CALL, *MOVED)),
        encode(checkpoint(17, "git mv slugify.py slug.py", Phase.BEFORE_CALL)),
        encode(checkpoint(16, "now rename the module", Phase.TURN_START, *NOTES, turn=2)),
        encode(
            checkpoint(
                15, "keep the old behaviour for None too", Phase.TURN_START, *scenes.CHANGES, turn=1, step=2
            )
        ),
        encode(checkpoint(14, "patch 2 files", Phase.BEFORE_CALL)),
        encode(checkpoint(13, "look at slugify.py and make empty input safe", Phase.TURN_START, turn=1)),
    ],
    Q.KEPT: encode(Kept(size_bytes=3_200_000, days=14)),
    Q.ROLLBACK_PLAN: encode(PLAN),
    Q.SESSIONS: [
        SESSION
        | {
            "id": "7f3a",
            "title": "make empty input safe",
            "messages": 23,
            "files": 11,
            "paths": ["slugify.py", "test_slugify.py"],
            "model": "openai/gpt-5.1",
            "context_tokens": 46_240,
            "context_window": 272_000,
            "cost_usd": 0.51,
            "last": "Empty input now gives `n-a`, and `None` still raises `TypeError`.",
            "live": True,
        },
        SESSION
        | {"id": "9c02", "title": "migrate orders table", "messages": 8, "files": 2, "ended": "crashed"},
        SESSION
        | {"id": "51d8", "title": f"slugify: {HOSTILE}", "messages": 41, "live": True, "updated_at": 800.0},
        SESSION
        | {
            "id": "6e11",
            "title": "fork of 51d8 at message 12",
            "forked_from": "51d8",
            "fork_title": "fork of 51d8 at message 12",
            "messages": 6,
            "files": 4,
            "ended": "interrupted",
            "updated_at": 790.0,
        },
        SESSION
        | {
            "id": "2ab0",
            "title": "why is test_slug flaky",
            "messages": 5,
            "ended": "completed",
            "updated_at": 0.0,
        },
    ],
    Q.TERMINALS: [
        {
            "id": "t2",
            "command": "npm run dev",
            "state": "live",
            "started_at": 757.0,
            "call_id": "c7",
            "cwd": "~/src/web",
            "sandbox": "workspace, net off",
            "size_bytes": 214_000,
            "ref": "out/c7",
            "tail": "> vite\n\n  VITE ready in 412 ms\n  Local: http://127.0.0.1:5173/\n",
        },
        {
            "id": "t1",
            "command": "npm ci",
            "state": "ended",
            "started_at": 700.0,
            "ended_at": 772.0,
            "exit_code": 0,
            "call_id": "c5",
            "tail": "done\n",
        },
    ],
    Q.SETTINGS: {"sandbox": {"value": "workspace-write", "origin": "default"}},
    Q.CONTEXT: {
        "system": 700,
        "tools": 3_200,
        "project": 1_200,
        "summary": 0,
        "user": 900,
        "responses": 12_000,
        "results": 28_000,
        "total": 46_000,
        "window": 272_000,
        "percent": 17,
        "limit": 174_000,
    },
    Q.COST: spent(),
    Q.MODELS: [
        {
            "name": name,
            "where": where,
            "context_window": window,
            "price_input": prices[0],
            "price_output": prices[1],
            "reasoning": reasoning,
            "state": state,
        }
        for name, where, window, prices, reasoning, state in MODELS
    ],
    Q.GRANTS: [{"id": "ap1", "scope": "session", "rule": "make publish"}],
    Q.WATCH: {
        "events": [
            e.Event(seq=number, at=1_000.0, run_id="r1", body=body)
            for number, body in enumerate([*scenes.started(), *scenes.looked()], 1)
        ],
        "read": 20,
    },
    Q.FILES: {"slugify.py": "modified", "tests/test_slugify.py": "new", "README.md": ""},
}

NOTHING: dict[commands.Subject, Any] = {
    Q.CHECKPOINTS: [],
    Q.SESSIONS: [],
    Q.TERMINALS: [],
    Q.DIFF: "",
    Q.FILES: {},
}

SCENES: dict[str, Scene] = {
    "idle-empty-session": Scene(play=lambda: [e.StatusChanged(changed_files=2)], is_main=True),
    "streaming-answer": Scene(play=scenes.streaming, is_main=True),
    "a-command-runs": Scene(play=scenes.command_runs, keys=("a", "n", "d"), is_main=True),
    "messages-wait": Scene(play=scenes.command_runs),
    "finished-turn": Scene(play=scenes.finished, is_main=True),
    "tool-cards": Scene(play=cards),
    "tool-cards-more": Scene(play=more_cards),
    "plan": Scene(play=plan),
    "reports": Scene(play=reports),
    "reasoning": Scene(play=thought),
    "reasoning-shown": Scene(play=thought, keys=("ctrl+up", "ctrl+up", "enter")),
    "thinking": Scene(play=thinking),
    "markdown": Scene(play=markdown),
    "images": Scene(play=images),
    "provider-down": Scene(play=retry),
    "ends": Scene(play=ends),
    "hostile-text": Scene(play=hostile),
    "alarms": Scene(play=alarms),
    "approval-unarmed": Scene(play=scenes.asks, keys=("x",)),
    "approval-armed": Scene(play=scenes.asks, keys=("arm",), is_main=True),
    "approval-rule": Scene(play=scenes.asks, keys=("arm", "p")),
    "approval-deny-and-say": Scene(play=scenes.asks, keys=("arm", "f", "b", "u", "m", "p")),
    "approval-edited": Scene(play=scenes.asks, keys=("arm", "e")),
    "approval-explained": Scene(play=scenes.asks, keys=("arm", "?")),
    "approval-full-view": Scene(play=long_command, keys=("arm", "v")),
    "approval-edit": Scene(play=edit, keys=("arm",)),
    "approval-edit-locked": Scene(play=long_edit, keys=("arm",)),
    "leaving-the-sandbox": Scene(play=leaves_sandbox, keys=("arm",)),
    "no-sandbox": Scene(play=leaves_sandbox, keys=("arm", "g", "arm", "g", "arm")),
    "deny-for-good": Scene(play=scenes.asks, keys=("arm", "b")),
    "approvals-several": Scene(play=several, keys=("arm",)),
    "question": Scene(play=question, keys=("arm",)),
    "question-own-words": Scene(play=question, keys=("arm", "3", "x")),
    "lost-result": Scene(play=lost, keys=("arm",)),
    "lost-result-output": Scene(
        play=lost,
        keys=("arm", "o"),
        data={Q.OUTPUT: "INFO Context impl SQLiteImpl\nINFO Running upgrade 3fa1 -> 9bc2, add orders"},
    ),
    "lost-result-again": Scene(play=lost, keys=("arm", "a", "arm")),
    "leave": Scene(play=live_terminals, keys=("ctrl+d",)),
    "demo": Scene(offered="Make the failing test pass"),
    "help": Scene(keys=("f1",)),
    "help-kitty": Scene(keys=("f1",), keys_told=True),
    "help-no-kitty": Scene(keys=("f1",), keys_told=False),
    "help-commands": Scene(keys=("f1", "2")),
    "help-glyphs": Scene(keys=("f1", "3")),
    "transcript-pager": Scene(play=scenes.finished, keys=("f2",)),
    "transcript-pager-hidden": Scene(play=hidden_parts, keys=("f2", "g")),
    "terminals": Scene(keys=("f3",)),
    "terminal-output": Scene(keys=("f3", "o"), data={Q.OUTPUT: "> vite\n\n  VITE ready in 412 ms\n"}),
    "terminals-none": Scene(keys=("f3",), data=NOTHING),
    "terminal-attached": Scene(keys=("f3", "enter")),
    "checkpoints": Scene(keys=("/checkpoints", "=1 conflict")),
    "checkpoints-none": Scene(keys=("/checkpoints",), data=NOTHING),
    "rewind": Scene(play=renamed, keys=("escape", "escape", "=1 conflict")),
    "rollback-preview": Scene(play=renamed, keys=("escape", "escape", "enter", "arm")),
    "diff": Scene(play=scenes.finished, keys=("/diff",), is_main=True),
    "diff-unified": Scene(play=scenes.finished, keys=("/diff", "s", "w")),
    "diff-nothing": Scene(keys=("/diff",), data=NOTHING),
    "sessions": Scene(keys=("/resume",)),
    "watching": Scene(keys=("/resume", "j", "j", "enter", "w")),
    "sessions-none": Scene(keys=("/resume",), data=NOTHING),
    "settings": Scene(keys=("/settings",)),
    "context": Scene(keys=("/context",)),
    "cost": Scene(keys=("/cost",)),
    "grants": Scene(keys=("/approvals",)),
    "models": Scene(
        play=lambda: [e.StatusChanged(context_used=96_000)], keys=("/model", "down", "down", "down")
    ),
    "models-effort": Scene(keys=("/model", "down", "left")),
    "slash-list": Scene(keys=("slash", "c", "o")),
    "file-mention": Scene(keys=("at", "s", "l")),
    "file-mention-none": Scene(keys=("at", "x", "y"), data=NOTHING),
    "history-search": Scene(keys=("a", "enter", "ctrl+r", "a")),
    "pending-list": Scene(play=scenes.command_runs, keys=("alt+up", "alt+up")),
    "picked-block": Scene(play=scenes.finished, keys=(*["ctrl+up"] * 4, "enter")),
    "scrolled-up": Scene(play=scenes.finished, keys=("pageup",)),
}
