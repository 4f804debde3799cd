"""A host that was granted opens that host and nothing else, and what a person said of it holds."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from agent_tui.engine.connecting import WHY
from agent_tui.engine.events import ApprovalDecided
from agent_tui.engine.fold import Fold
from agent_tui.engine.ports import GatedCall
from agent_tui.engine.resume import crash_parts
from agent_tui.engine.scope import Scope
from agent_tui.engine.types import ApprovalPolicy, Decision
from agent_tui.engine.words import network_state
from sandbox.policy import Mode
from tests.engine.test_approvals import Bench, decided, denied
from tools.types import READS_NOTHING, Assessment, CallClass, Grant

HOST = "pip.test:443"


def connection(host: str = HOST, command: str = "pip download build") -> GatedCall:
    """What a running command asks for."""
    return GatedCall(
        call_id="c1",
        tool="exec_command",
        arguments={"cmd": command, "host": host},
        assessment=Assessment(
            action="network",
            call_class=CallClass.ASK,
            reason=WHY,
            shown=host,
            effects=READS_NOTHING,
            keys=(f"host {host}",),
        ),
        during=command,
    )


def wants(bench: Bench, line: str = "pip download build", host: str = HOST) -> GatedCall:
    return bench.run(line, wanted=Grant.HOST, wanted_detail=host)


def rule(action: str, host: str) -> str:
    return f'[[rule]]\naction = "{action}"\nhost = "{host}"\n'


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_granted_host_is_not_the_network(bench: Bench) -> None:
    call = wants(bench)
    asked = bench.ask(call)
    assert asked.grants == (f"host {HOST}", "network", "no_sandbox")
    assert asked.sandbox.endswith(f", network only {HOST}")
    base = bench.gate.policy()
    once = bench.settle(call, asked, Decision.ONCE)
    assert once.policy == replace(base, hosts=(HOST,)) and not once.policy.network
    wide = bench.settle(call, asked, Decision.ONCE, grant="network").policy
    assert wide is not None and wide.network and not wide.has_proxy
    for policy in (replace(base, hosts=(HOST,), network=True), replace(base, hosts=(HOST,), mode=Mode.OFF)):
        assert not policy.has_proxy and "only" not in network_state(policy)


def test_the_question_of_a_running_command_says_what_it_opens(bench: Bench) -> None:
    asked = bench.ask(connection())
    assert (asked.why, asked.during, asked.session_key) == (WHY, "pip download build", HOST)
    assert asked.sandbox == "unchanged; only this host becomes reachable"
    assert (asked.rule, asked.deny_rule) == (f"host {HOST}", f"host {HOST}")
    assert set(asked.choices) == set(Decision) - {Decision.EDIT}
    assert asked.grants == () and asked.wider_rules == ()


@pytest.mark.parametrize("lasting", [Decision.SESSION, Decision.RULE])
def test_what_was_allowed_holds_for_that_host_and_port(bench: Bench, lasting: Decision) -> None:
    bench.answer(connection(), lasting)
    assert bench.judge(connection(command="pip install x")).kind == "allow"
    verdict = bench.judge(wants(bench, "curl https://pip.test"))
    assert verdict.policy == replace(bench.gate.policy(), hosts=(HOST,)), "asked for, and allowed before"
    for other in ("pip.test:80", "files.pip.test:443", "evilpip.test:443", "pip.test.evil.test:443"):
        assert bench.judge(connection(other)).kind == bench.judge(wants(bench, host=other)).kind == "ask"
    plain = bench.judge("pip download build")
    assert plain.policy == bench.gate.policy(), "a command that did not ask has no network"
    pushes = bench.judge(wants(bench, "git push origin main"))
    assert pushes.kind == "ask", "it needs more than the host"


def test_once_is_for_this_command_alone(bench: Bench) -> None:
    assert bench.answer(connection(), Decision.ONCE).kind == "allow"
    assert bench.judge(connection()).kind == "ask"


def test_a_session_answer_survives_a_restart_and_ends_with_a_stricter_policy(bench: Bench) -> None:
    asked = bench.ask(connection())
    again = bench.start()
    again.restore(asked, decided(asked, Decision.SESSION))
    assert again.judge(connection(), "a9").kind == "allow"
    stricter = bench.start(approval=ApprovalPolicy.UNTRUSTED)
    stricter.restore(asked, decided(asked, Decision.SESSION))
    assert stricter.judge(connection(), "a9").kind == "ask"


@pytest.mark.parametrize("host", ["pip.test", HOST, "*.test:443"])
def test_a_denied_host_is_asked_about_nowhere(bench: Bench, host: str) -> None:
    bench.rules(rule("allow", HOST) + rule("deny", host))
    for call in (connection(), wants(bench)):
        assert (bench.judge(call).kind, bench.judge(call).by) == ("deny", "rule")
    assert bench.gate.escalate(bench.run("pip download x"), denied(Grant.HOST, HOST), (), "a9") is None
    offered = bench.gate.escalate(bench.run("pip download x"), denied(Grant.HOST, "other.org:443"), (), "a9")
    assert offered is not None and offered.grants[0] == "host other.org:443"


def test_deny_for_good_is_saved_for_the_host(bench: Bench) -> None:
    assert bench.answer(connection(), Decision.DENY_RULE).kind == "deny"
    assert bench.start().judge(connection(), "a9").by == "rule"
    assert bench.start().judge(connection("pip.test:80"), "a9").kind == "ask"


def test_an_ask_rule_asks_where_a_rule_would_allow(bench: Bench) -> None:
    bench.rules(rule("allow", "more.pip.test:443") + rule("ask", "*.pip.test:443"))
    assert bench.judge(connection("files.pip.test:443")).kind == "ask"
    assert bench.judge(connection("more.pip.test:443")).kind == "allow"


@pytest.mark.parametrize(
    "settings", [{"approval": ApprovalPolicy.NEVER}, {"interactive": False}], ids=["never", "headless"]
)
def test_without_a_person_only_rules_let_through(tmp_path: Path, settings: dict[str, object]) -> None:
    bench = Bench(tmp_path, **settings)
    assert bench.judge(connection()).kind == bench.judge(wants(bench)).kind == "deny"
    bench.rules(rule("allow", HOST))
    assert bench.judge(connection()).kind == bench.judge(wants(bench)).kind == "allow"


def test_untrusted_asks_for_a_command_although_its_host_is_allowed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, approval=ApprovalPolicy.UNTRUSTED)
    bench.rules(rule("allow", HOST))
    assert bench.judge(wants(bench)).kind == "ask"


def test_an_answer_to_another_host_counts_for_nothing(bench: Bench) -> None:
    asked = bench.ask(connection())
    again = bench.settle(connection("evil.test:443"), asked, Decision.ONCE)
    assert again.kind == "ask"


def test_a_rule_for_a_command_with_a_host_opens_that_host_for_that_command(bench: Bench) -> None:
    bench.answer(wants(bench), Decision.RULE)
    assert bench.judge(wants(bench)).policy == replace(bench.gate.policy(), hosts=(HOST,))
    assert bench.judge(wants(bench, "pip download other")).kind == "ask"
    assert bench.judge(connection()).kind == "ask"


def test_a_question_of_a_command_that_died_with_its_process_is_closed(bench: Bench) -> None:
    fold = Fold()
    fold.approvals = {"a1": bench.ask("rm -rf /"), "a2": replace(bench.ask(connection()), approval_id="a2")}
    parts = crash_parts(cast(Scope, SimpleNamespace(session=SimpleNamespace(fold=fold))))
    assert [(part.approval_id, part.by) for part in parts if isinstance(part, ApprovalDecided)] == [
        ("a2", "policy")
    ]
