from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.engine.rules import UNKNOWN_WORD as RULE_UNKNOWN_WORD
from agent_tui.engine.rules import Action, Rule, covers, words_of
from sandbox.policy import Mode
from tools.command_line.assess import assess_command
from tools.command_line.explain import explain, explain_text
from tools.command_line.keys import UNKNOWN_WORD, path_key, quote
from tools.command_line.parts import Setting
from tools.types import Assessment, CallClass, Grant

WORKSPACE = Path("/nonexistent/a/w")
HERE = Setting(workspace=WORKSPACE, cwd=WORKSPACE, mode=Mode.WORKSPACE_WRITE)


def assess(line: str, **facts: object) -> Assessment:
    wishes = {name: facts.pop(name) for name in ("wanted", "wanted_detail") if name in facts}
    values = {"workspace": WORKSPACE, "cwd": WORKSPACE, "mode": Mode.WORKSPACE_WRITE, **facts}
    setting = Setting(resolve=lambda name: f"/usr/bin/{name}", **values)  # type: ignore[arg-type]
    return assess_command(line, setting, **wishes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("make x", ("run make x",)),
        ("make 'x y' \"z\"", ("run make 'x y' z",)),
        ("make x && ls", ("run make x", "in ls")),
        ("ls && pwd", ("run ls", "run pwd")),
        ("FOO=1 make x >f 2>&1", ("run FOO=1 make x >f 2>&1",)),
        ("make '>f'", ("run make '>f'",)),
        ("make '<?>'", ("run make '<?>'",)),
        ('make "it\'s"', ("run make 'it'\\''s'",)),
        ("make ...", ("run make '...'",)),
        ("make \\*", ("run make '*'",)),
        ("'A=1' make", ("run 'A=1' make",)),
        ("make *", ("line make *", "in make <?>")),
        ("make ~/x", ("line make ~/x", "in make <?>")),
        ("make $x", ("line make $x", "in make <?>")),
        ("timeout 5 make x", ("in timeout 5 make x", "run make x")),
        ("sh -c 'make x'", ("run sh -c 'make x'", "in make x")),
        ("env A=1 make", ("run env A=1 make", "in make")),
        ("ls | xargs rm", ("in ls", "run xargs rm", "in rm <?>")),
        ("cd sub && make", ("line cd sub && make", "in cd sub", "in make")),
        ("A=1; make", ("line A=1; make", "in A=1", "in make")),
        ("cat <<E\nx\nE", ("line cat <<E\nx\nE", "in cat <<<?>")),
        ("make &", ("line make &", "in make")),
        ("ls (", ("line ls (", "in ls", "in <?>")),
        ("set -e; make", ("in set -e", "run make")),
        ("# nothing", ("line # nothing",)),
    ],
)
def test_keys_name_each_part_or_the_whole_line(line: str, keys: tuple[str, ...]) -> None:
    assert assess(line).keys == keys


def test_variables_of_a_call_are_part_of_its_key() -> None:
    found = assess("make x", env={"B": "2 3", "A": "1"})
    assert found.keys == ("line A=1 B='2 3' make x", "in A=1 B='2 3' make x")
    assert (found.call_class, found.read_only) == (CallClass.ASK, False)


def test_reading_with_variables_is_not_reading() -> None:
    assert not assess("ls", env={"LD_PRELOAD": "./x.so"}).read_only


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4)
)
def test_a_key_has_as_many_words_as_the_command(words: list[str]) -> None:
    key = "run " + " ".join(map(quote, words))
    assert len(words_of(key[4:])) == len(words)
    assert covers(Rule(action=Action.ALLOW, pattern=key), key)


@given(st.text(alphabet="ab'\\ *<?>.$\n=\"", min_size=1), st.text(alphabet="ab'\\ *<?>.$\n=\"", min_size=1))
def test_two_words_never_share_a_form(one: str, other: str) -> None:
    assert (quote(one) == quote(other)) is (one == other)


def test_both_sides_mean_the_same_by_an_unknown_word() -> None:
    assert UNKNOWN_WORD == RULE_UNKNOWN_WORD


def test_paths_are_relative_to_the_workspace() -> None:
    assert path_key("edit", WORKSPACE / "src" / "a.py", WORKSPACE) == "edit src/a.py"
    assert path_key("read", Path("/etc/hosts"), WORKSPACE) == "read /etc/hosts"


@pytest.mark.parametrize(
    ("line", "scripts"),
    [
        ("sh x.sh", ["x.sh"]),
        ("python3 -u x.py a", ["x.py"]),
        ("python3 -m pytest", []),
        ("python3 -c 'print(1)' x", []),
        ("./x a && bin/y", ["x", "bin/y"]),
        ("source env", ["env"]),
        ("bash -c './x'", ["x"]),
        ("make x", []),
    ],
)
def test_scripts_that_run_are_named(line: str, scripts: list[str]) -> None:
    assert [str(path.relative_to(WORKSPACE)) for path in assess(line).files] == scripts


def test_a_wish_of_the_model_is_the_reason() -> None:
    found = assess("ls", wanted=Grant.WRITE_PATH, wanted_detail="/opt/x")
    assert (found.reason, found.grant, found.grant_detail, found.call_class, found.read_only) == (
        "the model asked to write /opt/x",
        Grant.WRITE_PATH,
        "/opt/x",
        CallClass.ASK,
        False,
    )
    assert assess("rm -rf /", wanted=Grant.NO_SANDBOX).reason.startswith("removes the root")


def test_a_program_of_the_workspace_is_not_a_known_one(tmp_path: Path) -> None:
    found = assess_command(
        "ls",
        Setting(
            workspace=tmp_path,
            cwd=tmp_path,
            mode=Mode.WORKSPACE_WRITE,
            resolve=lambda _: str(tmp_path / "ls"),
        ),
    )
    assert (found.read_only, found.reason) == (False, "`ls` is a program of the workspace")
    (tmp_path / "link").symlink_to(tmp_path / "evil")
    linked = assess_command(
        "ls",
        Setting(
            workspace=tmp_path.resolve(),
            cwd=tmp_path,
            mode=Mode.WORKSPACE_WRITE,
            resolve=lambda _: str(tmp_path / "link"),
        ),
    )
    assert not linked.read_only


def test_a_program_that_is_not_there_is_not_a_known_one() -> None:
    found = assess_command(
        "ls", Setting(workspace=WORKSPACE, cwd=WORKSPACE, mode=Mode.OFF, resolve=lambda _: None)
    )
    assert (found.read_only, found.reason) == (False, "`ls` was not found")


def test_an_extra_root_is_read_like_the_workspace_but_its_programs_are_not_trusted(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "lib"
    (root / "bin").mkdir(parents=True)
    (root / "out").symlink_to("/etc")

    def read_in(line: str, cwd: Path, found: str = "/usr/bin/x") -> tuple[CallClass, str]:
        setting = Setting(
            workspace=WORKSPACE, cwd=cwd, mode=Mode.WORKSPACE_WRITE, roots=(root,), resolve=lambda _: found
        )
        judged = assess_command(line, setting)
        return judged.call_class, judged.reason

    assert read_in(f"cat {root}/a.txt", WORKSPACE) == (CallClass.AUTO, "only reads")
    assert read_in("grep -r x . && cat a.txt", root) == (CallClass.AUTO, "only reads")
    assert read_in(f"cat {root}/out/passwd", WORKSPACE)[0] is CallClass.ASK
    assert read_in(f"cat {root}x/a.txt", WORKSPACE)[0] is CallClass.ASK
    assert read_in("ls", WORKSPACE, str(root / "bin" / "ls")) == (
        CallClass.ASK,
        "`ls` is a program of the workspace",
    )
    lane = assess_command(
        "git commit -m x", Setting(workspace=WORKSPACE, cwd=root, mode=Mode.WORKSPACE_WRITE, roots=(root,))
    )
    assert (lane.grant, lane.grant_is_automatic) == (Grant.GIT_LANE, False)


def test_a_link_out_of_the_workspace_is_outside(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "out").symlink_to("/etc")
    found = assess_command(
        "cat out/passwd",
        Setting(
            workspace=(tmp_path / "w").resolve(),
            cwd=(tmp_path / "w").resolve(),
            mode=Mode.WORKSPACE_WRITE,
            resolve=lambda name: f"/usr/bin/{name}",
        ),
    )
    assert (found.call_class, found.read_only) == (CallClass.ASK, True)


def test_explain_is_plain_data_and_plain_words() -> None:
    data = explain(
        "git add -A && git commit -m x",
        HERE,
    )
    assert (data["class"], data["grant"], data["grant_automatic"], len(data["commands"])) == (
        "ask",
        "git_lane",
        True,
        2,
    )
    text = explain_text("touch \u202ex", HERE)
    assert "\\u202e" in text
    assert "\u202e" not in text
    assert "given without a question" in explain_text("git commit -m x", HERE)


@pytest.mark.parametrize("line", ["ls", "git commit -m x"])
def test_a_directory_outside_the_workspace_is_never_automatic(line: str) -> None:
    found = assess(line, cwd=Path("/nonexistent/a"))
    assert (found.call_class, found.grant_is_automatic) == (CallClass.ASK, False)
    assert found.reason == "runs outside the workspace: /nonexistent/a"
