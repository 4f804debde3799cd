"""Words mean what they mean to bash, and no text makes the reader fail."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.policy import Mode
from tools.command_line.assess import assess_command
from tools.command_line.keys import run_words
from tools.command_line.parse import MAX_COMMANDS, parse
from tools.command_line.parts import Setting
from tools.command_line.syntax import SimpleCommand, Wrap
from tools.command_line.words import source_for_grammar


def shape(line: str) -> list[tuple[list[str | None], str]]:
    return [([word.text for word in command.words], command.within) for command in parse(line).commands]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a | b && c || d; e\nf", [([name], "") for name in "abcdef"]),
        ("timeout -k 1 5 nice -n 3 a b", [(["timeout", "-k", "1", "5", "nice", "-n", "3", "a", "b"], ""),
                                        (["nice", "-n", "3", "a", "b"], ""), (["a", "b"], "")]),
        ("env -u X A=1 a", [(["env", "-u", "X", "A=1", "a"], ""), (["a"], "env")]),
        ("sh -c 'a; b | c'", [(["sh", "-c", "a; b | c"], ""), (["a"], "sh"), (["b"], "sh"), (["c"], "sh")]),
        ("bash -xc 'a' z", [(["bash", "-xc", "a", "z"], ""), (["a"], "bash")]),
        ("xargs -0 -n 1 a", [(["xargs", "-0", "-n", "1", "a"], ""), (["a", None], "xargs")]),
        ("xargs -IX a X=1 b", [(["xargs", "-IX", "a", "X=1", "b"], ""), (["a", None, "b", None], "xargs")]),
        ("xargs -rI X X", [(["xargs", "-rI", "X", "X"], ""), ([None, None], "xargs")]),
        ("find . -exec a {} + -ok b \\;", [(["find", ".", "-exec", "a", "{}", "+", "-ok", "b", ";"], ""),
                                         (["a", None], "find"), (["b"], "find")]),
        ("eval 'a b' c", [(["eval", "a b", "c"], ""), (["a", "b", "c"], "eval")]),
        ("a $(b $(c))", [(["a", None], ""), (["b", None], "a"), (["c"], "b")]),
        ("a \"x$(b)y\"", [(["a", None], ""), (["b"], "a")]),
        ("a <(b) >(c)", [(["a", None, None], ""), (["b"], "a"), (["c"], "a")]),
        ("a ${x:-$(b)}", [(["a", None], ""), (["b"], "a")]),
        ("a $((1+$(b)))", [(["a", None], ""), (["b"], "a")]),
        ("a $[1+$(b)]", [(["a", None], ""), (["b"], "a")]),
        ("cat <<E\n$(b)\nE", [(["cat"], ""), (["b"], "?")]),
        ("cat <<'E'\n$(b)\nE", [(["cat"], "")]),
        ("cat <<E && b\nx\nE", [(["cat"], ""), (["b"], "")]),
        ("x=$(b) a", [(["a"], ""), (["b"], "a")]),
        ("x=$(b)", [([], ""), (["b"], "?")]),
        ("export x=$(b)", [(["export", None], ""), (["b"], "export")]),
        ("if a; then b; elif c; then d; else e; fi", [([name], "") for name in "abcde"]),
        ("for i in $(a); do b; done", [(["a"], ""), (["b"], "")]),
        ("case $(a) in x) b;; esac", [(["a"], ""), (["b"], "")]),
        ("f() { a; }; f", [(["a"], ""), (["f"], "")]),
        ("sudo -u root a b", [(["sudo", "-u", "root", "a", "b"], ""), (["a", "b"], "sudo")]),
        ("trap 'a' EXIT", [(["trap", "a", "EXIT"], ""), (["a"], "trap")]),
        ("[[ -f $(a) ]]", [(["[[", "-f", None], ""), (["a"], "[[")]),
        ("a > $(b)", [(["a"], ""), (["b"], "?")]),
    ],
)  # fmt: skip
def test_every_command_of_a_line_is_found(line: str, commands: list[tuple[list[str | None], str]]) -> None:
    assert shape(line) == commands


@pytest.mark.parametrize(
    "line",
    [
        "git rebase -ix 'a b' main",
        "git rebase --exe 'a b'",
        "git rebase --ex='a b'",
        "git grep -nO'a b' x",
        "git fetch --upload-p='a b' x",
        "git difftool -yx 'a b'",
        "rg --pre 'a b' x",
    ],
)
def test_an_option_that_names_a_command_is_known_in_each_of_its_forms(line: str) -> None:
    assert [word.text for word in parse(line).commands[1].words] == ["a", "b"]


@pytest.mark.parametrize("line", ["git grep -eFOO x", "rg --pre-glob x y", "rg --pretty x", "make -sf x"])
def test_an_option_that_only_looks_like_one_names_none(line: str) -> None:
    assert len(parse(line).commands) == 1
    assert not parse(line).unknown


@pytest.mark.parametrize(
    "line",
    [
        "ls @(a|b)",
        "if ls",
        "'",
        "ls\rls",
        "ls\x0bls",
        "coproc ls",
        "time { ls; }",
        "bash",
        "bash -c",
        'bash -c "$x"',
        "sh -s",
        "eval $x",
        "sudo --what a",
        "env -S 'a b'",
        "xargs --unknown a",
        "parallel a",
        "watch a",
        "((1))",
        "{ ls",
        "ls |",
        "cat <<E\n`a`\nE",
        "$" + "(a" * 200,
        "sh -c " + "'sh -c " * 3 + '"',
        "make -sf -",
        "make --makef=/dev/stdin",
        "make -nE x",
    ],
)
def test_what_is_not_understood_is_said(line: str) -> None:
    assert parse(line).unknown


def test_a_redirection_belongs_to_the_last_command() -> None:
    commands = parse("a && b 2>&1 >f").commands
    assert [run_words(command) for command in commands] == ["a", "b 2>&1 >f"]


def test_wrappers_are_told_from_what_they_start() -> None:
    wraps = [command.wrap for command in parse("timeout 5 sh -c 'env a'").commands]
    assert wraps == [Wrap.PLAIN, Wrap.SHELL, Wrap.OTHER, Wrap.NONE]


def test_a_pipeline_keeps_its_number_through_groups() -> None:
    commands = parse("a | (b; c 2>&1) | d; e").commands
    assert [command.pipeline for command in commands] == [1, 1, 1, 1, 0]


def test_a_static_here_document_is_a_known_word() -> None:
    (command,) = parse("git commit -m \"$(cat <<'EOF'\nOne\n\n$two `three`\nEOF\n)\"").commands
    assert command.words[-1].text == "One\n\n$two `three`"


@pytest.mark.parametrize(
    "word",
    [
        '"$(cat <<EOF\n$x\nEOF\n)"',
        "\"$(cat <<'EOF' | sh\nx\nEOF\n)\"",
        "\"$(cat <<'EOF' >f\nx\nEOF\n)\"",
        "\"$(sh <<'EOF'\nx\nEOF\n)\"",
        "\"$(cat -n <<'EOF'\nx\nEOF\n)\"",
        "\"a$(cat <<'EOF'\nx\nEOF\n)\"",
        "$(cat <<'EOF'\nx\nEOF\n)",
    ],
)
def test_no_other_here_document_is_a_known_word(word: str) -> None:
    assert parse(f"echo {word}").commands[0].words[-1].text is None


BASH = shutil.which("bash") or "/bin/bash"

# --- against bash ------------------------------------------------------------------------------

PIECES = (
    "a", "-x", "1", "'b c'", "''", '""', '"d e"', "\\ ", "\\a", "\\\\", "'$x'", '"\\$x"', '"\\\\"',
    '"\\a"', "\\$", "'\\'", '"a\\\nb"', "{", "}", "{}", "{x}", ",", "..", "=", ":", "~", "@", "%", "^",
    "+", "!", "#", "é", "€", "/", '"$"', '"a$ b"', "'\"'", "\"'\"", "\\'", '\\"', "\\;", "\\|", "\\&",
    "\\*", "'*'", '"*"', "a=b", "HEAD@{1}", '"`"', "\\`", "'\n'", '"\n"', "\\\n", "-", ".", "_",
    "'a'\\''b'", '"\\`"', '"a\\"b"', "$", '"\\\\\n"', "[", "]",
)  # fmt: skip


def _bash_words(words: list[str], directory: Path) -> list[str] | None:
    """The values that bash gives the words; None where it will not take the line."""
    script = "set -f; printf '%s\\0' first " + " ".join(words)
    run = subprocess.run(
        [BASH, "-c", script],
        cwd=directory,
        capture_output=True,
        env={"HOME": "/home/me", "PATH": "/nowhere"},
    )
    return run.stdout.decode(errors="surrogateescape").split("\0")[:-1] if run.returncode == 0 else None


@settings(
    max_examples=int(os.environ.get("AGENT_TUI_TEST_WORDS", "150")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    words=st.lists(
        st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), min_size=1, max_size=4
    )
)
def test_literal_words_have_the_value_that_bash_gives_them(
    words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    syntax = parse("printf x first " + " ".join(words))
    if syntax.unknown or len(syntax.commands) != 1:
        return
    command: SimpleCommand = syntax.commands[0]
    if command.redirections or not all(word.is_literal for word in command.words):
        return
    given_by_bash = _bash_words(words, tmp_path_factory.getbasetemp())
    assert given_by_bash is None or given_by_bash == [word.text for word in command.words[2:]]


# --- any text ----------------------------------------------------------------------------------

TOKENS = st.sampled_from([
    *PIECES, " ", "\n", ";", "|", "&&", "||", "&", "(", ")", "$(", "`", "${", "<<E\n", "<<<", ">", "<",
    "2>&1", "((", "[[", "]]", "[", "if ", "then ", "fi", "for x in ", "do ", "done", "case x in ",
    "esac", "function f ", "sh -c ", "eval ", "xargs ", "find . -exec ", "\x00", "\r", "\x1b",
    "\ud800", "\u202e", "$'", "<(", "git ", "rm -rf ",
])  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=st.one_of(st.lists(TOKENS, max_size=25).map("".join), st.text(max_size=200)))
def test_no_text_makes_the_reader_fail(line: str) -> None:
    workspace = Path("/nonexistent/a/w")
    found = assess_command(line, Setting(workspace=workspace, cwd=workspace, mode=Mode.WORKSPACE_WRITE))
    assert found.shown == line
    assert found.keys
    assert found.reason
    assert found.read_only == (found.effects.writes.paths == () and not found.effects.writes.everything)


@given(st.text(max_size=60))
def test_the_grammar_gets_characters_below_256_only(line: str) -> None:
    assert max(source_for_grammar(line).decode("utf-8"), default="") < "\u0100"


@pytest.mark.parametrize("before", ["{", "a {", "echo ${", "$", "<<", "[[ ", "a=", "{1.."])
def test_high_characters_do_not_end_the_process(before: str) -> None:
    for code in range(0x100, 0x110000, 0x401):
        parse(before + chr(code))


def test_high_characters_come_back_as_they_were() -> None:
    (command,) = parse("grep -n 'naïve Straße' données/日本語.txt {🙂} ÀàÇï").commands
    assert [word.text for word in command.words[2:]] == [
        "naïve Straße",
        "données/日本語.txt",
        "{🙂}",
        "ÀàÇï",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "(" * 20_000,
        "$(" * 20_000 + ")" * 20_000,
        "a;" * 40_000,
        "sh -c " + '"sh -c \\"' * 200,
        "{ " * 5000 + "ls" + "; }" * 5000,
        "if a; then " * 3000,
        "a " * 60_000,
        "'" * 100_000,
        "<<E " * 3000,
        "\\\n" * 50_000 + "ls",
        "[[ " * 5000,
        "${x:-" * 20_000,
    ],
    ids=range(12),
)
def test_a_monstrous_line_is_seen_in_bounded_time_and_asks(line: str) -> None:
    workspace = Path("/nonexistent/a/w")
    found = assess_command(line, Setting(workspace=workspace, cwd=workspace, mode=Mode.WORKSPACE_WRITE))
    assert not found.read_only
    assert len(parse(line).commands) <= MAX_COMMANDS
