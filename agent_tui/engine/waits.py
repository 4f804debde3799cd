"""Who waits for whose answer: the ids of open questions and the answers that have come."""

import asyncio
from typing import Any


class Waits:
    """Answers by the id of their question; an answer may come before anyone waits for it."""

    def __init__(self) -> None:
        self._answers: dict[str, asyncio.Future[Any]] = {}

    async def answer(self, question_id: str) -> Any:
        """Wait for the answer; may be cancelled and asked again."""
        future = self._future(question_id)
        result = await asyncio.shield(future)
        self._answers.pop(question_id, None)
        return result

    def give(self, question_id: str, value: Any) -> None:
        """Give the answer; only the first counts."""
        future = self._future(question_id)
        if not future.done():
            future.set_result(value)

    def _future(self, question_id: str) -> asyncio.Future[Any]:
        found = self._answers.get(question_id)
        if found is None:
            found = self._answers[question_id] = asyncio.get_running_loop().create_future()
        return found
