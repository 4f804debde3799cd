"""A session's title, written by the fast model after the first turn; without one the first message stands."""

from functools import lru_cache
from pathlib import Path

from agent_tui.engine.beside import ask_beside
from agent_tui.engine.events import SettingChanged
from agent_tui.engine.scope import Scope
from agent_tui.models.base import Model, ModelRequest
from checkpoints.records import RecordsError
from context.items import Origin, ResponseItem, UserItem
from context.view import UserUnit, View

SETTING = "title"
TIMEOUT_S = 30.0
MAX_ASKED_CHARS = 4_000  # of the first message
MAX_ANSWERED_CHARS = 1_000  # the end of the answer
MAX_OUTPUT_TOKENS = 1_000  # a model may think before it writes six words
MAX_TITLE_CHARS = 60


def wants_title(scope: Scope) -> bool:
    """Whether the session is one that people come back to, has no title, and nobody was asked for one."""
    fold = scope.session.fold
    is_possible = scope.ports.fast is not None and scope.config.interactive and not scope.config.ephemeral
    return is_possible and SETTING not in fold.settings and not fold.was_title_asked


async def give_title(scope: Scope) -> None:
    """Ask once and store the title; nothing waits for it, and nothing is told of a failure."""
    model = scope.ports.fast
    asked = _first_message(scope)
    if model is None or not asked:
        return
    try:
        answer = await ask_beside(scope, "title", model, _request(scope, model, asked), timeout_s=TIMEOUT_S)
        title = cleaned(answer.text or "")
        if title and SETTING not in scope.session.fold.settings:  # the person may have been faster
            await scope.session.commit(SettingChanged(key=SETTING, value=title))
    except RecordsError:
        pass  # the store cannot be written, which the next turn says


def cleaned(text: str) -> str:
    """The title in a model's answer: one line of printable characters, without what models put around it."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    plain = "".join(char if char.isprintable() else " " for char in line)
    words = " ".join(plain.split()).strip("\"'*# “”«».").removeprefix("Title:").strip()
    return words[:MAX_TITLE_CHARS].rstrip()


def _first_message(scope: Scope) -> str:
    log = scope.session.fold.log
    return next((i.text for i in log if isinstance(i, UserItem) and i.origin is not Origin.STEER), "")


def _request(scope: Scope, model: Model, asked: str) -> ModelRequest:
    answers = (item.text for item in reversed(scope.session.fold.log) if isinstance(item, ResponseItem))
    text = _template().format(
        asked=asked[:MAX_ASKED_CHARS],
        answered=next(filter(None, answers), "")[-MAX_ANSWERED_CHARS:] or "(nothing yet)",
    )
    unit = UserUnit(item=UserItem(id="title-request", text=text))
    return ModelRequest(
        view=View(system="You name coding sessions.", tools=(), project="", units=(unit,)),
        model=model.info.model,
        max_output_tokens=min(MAX_OUTPUT_TOKENS, model.info.max_output),
        tool_choice="none",
        cache_key=scope.session.id,
    )


@lru_cache(maxsize=1)
def _template() -> str:
    return (Path(__file__).parent / "title.md").read_text(encoding="utf-8")
