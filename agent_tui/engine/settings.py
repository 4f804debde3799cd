"""Changes of settings in a running session. All are kept for later ones but what guards the machine."""

from collections.abc import Callable
from dataclasses import replace

from agent_tui.engine import room
from agent_tui.engine.drift import live_terminals
from agent_tui.engine.events import NoticeRaised, SettingChanged, StatusChanged
from agent_tui.engine.ports import Ports
from agent_tui.engine.session import Part, Session
from agent_tui.engine.types import EFFORTS, OF_GATE, OF_SANDBOX
from agent_tui.errors import AgentError


def assumption_parts(session: Session, ports: Ports) -> list[Part]:
    """What is to be told, once on a machine, of a model of which nothing is known."""
    info = ports.model.info
    key = f"model.unknown.{info.name}"
    is_new = info.assumption and key not in session.fold.notices and ports.is_news(info.assumption)
    return [NoticeRaised(text=info.assumption, key=key)] if is_new else []


class SettingError(Exception):
    """The setting cannot be changed so; the text says why."""


async def change(session: Session, ports: Ports, key: str, value: str, cause: str) -> Ports:
    """Change one setting, stored first and in force then, in the middle of a run too; the ports from now
    on. Raises SettingError."""
    enforce = _enforcing(ports, key, value) if key in OF_GATE else None
    ports = ports if enforce else apply(ports, key, value)
    parts: list[Part] = [SettingChanged(key=key, value=value)]
    if key in OF_SANDBOX and (live := live_terminals(session)):
        text = f"live terminals keep the sandbox that they were started in: {', '.join(live)}"
        parts.append(NoticeRaised(text=text, level="warning", to_model=True))
    await session.commit(*parts, cause=cause)
    if enforce is not None:
        enforce()
    for folder in ports.gate.policy().extra_roots if key == "add_dir" else ():
        ports.checkpointer.add(folder)
    match key:
        case "model":
            await session.commit(*assumption_parts(session, ports))
            session.show(room.of_model(ports.model.info), cause=cause)
        case "effort":
            session.show(StatusChanged(effort=value), cause=cause)
        case "approval":
            session.show(StatusChanged(approval=value), cause=cause)
        case _:
            pass
    return ports


def apply(ports: Ports, key: str, value: str) -> Ports:
    """The ports with a setting of the model, now or when a session is opened again. Raises SettingError."""
    if key == "model":
        return _with_model(ports, value)
    if key == "effort":
        if value not in EFFORTS:
            raise SettingError(f"`{value}` is no effort; one of {', '.join(EFFORTS)}")
    elif key != "title":
        raise SettingError(f"`{key}` cannot be changed in a session")
    return ports


def _enforcing(ports: Ports, key: str, value: str) -> Callable[[], None]:
    try:
        return ports.gate.setting(key, value)
    except ValueError as error:
        raise SettingError(str(error)) from error


def _with_model(ports: Ports, name: str) -> Ports:
    if ports.choose_model is None:
        raise SettingError("the model cannot be changed here")
    try:
        model = ports.choose_model(name)
    except AgentError as error:
        raise SettingError(str(error)) from error
    return replace(
        ports, model=model, summariser=model if ports.summariser is ports.model else ports.summariser
    )
