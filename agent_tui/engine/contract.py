"""The completion contract: a run counts as done when the command passes and the answer fits.

Bounded: after `MAX_REPAIRS` failures the run ends as unmet. Counts come from the records.
"""

import json

from agent_tui.engine.events import NoticeRaised
from agent_tui.engine.own_calls import run_to_end
from agent_tui.engine.report import check_name
from agent_tui.engine.scope import Scope
from agent_tui.engine.session import Part
from agent_tui.engine.types import EndReason
from agent_tui.engine.wave import Wave
from context.items import NoticeItem
from tools.types import OutcomeStatus

MAX_REPAIRS = 2
MAX_OUTPUT_CHARS = 6_000  # of a failed check, shown to the model


class Contract:
    """The contract of one turn."""

    def __init__(self, scope: Scope, wave: Wave) -> None:
        self._scope = scope
        self._session = scope.session
        self._wave = wave
        self.finding = ""  # what was not met, in a few words

    async def check(self, answer: str) -> EndReason | None:
        """COMPLETED, or CONTRACT_UNMET; None when the model was told what is missing."""
        config = self._scope.config
        problem = fit_problem(answer, config.output_schema) if config.output_schema else ""
        self.finding = "the answer does not fit `--output-schema`" if problem else ""
        if not problem and config.verify:
            problem = await self._verify(config.verify)
        if not problem:
            return EndReason.COMPLETED
        tries = self._tries() + 1
        parts: list[Part] = [
            NoticeRaised(text=problem.splitlines()[0], level="warning", to_model=True, key=self._key(tries))
        ]
        if tries > MAX_REPAIRS:
            self.finding += f" after {tries} tries"
            await self._session.commit(*parts)
            return EndReason.CONTRACT_UNMET
        await self._session.commit(NoticeItem(id=self._session.item_id("n"), text=problem), *parts)
        return None

    def _key(self, number: int) -> str:
        return f"contract.{self._session.fold.task_id}.{number}"

    def _tries(self) -> int:
        prefix = f"contract.{self._session.fold.task_id}."
        return sum(key.startswith(prefix) for key in self._session.fold.notices)

    async def _verify(self, command: str) -> str:
        """Run the command; what to tell the model when it does not pass."""
        outcome = await run_to_end(self._scope, self._wave, command, "contract")
        self._scope.stop.check()
        if outcome.status is OutcomeStatus.SUCCEEDED and outcome.exit_code in (None, 0):
            return ""
        text = (
            outcome.text if len(outcome.text) <= MAX_OUTPUT_CHARS else f"…{outcome.text[-MAX_OUTPUT_CHARS:]}"
        )
        how = outcome.status if outcome.exit_code is None else f"exit {outcome.exit_code}"
        self.finding = f"{check_name(command)} fails ({how.replace('_', ' ')})"
        return f"`{command}` does not pass ({how}): the task is not done. Repair it, then finish.\n{text}"


def fit_problem(answer: str, schema: str) -> str:
    """Why an answer does not fit the JSON Schema; '' when it does."""
    from jsonschema import Draft202012Validator

    try:
        value = json.loads(answer)
    except (ValueError, RecursionError) as error:
        return f"The final answer must be JSON and nothing else, without a code fence: {error}"
    errors = sorted(Draft202012Validator(json.loads(schema)).iter_errors(value), key=lambda e: list(e.path))
    found = "; ".join(f"at `{error.json_path}`: {error.message}" for error in errors[:5])
    return f"The final answer does not fit the required schema: {found}" if found else ""
