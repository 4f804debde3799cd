"""The sandbox and approval policy of a session: from its configuration, and as a person changes it."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from agent_tui.engine.judgement import Facts
from agent_tui.engine.types import ApprovalPolicy, Config
from agent_tui.short_path import long_path
from sandbox.policy import Mode, Policy

_Kind = TypeVar("_Kind", bound=StrEnum)


def session_facts(config: Config, *, sandbox_available: bool) -> Facts:
    """The facts that a session starts with."""
    return Facts(
        policy=session_policy(config),
        approval=config.approval,
        interactive=config.interactive,
        sandbox_available=sandbox_available,
    )


def session_policy(config: Config) -> Policy:
    """The sandbox that a configuration asks for."""
    return Policy(
        mode=config.sandbox,
        workspace=config.workspace,
        state_dir=config.state_dir,
        config_dir=config.config_dir,
        extra_roots=config.extra_roots,
        network=config.network,
        limits=config.limits,
    )


def with_setting(facts: Facts, key: str, value: str) -> Facts:
    """The facts with one setting changed; raises ValueError with a line for the person."""
    if key == "approval":
        return replace(facts, approval=_choice(ApprovalPolicy, value))
    if key == "sandbox":
        return replace(facts, policy=replace(facts.policy, mode=_choice(Mode, value)))
    if key == "network":
        if value not in ("on", "off"):
            raise ValueError(f"`{value}` is not a state of the network; on or off")
        return replace(facts, policy=replace(facts.policy, network=value == "on"))
    if key == "add_dir":
        return replace(facts, policy=_with_root(facts.policy, long_path(value)))
    raise ValueError(f"`{key}` is not a setting of approvals")


def _choice(kind: type[_Kind], value: str) -> _Kind:
    names = [str(each) for each in kind]
    if value not in names:
        raise ValueError(f"`{value}` is not one of {', '.join(names)}")
    return kind(value)


def _with_root(policy: Policy, path: Path) -> Policy:
    """A writable directory more; never one that holds the agent's own files or the whole home."""
    if not path.is_absolute():
        path = policy.workspace / path
    path = path.resolve()
    if not path.is_dir():
        raise ValueError(f"`{path}` is not a directory")
    own = [each for each in (policy.state_dir, policy.config_dir) if each is not None]
    overlaps = any(each.is_relative_to(path) or path.is_relative_to(each) for each in own)
    if overlaps or Path.home().is_relative_to(path):
        raise ValueError(f"`{path}` holds your home or the agent's own files; name a directory inside it")
    return replace(policy, extra_roots=tuple(dict.fromkeys((*policy.extra_roots, path))))
