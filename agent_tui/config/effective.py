"""Turns resolved settings into the immutable `Config` of one start."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from agent_tui.config.layers import FLAG, Settings
from agent_tui.config.options import INTERFACE_KEYS, dotted
from agent_tui.config.providers import choose
from agent_tui.config.telling import told
from agent_tui.engine.types import IDLE_TIMEOUT_S, ApprovalPolicy, Budgets, Config
from agent_tui.errors import UsageError
from agent_tui.short_path import long_path, short_path
from sandbox.policy import Limits, Mode


def build(settings: Settings, environ: Mapping[str, str], *, interactive: bool) -> Config:
    """The configuration of a run. Raises UsageError; `model` is None where none is configured."""
    model = settings.text("model")
    return Config(
        workspace=settings.workspace,
        state_dir=settings.state_dir,
        config_dir=settings.config_dir,
        model=choose(model, settings, environ) if model else None,
        extra_roots=_extra_roots(settings),
        sandbox=Mode(settings.text("sandbox") or Mode.WORKSPACE_WRITE),
        network=settings.flag("network"),
        approval=_approval(settings, interactive),
        interactive=interactive,
        limits=_limits(settings),
        budgets=_budgets(settings),
        ephemeral=settings.flag("ephemeral"),
        checkpoints=not settings.flag("no_checkpoints"),
        require_checkpoints=_require_checkpoints(settings),
        verify=settings.text("verify"),
        output_schema=_output_schema(settings),
        on_lost_result=_lost_result(settings),
        answers=settings.items("answer"),
        idle_timeout_s=settings.number("idle_timeout") or IDLE_TIMEOUT_S,
        fast_model=settings.text("fast_model"),
        summary_model=settings.text("summary_model"),
        planner_model=settings.text("planner_model"),
        fallback=settings.items("fallback"),
        repo_map=settings.flag("repo_map"),
        interface=_interface(settings),
        told=told(settings),
        origins={dotted(key): setting.layer for key, setting in settings.values.items()},
    )


def _approval(settings: Settings, interactive: bool) -> ApprovalPolicy:
    default = ApprovalPolicy.ON_REQUEST if interactive else ApprovalPolicy.NEVER
    return ApprovalPolicy(settings.text("approval") or default)


def _extra_roots(settings: Settings) -> tuple[Path, ...]:
    roots = tuple(_root(settings, root) for root in settings.items("add_dir"))
    asked = settings.layer("add_dir") == settings.layer("sandbox") == FLAG
    if roots and asked and settings.text("sandbox") == Mode.READ_ONLY:
        raise UsageError("`--add-dir` and `--sandbox read-only` exclude each other; leave one out")
    return roots


def _root(settings: Settings, text: str) -> Path:
    path = settings.workspace / long_path(text)
    if not path.is_dir():
        raise UsageError(f"--add-dir: directory `{short_path(path)}` does not exist")
    found = path.resolve()
    for own in (Path.home(), settings.state_dir, settings.config_dir):
        if own.resolve().is_relative_to(found):
            raise UsageError(
                f"--add-dir: `{text}` holds your home or the agent's own files; name a directory inside it"
            )
    return found


def _limits(settings: Settings) -> Limits:
    given = {key[0]: value for key, value in settings.below("limits").items() if value is not None}
    return Limits(**cast("dict[str, int]", given))


def _budgets(settings: Settings) -> Budgets:
    return Budgets(
        max_turns=settings.integer("max_turns"),
        max_tool_calls=settings.integer("max_tool_calls"),
        max_tokens=settings.integer("max_tokens"),
        max_cost_usd=settings.number("max_cost"),
        timeout_s=settings.number("timeout"),
        max_idle_steps=settings.integer("max_idle_steps") or None,
    )


def _require_checkpoints(settings: Settings) -> bool:
    required = settings.flag("require_checkpoints")
    if required and settings.flag("no_checkpoints"):
        raise UsageError("`--require-checkpoints` and `--no-checkpoints` exclude each other; leave one out")
    return required


def _lost_result(settings: Settings) -> Literal["report", "rollback", "stop"]:
    choice = settings.text("on_lost_result")
    if choice == "rollback" and settings.flag("no_checkpoints"):
        raise UsageError(
            "`--on-lost-result rollback` and `--no-checkpoints` exclude each other; leave one out"
        )
    return cast(Literal["report", "rollback", "stop"], choice)


def _output_schema(settings: Settings) -> str | None:
    name = settings.text("output_schema")
    if not name:
        return None
    path = long_path(name)
    try:
        text = path.read_text(encoding="utf-8")
        schema = json.loads(text)
    except OSError as error:
        raise UsageError(f"--output-schema: `{name}` cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--output-schema: `{name}` is not UTF-8 text") from error
    except ValueError as error:
        raise UsageError(f"--output-schema: `{name}` is not JSON: {error}") from error
    except RecursionError as error:
        raise UsageError(f"--output-schema: `{name}` is not JSON: nested too deeply") from error
    problem = _schema_problem(schema)
    if problem:
        raise UsageError(f"--output-schema: `{name}` is no JSON Schema: {problem}")
    return text


def _schema_problem(schema: object) -> str:
    if not isinstance(schema, dict | bool):
        return "it must be an object"

    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"at `{error.json_path}`: {error.message.splitlines()[0]}"
    except RecursionError:
        return "nested too deeply"
    return ""


def _interface(settings: Settings) -> Mapping[str, str]:
    """Settings of the screen as texts; flags as `true` and `false`, keys as `keys.ACTION`."""
    values = {name: settings.get(name) for name in INTERFACE_KEYS}
    values |= {f"keys.{key[0]}": value for key, value in settings.below("keys").items()}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
        if value is not None
    }
