"""What `/memory`, `/mcp` and `/skills` say, in the same words in both front ends."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui import additions
from agent_tui.config.trust import Survey, TrustStore, survey
from agent_tui.engine.types import Config
from agent_tui.plain import slash as in_lines
from context.instructions import CAP_BYTES, candidates
from tests.tui.driving import driven

Answers = Callable[[TrustStore, Survey], None]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    for name in ("work", "config"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / ".git").mkdir()
    return Config(
        workspace=tmp_path / "work",
        state_dir=tmp_path / "state",
        config_dir=tmp_path / "config",
        model=None,
    )


def test_where_there_are_none_it_says_how_they_come_to_be(config: Config) -> None:
    [told] = additions.memory(config)
    assert told.startswith("No instruction files.") and "/init writes one" in told


def test_each_file_is_named_with_its_size_and_what_keeps_it_out(config: Config) -> None:
    (config.config_dir / "AGENTS.md").write_text("be brief\n")
    (config.workspace / "AGENTS.md").write_text("a\nb\n" + "x" * CAP_BYTES)
    assert additions.memory(config)[1:] == [
        "  AGENTS.md of the user: 1 line, 9 bytes",
        "  AGENTS.md: 3 lines, 32,759 bytes",
        "  `AGENTS.md`: 13 bytes are over the limit of 32 KiB",
        "You were not asked whether to trust these files; they allow nothing",
    ]


def test_a_link_out_of_the_project_is_named_and_not_read(config: Config, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (config.workspace / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert "  `AGENTS.md` is a link out of the project and was not read" in additions.memory(config)


@pytest.mark.parametrize(
    ("answer", "later", "told"),
    [
        (TrustStore.trust, "", "You trusted the files of this directory as they are"),
        (
            TrustStore.trust,
            "more",
            "Files of this directory changed since you were asked; a start asks again",
        ),
        (TrustStore.refuse, "", "/AGENTS.md: not used, you did not trust the files of this directory"),
    ],
)
def test_what_was_said_of_trust_is_told(config: Config, answer: Answers, later: str, told: str) -> None:
    file = config.workspace / "AGENTS.md"
    file.write_text("be kind\n")
    answer(
        TrustStore(config.state_dir, config.workspace),
        survey(config.workspace, instructions=candidates(config.workspace)),
    )
    file.write_text("be kind\n" + later)
    rows = additions.memory(config)
    assert rows[-1].endswith(told)
    assert any(row == "  AGENTS.md: 1 line, 8 bytes" for row in rows) == (told.startswith("You"))


@pytest.mark.parametrize(("command", "told"), [("mcp", additions.NO_MCP), ("skills", additions.NO_SKILLS)])
async def test_what_there_is_none_of_is_said_in_one_line(tmp_path: Path, command: str, told: str) -> None:
    assert in_lines.parse(f"/{command}", busy=True).text == f"{told}."
    async with driven(tmp_path) as it:
        await it.act(f"/{command}")
        assert told in it.screen


async def test_memory_is_shown_on_the_screen(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("be kind\n")
    async with driven(tmp_path, workspace=tmp_path / "work") as it:
        await it.act("/memory")
        assert "AGENTS.md: 1 line, 8 bytes" in it.screen
