"""Tab completes an `@` file mention in line mode; several that fit are printed, as a shell does."""

from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agent_tui.mention import best, mentioned
from agent_tui.safe_text import one_line


class Mentions(Completer):
    """Paths of the workspace as they were when the prompt was shown: `paths` is set from outside."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - the shape of the library
    ) -> Iterable[Completion]:
        """Those that fit best, each with its `@`."""
        text = document.text_before_cursor
        start = mentioned(text)
        if start is None:
            return
        for path in best(text[start + 1 :], self.paths):
            yield Completion(
                f"@{path} ", start_position=start - len(text), display=one_line(path, strict=True)
            )
