"""Large pastes stand as a placeholder in the draft and are whole again when it is sent."""

import re

from agent_tui.figures import count

LONG_CHARACTERS = 1_000
LONG_LINES = 15

_TOKEN = re.compile(r"\[pasted \d[\d,]* lines?(?: #\d+)?\]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Pastes:
    """The texts behind the placeholders of one draft."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, text: str) -> str:
        """What to insert for a paste: the text itself, or its placeholder."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= LONG_CHARACTERS and lines <= LONG_LINES and not _CONTROL.search(text):
            return text
        pasted = f"pasted {count(lines, 'line')}"
        name = f"[{pasted}]"
        number = 2
        while name in self._texts and self._texts[name] != text:
            name = f"[{pasted} #{number}]"
            number += 1
        self._texts[name] = text
        return name

    def expanded(self, draft: str) -> str:
        """The draft with every known placeholder replaced."""
        return _TOKEN.sub(lambda found: self._texts.get(found.group(), found.group()), draft)

    def holds(self, draft: str) -> bool:
        """Whether the draft has a placeholder."""
        return any(name in self._texts for name in _TOKEN.findall(draft))

    def clear(self) -> None:
        """The draft was sent or thrown away."""
        self._texts.clear()
