"""What a call may do, in words: with a grant, as a question names it, by a rule, and in a sandbox, as a view
does."""

from agent_tui.short_path import short_path
from tools.types import Grant

_WORDS: dict[str, str] = {
    Grant.READ_PATH: "read {}",
    Grant.WRITE_PATH: "write {}",
    Grant.HOST: "connect to {}",
    Grant.GIT_LANE: "commit to git",
    Grant.NETWORK: "network on",
    Grant.NO_SANDBOX: "NO SANDBOX: your files, your keys and the network, as you",
}
NOT_BY_RULE = {  # kind of a saved rule → what it does not allow, where that is not plain
    "run": "any other word, `;` or `&&` after it, a way out of the sandbox",
    "host": "other hosts, other ports",
}
BARE = "no sandbox"  # the profile of a call that ran in none


def in_words(grant: str) -> str:
    """A grant as a question names it, its kind and then its path or host; not yet made safe for a screen."""
    kind, _, detail = grant.partition(" ")
    return _WORDS[kind].format(short_path(detail)) if kind in _WORDS else grant


def under_wider(asked: str) -> str:
    """What holds beside a wider grant than the one that was asked for."""
    too = f"{_WORDS[asked]} too, " if asked == Grant.GIT_LANE else ""  # the others are within the wider ones
    return f"{too}everything else as before"


def contained(profile: str) -> str:
    """The profile of a call that runs, in the words of a view: `sandboxed, network off`; not yet made safe
    for a screen."""
    if profile == BARE:
        return profile.upper()
    reach, _, network = profile.rpartition(", net ")
    told = reach.removeprefix("workspace") if reach.startswith("workspace") else f", {reach}"
    return f"sandboxed{told}, network {network}"
