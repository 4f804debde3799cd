"""More pictures: rows of screens.md 3.3 that `gallery` has not, questions of the runtime, start notices."""

from collections.abc import Sequence
from dataclasses import replace

from agent_tui.engine import events as e
from agent_tui.engine.sentence import Facts, sentence
from agent_tui.engine.types import CallState, Decision, EndReason
from checkpoints.types import FileChange
from tests.tui import gallery, scenes
from tests.tui.gallery import Scene
from tools.types import Grant
from tools.types import OutcomeStatus as S


def waiting() -> list[e.Body]:
    """Calls that wait: behind another one, for the first checkpoint; and a terminal, live and with output."""
    checkpoint = "for the first checkpoint"
    return [
        *scenes.turn(),
        *scenes.step(1),
        *scenes.call("c1", "exec_command", "npm run dev", 1, S.YIELDED, terminal="t2"),
        e.CallOutput(call_id="c1", text="ready on http://127.0.0.1:5173\n", terminal="t2"),
        *scenes.proposed("c2", "exec_command", "npm ci", 2),
        e.CallChanged(call_id="c2", state=CallState.VALIDATED, detail=checkpoint),
        *scenes.proposed("c3", "exec_command", "make data", 3),
        *scenes.proposed("c4", "exec_command", "pytest -q", 3),
        *scenes.running("c3"),
        *scenes.output("c3", "test_store.py ..........."),
    ]


def ends_of_calls() -> list[e.Body]:
    """The other ends: git lane, not visible, timed out with output, not run, and each verb of success."""
    call = scenes.call
    budget = {"why": "Not run: the run ends (budget_tools)"}
    lane = e.CallStarted(
        call_id="c1", attempt=1, arguments_sha256="", cwd="/home/you/src/slugkit",
        sandbox="workspace, net off, git lane", spool="", boot_id="b", checkpoint_id="7f3a/12",
    )  # fmt: skip
    return [
        *scenes.proposed("c1", "exec_command", 'git commit -m "Fix empty slugs"'),
        lane,
        *scenes.ended("c1", "exec_command", exit_code=0, seconds=0.1),
        *call(
            "c2", "exec_command", "./build.sh", 1, S.FAILED, exit_code=127,
            denial="not visible in it: /opt/sdk", denied_grant=Grant.READ_PATH, denied_detail="/opt/sdk",
        ),
        *call("c3", "exec_command", "pytest tests", 1, S.TIMED_OUT, ("test_big.py ....",), seconds=120.0),
        *call("c4", "exec_command", "rm -r build", 1, S.SKIPPED, data=budget),
        *call(
            "c5", "exec_command", "npm run build", 1, S.INTERRUPTED, seconds=12.4,
            changes=tuple(FileChange(path=f"dist/{n}.js", kind="A", added=1, removed=0) for n in range(18)),
        ),
        *call("c6", "write_stdin", "t2 y", 2),
        *call("c7", "list_files", "src", 3, data={"total": 12}),
        *call("c8", "view_image", "shot.png", 4),
        *call("c9", "request_user_input", "Which database?", 5),
        *call("c10", "docs.search", "docs.search slug", 6),
    ]  # fmt: skip


def folded() -> list[e.Body]:
    """Reads of one wave, more than fit."""
    names = [f"package/module_{number}/implementation.py" for number in range(7)]
    return [each for at, name in enumerate(names) for each in scenes.call(f"c{at}", "read_file", name, 1)]


def asked(**values: object) -> list[e.Body]:
    """A question of the runtime."""
    given: dict[str, object] = {
        "question_id": "q1",
        "call_id": "c1",
        "text": "",
        "options": (),
        "free_text": True,
    }
    question = e.QuestionAsked(**(given | values))  # type: ignore[arg-type]  # the fields of one
    return [*scenes.turn(), *scenes.proposed("c1", "exec_command", "./configure --prefix=out"), question]


def limit() -> list[e.Body]:
    """A limit of money."""
    facts = e.LimitFacts(
        name="cost", used=10.02, allowed=10.0, raised=20.0, step=84,
        state="tests not run since the last change; 3 files changed in this turn",
    )  # fmt: skip
    return asked(limit=facts, options=("raise to $20.00", "stop here"))


def circles() -> list[e.Body]:
    """The model goes in circles."""
    text = "No progress: pytest -q, 3 times, same failure, no file changed between"
    return asked(kind="no_progress", text=text, options=("continue", "stop"))


def no_checkpoint() -> list[e.Body]:
    """A checkpoint that takes too long."""
    text = "No checkpoint before this call: it took longer than 10 s (disk busy)"
    options = ("wait 30 s more", "run without undo", "deny")
    return asked(kind="no_checkpoint", text=text, options=options, free_text=False)


def unwritable() -> list[e.Body]:
    """The store refuses."""
    return [
        *scenes.turn(),
        *(each for number in (1, 2, 3) for each in scenes.call(f"c{number}", "exec_command", "make", number)),
        e.TurnEnded(
            run_id="r1", reason=EndReason.STATE_UNWRITABLE,
            sentence=sentence(EndReason.STATE_UNWRITABLE, Facts()), exit_code=5, usage=scenes.USAGE,
            cost_usd=None, steps=3, duration_s=61.0,
        ),
    ]  # fmt: skip


def network() -> list[e.Body]:
    """A host that a command wants to reach."""
    return [*scenes.turn(), *wanted_host("pip.test")]


def lookalike() -> list[e.Body]:
    """A host whose name reads like another one."""
    return [*scenes.turn(), *wanted_host("xn--pypi-5ve.org")]


def wanted_host(name: str) -> list[e.Body]:
    """A running command waits for a host."""
    key = f"{name}:443"
    why = "first connection to this host; the command waits for it"
    command, shown = "pip download build==1.2.2", f"{name}  port 443  (https)"
    reads = {"action": "network", "reason": why, "keys": (f"host {key}",)}
    offered = (
        Decision.ONCE,
        Decision.SESSION,
        Decision.RULE,
        Decision.DENY,
        Decision.DENY_RULE,
        Decision.DENY_AND_PAUSE,
    )
    said = {
        "why": why,
        "sandbox": "unchanged; only this host becomes reachable",
        "sandbox_short": "unchanged; only this host becomes reachable",
        "session_key": key,
        "rule": f"host {key}",
        "wider_rules": (),
        "rule_allows": f"`{key}` in ~/src/slugkit",
        "deny_rule": f"host {key}",
        "during": command,
        "choices": offered,
    }
    asked = scenes.approval(1, shown, reads, **said)
    proposed = [replace(one, shown=command) if isinstance(one, e.CallProposed) else one for one in asked]
    return [*proposed[:-2], *scenes.running("c21"), *proposed[-2:]]


def host() -> list[e.Body]:
    """The network for a command, as the gate asks for it."""
    grants = ("network", "no_sandbox")
    choices = (Decision.ONCE, Decision.SESSION, Decision.DENY, Decision.DENY_AND_PAUSE)
    return [
        *scenes.turn(),
        *scenes.approval(
            1, "pip download build==1.2.2", {"grant": Grant.NETWORK}, grants=grants, choices=choices,
            why='the model asked for the network: "fetch the build tool"',
            sandbox="writes in ~/src/slugkit, network on",
            sandbox_short="workspace, net on",
            session_key="exactly this command with this grant",
        ),
    ]  # fmt: skip


def hidden() -> list[e.Body]:
    """A command with a direction mark, a zero-width character, forty blanks and an escape sequence."""
    command = f"ls \u202etxt.\u200b{' ' * 40}\x1b[2K; touch EVIL"
    return [*scenes.turn(), *scenes.approval(1, command)]


def notices() -> Sequence[e.Body]:
    """What a start has to tell."""
    sandbox = (
        "Sandbox: not available here, so each command will ask first. Ubuntu restricts user namespaces; "
        "`agent-tui doctor` shows the profile to install"
    )
    return [
        e.NoticeRaised(text=sandbox, level="warning", about="guard"),
        e.NoticeRaised(
            text="Session 9c02 also works in this directory; its edits will show as external", about="others"
        ),
        e.NoticeRaised(
            text="The last start ended without restoring the terminal; session 7f3a was kept", level="warning"
        ),
    ]


SCENES: dict[str, Scene] = {
    "calls-that-wait": Scene(play=waiting),
    "ends-of-calls": Scene(play=ends_of_calls),
    "folded-reads": Scene(play=folded),
    "limit-reached": Scene(play=limit, keys=("arm",)),
    "no-progress": Scene(play=circles, keys=("arm",)),
    "no-checkpoint": Scene(play=no_checkpoint, keys=("arm",)),
    "disk-full": Scene(play=unwritable, keys=("arm",)),
    "network-for-a-command": Scene(play=host, keys=("arm",)),
    "approval-network": Scene(play=network, keys=("arm",)),
    "approval-network-lookalike": Scene(play=lookalike, keys=("arm",)),
    "hidden-in-a-command": Scene(play=hidden, keys=("arm",)),
    "start-notices": Scene(play=notices),
    # Prompts that leave the keys to a draft.
    "leaving-the-sandbox-unarmed": Scene(play=gallery.leaves_sandbox, keys=("x",)),
    "question-unarmed": Scene(play=gallery.question, keys=("x",)),
    "lost-result-unarmed": Scene(play=gallery.lost, keys=("x",)),
    "limit-reached-unarmed": Scene(play=limit, keys=("x",)),
}
