"""Pictures of every screen as text; `UPDATE_SCREENS=1` writes them anew, a review reads the difference.

One app takes all pictures of a scene, so each is also a test of resizing and of changing the theme.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent_tui.tui.chosen import Chosen
from agent_tui.tui.glyphs import ASCII, UNICODE
from agent_tui.tui.screens.body import Body
from agent_tui.tui.screens.view import View
from agent_tui.tui.sheet_app import SheetApp
from agent_tui.tui.widgets.pane import Pane
from tests.tui import gallery, gallery_more, gallery_states, scenes, sheets
from tests.tui.driving import Driven, driven
from tests.tui.pictures import Picture, has_colour, take

PICTURES = Path(__file__).with_name("screens")
SCENES = gallery.SCENES | gallery_states.SCENES | gallery_more.SCENES
TOO_SMALL = "too-small"
COLOURED = {"80x24": (80, 24), "160x50": (160, 50)}  # in both painted themes


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day as in London in winter."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory on a disk that is full."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 0))
    return tmp_path


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize("name", SCENES)
async def test_picture(home: Path, name: str) -> None:
    scene = SCENES[name]
    state = home / ".local" / "state" / "agent-tui"
    found: dict[str, str] = {}
    look_of = Chosen(keys_told=scene.keys_told)
    async with driven(
        home, scene.play(), on=scene.on, look=look_of, offered=scene.offered, state_dir=state
    ) as it:
        it.clock.wall_at += scene.later_s
        for key in scene.keys:
            await it.act(key)
        for look, size in COLOURED.items():
            await it.resize(*size)
            found[look] = await _both_themes(it)
        await it.resize(60, 15)
        found["60x15"] = it.screen
        _check_keys(it)
        if scene.is_main:
            await it.resize(120, 40)
            found["120x40"] = it.screen
        await it.resize(80, 24)
        await _dress(it, "mono", ascii_only=True)
        found["80x24-ascii"] = it.screen
        _check_keys(it)
        assert not has_colour(it.app)
    _check_shape(found)
    _compare(name, found)


async def test_picture_of_a_terminal_that_is_too_small(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.resize(52, 12)
        found = {"52x12": await _both_themes(it)}
    _check_shape(found)
    _compare(TOO_SMALL, found)


@pytest.mark.parametrize("name", sheets.SHEETS)
async def test_picture_of_a_start(name: str) -> None:
    found: dict[str, str] = {}
    for look, size in (COLOURED | {"60x15": (60, 15)}).items():
        pictures = {theme: await _sheet(name, size, theme) for theme in ("light", "dark")}
        found[look] = _same_in(pictures)
    found["80x24-ascii"] = (await _sheet(name, (80, 24), "mono", ascii_only=True)).text
    _check_shape(found)
    _compare(name, found)


async def _sheet(name: str, size: tuple[int, int], theme: str, *, ascii_only: bool = False) -> Picture:
    now = [0.0]
    app = SheetApp(sheets.SHEETS[name], Chosen(theme=theme, ascii_only=ascii_only), lambda: now[0])
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        now[0] += 0.6
        app.check()
        await pilot.pause()
        assert not (theme == "mono" and has_colour(app))
        return take(app, "dark" if theme == "mono" else theme)


async def _both_themes(it: Driven) -> str:
    """The picture, which both themes have to give."""
    _check_keys(it)
    pictures: dict[str, Picture] = {}
    for theme in ("light", "dark"):
        await _dress(it, theme)
        pictures[theme] = take(it.app, theme)
    return _same_in(pictures)


def _same_in(pictures: dict[str, Picture]) -> str:
    """The one picture of both themes, painted with nothing but the colours of roles."""
    for theme, picture in pictures.items():
        strange = [row for row in picture.roles if " on " in row]
        assert not strange, f"{theme}: colours of no role: {strange}"
    assert pictures["light"].coloured == pictures["dark"].coloured
    return pictures["dark"].coloured


async def _dress(it: Driven, theme: str, *, ascii_only: bool = False) -> None:
    """Another look for what is open, as a start with that look would have it."""
    app = it.app
    app.look_theme, app.glyphs = theme, ASCII if ascii_only else UNICODE
    app.set_look()
    app.prompt.draw()
    app.completing.update()
    app.draw_fixed()
    if isinstance(app.screen, View):
        for pane in app.screen.query(Pane):
            pane.set_theme(theme)
        for body in app.screen.query(Body):
            body._theme = theme
        app.screen.draw()
    await it.settle()


def _check_keys(it: Driven) -> None:
    """The keys below a view are whole."""
    below = it.screen.split("\n")[-2:] if isinstance(it.app.screen, View) else []
    cut = [row for row in below if re.search(r"(…|\.\.\.)( [─━=-]+)?$", row)]
    assert not cut, cut


QUOTED = re.compile(
    r"e\u0301+|[\u0400-\u04ff\u2e80-\uffef\U0001f000-\U0001faff\u200d\ufe0f]"
)  # what is not ours to say


def _check_shape(found: dict[str, str]) -> None:
    strange = [row for row in found.get("80x24-ascii", "").split("\n") if not QUOTED.sub("", row).isascii()]
    assert not strange, strange
    for look, picture in found.items():
        columns, _, rows = look.removesuffix("-ascii").partition("x")
        drawn = picture.partition("\n--- roles")[0].split("\n")
        assert len(drawn) == int(rows)
        assert all(cell_len(row) <= int(columns) for row in drawn)
        assert not [char for char in picture if ord(char) < 32 and char != "\n"], look


def _compare(name: str, found: dict[str, str]) -> None:
    files = {look: PICTURES / f"{name}-{look}.txt" for look in found}
    if os.environ.get("UPDATE_SCREENS"):
        for look, picture in found.items():
            files[look].write_text(picture + "\n")
    for look, picture in found.items():
        assert files[look].read_text() == picture + "\n", f"{name}-{look}"


def test_every_picture_has_its_scene() -> None:
    looks = ("-80x24-ascii", "-80x24", "-60x15", "-120x40", "-160x50", "-52x12")
    names = {_without(file.stem, looks) for file in PICTURES.glob("*.txt")}
    assert names == {*SCENES, *sheets.SHEETS, TOO_SMALL}


def _without(stem: str, ends: tuple[str, ...]) -> str:
    return next((stem.removesuffix(end) for end in ends if stem.endswith(end)), stem)
