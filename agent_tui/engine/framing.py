"""The view of a session and the request made of it: the same for a turn, `/context` and `debug request`."""

from agent_tui.engine.budget import Budget
from agent_tui.engine.limits import limits_of
from agent_tui.engine.prepare import tool_schemas
from agent_tui.engine.scope import Scope
from agent_tui.models.base import ModelRequest
from context.budget import Window
from context.builder import build_view
from context.view import View

WINDOW_SETTING = "context_window"  # the size a provider stated for a model, smaller than the catalogue's


def window_of(scope: Scope) -> Window:
    """The model's window, or the smaller one a provider stated."""
    stated = scope.session.fold.settings.get(window_setting(scope), "")
    size = min(scope.window.size, int(stated)) if stated.isdigit() else scope.window.size
    return Window(size=size, max_output=scope.window.max_output)


def window_setting(scope: Scope) -> str:
    """Where the stated size of the model that answers now is kept."""
    return f"{WINDOW_SETTING}.{scope.ports.model.info.name}"


def view_of(scope: Scope) -> View:
    """What a request would hold now."""
    fold = scope.session.fold
    return build_view(
        fold.reader,
        system=fold.first.system if fold.first else "",
        project=fold.project,
        tools=tool_schemas(scope.ports.toolbox),
    )


def request_of(scope: Scope, view: View) -> ModelRequest:
    """The request for a view."""
    model, config = scope.ports.model, scope.config
    return ModelRequest(
        view=view,
        model=model.info.model,
        max_output_tokens=window_of(scope).reserved_output,
        effort=scope.session.fold.settings.get("effort") or (config.model.effort if config.model else None),
        output_schema=config.output_schema,
        cache_key=scope.session.id,
        idle_timeout_s=config.idle_timeout_s,
    )


def budget_of(scope: Scope, requests: int = 0) -> Budget:
    """The limits as they stand now."""
    fold = scope.session.fold
    active_s = fold.active_s(scope.session.clock.now()) if fold.is_running else 0.0
    limits = limits_of(scope.config.budgets, fold.settings)
    return Budget(limits=limits, spent=fold.spent, active_s=active_s, requests=requests)
