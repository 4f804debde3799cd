"""How blocks are to be drawn at this moment: width, glyphs, settings. Passed to every renderer."""

from typing import Literal

from agent_tui.frozen import frozen
from agent_tui.tui.glyphs import UNICODE, Glyphs

OutputSetting = Literal["auto", "always", "failed", "never"]


@frozen
class Look:
    """Everything a renderer may depend on beside the block itself."""

    width: int
    glyphs: Glyphs = UNICODE
    output: OutputSetting = "auto"
    now: float = 0.0  # UTC seconds; only running blocks look at it
    low: bool = False  # fewer than 20 rows
    whole: bool = False  # expanded cards show every line they have
    facts: bool = (
        False  # calls tell their number, checkpoint and sandbox, messages their time, as in the pager
    )
    spoken: bool = False  # for a screen reader: words in place of signs

    @property
    def narrow(self) -> bool:
        """Under 80 columns right ends lose counts of lines and matches."""
        return self.width < 80

    @property
    def prose(self) -> int:
        """Columns of running text: never more than 100."""
        return min(self.width, 102)
