"""Starters: programs that run the command behind their options, and programs that take one as an option."""

import re
from collections.abc import Sequence

from tools.command_line.code_words import is_stream
from tools.command_line.starting import NOTHING, UNSEEN, Inner, Options, Reader, never_known, plain_starter
from tools.command_line.syntax import Word, Wrap

_ARCHITECTURE = re.compile(r"(x86_64|i[3-6]86|linux(32|64)|aarch64|armv?\w+|ppc\w*|s390x?|uname26)\Z")
_RUN_KEYS = re.compile(
    r"(core\.(editor|pager|sshcommand|fsmonitor|askpass|gitproxy|hookspath)|sequence\.editor|pager\..*"
    r"|diff\.external|.*\.(textconv|command|cmd|clean|smudge|process|driver|helper|program|path)|include.*)\Z"
)
# letters without a value that can stand before another in one word
_MAKE_FLAGS = "-[bBdeikLmnpqrRsStvw]*"
_GIT_FLAGS = "-[acdEFgGhHiIklLnpPqrvwWyz]*"
_GIT_RUNS = {
    "rebase": ("-x", "--exec"),
    "difftool": ("-x", "--extcmd"),
    "clone": ("-u", "--upload-pack"),
    "fetch": ("--upload-pack",),
    "push": ("--receive-pack", "--exec"),
    "grep": ("-O", "--open-files-in-pager"),
}


def _setarch(words: Sequence[Word]) -> Inner:
    """`setarch [ARCH] [OPTIONS] CMD`."""
    named = len(words) > 1 and bool(_ARCHITECTURE.match(words[1].text or ""))
    return plain_starter(Options(flags="3BFILRSTXZv", long=_SETARCH), Wrap.OTHER)(
        words[1:] if named else words
    )


_SETARCH = frozenset(("addr-no-randomize", "32bit", "3gb", "verbose"))


def _flock(words: Sequence[Word]) -> Inner:
    """`flock FILE CMD` and `flock FILE -c SCRIPT`."""
    found = plain_starter(
        Options(
            flags="sxeunoFv",
            valued="wE",
            long=frozenset(("shared", "exclusive", "nonblock", "close", "no-fork", "wait=", "timeout=")),
            operands=1,
        ),
        Wrap.OTHER,
    )(words)
    started = found.commands[0] if found.commands else ()
    if started and started[0].text in ("-c", "--command"):
        script = started[1].text if len(started) == 2 and started[1].is_literal else None
        return Inner(wrap=Wrap.OTHER, scripts=(script,))
    return found


def _make(words: Sequence[Word]) -> Inner:
    """A makefile from standard input, and `--eval`, are code in the line."""
    texts = [word.text or "" for word in words[1:]]
    for index, text in enumerate(texts):
        value = re.fullmatch(rf"(?:{_MAKE_FLAGS}f|--(?:fi|mak)[a-z]*(?:=|$))(.*)", text)
        named = (value[1] or "".join(texts[index + 1 : index + 2])) if value else ""
        if is_stream(named) or re.match(f"--ev|{_MAKE_FLAGS}E", text):
            return UNSEEN
    return NOTHING


def _valued(words: Sequence[Word], options: Sequence[str]) -> list[str | None]:
    """The values of these options, in the same word or the next one; None: not known."""
    found: list[str | None] = []
    for index, word in enumerate(words):
        for option in options:
            value = _joined(word.text or "", option)
            if value is not None:
                found.append(value or (words[index + 1].text if index + 1 < len(words) else None))
    return found


def _joined(text: str, option: str) -> str | None:
    """What a word holds behind an option, '' when that is the next word; None where it is another option.
    Long ones can be shortened, and short ones stand behind others in one word."""
    if option.startswith("--"):
        name, _, value = text.partition("=")
        return value if len(name) > 3 and option.startswith(name) else None
    found = re.fullmatch(f"{_GIT_FLAGS}{option[1]}(.*)", text, re.DOTALL)
    return found[1] if found else None


def _ripgrep(words: Sequence[Word]) -> Inner:
    scripts = _valued(words[1:], ("--pre", "--hostname-bin"))
    return Inner(wrap=Wrap.OTHER, scripts=tuple(scripts)) if scripts else NOTHING


def _git(words: Sequence[Word]) -> Inner:
    """Configuration that is run, and the subcommands that run what they are told."""
    index, scripts = 1, []
    while index < len(words) and (words[index].text or "").startswith("-"):
        text = words[index].text or ""
        if text in ("-c", "--config-env") or text.startswith(("--config-env=", "--exec-path=")):
            scripts += _configured(words[index + 1 : index + 2] if text == "-c" else ())
        index += 2 if text in ("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env") else 1
    verb = words[index].text or "" if index < len(words) else ""
    found = _verb(verb, words[index + 1 :])
    scripts = [*scripts, *found.scripts]
    if not scripts and not found.commands:
        return NOTHING
    return Inner(wrap=Wrap.OTHER, commands=found.commands, scripts=tuple(scripts))


def _configured(value: Sequence[Word]) -> list[str | None]:
    key, _, code = (value[0].text or "").partition("=") if value else ("", "", "")
    if not key or key.lower().startswith("alias."):
        return [None]  # what the alias is called with decides, too
    return [code] if _RUN_KEYS.match(key.lower()) else []


def _verb(verb: str, rest: Sequence[Word]) -> Inner:
    texts = [word.text or "" for word in rest]
    if verb == "bisect" and texts[:1] == ["run"] and len(rest) > 1:
        return Inner(commands=(tuple(rest[1:]),))
    if (verb == "submodule" and "foreach" in texts) or verb == "filter-branch":
        return UNSEEN
    if verb == "config" and any(_RUN_KEYS.match(text.lower()) or "alias." in text for text in texts):
        return UNSEEN if sum(not text.startswith("-") for text in texts) > 1 else NOTHING
    return Inner(scripts=tuple(_valued(rest, _GIT_RUNS.get(verb, ()))))


STARTERS: dict[str, Reader] = {
    "setarch": _setarch,
    **dict.fromkeys(("linux32", "linux64", "i386", "i686", "x86_64"), _setarch),
    "flock": _flock,
    "taskset": plain_starter(Options(flags="ac", long=frozenset(("cpu-list",)), operands=1), Wrap.OTHER),
    "chrt": plain_starter(
        Options(
            flags="abdfiorRv",
            valued="TPD",
            long=frozenset(("batch", "fifo", "idle", "other", "rr", "reset-on-fork")),
            operands=1,
        ),
        Wrap.OTHER,
    ),
    "strace": plain_starter(Options(flags="cCdfFhiknqrtTvVwxyYzZ", valued="abeEIoOpPsSuUX"), Wrap.OTHER),
    "ltrace": plain_starter(Options(flags="bcCfhiLrStTV", valued="aADeFlnopsuwx"), Wrap.OTHER),
    "chroot": plain_starter(
        Options(long=frozenset(("groups=", "userspec=", "skip-chdir")), operands=1), Wrap.OTHER
    ),
    "numactl": plain_starter(Options(flags="sHal", valued="iNmCp"), Wrap.OTHER),
    "unshare": plain_starter(
        Options(
            flags="muinpUCTfrc",
            valued="RwSG",
            long=frozenset(("fork", "pid", "net", "mount", "user", "uts", "ipc", "map-root-user")),
        ),
        Wrap.OTHER,
    ),
    "prlimit": plain_starter(Options(), Wrap.OTHER),
    "unbuffer": plain_starter(Options(flags="p"), Wrap.OTHER),
    "fakeroot": plain_starter(Options(), Wrap.OTHER),
    **dict.fromkeys(("make", "gmake"), _make),
    "rg": _ripgrep,
    "git": _git,
    **dict.fromkeys(
        """
        watch parallel script su runuser entr nsenter systemd-run setpriv bwrap firejail gdb valgrind perf
        dbus-run-session xvfb-run tini expect sem rlwrap ssh-agent start-stop-daemon capsh sg newgrp pkexec
        """.split(),
        never_known,
    ),
}
