"""The short list that no mode passes without a person: what destroys a machine or a remote history."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from agent_tui.frozen import frozen
from tools.command_line.syntax import SimpleCommand, Syntax, Word
from tools.command_line.unwrap import SHELLS

_DOWNLOADERS = frozenset("curl wget fetch aria2c http https xh lynx".split())
_CODE_READERS = SHELLS | frozenset("python perl ruby node php lua source . eval fish pwsh".split())
_POWER = frozenset("shutdown reboot poweroff halt".split())
_FORMATTERS = frozenset("wipefs fdisk sfdisk cfdisk parted sgdisk blkdiscard mkswap cryptsetup".split())
_TREE_CHANGERS = frozenset("chmod chown chgrp setfacl chattr".split())
_SAFE_DEVICES = re.compile(r"/dev/(null|zero|full|u?random|tty|stdin|stdout|stderr|fd/\d+|pts/\d+|shm/.+)\Z")
_HOME_WORDS = re.compile(r'"?\$(HOME|\{HOME\})"?/?(\*|\.\*)?\Z')
_ROOT_VARIABLE = re.compile(r'"?\$(\{\w+\}|\w+)"?/(\*|\.\*)?\Z')  # `$UNSET/` is `/`


@frozen
class Ground:
    """Where the line would run."""

    workspace: Path
    cwd: Path
    boxed: bool  # in a sandbox: what is not known can reach the workspace at most


def hard_line(syntax: Syntax, ground: Ground) -> str:
    """Why a person must look at the line, as a sentence; empty for every ordinary line."""
    if syntax.self_calls:
        return f"`{syntax.self_calls[0]}` starts itself without end"
    if syntax.is_cut:
        return "it is too long or too deep to be followed to its end"
    return next((reason for _, reason in dangers(syntax, ground)), "")


def dangers(syntax: Syntax, ground: Ground) -> list[tuple[int, str]]:
    """Line and reason of every command in it that a person must look at."""
    found = _download_run(syntax.commands)
    for command in syntax.commands:
        check = _CHECKS.get(command.name) or _by_prefix(command.name)
        reasons = (_to_device(command), check(command, ground) if check else "")
        found += [(command.line, reason) for reason in reasons if reason]
    return found


def _by_prefix(name: str) -> "_Check | None":
    return _formats if name.startswith("mkfs") else None


def _texts(command: SimpleCommand) -> list[str]:
    return [word.text if word.text is not None else word.source for word in command.words[1:]]


def _has_flag(texts: Sequence[str], letters: str, *long: str) -> bool:
    """Whether an option is there, in a cluster or in an abbreviation of its long name."""
    for text in texts:
        if text == "--":
            return False
        if text.startswith("--"):
            if any(len(text) > 3 and name.startswith(text[2:]) for name in long):
                return True
        elif text.startswith("-") and any(letter in text[1:] for letter in letters):
            return True
    return False


# --- removing and changing whole trees ---------------------------------------------------------


def _removes(command: SimpleCommand, ground: Ground) -> str:
    texts = _texts(command)
    if _has_flag(texts, "", "no-preserve-root"):
        return "removes the root of the file system"
    if not _has_flag(texts, "rR", "recursive"):
        return ""
    target = _great(command.words[1:], ground, own=True)
    return f"removes {target} with all in it" if target else ""


def _changes_tree(command: SimpleCommand, ground: Ground) -> str:
    if not _has_flag(_texts(command), "R", "recursive"):
        return ""
    target = _great(command.words[1:], ground)
    return f"changes the rights of {target} with all in it" if target else ""


def _find_removes(command: SimpleCommand, ground: Ground) -> str:
    texts = _texts(command)
    removes = "-delete" in texts or any(
        text in ("-exec", "-execdir") and texts[index + 1 : index + 2] in (["rm"], ["shred"], ["/bin/rm"])
        for index, text in enumerate(texts)
    )
    starts = [word for word in command.words[1:] if not (word.text or "").startswith(("-", "("))]
    first = next((index for index, text in enumerate(texts) if text.startswith("-")), len(texts))
    target = _great(starts[:first], ground) if removes else ""
    return f"removes below {target}" if target else ""


def _moves(command: SimpleCommand, ground: Ground) -> str:
    target = _great(command.words[1:-1], ground)
    return f"moves {target} away" if target else ""


def _great(words: Iterable[Word], ground: Ground, *, own: bool = False) -> str:
    """The first operand that is a root: of the system, of the home, with `own` of the workspace."""
    for word in words:
        text = word.text
        if text is None:
            if _HOME_WORDS.match(word.source):
                return "your home directory"
            if _ROOT_VARIABLE.match(word.source) and not ground.boxed:
                return f"`{word.source}`, which may be `/`"
        elif text and not text.startswith("-"):
            found = _great_path(word, text, ground, own)
            if found:
                return found
    return ""


def _great_path(word: Word, text: str, ground: Ground, own: bool) -> str:
    if word.tilde and re.fullmatch(r"~[\w.-]*/?(\*|\.\*)?", text):
        return "your home directory"
    emptied = re.sub(r"/(\*|\.\*)\Z", "/", text)  # `x/*` empties x
    path = Path("/", os.path.normpath(ground.cwd / emptied).lstrip("/"))
    if path == Path("/"):
        return "the root of the file system"
    if Path.home().is_relative_to(path):
        return "your home directory"
    if path == ground.workspace:
        return "the workspace" if own and emptied == text else ""
    if ground.workspace.is_relative_to(path):
        return f"`{path}`, which holds the workspace"
    return f"`{path}`" if len(path.parts) == 2 and path != Path("/tmp") else ""


# --- devices -----------------------------------------------------------------------------------


def _formats(command: SimpleCommand, _ground: Ground) -> str:
    return f"`{command.name}` destroys what is on a disk" if len(command.words) > 1 else ""


def _dd(command: SimpleCommand, _ground: Ground) -> str:
    targets = [text[3:] for text in _texts(command) if text.startswith("of=")]
    return _device_reason(targets)


def _overwrites(command: SimpleCommand, _ground: Ground) -> str:
    return _device_reason(_texts(command))


def _copies(command: SimpleCommand, _ground: Ground) -> str:
    return _device_reason(_texts(command)[-1:])


def _to_device(command: SimpleCommand) -> str:
    return _device_reason(
        [each.target.text or "" for each in command.redirections if each.target and ">" in each.operator]
    )


def _device_reason(targets: Iterable[str]) -> str:
    for target in targets:
        path = os.path.normpath(target).replace("//", "/") if target else ""
        if path.startswith("/dev/") and not _SAFE_DEVICES.match(path):
            return f"writes to the device `{path}`"
    return ""


# --- code from elsewhere, power, remote history ------------------------------------------------


def _download_run(commands: Sequence[SimpleCommand]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    downloading: set[int] = set()
    for command in commands:
        if command.name in _DOWNLOADERS:
            if command.pipeline:
                downloading.add(command.pipeline)
            if _without_version(command.within) in _CODE_READERS:
                found.append((command.line, "runs downloaded text as a program"))
        elif _without_version(command.name) in _CODE_READERS and command.pipeline in downloading:
            found.append((command.line, "runs downloaded text in a shell"))
    return found


def _without_version(name: str) -> str:
    """`python` for `python3.12`."""
    return re.sub(r"(?<=[a-z])[\d.]+\Z", "", name)


def _power(command: SimpleCommand, _ground: Ground) -> str:
    return f"`{command.name}` stops the machine"


def _systemctl(command: SimpleCommand, _ground: Ground) -> str:
    stops = {"poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "emergency", "rescue"}
    return "stops the machine" if stops.intersection(_texts(command)) else ""


def _init(command: SimpleCommand, _ground: Ground) -> str:
    return "stops the machine" if {"0", "6"}.intersection(_texts(command)) else ""


def _kills(command: SimpleCommand, _ground: Ground) -> str:
    return "ends every process you own" if "-1" in _texts(command)[1:] else ""


def _git(command: SimpleCommand, _ground: Ground) -> str:
    texts = _texts(command)
    if "push" not in texts:
        return ""
    rest = texts[texts.index("push") + 1 :]
    forced = _has_flag(
        rest, "fd", "force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune"
    )
    forced = forced or any(text.startswith(("--force", "+", ":")) for text in rest)
    return "rewrites or removes history on the remote: git push with force" if forced else ""


_Check = Callable[[SimpleCommand, Ground], str]
_CHECKS: dict[str, _Check] = {
    "rm": _removes,
    "find": _find_removes,
    "mv": _moves,
    "dd": _dd,
    "shred": _overwrites,
    "tee": _overwrites,
    "truncate": _overwrites,
    "cp": _copies,
    "systemctl": _systemctl,
    "init": _init,
    "telinit": _init,
    "kill": _kills,
    "git": _git,
    **dict.fromkeys(_TREE_CHANGERS, _changes_tree),
    **dict.fromkeys(_POWER, _power),
    **dict.fromkeys(_FORMATTERS, _formats),
}
