"""What the model thinks and says in one step, as it grows on the screen."""

from collections.abc import Callable

from agent_tui.engine import events
from agent_tui.tui.transcript import blocks

Tell = Callable[[blocks.Block], None]


class Answering:
    """The blocks of the newest step; `add` and `touch` tell of new and changed ones."""

    def __init__(self, add: Tell, touch: Tell) -> None:
        self._add = add
        self._touch = touch
        self._reasoning: blocks.Reasoning | None = None
        self._answer: blocks.Answer | None = None
        self._given_up: blocks.Answer | None = None  # what came before the connection was cut

    def reasoned(self, text: str, at: float) -> None:
        """A piece of reasoning."""
        self._drop_given_up()
        if self._reasoning is None:
            self._reasoning = blocks.Reasoning(live=True, at=at)
            self._add(self._reasoning)
        self._reasoning.text += text
        self._touch(self._reasoning)

    def streamed(self, text: str, at: float) -> bool:
        """A piece of the answer; whether there is anything of it to see."""
        self._drop_given_up()
        if self._reasoning is not None and self._reasoning.live:
            self._end_reasoning(max(at - self._reasoning.at, 0.0), 0)
        if self._answer is None:
            if not text.strip():
                return False
            self._answer = blocks.Answer(live=True, at=at)
            self._add(self._answer)
        self._answer.text += text
        self._touch(self._answer)
        return True

    def ended(self, body: events.ResponseEnded, at: float) -> None:
        """The whole response, as it is stored."""
        self._drop_given_up()
        if self._reasoning is None and (body.reasoning or body.usage.reasoning_tokens):
            self._reasoning = blocks.Reasoning(at=at)
            self._add(self._reasoning)
        if self._reasoning is not None:
            self._reasoning.text = body.reasoning or self._reasoning.text
            self._end_reasoning(body.reasoning_s, body.usage.reasoning_tokens)
        if self._answer is None and body.text.strip():
            self._answer = blocks.Answer(at=at)
            self._add(self._answer)
        if self._answer is not None:
            self._answer.text, self._answer.interrupted = body.text, body.interrupted
            self._answer.live = False
            self._touch(self._answer)
        self.close()

    def end_text(self) -> None:
        """The answer grows no more; a call is written."""
        if self._answer is not None and self._answer.live:
            self._answer.live = False
            self._touch(self._answer)

    def give_up(self, at: float) -> None:
        """The connection was cut, and the step is asked for again; what came stays until then."""
        if self._reasoning is not None and self._reasoning.live:
            self._end_reasoning(max(at - self._reasoning.at, 0.0), 0)
        self._given_up = self._answer or self._given_up
        self.close()

    def close(self) -> None:
        """Whatever still grows is final now."""
        for block in (self._reasoning, self._answer):
            if block is not None and block.live:
                block.live = False
                self._touch(block)
        self._reasoning = self._answer = None

    def _drop_given_up(self) -> None:
        """The step is answered again, below what told of the failure."""
        if self._given_up is not None:
            self._given_up.text = ""
            self._touch(self._given_up)
            self._given_up = None

    def _end_reasoning(self, seconds: float, tokens: int) -> None:
        block = self._reasoning
        if block is not None:
            block.live, block.seconds, block.tokens = False, seconds or block.seconds, tokens or block.tokens
            self._touch(block)
