import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.engine.rule_scope import breadth, describe, widenings
from agent_tui.engine.rules import Action, Match, Rule, concerns, covers
from agent_tui.engine.rules_file import RulesError, load_rules, remove_rule, save_rules
from agent_tui.errors import UsageError
from tools.types import Grant


def allow(pattern: str, **facts: str) -> Rule:
    return Rule(action=Action.ALLOW, pattern=pattern, **facts)


def deny(pattern: str) -> Rule:
    return Rule(action=Action.DENY, pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "key", "is_covered"),
    [
        ("run git status", "run git status", True),
        ("run git status", "run git status -s", False),
        ("run git status", "run FOO=1 git status", False),
        ("run git status", "run git status >p5", False),
        ("run git status", "run git -c 'alias.status=!touch p8' status", False),
        ("run git status", "run /tmp/git status", False),
        ("run git status", "in git status", False),
        ("run git status", "line git status", False),
        ("run git diff ...", "run git diff", True),
        ("run git diff ...", "run git diff --stat HEAD", True),
        ("run git diff ...", "run git diff >out", False),
        ("run git diff ...", "run git diff 2>out", False),
        ("run git diff ...", "run git diff <?>", False),
        ("run git diff ...", "run git push", False),
        ("run make publish INDEX=*", "run make publish INDEX=prod", True),
        ("run make publish INDEX=*", "run make publish INDEX='a b'", True),
        ("run make publish INDEX=*", "run make publish OTHER=prod", False),
        ("run make publish INDEX=*", "run make publish INDEX=prod x", False),
        ("run pytest *", "run pytest tests", True),
        ("run pytest *", "run pytest --rootdir=/", False),
        ("run pytest *", "run pytest", False),
        ("run pytest *", "run pytest <?>", False),
        ("run echo '*'", "run echo '*'", True),
        ("run echo '*'", "run echo x", False),
        ("run echo <?>", "run echo <?>", False),
        ("line a $(b)", "line a $(b)", True),
        ("line a $(b)", "line a $(b) ", False),
        ("edit docs/**", "edit docs/a/b.md", True),
        ("edit docs/*", "edit docs/a/b.md", False),
        ("edit docs/**", "edit docs/../x", False),
        ("edit a.py", "edit a.py", True),
        ("edit a.py", "read a.py", False),
        ("host pip.test:443", "host pip.test:443", True),
        ("host pip.test:443", "host pip.test:80", False),
        ("host *.pip.test:443", "host files.pip.test:443", False),
        ("host [2001:db8::1]:443", "host [2001:db8::1]:443", True),
        ("tool search.find", "tool search.find", True),
    ],
)
def test_allow_rule_covers_exactly_its_shape(pattern: str, key: str, is_covered: bool) -> None:
    assert covers(allow(pattern), key) is is_covered


@pytest.mark.parametrize(
    ("pattern", "key", "match"),
    [
        ("run git push", "run git push", Match.YES),
        ("run git push", "run git push origin main", Match.YES),
        ("run git push", "in git push", Match.YES),
        ("run git push", "run /usr/bin/git push", Match.YES),
        ("run git push", "run FOO=1 git push", Match.YES),
        ("run git push", "run git -C x push", Match.YES),
        ("run git push", "run git --no-pager -c a=b push", Match.YES),
        ("run git push", "run git commit -m push", Match.NO),
        ("run git push", "run git status", Match.NO),
        ("run git push", "run git <?>", Match.MAYBE),
        ("run git push", "in <?>", Match.MAYBE),
        ("run git push --force", "run git push origin main --force", Match.YES),
        ("run git push --force", "run git push origin main", Match.NO),
        ("run git", "run git status", Match.YES),
        ("run git", "run gitk", Match.NO),
        ("run rm ...", "run rm x", Match.YES),
        ("run LD_PRELOAD=*", "run LD_PRELOAD=x git log", Match.YES),
        ("run LD_PRELOAD=* ...", "in A=1 LD_PRELOAD=x git log", Match.YES),
        ("run LD_PRELOAD=* ...", "in export LD_PRELOAD=x", Match.YES),
        ("run LD_PRELOAD=* ...", "run git log", Match.NO),
        ("run LD_PRELOAD=* ...", "in <?> git log", Match.MAYBE),
        ("run LD_PRELOAD=/x.so git", "run LD_PRELOAD=/y.so git log", Match.NO),
        ("run A=* B=* git log", "run B=1 A=2 git log", Match.YES),
        ("run A=* git log", "run A=2 git status", Match.NO),
        ("run *", "run anything", Match.YES),
        ("edit secrets", "edit secrets/key", Match.YES),
        ("edit secrets/", "edit secrets/key", Match.YES),
        ("edit secrets", "edit secretsanta", Match.NO),
        ("edit *.lock", "edit uv.lock", Match.YES),
        ("read .env", "read .env", Match.YES),
        ("host evil.test", "host evil.test:443", Match.YES),
        ("host evil.test", "host notevil.test:443", Match.NO),
        ("host *.evil.test", "host www.evil.test:443", Match.YES),
        ("host *.evil.test:443", "host www.evil.test:80", Match.NO),
        ("host [2001:db8::1]:443", "host [2001:db8::1]:443", Match.YES),
        ("host [2001:db8::1]", "host [2001:db8::1]:443", Match.YES),
        ("host [2001:db8::1]", "host [2001:db8::2]:443", Match.NO),
        ("host [2001:db8::*]:443", "host [2001:db8::1]:443", Match.YES),
        ("host [2001:db8::*]:443", "host [2001:db9::1]:443", Match.NO),
    ],
)
def test_ask_and_deny_rules_see_through_other_spellings(pattern: str, key: str, match: Match) -> None:
    assert concerns(deny(pattern), key) is match


@pytest.mark.parametrize(
    "pattern",
    [
        "run python",
        "run python3.12 ...",
        "run python ...",
        "run python -c *",
        "run python -",
        "run node -e ...",
        "run bash",
        "run sh -s",
        "run bash -c ...",
        "run sudo make install",
        "run doas ls",
        "run git",
        "run git ...",
        "run git *",
        "run git -C x ...",
        "run npm ...",
        "run docker *",
        "run make ...",
        "run env ...",
        "run env git ...",
        "run xargs rm",
        "run eval 'ls'",
        "run timeout 5 ...",
        "run find ...",
        "run ssh host ...",
        "run rm ...",
        "run rm -rf *",
        "run chmod 777 *",
        "run *",
        "run ...",
        "run ./x ...",
        "run FOO=* make",
        "run PATH=x make ...",
        "run git <?>",
        "edit **",
        "edit /**",
        "edit *",
        "read ~/**",
        "host *",
        "host *:443",
        "host *.test:443",
        "host *.github.test:443",
        "run",
    ],
)
def test_too_broad_a_rule_is_refused(pattern: str) -> None:
    assert breadth(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "run make",
        "run make test",
        "run make publish INDEX=*",
        "run pytest -q ...",
        "run python manage.py test ...",
        "run python -m pytest ...",
        "run python -c 'print(1)'",
        "run git push",
        "run git diff ...",
        "run npm run build",
        "run npm run ...",
        "run bash deploy.sh",
        "run ./deploy.sh",
        "run timeout 5 make x",
        "run rm -rf build",
        "line a | b $(c)",
        "edit docs/**",
        "host pip.test:443",
        "tool x.y",
    ],
)
def test_a_narrow_rule_is_fine(pattern: str) -> None:
    assert breadth(pattern) == ""


def test_wider_rules_let_one_word_vary() -> None:
    assert widenings("run make publish INDEX=staging") == (
        "run make publish INDEX=*",
        "run make publish INDEX=staging ...",
    )
    assert widenings("run git push") == ("run git push ...",)
    assert widenings("run rm -rf build") == ()
    assert widenings("line x") == ()


def test_a_rule_says_what_it_would_allow() -> None:
    rule = allow("run make publish INDEX=staging", workspace="/w", directory="/w")
    assert describe(rule) == "`make publish INDEX=staging` in /w, in the sandbox"
    wide = Rule(action=Action.ALLOW, pattern="run git fetch ...", grant=Grant.NETWORK)
    assert describe(wide) == (
        "`git fetch` and any further words in every workspace, in the sandbox with: network on"
    )
    cached = replace(rule, grant=Grant.WRITE_PATH, grant_detail="/c")
    assert describe(cached) == "`make publish INDEX=staging` in /w, in the sandbox with: write /c"


RULES = """\
# mine
[[rule]]
action = "deny"
run = "git push"

[[rule]]
# staging is fine
action = "allow"
run = "make publish INDEX=staging"
workspace = "/w"
"""


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    path = tmp_path / "config" / "rules.toml"
    path.parent.mkdir()
    path.write_text(RULES)
    return path


def test_rules_are_read_with_their_lines(rules_file: Path) -> None:
    assert load_rules(rules_file) == (
        Rule(action=Action.DENY, pattern="run git push", line=2),
        Rule(action=Action.ALLOW, pattern="run make publish INDEX=staging", workspace="/w", line=6),
    )


def test_no_file_is_no_rules(tmp_path: Path) -> None:
    assert load_rules(tmp_path / "rules.toml") == ()


def test_saving_keeps_comments_and_replaces_the_same_rule(rules_file: Path) -> None:
    rule = allow("run make publish INDEX=staging", workspace="/w", directory="/w")
    save_rules(rules_file, [rule, allow("host pip.test:443", workspace="/w")])
    text = rules_file.read_text()
    assert text.startswith("# mine\n")
    found = load_rules(rules_file)
    assert [each.pattern for each in found] == [
        "run git push",
        "run make publish INDEX=staging",
        "host pip.test:443",
    ]
    assert found[1].directory == "/w"


def test_an_allow_rule_takes_the_place_of_an_ask_rule_for_the_same(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\naction = "ask"\nrun = "make x"\n')
    save_rules(path, [allow("run make x", workspace="/w", directory="/w")])
    assert [(rule.action, rule.workspace) for rule in load_rules(path)] == [("ask", ""), ("allow", "/w")]


def test_removing_the_last_rule_and_saving_again(tmp_path: Path) -> None:
    path = tmp_path / "c" / "rules.toml"
    rule = allow("run make x")
    save_rules(path, [rule])
    assert remove_rule(path, rule.id)
    assert load_rules(path) == ()
    assert not remove_rule(path, rule.id)
    save_rules(path, [rule])
    assert [each.id for each in load_rules(path)] == [rule.id]


@pytest.mark.parametrize(
    "words",
    [
        "run echo 'a b'",
        "run echo 'it'\\''s'",
        "run x '<?>'",
        "run x '>f' >f",
        'line a\nb $(c) "\'" \\',
        "run x é",
    ],
)
def test_every_pattern_survives_the_file(tmp_path: Path, words: str) -> None:
    path = tmp_path / "rules.toml"
    save_rules(path, [allow(words)])
    assert [rule.pattern for rule in load_rules(path)] == [words]


def test_the_file_is_private_and_a_link_is_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "rules.toml", tmp_path / "config" / "rules.toml"
    real.parent.mkdir()
    link.parent.mkdir()
    link.symlink_to(real)
    save_rules(link, [allow("run make x")])
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in real.parent.iterdir()) == ["rules.toml"]


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    writers = [
        threading.Thread(target=save_rules, args=(path, [allow(f"run make t{number}")]))
        for number in range(8)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert {rule.pattern for rule in load_rules(path)} == {f"run make t{number}" for number in range(8)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]\n", "not valid TOML"),
        pytest.param("x = " + "[" * 5000, "rules.toml: not valid TOML: nested too deeply$", id="nested"),
        pytest.param("x = 1" + "0" * 5000, "not valid TOML: a number with too many digits$", id="digits"),
        ("x = 1\n", "not `x`"),
        ("rule = 1\n", "only `\\[\\[rule\\]\\]` tables"),
        ('[[rule]]\naction = "allow"\n', ":1: a rule has exactly one of"),
        ('\n[[rule]]\naction = "allow"\nrun = "a"\nhost = "b:1"\n', ":2: a rule has exactly one of"),
        ('[[rule]]\naction = "permit"\nrun = "a"\n', ":1: 'permit' is not a valid Action"),
        ('[[rule]]\naction = "deny"\nrun = "a"\nextra = "b"\n', ":1: unknown key `extra`"),
        ('[[rule]]\naction = "deny"\nrun = 1\n', ":1: the values of a rule are strings"),
        ('[[rule]]\naction = "allow"\nrun = "python ..."\n', "cannot be a rule: `python` runs any code"),
        ('[[rule]]\naction = "allow"\nrun = "make x"\ngrant = "no_sandbox"\n', "leaving the sandbox"),
        ('[[rule]]\naction = "deny"\nrun = ""\n', "it names nothing"),
        ('[[rule]]\naction = "allow"\nhost = "pip.test"\n', "a host is written as"),
        ('[[rule]]\naction = "allow"\nhost = "Pip.test:443"\n', "a host is written as"),
        ('[[rule]]\naction = "allow"\nhost = "127.1:443"\n', "a host is written as"),
        ('[[rule]]\naction = "allow"\nhost = "*.pip.test:443"\n', "a host to allow is named whole"),
        ('[[rule]]\naction = "allow"\nhost = "pip.[t]est:443"\n', "a host is written as"),
        ('[[rule]]\naction = "deny"\nhost = "Pip.test"\n', "a host is written as"),
        ('[[rule]]\naction = "allow"\nrun = "a"\ngrant = "host"\n', "a host is written as"),
        ('[[rule]]\naction = "allow"\nrun = "a"\ngrant = "host"\ngrant_detail = "a"\n', "a host is written"),
    ],
)
def test_a_rules_file_that_cannot_be_read_stops_the_start(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_rules(path)


def test_broad_denials_are_welcome(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\naction = "deny"\nrun = "git"\n[[rule]]\naction = "ask"\nrun = "sudo"\n')
    assert len(load_rules(path)) == 2
    path.write_text('[[rule]]\naction = "deny"\nhost = "evil.test"\n[[rule]]\naction = "ask"\nhost = "*"\n')
    assert len(load_rules(path)) == 2


def host_denial(path: Path, host: str) -> Path:
    path.write_text(f'[[rule]]\naction = "deny"\nhost = "{host}"\n')
    return path


@pytest.mark.parametrize(
    "host",
    [
        *("evil.test.:443", "evil.test:0443", "evil.test:70000", "evil.test:", ":443", "[e]vil.test:443"),
        *("127.1:80", "[2001:0db8::1]:443", "[::ffff:1.2.3.4]:443", "2001:db8::1", "*..evil.test", "-*"),
        *("*.evil.test.", "evil.*:0443", "[2001:0db8::*]:443", "evil.test:443:*", "*:x"),
    ],
)
def test_a_denial_that_matches_no_host_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(UsageError, match="a host is written as"):
        load_rules(host_denial(tmp_path / "rules.toml", host))


@pytest.mark.parametrize(
    ("host", "target"),
    [
        ("*", "evil.test:443"),
        ("*:443", "evil.test:443"),
        ("evil.test:*", "evil.test:8080"),
        ("ev*.test", "evil.test:443"),
        ("evil.*", "evil.test:443"),
        ("192.168.*", "192.168.2.1:80"),
        ("192.168.*.1:80", "192.168.2.1:80"),
        ("[2001:db8::1]", "[2001:db8::1]:443"),
        ("[2001:db8:*]:443", "[2001:db8::1]:443"),
        ("[*]", "[2001:db8::1]:443"),
        ("xn--*.test", "xn--80ak6aa.test:443"),
    ],
)
def test_a_denial_of_hosts_that_can_match_one_is_kept(tmp_path: Path, host: str, target: str) -> None:
    (rule,) = load_rules(host_denial(tmp_path / "rules.toml", host))
    assert concerns(rule, f"host {target}") is Match.YES


def test_a_damaged_file_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]\n")
    with pytest.raises(UsageError):
        save_rules(path, [allow("run make x")])
    assert path.read_text() == "[[rule]\n"


def test_a_directory_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RulesError, match="cannot be written"):
        save_rules(tmp_path / "file" / "rules.toml", [allow("run make x")])


def test_a_failed_write_leaves_the_old_file(rules_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RulesError, match="No space left"):
        save_rules(rules_file, [allow("run make x")])
    assert rules_file.read_text() == RULES
    assert [path.name for path in rules_file.parent.iterdir()] == ["rules.toml"]


def test_the_example_of_the_reference_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()
    example = page.partition("## Rules of approval")[2].partition("```toml\n")[2].partition("```")[0]
    path = tmp_path / "rules.toml"
    path.write_text(example)
    found = [(rule.action, rule.kind, rule.grant) for rule in load_rules(path)]
    assert found == [
        (Action.ALLOW, "run", Grant.NETWORK),
        (Action.DENY, "run", Grant.NONE),
        (Action.ASK, "edit", Grant.NONE),
        (Action.ALLOW, "read", Grant.NONE),
    ]
