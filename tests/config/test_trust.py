import hashlib
from pathlib import Path

import pytest

from agent_tui.config.trust import Survey, Trust, TrustState, TrustStore, survey
from agent_tui.errors import AgentError

NAMES = ("AGENTS.md",)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    (root / ".agent-tui").mkdir(parents=True)
    (root / "tools").mkdir()
    (root / ".agent-tui" / "config.toml").write_text('verify = "make test"\n')
    (root / "AGENTS.md").write_text("be kind\nbe brief\n")
    (root / "tools" / "AGENTS.md").write_text("use make\n")
    return root


@pytest.fixture
def store(tmp_path: Path, workspace: Path) -> TrustStore:
    return TrustStore(tmp_path / "state", workspace)


def look_at(workspace: Path) -> Survey:
    return survey(workspace, instructions=(workspace / "AGENTS.md",), names=NAMES)


def test_survey_names_each_file_once_with_kind_and_lines(workspace: Path) -> None:
    files = look_at(workspace).files
    assert [(file.shown, file.kind, file.lines) for file in files] == [
        (".agent-tui/config.toml", "settings", 1),
        ("AGENTS.md", "instructions", 2),
        ("tools/AGENTS.md", "instructions", 1),
    ]


def test_a_directory_without_such_files_asks_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = survey(tmp_path / "empty", names=NAMES)
    trust = TrustStore(tmp_path / "state", tmp_path / "empty").look(found)
    assert trust == Trust(state=TrustState.NOTHING)
    assert not trust.must_ask


def test_nothing_counts_before_the_answer(workspace: Path, store: TrustStore) -> None:
    path = workspace / ".agent-tui" / "config.toml"
    assert store.look(look_at(workspace)).must_ask
    assert not store.is_trusted(path, path.read_bytes())


def test_trusted_files_count_with_exactly_this_content(workspace: Path, store: TrustStore) -> None:
    path = workspace / ".agent-tui" / "config.toml"
    store.trust(look_at(workspace))
    assert store.look(look_at(workspace)) == Trust(state=TrustState.TRUSTED)
    assert store.is_trusted(path, path.read_bytes())
    assert not store.is_trusted(path, path.read_bytes() + b"#")
    assert not store.is_trusted(workspace / "other.toml", path.read_bytes())


def test_a_refusal_is_kept_and_gives_nothing(workspace: Path, store: TrustStore) -> None:
    store.refuse(look_at(workspace))
    trust = store.look(look_at(workspace))
    assert (trust.state, trust.must_ask) == (TrustState.REFUSED, False)
    assert not store.is_trusted(workspace / "AGENTS.md", (workspace / "AGENTS.md").read_bytes())


@pytest.mark.parametrize("answer", ["trust", "refuse"])
def test_a_changed_file_is_asked_about_again_by_name(answer: str, workspace: Path, store: TrustStore) -> None:
    getattr(store, answer)(look_at(workspace))
    (workspace / "tools" / "AGENTS.md").write_text("curl x | sh\n")
    changed, refused = ("tools/AGENTS.md",), answer == "refuse"
    assert store.look(look_at(workspace)) == Trust(state=TrustState.CHANGED, changed=changed, refused=refused)


def test_a_new_file_is_asked_about(workspace: Path, store: TrustStore) -> None:
    store.trust(look_at(workspace))
    (workspace / "src").mkdir()
    (workspace / "src" / "AGENTS.md").write_text("new\n")
    assert store.look(look_at(workspace)).changed == ("src/AGENTS.md",)
    assert not store.is_trusted(workspace / "src" / "AGENTS.md", b"new\n")


def test_a_removed_file_needs_no_question(workspace: Path, store: TrustStore) -> None:
    store.trust(look_at(workspace))
    (workspace / "tools" / "AGENTS.md").unlink()
    assert store.look(look_at(workspace)).state is TrustState.TRUSTED


def test_trust_of_one_workspace_is_not_that_of_its_copy(
    tmp_path: Path, workspace: Path, store: TrustStore
) -> None:
    store.trust(look_at(workspace))
    copy = tmp_path / "copy"
    (copy / ".agent-tui").mkdir(parents=True)
    data = (workspace / ".agent-tui" / "config.toml").read_bytes()
    (copy / ".agent-tui" / "config.toml").write_bytes(data)
    assert TrustStore(tmp_path / "state", copy).look(look_at(copy)).must_ask


@pytest.mark.parametrize("text", ['{"trusted": true, "files":', pytest.param("[" * 5000, id="nested")])
def test_a_damaged_answer_is_no_answer(tmp_path: Path, workspace: Path, store: TrustStore, text: str) -> None:
    store.trust(look_at(workspace))
    (answer,) = (tmp_path / "state" / "trust").iterdir()
    answer.write_text(text)
    assert store.look(look_at(workspace)).state is TrustState.UNKNOWN


def test_nothing_is_written_into_the_workspace(tmp_path: Path, workspace: Path, store: TrustStore) -> None:
    before = sorted(str(path) for path in workspace.rglob("*"))
    store.trust(look_at(workspace))
    assert sorted(str(path) for path in workspace.rglob("*")) == before
    (answer,) = (tmp_path / "state" / "trust").iterdir()
    assert answer.stat().st_mode & 0o077 == 0


def test_the_link_target_is_what_is_hashed(tmp_path: Path, workspace: Path, store: TrustStore) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("one\n")
    (workspace / "AGENTS.md").unlink()
    (workspace / "AGENTS.md").symlink_to(outside)
    store.trust(look_at(workspace))
    outside.write_text("two\n")
    assert store.look(look_at(workspace)).changed == ("AGENTS.md",)
    assert hashlib.sha256(b"two\n").hexdigest() == look_at(workspace).files[1].sha256


def test_an_answer_that_cannot_be_kept_is_one_clear_line(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(AgentError, match="the answer cannot be kept"):
        TrustStore(tmp_path / "state", workspace).trust(look_at(workspace))
