"""One sub-command of a line: whether it only reads, stays inside, and may change the repository."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.policy import Mode
from tools.command_line import programs
from tools.command_line.keys import is_whole, run_words
from tools.command_line.reads import reading_of
from tools.command_line.syntax import Redirection, SimpleCommand, Syntax, Word, Wrap
from tools.types import CallClass, Grant

Resolve = Callable[[str], str | None]


@frozen
class Setting:
    """Where a line would run. All paths absolute and resolved."""

    workspace: Path
    cwd: Path
    mode: Mode
    roots: tuple[Path, ...] = ()  # writable beside the workspace, and as readable as it
    env: Mapping[str, str] = field(default_factory=dict)  # set by the model for this command
    resolve: Resolve = shutil.which  # program name → path as the command finds it, None when there is none

    def is_readable(self, place: Path) -> bool:
        """Whether reading there needs no question."""
        return any(place.is_relative_to(root) for root in (self.workspace, *self.roots))


@frozen
class Part:
    """How one sub-command was judged."""

    text: str  # in the form of a rule key
    line: int
    within: str
    reads_only: bool
    call_class: CallClass
    reason: str  # why it is not `auto`; empty when it is
    grant: Grant = Grant.NONE
    in_lane: bool = False  # may run with `.git` writable without a question


def parts_of(syntax: Syntax, setting: Setting) -> tuple[Part, ...]:
    places = [setting.cwd]  # everywhere the line may be after its `cd`s
    parts = []
    for command in syntax.commands:
        parts.append(_part(command, setting, places))
        if command.program == "cd" and len(command.words) == 2 and command.words[1].text:
            target = command.words[1].text
            places += [Path(os.path.normpath(place / target)) for place in places]
            del places[64:]  # 2^6 orders of directories; a line with more of them is not `auto`
    return tuple(parts)


def _part(command: SimpleCommand, setting: Setting, places: list[Path]) -> Part:
    reading = reading_of(command) if command.words else None
    refusal = (
        _shape_refusal(command)
        or (reading.refusal if reading else "only sets variables or redirects")
        or _program_refusal(command, setting)
        or ("too many directories to follow" if len(places) >= 64 else "")
    )
    paths = (*(reading.paths if reading else ()), *_read_targets(command))
    outside = next((word for word in paths if not _is_inside(word, places, setting.is_readable)), None)
    reason = refusal or (f"reads outside the workspace: {outside.text}" if outside else "")
    return Part(
        text=run_words(command),
        line=command.line,
        within=command.within,
        reads_only=not refusal,
        call_class=CallClass.ASK if reason else CallClass.AUTO,
        reason=reason,
        grant=_part_grant(command),
        in_lane=_in_lane(command, places, setting) if refusal else True,
    )


def _shape_refusal(command: SimpleCommand) -> str:
    if command.assignments:
        return f"sets `{command.assignments[0].source.partition('=')[0]}` for a command"
    for each in command.redirections:
        if each.is_document:
            return "has a here-document"
        if not _is_harmless(each):
            target = each.target.source if each.target else ""
            return f"writes to a file: {target}" if ">" in each.operator else f"reads `{target}`"
    return ""


def _is_harmless(redirection: Redirection) -> bool:
    target = redirection.target
    if target is None:
        return True
    if not target.is_literal:
        return False
    return target.text == "/dev/null" or (">" not in redirection.operator and not redirection.is_document)


def _read_targets(command: SimpleCommand) -> list[Word]:
    return [each.target for each in command.redirections if each.target and ">" not in each.operator]


def _program_refusal(command: SimpleCommand, setting: Setting) -> str:
    """A bare name must lead to a program outside of what the agent can write."""
    name = command.program or ""
    if name in programs.BUILTINS:
        return ""
    found = setting.resolve(name)
    if found is None:
        return "" if command.wrap is Wrap.PLAIN and name == "time" else f"`{name}` was not found"
    path = Path(found)
    real = Path(os.path.realpath(path))
    inside = setting.is_readable(path) or setting.is_readable(real) or not path.is_absolute()
    return f"`{name}` is a program of the workspace" if inside else ""


def _is_inside(word: Word, places: list[Path], is_in: Callable[[Path], bool]) -> bool:
    text = word.text or ""
    if word.tilde or (text.startswith("-") and text != "-"):
        return False
    if text in ("-", "/dev/null", "/dev/stdin"):
        return True
    if word.glob:
        first = min(text.find(mark) for mark in "*?[" if mark in text)
        if ".." in text[first:].split("/"):
            return False
        text = text[: text.rfind("/", 0, first) + 1] or "."
    return all(is_in(Path(os.path.realpath(place / text))) for place in places)


def _git_verb(command: SimpleCommand) -> str:
    """The subcommand of `git`, past its global options; empty for other programs."""
    if command.name != "git":
        return ""
    texts = [word.text or "" for word in command.words[1:]]
    index = 0
    while index < len(texts) and texts[index].startswith("-"):
        index += 2 if texts[index] in ("-c", "-C", "--git-dir", "--work-tree", "--namespace") else 1
    return texts[index] if index < len(texts) else ""


def _part_grant(command: SimpleCommand) -> Grant:
    """What the sub-command cannot do without. Publishing needs a person whatever the network is."""
    verb = _git_verb(command)
    reads = verb and not reading_of(command).refusal
    if verb in programs.GIT_LANE | programs.GIT_ASKS and not reads:
        return Grant.GIT_LANE
    texts = {word.text for word in command.words[1:]}
    if command.name in programs.SENDERS or texts & programs.PUBLISHES.get(command.name, frozenset()):
        return Grant.NETWORK
    return Grant.NONE


def _in_lane(command: SimpleCommand, places: list[Path], setting: Setting) -> bool:
    """Known git write verbs and plain file writers in the workspace, all words literal."""
    if not is_whole(command) or command.assignments or command.within:
        return False
    if not all(_is_lane_target(each, places, setting) for each in command.redirections):
        return False
    if command.name in programs.LANE_WRITERS and command.program == command.name:
        operands = [word for word in command.words[1:] if not (word.text or "").startswith("-")]
        return all(_is_plain_file(word, places, setting) for word in operands)
    if command.program != "git":
        return not reading_of(command).refusal
    verb = command.words[1].text if len(command.words) > 1 else None
    texts = [word.text or "" for word in command.words[2:]]
    runs = any(
        text == "-x" or (len(text) > 3 and "--exec".startswith(text.partition("=")[0])) for text in texts
    )
    return verb in programs.GIT_LANE and not runs and not _program_refusal(command, setting)


def _is_lane_target(redirection: Redirection, places: list[Path], setting: Setting) -> bool:
    target = redirection.target
    return _is_harmless(redirection) or (target is not None and _is_plain_file(target, places, setting))


def _is_plain_file(word: Word, places: list[Path], setting: Setting) -> bool:
    """A file of the workspace that is no part of a repository's own directory."""

    def is_here(place: Path) -> bool:
        return place.is_relative_to(setting.workspace)

    if not word.is_literal or not _is_inside(word, places, is_here):
        return False
    targets = [Path(os.path.realpath(place / (word.text or ""))) for place in places]
    return not any(".git" in (part.lower() for part in target.parts) for target in targets)
