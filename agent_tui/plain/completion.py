"""Tab completes a command or an `@` file mention in line mode; several that fit are printed, as a shell
does."""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agent_tui.mention import best, mentioned, parted
from agent_tui.plain.slash import COMMANDS
from agent_tui.safe_text import one_line

FRESH_S = 10.0  # a listing older than this is asked for again

Listing = Callable[[bool], Awaitable[Sequence[str]]]  # paths of the workspace, ignored ones too if so asked


class Completing(Completer):
    """`listing` is set from outside; without it no files are known."""

    def __init__(self) -> None:
        self.listing: Listing | None = None
        self._paths: dict[bool, tuple[float, list[str]]] = {}  # by whether ignored ones are in it

    async def prepare(self, before_caret: str) -> None:
        """Ask for the files that a mention could mean, when those known are old."""
        start = mentioned(before_caret)
        if start is None or self.listing is None:
            return
        _, ignored = parted(before_caret[start + 1 :])
        asked_at, _ = self._paths.get(ignored, (float("-inf"), []))
        if time.monotonic() - asked_at > FRESH_S:
            self._paths[ignored] = (time.monotonic(), list(await self.listing(ignored)))

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - the shape of the library
    ) -> Iterable[Completion]:
        """Those that fit, best first; a path as it is, shown with all that is hidden in it."""
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text:
            names = (name for name in COMMANDS if name.startswith(text[1:]))
            yield from (Completion(f"/{name} ", start_position=-len(text)) for name in names)
            return
        start = mentioned(text)
        if start is None:
            return
        for path in self._fitting(text[start + 1 :]):
            yield Completion(
                f"@{path} ", start_position=start - len(text), display=one_line(path, strict=True)
            )

    def nothing(self, before_caret: str) -> str:
        """Why a mention has no completions; empty when it has some, or none was begun."""
        start = mentioned(before_caret)
        if start is None or self._fitting(before_caret[start + 1 :]):
            return ""
        wanted, ignored = parted(before_caret[start + 1 :])
        hint = "" if ignored else " (ignored files are not listed; @! lists them)"
        return f'No file matches "{one_line(wanted, strict=True)}"{hint}'

    def _fitting(self, written: str) -> list[str]:
        wanted, ignored = parted(written)
        _, paths = self._paths.get(ignored, (0.0, []))
        return best(wanted, paths)
