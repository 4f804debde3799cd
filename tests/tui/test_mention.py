"""File mentions: where one begins, and which paths come first."""

from pathlib import Path

import pytest

from agent_tui.engine import commands, events
from agent_tui.mention import SHOWN, best, mentioned
from tests.tui.driving import driven
from tests.tui.fake_engine import Play


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("@", 0),
        ("see @src/a", 4),
        ("(@x", 1),
        ("a\n@x", 2),
        ("me@example.org", None),
        ("@x done", None),
        ("@\n", None),
        ("", None),
    ],
)
def test_a_mention_begins_at_a_word(text: str, at: int | None) -> None:
    assert mentioned(text) == at


FILES = ["src/app.py", "tests/test_app.py", "docs/application.md", "README.md", "src/deep/er/mapper.py"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (
            "",
            ["README.md", "docs/application.md", "src/app.py", "tests/test_app.py", "src/deep/er/mapper.py"],
        ),
        ("app.py", ["src/app.py", "tests/test_app.py", "src/deep/er/mapper.py"]),
        ("README", ["README.md"]),
        ("readme", ["README.md"]),
        ("nothing", []),
    ],
)
def test_names_come_before_directories_and_short_before_long(query: str, found: list[str]) -> None:
    assert best(query, FILES) == found


def test_letters_in_order_are_enough() -> None:
    assert best("tstapp", FILES) == ["tests/test_app.py"]


def test_of_very_many_paths_the_best_fifty_are_given() -> None:
    files = [f"packages/p{number % 97}/module_{number}/file_{number}.py" for number in range(50_000)]
    assert best("file_49999", files) == [files[49_999]]
    assert len(best("f", files)) == len(best("mdl_7", files)) == SHOWN


async def test_ignored_files_are_listed_when_they_are_asked_for(tmp_path: Path) -> None:
    def files(body: commands.CommandBody) -> Play:
        if not isinstance(body, commands.Inspect) or body.subject is not commands.Subject.FILES:
            return ()
        words = {"src/app.py": "modified"} | ({"build/app.o": "ignored"} if body.args else {})
        return [events.Inspected(command_id="", data=words)]

    async with driven(tmp_path, on=files) as it:
        await it.type("@app")
        assert "src/app.py" in it.screen
        assert "modified" in it.screen
        await it.type(".o")
        assert 'no file matches "app.o" (ignored files are not listed; @! lists them)' in it.screen
        await it.press("ctrl+u")
        await it.type("see @!app.o")
        assert "build/app.o" in it.screen
        assert "ignored" in it.screen
        await it.press("enter")
        assert it.app.editor.text == "see @build/app.o "
        await it.press("ctrl+u")
        await it.type("@!nothing")
        assert 'no file matches "nothing"' in it.screen
        assert "@! lists them" not in it.screen
