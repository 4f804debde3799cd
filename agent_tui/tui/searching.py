"""Ctrl+R: the editor shows the hit, the activity line the search."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp


class Searching:
    """Takes every key of the editor while it is open."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._query = ""
        self._draft = ""
        self._at = 0
        self.title = ""
        self.hints: tuple[str, ...] = ()

    def begin(self) -> None:
        """Ctrl+R."""
        self._draft, self._query, self._at = self._app.editor.text, "", 0
        self._show()

    def key(self, key: str, character: str | None) -> bool:
        """One key; what is not for the search ends it with the hit in the editor, and acts there."""
        if key == "ctrl+r":
            self._at += 1
        elif key == "ctrl+s":
            self._at = max(self._at - 1, 0)
        elif key == "backspace":
            self._query, self._at = self._query[:-1], 0
        elif key in ("escape", "ctrl+c"):
            self._app.editor.set_text(self._draft)
            self.leave()
            return True
        elif character and character.isprintable():
            self._query, self._at = self._query + character, 0
        else:
            self.leave()
            return key in ("enter", "tab")
        self._show()
        return True

    def _show(self) -> None:
        hits = self._app.editor.past.find(self._query) if self._query else []
        self._at = min(self._at, max(len(hits) - 1, 0))
        if hits:
            self._app.editor.set_text(hits[self._at])
        place = f" · {self._at + 1} of {len(hits)}" if hits else " · no match" if self._query else ""
        caret = "" if self._app.glyphs.ascii else self._app.glyphs.bar_right
        self.title = f"history: {self._query}{caret}{place}"
        self.hints = ("Ctrl+R older", "Enter take", "Esc back")
        self._app.editor.lend_keys(self)
        self._app.draw_fixed()

    def leave(self) -> None:
        """The hit stays in the editor."""
        self.title, self.hints = "", ()
        self._app.editor.captor = None
        self._app.draw_fixed()
