from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_tui.config.edit import keep_model, set_values
from agent_tui.config.layers import Settings, resolve
from agent_tui.config.providers import choose
from agent_tui.errors import UsageError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file of a person who has a key of one vendor."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "AGENT_TUI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    file = tmp_path / ".config" / "agent-tui" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    return file


def started(root: Path, **flags: str) -> Settings:
    """Settings of a start."""
    return resolve(flags, (), environ={"HOME": str(root)}, directory=root, is_trusted=lambda *_: False)


def test_a_model_that_can_be_used_is_kept(file: Path, tmp_path: Path) -> None:
    assert keep_model("openai/gpt-6.2-sol", started(tmp_path)) == file
    assert file.read_text() == '# mine\nmodel = "openai/gpt-6.2-sol"\n'


@pytest.mark.parametrize("name", ["address", "nobody/x", "anthropic/claude-sonnet-5"])
def test_nothing_is_written_that_the_next_start_would_refuse(file: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        keep_model(name, started(tmp_path))
    assert file.read_text() == "# mine\n"


def test_an_address_that_only_this_start_knows_is_kept_with_its_model(file: Path, tmp_path: Path) -> None:
    address = "http://127.0.0.1:9/v1"
    file.write_text('# mine\ntheme = "light"\n\n[providers.work]\napi = "chat"\n')
    keep_model("compatible/coder", started(tmp_path, base_url=address))
    later = started(tmp_path)
    assert (later.text("model"), later.text("theme")) == ("compatible/coder", "light")
    assert choose("compatible/coder", later, {}).base_url == address
    assert file.read_text().startswith("# mine\n")
    keep_model("openai/gpt-6.2-sol", later)
    assert choose("openai/gpt-6.2-sol", started(tmp_path), {"OPENAI_API_KEY": "k"}).base_url != address


def test_an_address_of_the_file_stays_and_none_is_invented(file: Path, tmp_path: Path) -> None:
    file.write_text('base_url = "http://127.0.0.1:9/v1"\n')
    keep_model("compatible/coder", started(tmp_path, base_url="http://127.0.0.1:10/v1"))
    assert file.read_text() == 'base_url = "http://127.0.0.1:9/v1"\nmodel = "compatible/coder"\n'
    file.write_text("")
    with pytest.raises(UsageError, match="address"):
        keep_model("compatible/coder", started(tmp_path))
    assert file.read_text() == ""


def test_the_file_stays_where_a_link_says_and_open_to_whom_it_was(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_bytes(b"# mine\r\n")
    real.chmod(0o600)
    file.unlink()
    file.symlink_to(real)
    set_values(file.parent, {("model",): "openai/x"})
    assert file.is_symlink()
    assert real.read_bytes().startswith(b'# mine\r\nmodel = "openai/x"')
    assert real.stat().st_mode & 0o777 == 0o600
    assert [*file.parent.iterdir()] == [file]


def test_a_file_that_is_read_only_stays_as_it_is(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(UsageError, match="`model` cannot be set: the file is read-only"):
        set_values(file.parent, {("model",): "openai/x"})
    assert file.read_text() == "# mine\n"


@pytest.mark.parametrize("text", ["providers = 3\n", '[providers]\nwork = "x"\n', "[[providers]]\na = 1\n"])
def test_no_table_where_one_is_expected_is_said(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match="cannot be set: a table is expected there"):
        set_values(file.parent, {("providers", "work", "base_url"): "http://127.0.0.1:9"})
    assert file.read_text() == text


def test_a_name_that_is_no_text_is_said(file: Path) -> None:
    with pytest.raises(UsageError, match="cannot be set"):
        set_values(file.parent, {("model",): "openai/\udcff"})
    assert file.read_text() == "# mine\n"


def test_writers_at_once_lose_nothing(file: Path) -> None:
    with ThreadPoolExecutor() as pool:
        [*pool.map(lambda n: set_values(file.parent, {("providers", f"p{n}", "base_url"): "x"}), range(8))]
    assert file.read_text().count("base_url") == 8
