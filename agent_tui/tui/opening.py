"""What a start has to tell: at most three blocks, the most important first; `/status` has the rest."""

from collections.abc import Callable

from agent_tui.frozen import frozen
from agent_tui.tui.transcript.blocks import Notice

SHOWN = 3
KEYS = "keys"  # what the terminal around us does to them
_ORDER = ("guard", "records", "others", "", KEYS)  # what notices are about


@frozen
class _Told:
    rank: int
    text: str
    ended: bool
    information: bool


class Opening:
    """Takes the notices of a start; `add` and `touch` are the feed's."""

    def __init__(
        self, add: Callable[[Notice], None], touch: Callable[[Notice], None], *, is_open: bool
    ) -> None:
        self._add = add
        self._touch = touch
        self._told: list[_Told] = []
        self._blocks: list[Notice] = []
        self.is_open = is_open  # whether what is told now belongs to the start

    @property
    def rest(self) -> list[str]:
        """What has no block."""
        return [each.text for each in self._told[SHOWN:]]

    def tell(self, text: str, *, ended: bool = False, information: bool = False, about: str = "") -> None:
        """Show it in its place among the others; what a person may have read already only moves."""
        rank = 0 if ended else _ORDER.index(about)
        self._told.append(_Told(rank=rank, text=text, ended=ended, information=information))
        self._told.sort(key=lambda each: each.rank)
        if len(self._blocks) < SHOWN:
            self._blocks.append(Notice(text=""))
            self._add(self._blocks[-1])
        for block, each in zip(self._blocks, self._told, strict=False):
            block.text, block.ended, block.information = each.text, each.ended, each.information
            self._touch(block)
        if self.rest:
            self._blocks[-1].text += f" (+ {len(self.rest)} more, in /status)"
