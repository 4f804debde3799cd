"""How far a rule reaches: told in words, widened by one word, and refused where it is too far.

An allow rule is too broad when what runs is decided by something that is not in it: standard input, a
later word that a wildcard stands for, another user's rights.
"""

import re

from agent_tui.engine.rules import REST, UNKNOWN_WORD, Rule, is_plain, varies, words_of
from agent_tui.granted import in_words
from tools.types import Grant


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AS_OTHERS = _names("sudo doas su pkexec run0 runuser")
_SHELLS = _names("sh bash dash zsh ksh fish ash busybox csh tcsh pwsh")
_INTERPRETERS = _names("python python3 perl ruby node nodejs php lua deno bun tclsh Rscript expect")
_RUNNERS = _names("""
    env command builtin exec eval source . time timeout nice ionice nohup setsid stdbuf xargs parallel watch
    find fd ssh rsync scp awk gawk mawk sed vi vim emacs ed ex chroot unshare bwrap strace ltrace gdb flock
    script entr npx bunx uvx pipx tee trap
""")
_VERBS = _names("""
    git hg svn docker podman kubectl helm npm pnpm yarn pip pip3 uv poetry cargo go gh glab aws gcloud az
    terraform systemctl apt apt-get dnf yum brew conda bundle gem composer rustup nix
""")
_BUILDERS = _names("make gmake ninja mvn gradle just task rake invoke nox tox")
_DESTROYERS = _names("rm rmdir dd shred mkfs wipefs truncate chmod chown chgrp mv ln install kill pkill")
_VERSION = re.compile(r"(?<=[a-z])[\d.]+\Z")  # `python3.12`
_STDIN = frozenset(["-", "-s", "-i", "-l", "-il", "/dev/stdin"])


def breadth(pattern: str) -> str:
    """Why an allow rule of this pattern is refused, as a sentence; empty when it is narrow enough."""
    kind, _, body = pattern.partition(" ")
    words = words_of(body)
    if not words:
        return "it names nothing"
    if kind == "run":
        return _command_breadth(words)
    if kind in ("edit", "read", "write"):
        return _path_breadth(body)
    if kind == "host":
        return "a host to allow is named whole, without `*`" if "*" in body else ""
    return ""


def _path_breadth(body: str) -> str:
    literal = body.partition("*")[0]
    if "*" in body and literal.strip("./~") == "":
        return f"`{body}` stands for every file"
    return ""


def _command_breadth(words: tuple[str, ...]) -> str:
    program, arguments = _VERSION.sub("", words[0].rpartition("/")[2]), words[1:]
    wild = [index for index, word in enumerate(arguments) if varies(word)]
    if UNKNOWN_WORD in words:
        return "a word of it is only known when the shell runs"
    if varies(words[0]) or not program:
        return "it does not name the program"
    if program in _AS_OTHERS:
        return f"`{program}` runs anything with the rights of another user"
    if program in _SHELLS | _INTERPRETERS:
        return _interpreter_breadth(program, arguments, wild)
    if program in _VERBS | _BUILDERS:
        return _verb_breadth(program, arguments, wild)
    if not wild:
        return "" if program not in ("xargs", "eval", "parallel") else f"`{program}` runs what it is given"
    if program in _RUNNERS:
        return f"`{program}` runs other programs that its arguments name"
    if program in _DESTROYERS:
        return f"`{program}` with free arguments can hit any file"
    if "/" in words[0] or "=" in words[0]:
        return f"`{words[0]}` with free arguments is more than one can see here"
    return ""


def _interpreter_breadth(program: str, arguments: tuple[str, ...], wild: list[int]) -> str:
    """Fine: exact code or a named script, and words let vary after a named script or module."""
    if not arguments or _STDIN.intersection(arguments[:1]) or arguments[-1] in ("-", "/dev/stdin"):
        return f"`{program}` runs whatever it reads"
    named = 2 if arguments[0] == "-m" else 1
    if wild and (wild[0] < named or (arguments[0].startswith("-") and named == 1)):
        return f"`{program}` runs any code with free arguments"
    return ""


def _verb_breadth(program: str, arguments: tuple[str, ...], wild: list[int]) -> str:
    """A subcommand must be named before anything may vary; a builder's default is one."""
    unnamed = not arguments and program in _VERBS
    if unnamed or (wild and (wild[0] == 0 or arguments[0].startswith("-"))):
        return f"`{program}` does too many things; name the subcommand"
    return ""


def widenings(pattern: str) -> tuple[str, ...]:
    """The patterns with one more word let vary that are still narrow enough to be saved."""
    if not pattern.startswith("run "):
        return ()
    words = words_of(pattern[4:])
    wider = [_with(words, index, _varied(words[index])) for index in range(1, len(words))]
    candidates = [f"run {' '.join(each)}" for each in (*wider, (*words, REST)) if each != words]
    return tuple(each for each in candidates if not breadth(each))


def _varied(word: str) -> str:
    """`NAME=value` and `--name=value` vary in the value, an option not at all, other words whole."""
    name, found, _ = word.partition("=")
    if found and "'" not in name:
        return f"{name}=*"
    return word if word.startswith("-") or not is_plain(word) else "*"


def _with(words: tuple[str, ...], index: int, word: str) -> tuple[str, ...]:
    return (*words[:index], word, *words[index + 1 :])


def describe(rule: Rule) -> str:
    """What an allow rule would let run, in words for a person."""
    words = [word for word in words_of(rule.body) if word != REST] if rule.kind == "run" else [rule.body]
    text = f"`{' '.join(words)}`" + (" and any further words" if words_of(rule.body)[-1:] == (REST,) else "")
    if any(varies(word) for word in words) and rule.kind == "run":
        text += ", with any word for `*`"
    where = rule.directory or rule.workspace
    text += f" in {where}" if where else " in every workspace"
    if rule.kind not in ("run", "line"):
        return text
    if rule.grant is Grant.NONE:
        return f"{text}, in the sandbox"
    return f"{text}, in the sandbox with: {in_words(f'{rule.grant} {rule.grant_detail}')}"
