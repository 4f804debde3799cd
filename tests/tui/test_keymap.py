from pathlib import Path

import pytest

from agent_tui.errors import UsageError
from agent_tui.tui.keymap import keymap_of
from tests.tui import scenes
from tests.tui.driving import driven

FILE = Path("config.toml")


async def test_an_action_gets_the_keys_that_are_named_and_loses_its_own(tmp_path: Path) -> None:
    interface = {
        "keys.help": "f7",
        "keys.new_line": "ctrl+n, ctrl+j",
        "keys.terminals": "f6",
        "motion": "false",
    }
    async with driven(tmp_path, scenes.turn(), interface=interface) as it:
        await it.press("f1")
        assert "── help" not in it.screen
        await it.press("f7")
        assert "── help" in it.screen
        await it.press("end")
        assert "Changed in your settings" in it.screen and "f6           terminals" in it.screen
        await it.press("escape", "a", "ctrl+n", "b")
        assert it.app.editor.text == "a\nb"
        await it.press("f3")
        assert "── terminals" not in it.screen
        await it.press("f6")
        assert "── terminals" in it.screen


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"keys.hlep": "f7"}, "unknown action `hlep`"),
        ({"keys.help": "y"}, "key `y` is text and answers prompts"),
        ({"keys.help": "question_mark"}, "key `question_mark` is text"),
        ({"keys.help": "hyper~x"}, "`hyper~x` is no key"),
        ({"keys.help": "ctrl+t"}, "key `ctrl+t` of `help` is that of `transcript`"),
        ({"keys.send": "ctrl+j"}, "key `ctrl+j` of `send` is that of `new_line`"),
        ({"keys.help": "f7", "keys.find": "f7"}, "key `f7`"),
    ],
)
def test_a_key_that_cannot_be_is_an_error(said: dict[str, str], problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        keymap_of(said, FILE)
    assert problem in str(raised.value)


def test_keys_may_be_exchanged_and_an_error_names_its_line(tmp_path: Path) -> None:
    exchanged = keymap_of({"keys.find": "ctrl+t", "keys.transcript": "ctrl+f f2"}, FILE)
    assert (exchanged.editor["ctrl+t"], exchanged.editor["ctrl+f"]) == ("find", "transcript")
    file = tmp_path / "config.toml"
    file.write_text('theme = "dark"\n[keys]\nhelp = "y"\n')
    with pytest.raises(UsageError, match=r"config\.toml:3: key `y`"):
        keymap_of({"keys.help": "y"}, file)
    file.write_text('[keys]\n"a(" = "f7"\n')
    with pytest.raises(UsageError, match=r"config\.toml: \[keys\]: unknown action `a\(`"):
        keymap_of({"keys.a(": "f7"}, file)
