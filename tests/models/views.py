"""Views and requests for the tests of the dialects."""

from collections.abc import Sequence
from typing import Any

from agent_tui.models.base import Completed, ModelRequest, StreamPart
from agent_tui.models.remote import RemoteModel
from agent_tui.models.route import Route, find_route
from agent_tui.models.router import open_model
from context.items import (
    CallPart,
    Image,
    ModelOrigin,
    NoticeItem,
    Origin,
    Part,
    ReasoningPart,
    ResponseItem,
    ResultItem,
    TextPart,
    ToolSchema,
    UserItem,
)
from context.view import ExchangeUnit, FinalUnit, Unit, UserUnit, View
from tests.model_server.fixture import ModelServer

DIALECTS = ("chat", "responses", "messages")
TOOLS = (
    ToolSchema(name="exec_command", description="Run a command", parameters='{"type":"object"}'),
    ToolSchema(name="read_file", description="Read a file", parameters='{"type":"object"}'),
)


def request(*units: Unit, project: str = "", system: str = "You are a test.", **options: Any) -> ModelRequest:
    view = View(system=system, tools=options.pop("tools", TOOLS), project=project, units=units)
    return ModelRequest(view=view, model=options.pop("model", "m"), **options)


def user(
    text: str, *notices: str, origin: Origin = Origin.PROMPT, images: tuple[Image, ...] = ()
) -> UserUnit:
    item = UserItem(id=f"u-{text[:8]}", text=text, origin=origin, images=images)
    return UserUnit(item=item, notices=tuple(notice(line) for line in notices))


def notice(text: str) -> NoticeItem:
    return NoticeItem(id=f"n-{text[:8]}", text=text)


def call(
    call_id: str, arguments: str = '{"cmd":"ls"}', *, provider_id: str = "", tool: str = "exec_command"
) -> CallPart:
    return CallPart(call_id=call_id, provider_id=provider_id or call_id, tool=tool, arguments=arguments)


def origin(api: Any = "chat", model: str = "m", provider: str = "test") -> ModelOrigin:
    return ModelOrigin(provider=provider, model=model, api=api)


def response(*parts: Part, made_by: ModelOrigin | None = None, **options: Any) -> ResponseItem:
    return ResponseItem(id="r", step_id="s", parts=parts, origin=made_by or origin(), **options)


def exchange(
    *parts: Part, results: Sequence[str] = (), notices: Sequence[str] = (), **options: Any
) -> ExchangeUnit:
    item = response(*parts, **options)
    texts = [*results, *(["ok"] * (len(item.calls) - len(results)))]
    answers = tuple(
        ResultItem(id=f"o-{made.call_id}", response_item_id="r", call_id=made.call_id, text=text)
        for made, text in zip(item.calls, texts, strict=True)
    )
    return ExchangeUnit(response=item, results=answers, notices=tuple(notice(line) for line in notices))


def final(text: str, **options: Any) -> FinalUnit:
    return FinalUnit(response=response(TextPart(text=text), **options))


def thought(text: str, raw: str | None = None) -> ReasoningPart:
    return ReasoningPart(text=text, raw=raw)


def route_to(server: ModelServer, dialect: str, model: str = "m", **table: Any) -> Route:
    providers = {"test": {"api": dialect, "base_url": server.base_url(dialect), **table}}
    return find_route(f"test/{model}", providers=providers)


def model_at(server: ModelServer, dialect: str, model: str = "m", **table: Any) -> RemoteModel:
    return open_model(route_to(server, dialect, model, **table), strict=True)


async def parts_of(model: RemoteModel, asked: ModelRequest) -> list[StreamPart]:
    try:
        return [part async for part in model.stream(asked)]
    finally:
        await model.aclose()


async def answer_of(model: RemoteModel, asked: ModelRequest) -> Completed:
    last = (await parts_of(model, asked))[-1]
    assert isinstance(last, Completed), last
    return last
