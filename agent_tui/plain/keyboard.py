"""The keys of line mode while something is printed above the prompt."""

from contextlib import AbstractContextManager, nullcontext

from prompt_toolkit.input.vt100 import Vt100Input


class Keyboard(Vt100Input):
    """A terminal that the line editor keeps while others print: given back, it would gather lines again,
    and Ctrl+D would be lost as `keys_kept` says."""

    def cooked_mode(self) -> AbstractContextManager[None]:
        """What is entered to print; the terminal stays as the editor has it."""
        return nullcontext()
