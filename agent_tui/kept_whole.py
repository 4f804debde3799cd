"""What a compaction left whole, in words."""

from agent_tui.figures import count
from context.items import KeptWhole


def kept_whole(kept: KeptWhole) -> list[str]:
    """`your 6 messages and steers`, `plan`, `17 changed files`, `last 9 steps`; nothing for none."""
    parts = []
    if kept.messages:
        what = "steer" if kept.steers == kept.messages else "message"
        said = f"your {what if kept.messages == 1 else count(kept.messages, what)}"
        parts.append(said + (" and steers" if 0 < kept.steers < kept.messages else ""))
    if kept.plan:
        parts.append("plan")
    if kept.files:
        parts.append(count(kept.files, "changed file"))
    if kept.steps:
        parts.append("last step" if kept.steps == 1 else f"last {count(kept.steps, 'step')}")
    return parts
