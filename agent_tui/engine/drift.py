"""What guards the machine is as each start says: tells person and model what is other than before.

The system text of a session is frozen, so the model learns of a change from a notice.
"""

from collections.abc import Mapping

from agent_tui.engine.events import NoticeRaised
from agent_tui.engine.fold import SETTINGS_NOTICE
from agent_tui.engine.session import Part, Session
from agent_tui.engine.types import OF_GATE, OF_SANDBOX
from context.items import NoticeItem

_MODEL_KNOWS = ("sandbox", "network", "approval")


def drift_parts(session: Session, now: Mapping[str, str], *, ahead: int, names_model: bool) -> list[Part]:
    """The records about a start whose settings differ from those the session was last used with;
    `ahead` items come before them in the same transaction."""
    before = session.fold.in_force
    keys = [key for key in now if names_model or key != "model"]
    changed = {key: now[key] for key in keys if key in before and before[key] != now[key]}
    if not changed:
        return []
    lines = [f"{key} is {_shown(value)}, was {_shown(before[key])}" for key, value in changed.items()]
    for_model = [line for key, line in zip(changed, lines, strict=True) if key in _MODEL_KNOWS]
    text = f"since this session was last open: {'; '.join(lines)}"
    parts: list[Part] = [
        NoticeRaised(
            text=text,
            level="warning",
            to_model=bool(for_model),
            about="guard" if any(key in OF_GATE for key in changed) else "",
        )
    ]
    if for_model:
        parts.append(_notice(session, for_model, ahead))
    return parts


def settings_notice(session: Session) -> list[NoticeItem]:
    """What the model is yet to be told of settings that were changed in the session; for the places where
    messages enter too."""
    untold = session.fold.untold
    if not untold:
        return []
    lines = [f"{key} is {_shown(value)}" for key, value in untold]
    if any(key in OF_SANDBOX for key, _ in untold) and (live := live_terminals(session)):
        lines.append(f"live terminals keep the sandbox that they were started in: {', '.join(live)}")
    return [_notice(session, lines)]


def live_terminals(session: Session) -> list[str]:
    """Names of the terminals that are live."""
    return [one.terminal for one in session.fold.terminals.values() if one.state == "live"]


def _notice(session: Session, lines: list[str], ahead: int = 0) -> NoticeItem:
    """In force until something else is said, so that compaction leaves it."""
    text = f"{SETTINGS_NOTICE}{'; '.join(lines)}"
    return NoticeItem(id=session.item_id("n", ahead=ahead), text=text, sticky=True)


def _shown(value: str) -> str:
    return f"`{value}`" if value else "none"
