"""Other ways to write a command that an ask or deny rule names, told from the words of a key alone.

Used for the strict rules only: what an allow rule covers is never widened by this.
"""

import re
from collections.abc import Iterator

MAX_TAIL = 64  # words looked at behind a place where a command may begin

_SAME_PROGRAM = {"gmake": "make", "nodejs": "node", "docker-compose": "docker compose"}
_SYSTEM_PLACE = re.compile(r"(/usr(/local)?)?/s?bin/")
_PROGRAM_PLACE = re.compile(r"\S*/s?bin/|/usr/lib/git-core/")
# These take words as text or as names of files and have no option that runs them.
_TAKES_DATA = frozenset(
    """
    ls cat head tail wc stat du df nl cut tr rev tac fold paste join comm cmp diff seq basename dirname
    realpath readlink file od hexdump strings id whoami uname ps pgrep pkill grep egrep fgrep rg jq echo
    printf true false : pwd cd type which whereis sleep test [ [[ export declare local readonly typeset
    mkdir rmdir touch rm cp mv ln chmod chown tee
    """.split()
)
_GIT_TAKES_DATA = frozenset(
    """
    add blame branch checkout cherry-pick commit describe diff init log ls-files merge mv notes reset
    restore rev-parse revert rm shortlog show stash status switch tag worktree
    """.split()
)
# Each operand of these is a target of its own, so the order of them says nothing.
TARGET_PROGRAMS = frozenset("make ninja rake just gradle gradlew mvn mvnw tox nox invoke".split())
_QUOTES = re.compile(r"'([^']*)'|\\(.)")
_TOKEN = re.compile(r"[\w@%+=:./^#<>?-]+")


def plain_spelling(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words with the usual name of the program: `git-push` is `git push`, `gmake` is `make`."""
    name = words[0].rpartition("/")[2]
    if name.startswith("git-"):
        return ("git", name[4:], *words[1:])
    if name in _SAME_PROGRAM:
        return (*_SAME_PROGRAM[name].split(), *words[1:])
    return words


def may_start(words: tuple[str, ...], wanted: str) -> Iterator[tuple[str, ...]]:
    """The words from each place in the arguments on where the program may find `wanted` to run."""
    if _takes_data(words):
        return
    arguments = " ".join(word for word in words[1:] if not re.match(r"\d*[<>&](?!\?)", word))
    tokens = _TOKEN.findall(
        _QUOTES.sub(lambda match: match[1] if match[1] is not None else match[2], arguments)
    )
    for index, token in enumerate(tokens):
        for program in dict.fromkeys((token, token.rpartition("=")[2])):
            name = _PROGRAM_PLACE.sub("", program) if "/" in program else program
            if wanted in ("*", *plain_spelling((name,)), name):  # any other path is a file
                yield (name, *tokens[index + 1 : index + MAX_TAIL])


def _takes_data(words: tuple[str, ...]) -> bool:
    name = _SYSTEM_PLACE.sub("", words[0])
    if name != "git":
        return name in _TAKES_DATA
    index = 1
    while index < len(words) and words[index].startswith("-"):
        if words[index] in ("-c", "--config-env"):
            return False
        index += 2 if words[index] == "-C" else 1
    return index == len(words) or words[index] in _GIT_TAKES_DATA
