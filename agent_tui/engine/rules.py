"""What a person settled beforehand: allow, ask and deny rules, and how they match a call.

A rule holds a pattern in the grammar of `Assessment.keys`: a kind (`run`, `line`, `edit`, `read`,
`write`, `host`, `tool`) and words, quoted where needed with single quotes. In a pattern `*` stands for
one word, `NAME=*` for any value of that name, `...` at the end for any further words. An allow rule
covers exactly that shape; ask and deny rules also hold for everything that begins like it.
"""

import hashlib
import re
from enum import StrEnum
from fnmatch import fnmatchcase

from agent_tui.engine.spellings import TARGET_PROGRAMS, may_start, plain_spelling
from agent_tui.frozen import frozen
from tools.types import Grant

UNKNOWN_WORD = "<?>"  # in keys: what stands here is only known when the shell runs
REST = "..."
KINDS = ("run", "line", "edit", "read", "write", "host", "tool")

_WORD = re.compile(r"(?:'[^']*'|\\'|[^\s'])+")
_REDIRECTION = re.compile(r"\d*[<>&]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class Action(StrEnum):
    """What a rule says of a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Match(StrEnum):
    """Whether an ask or deny rule concerns a key."""

    NO = "no"
    MAYBE = "maybe"  # a word of the key is not known
    YES = "yes"


@frozen
class Rule:
    """One rule; empty `workspace` and `directory` mean everywhere."""

    action: Action
    pattern: str
    workspace: str = ""
    directory: str = ""
    grant: Grant = Grant.NONE
    grant_detail: str = ""
    line: int = 0  # in the rules file, from 1

    @property
    def id(self) -> str:
        """Stable as long as the rule says the same."""
        facts = (self.action, self.pattern, self.workspace, self.directory, self.grant, self.grant_detail)
        return hashlib.sha256("\0".join(facts).encode(errors="surrogatepass")).hexdigest()[:8]

    @property
    def kind(self) -> str:
        return self.pattern.partition(" ")[0]

    @property
    def body(self) -> str:
        """The pattern without its kind."""
        return self.pattern.partition(" ")[2]

    @property
    def is_exact(self) -> bool:
        """Whether it stands for one shape alone."""
        return self.kind == "line" or not any(varies(word) for word in words_of(self.body))

    def holds_in(self, workspace: str, directory: str) -> bool:
        """Whether the rule is meant for calls in this directory of this workspace."""
        return self.workspace in ("", workspace) and self.directory in ("", directory)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a key or pattern, still quoted."""
    return tuple(_WORD.findall(text))


def varies(word: str) -> bool:
    return "*" in re.sub(r"'[^']*'", "", word) or word == REST


def covers(rule: Rule, key: str) -> bool:
    """Whether an allow rule covers a key; anything not known is never covered."""
    kind, _, body = key.partition(" ")
    if kind != rule.kind:
        return False
    if kind == "run":
        return _covers_words(words_of(rule.body), words_of(body))
    if kind in ("edit", "read", "write") and not rule.is_exact:
        return _glob(rule.body, body)
    return body == rule.body


def _covers_words(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if pattern and pattern[-1] == REST:
        rest = words[len(pattern) - 1 :]
        return _covers_words(pattern[:-1], words[: len(pattern) - 1]) and all(map(is_plain, rest))
    return len(pattern) == len(words) and all(map(_covers_word, pattern, words))


def _covers_word(pattern: str, word: str) -> bool:
    if pattern == word:
        return word != UNKNOWN_WORD
    if pattern == "*":
        return is_plain(word) and not word.startswith("-")
    return pattern.endswith("=*") and word.startswith(pattern[:-1]) and is_plain(word)


def is_plain(word: str) -> bool:
    """An ordinary argument: neither unknown nor a redirection."""
    return word != UNKNOWN_WORD and not _REDIRECTION.match(word)


def _glob(pattern: str, text: str) -> bool:
    """Names by glob; `*` stays within one level of a path, `**` does not, `..` never matches."""
    if ".." in text.split("/"):
        return False
    if pattern.endswith("/**"):
        return text.startswith(pattern[:-2])
    return pattern.count("/") == text.count("/") and fnmatchcase(text, pattern)


def concerns(rule: Rule, key: str) -> Match:
    """Whether an ask or deny rule concerns a key. Errs to the strict side."""
    kind, _, body = key.partition(" ")
    if rule.kind == "run" and kind in ("run", "in"):
        return _concerns_words(words_of(rule.body), words_of(body))
    if kind != rule.kind:
        return Match.NO
    if kind == "host":
        pattern = rule.body.replace("[", "[[]")  # of an IPv6 address; only `*` stands for others
        same = any(fnmatchcase(text, pattern) for text in (body, body.rpartition(":")[0]))
    else:
        same = _glob(rule.body, body) or body == rule.body or body.startswith(rule.body.rstrip("/") + "/")
    return Match.YES if same else Match.NO


def _concerns_words(pattern: tuple[str, ...], words: tuple[str, ...]) -> Match:
    """Prefix match that sees through assignments, a path before the program, and options; where the
    pattern stands further back, the program may start what it is told to. Assignments that a pattern
    begins with may be set in any way."""
    if pattern and pattern[-1] == REST:
        pattern = pattern[:-1]
    while pattern and _ASSIGNMENT.match(pattern[0]):
        if not any(_covers_word(pattern[0], word) for word in words):
            return Match.MAYBE if UNKNOWN_WORD in words else Match.NO
        pattern = pattern[1:]
        if not pattern:
            return Match.YES
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    if not words or not pattern:
        return Match.NO
    if words[0] == UNKNOWN_WORD:
        return Match.MAYBE
    match = _concerns_command(pattern, words, targets=TARGET_PROGRAMS)
    if match is not Match.NO:
        return match
    tails = may_start(words, pattern[0])
    named = any(_concerns_command(pattern, tail, targets=frozenset()) is not Match.NO for tail in tails)
    return Match.MAYBE if named else Match.NO


def _concerns_command(pattern: tuple[str, ...], words: tuple[str, ...], *, targets: frozenset[str]) -> Match:
    for spelling in (words, plain_spelling(words)):
        name = spelling[0].rpartition("/")[2]
        if pattern[0] in ("*", spelling[0], name):
            return _concerns_rest(pattern[1:], spelling[1:], any_order=name in targets)
    return Match.NO


def _concerns_rest(pattern: tuple[str, ...], words: tuple[str, ...], *, any_order: bool) -> Match:
    """Walk both; assignments, options and one value after each may stand between (`git -C x push`),
    anything before an option of the pattern (`git push origin main --force`), and anything at all
    where every operand is a target (`make all deploy`)."""
    skippable = 0
    for word in words:
        if not pattern:
            break
        if word == UNKNOWN_WORD:
            return Match.MAYBE
        if pattern[0] == "*" or _covers_word(pattern[0], word):
            pattern, skippable = pattern[1:], 0
        elif _ASSIGNMENT.match(word) or any_order:
            continue
        elif word.startswith("-") or pattern[0].startswith("-"):
            skippable = 1
        elif skippable:
            skippable -= 1
        else:
            return Match.NO
    return Match.NO if pattern else Match.YES
