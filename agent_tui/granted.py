"""What a grant lets a call do, in the words of a question."""

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


def in_words(grant: str) -> str:
    """A grant as a question names it, its kind and then its path or host; not yet made safe for a screen."""
    kind, _, detail = grant.partition(" ")
    return _WORDS[kind].format(short_path(detail)) if kind in _WORDS else grant
