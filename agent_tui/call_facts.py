"""What a call found, and what the sandbox denied it, as every front end says it."""

from collections.abc import Mapping

from agent_tui.figures import count
from agent_tui.short_path import short_path
from tools.types import Grant, Outcome, OutcomeStatus


def found(tool: str, outcome: Outcome) -> list[str]:
    """What a read, a list or a search came to, the second figure being the place of the first: `42 lines`;
    `2 entries`; `9 matches`, `4 files`. Empty for other calls, and for those that found nothing out."""
    data = outcome.data
    if outcome.status is not OutcomeStatus.SUCCEEDED:
        return []
    if tool == "search_files" and isinstance(data.get("matches"), int):
        files = data.get("files")
        return [count(data["matches"], "match"), *([count(files, "file")] if isinstance(files, int) else [])]
    if tool == "read_file" and "line" not in data and isinstance(data.get("last"), int):
        return [count(data["last"] - data["first"] + 1, "line")]
    if tool == "list_files" and isinstance(data.get("total"), int):
        return [count(data["total"], "entry")]
    return []


def denied(outcome: Outcome, told: str = "") -> str:
    """What the sandbox denied, with what helps against it, or else who was told; empty where it denied
    nothing."""
    if outcome.denied_grant is Grant.READ_PATH and outcome.denied_detail:
        path = short_path(outcome.denied_detail)
        return f"not visible in it: {path} (/sandbox add {path})"
    what = "network is off" if outcome.denied_grant in (Grant.NETWORK, Grant.HOST) else outcome.denial
    return what and "; ".join(filter(None, (what, told)))


def hosts_tried(outcome: Outcome) -> list[tuple[str, bool]]:
    """What a command with a grant of hosts tried to reach, a sentence each, and whether it failed; not
    yet made safe for a screen."""
    hosts = outcome.data.get("hosts")
    if not isinstance(hosts, Mapping):
        return []
    return [
        (
            f"host {name} {f'{became}; the model was told' if became else 'was reachable for this command'}",
            bool(became),
        )
        for name, became in hosts.items()
    ]
