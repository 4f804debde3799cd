"""The contrasts of the palette, computed from the colours that are painted."""

import pytest

from agent_tui.tui.palette import ON_DARK, ON_LIGHT, PAINTED, THEMES, style
from agent_tui.tui.themes import toolkit_themes
from agent_tui.tui.toolkit import theme_for

READ = 4.5  # of text, WCAG 2.2 success criterion 1.4.3
# Role: on the background and on a panel of `dark`, then of `light`, as the table says.
SAID = {
    "text": (12.9, 11.7, 15.1, 13.6),
    "strong": (16.3, 14.7, 18.6, 16.8),
    "muted": (7.0, 6.3, 5.9, 5.3),
    "accent": (8.7, 7.8, 6.5, 5.9),
    "ok": (9.5, 8.6, 6.3, 5.7),
    "attention": (10.7, 9.6, 6.6, 6.0),
    "error": (7.9, 7.1, 6.4, 5.8),
    "external": (9.0, 8.1, 6.8, 6.2),
    "link": (10.1, 9.1, 6.7, 6.0),
}


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("role", SAID)
def test_roles_have_the_contrast_that_is_said(role: str) -> None:
    found = [
        contrast(painted.colours[role], behind)
        for painted in (PAINTED["dark"], PAINTED["light"])
        for behind in (painted.background, painted.panel)
    ]
    assert found == pytest.approx(SAID[role], abs=0.11)
    assert min(found) >= READ


@pytest.mark.parametrize("theme", PAINTED)
def test_what_has_a_background_of_its_own_can_be_read_on_it(theme: str) -> None:
    painted = PAINTED[theme]
    for role, behind in painted.on.items():
        assert contrast(painted.colours[role], behind) >= READ, role


@pytest.mark.parametrize("theme", PAINTED)
def test_code_can_be_read_and_is_neither_red_nor_green(theme: str) -> None:
    painted = PAINTED[theme]
    for name, colour in painted.syntax.items():
        assert contrast(colour, painted.background) >= READ, name
        assert colour not in (painted.colours["add"], painted.colours["remove"], painted.colours["error"])


@pytest.mark.parametrize("theme", PAINTED)
def test_a_theme_paints_its_own_background(theme: str) -> None:
    for role in (*PAINTED[theme].colours, *(f"syntax.{name}" for name in PAINTED[theme].syntax), "text+bold"):
        painted = style(theme, role)
        assert painted.bgcolor is not None and not painted.bgcolor.is_default, role


@pytest.mark.parametrize("theme", sorted({*THEMES, ON_DARK, ON_LIGHT} - set(PAINTED)))
def test_the_other_themes_leave_text_in_the_colour_of_the_terminal(theme: str) -> None:
    for role in ("text", "strong", "muted"):
        assert style(theme, role).color is None and style(theme, role).bgcolor is None


def test_nothing_blinks_and_nothing_has_a_colour_without_colours() -> None:
    roles = [*PAINTED["dark"].colours, "syntax.keyword"]
    assert not [role for theme in THEMES for role in roles if style(theme, role).blink]
    assert not [role for role in roles if style("mono", role).color or style("mono", role).bgcolor]


@pytest.mark.parametrize(
    ("is_dark", "accent", "error", "attention"),
    [
        (None, "blue", "red", "yellow"),
        (True, "bright_blue", "bright_red", "yellow"),
        (False, "blue", "red", None),
    ],
)
def test_the_sixteen_colours_follow_a_background_that_is_known(
    monkeypatch: pytest.MonkeyPatch, is_dark: bool | None, accent: str, error: str, attention: str | None
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    theme = theme_for("ansi", is_dark)
    assert f"agent-{theme}" in [known.name for known in toolkit_themes()]
    found = [style(theme, role).color for role in ("accent", "error", "attention")]
    assert [colour.name if colour else None for colour in found] == [accent, error, attention]
    assert style(theme, "attention").bold
    assert style(theme, "ok") == style("ansi", "ok")
