"""`apply_patch`: changes files, byte-exact where they are not meant to change, all or none."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sandbox.policy import Policy
from tools.command_line.keys import path_key
from tools.descriptions import description
from tools.patch.grammar import PartlyAppliedError, PatchError, Section, parse
from tools.paths import Need, name_of, place_of, reading_need, shown, writing_need
from tools.threads import in_thread
from tools.types import (
    Arguments,
    Assessment,
    CallClass,
    CallSink,
    Effects,
    Grant,
    Invocation,
    Outcome,
    OutcomeStatus,
    PathSet,
    ToolSpec,
    WrittenPath,
)
from tools.versions import Versions, sha256

if TYPE_CHECKING:
    from tools.patch.plan import Change

T = TypeVar("T")

TIMEOUT_S = 60.0  # writing takes milliseconds; longer is a file system that hangs
_PARAMETERS = {
    "type": "object",
    "properties": {
        "patch": {"type": "string", "description": "from `*** Begin Patch` to `*** End Patch`"},
        "path": {"type": "string", "description": "instead of `patch`: the file"},
        "old": {"type": "string", "minLength": 1, "description": "exact text that stands once in the file"},
        "new": {"type": "string", "description": "text to put there"},
        "all": {"type": "boolean", "description": "replace every occurrence of `old`; default false"},
    },
    "additionalProperties": False,
}


class ApplyPatch:
    """The tool."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self.spec = ToolSpec(
            name="apply_patch", description=description("apply_patch"), parameters=_PARAMETERS
        )

    def refuse(self, arguments: Arguments) -> str:
        """Why valid arguments still make no call, or ''."""
        if "patch" not in arguments:
            missing = [name for name in ("path", "old", "new") if name not in arguments]
            if missing:
                return "give `patch`, or `path`, `old` and `new`"
            return ""
        if set(arguments) - {"patch"}:
            return "give either `patch`, or `path`, `old` and `new`, not both"
        try:
            parse(arguments["patch"])
        except PatchError as error:
            return str(error)
        return ""

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:
        """Which files it names, and whether they may be written."""
        files = tuple(dict.fromkeys(_files(arguments, policy)))
        needs = [(file, need) for file in files if (need := writing_need(file, policy)) is not None]
        never = [need for _, need in needs if need.never]
        names = ", ".join(shown(file, policy) for file in files)
        reason = f"changes {names}"
        if never:
            reason = never[0].reason
        elif needs:
            reason = needs[0][1].reason
        return Assessment(
            action="edit",
            call_class=CallClass.REJECT if never else CallClass.ASK,
            reason=reason,
            shown=_shown(arguments),
            effects=Effects(
                reads=PathSet(paths=files), writes=PathSet(paths=files), network=False, idempotent=False
            ),
            keys=tuple(path_key("edit", file, policy.workspace) for file in files),
            grant=Grant.WRITE_PATH if needs and not never else Grant.NONE,
            grant_detail=str(needs[0][0]) if needs and not never else "",
            files=files,
        )

    def _plan(self, arguments: Arguments, policy: Policy, *, learn: bool = False) -> "list[Change]":
        """What it would do now. Raises `PatchError`."""
        from tools.patch.plan import Planner

        planner = Planner(policy, self._versions, learn=learn)
        if "patch" not in arguments:
            every = arguments.get("all", False)
            return planner.replace(arguments["path"], arguments["old"], arguments["new"], every=every)
        return planner.apply(parse(arguments["patch"]))

    async def preview(self, arguments: Arguments, policy: Policy) -> str:
        """The diff of what it would write, or why it would be refused."""

        def work() -> str:
            return "".join(change.difference(policy).text for change in self._plan(arguments, policy))

        try:
            return await _away(work)
        except PatchError as error:
            return f"this patch would be refused: {error}\n"

    async def texts(self, arguments: Arguments, policy: Policy) -> Mapping[str, str | None] | str:
        """See `tools.patch.rewriting.texts_of`; a text says why there are none."""
        from tools.patch.rewriting import texts_of

        try:
            return await _away(lambda: texts_of(self._plan(arguments, policy), policy))
        except PatchError as error:
            return str(error)

    async def rewritten(
        self, arguments: Arguments, texts: Mapping[str, str], policy: Policy
    ) -> Arguments | str:
        """Arguments after which these files are exactly so, or why there are none."""
        from tools.patch.rewriting import rewritten

        def work() -> Arguments:
            changes, said = self._plan(arguments, policy), str(arguments.get("patch", ""))

            def plan(patch: str) -> "Sequence[Change]":
                return self._plan({"patch": patch}, policy)

            return {"patch": rewritten(changes, texts, policy, plan, said)}

        try:
            return await _away(work)
        except PatchError as error:
            return str(error)

    async def refusal(self, arguments: Arguments, policy: Policy) -> str:
        """Why it would be refused now, as the model will be told; '' where it fits, and where the reason
        would show something of a file that the model may not read unasked."""

        def work() -> None:
            if all(reading_need(file, policy) is None for file in _files(arguments, policy)):
                _check_writable(self._plan(arguments, policy, learn=True), policy)

        try:
            await _away(work)
        except PatchError as error:
            return _not_applied(error)
        return ""

    async def predict(self, arguments: Arguments, policy: Policy) -> Mapping[str, tuple[str, str]]:
        """Path → hash before and hash intended, '' for no file; empty when it would be refused."""

        def work() -> dict[str, tuple[str, str]]:
            changes = self._plan(arguments, policy)
            return {path: hashes for change in changes for path, hashes in _hashes(change, policy)}

        try:
            return await _away(work)
        except PatchError:
            return {}

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:  # noqa: ARG002 - shows nothing
        """Plan and write; a cancellation gives the plan up, or waits for the write: milliseconds."""
        attempt = _Attempt()

        def work() -> Outcome:
            return self._run(invocation, attempt)

        try:
            return await in_thread(work, abandon=attempt.give_up, timeout_s=TIMEOUT_S)
        except TimeoutError:
            if attempt.give_up():
                error = PatchError(f"it was not worked out within {TIMEOUT_S:g} s")
                return Outcome(status=OutcomeStatus.FAILED, text=_not_applied(error))
            text = (
                f"The file system did not answer within {TIMEOUT_S:g} s: the change may or may not be "
                "written; look at the files before you repeat it"
            )
            return Outcome(status=OutcomeStatus.OUTCOME_UNKNOWN, text=text)

    def _run(self, invocation: Invocation, attempt: "_Attempt") -> Outcome:
        from tools.patch.commit import commit

        policy = invocation.policy
        try:
            changes = self._plan(invocation.arguments, policy, learn=True)
            _check_allowed(changes, policy)
            _check_writable(changes, policy)
            attempt.begin_writing()
            commit(changes)
        except PartlyAppliedError as error:
            return Outcome(
                status=OutcomeStatus.FAILED, text=f"Applied in part, look before you go on: {error}"
            )
        except PatchError as error:
            return Outcome(status=OutcomeStatus.FAILED, text=_not_applied(error))
        for change in changes:
            self._learn(change)
        written = tuple(_written(change, policy) for change in changes)
        return Outcome(
            status=OutcomeStatus.SUCCEEDED,
            text="Applied:\n" + "\n".join(_line(one) for one in written),
            data={"changes": [{"path": one.path, "kind": one.kind} for one in written]},
            written=written,
        )

    def _learn(self, change: "Change") -> None:
        if change.moved_from is not None:
            self._versions.forget(change.moved_from)
        if change.after is None:
            self._versions.forget(change.path)
        else:
            self._versions.note(change.path, change.after.data)


class _Attempt:
    """Whether a patch is written or given up: only one of both."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_decided = False

    def begin_writing(self) -> None:
        """Raises `PatchError` when it was given up."""
        if not self._decide():
            raise PatchError("it was given up")

    def give_up(self) -> bool:
        """False when writing has begun."""
        return self._decide()

    def _decide(self) -> bool:
        with self._lock:
            is_first, self._is_decided = not self._is_decided, True
        return is_first


async def _away(work: Callable[[], T]) -> T:
    """Look at files in a thread: large ones take seconds. Raises `PatchError`."""
    try:
        return await in_thread(work, timeout_s=TIMEOUT_S)
    except TimeoutError as error:
        raise PatchError(f"the file system did not answer within {TIMEOUT_S:g} s") from error


def _not_applied(error: PatchError) -> str:
    return f"Not applied, no file was changed: {error}"


def _files(arguments: Arguments, policy: Policy) -> list[Path]:
    """Resolved paths that the patch names, those that only go included."""
    if "patch" not in arguments:
        return [place_of(arguments["path"], policy)]
    files: list[Path] = []
    for section in parse(arguments["patch"]):
        files += _paths_of(section, policy)
    return files


def _paths_of(section: Section, policy: Policy) -> Sequence[Path]:
    if section.kind != "update":
        return (name_of(section.path, policy),)
    paths = [place_of(section.path, policy)] if section.hunks else []
    if section.move_to:
        paths += [name_of(section.path, policy), name_of(section.move_to, policy)]
    return paths


def _check_allowed(changes: "Sequence[Change]", policy: Policy) -> None:
    """What the gate was told may have moved since: links, for example."""
    for change in changes:
        for path in filter(None, (change.path, change.moved_from)):
            need: Need | None = writing_need(path, policy)
            if need is not None:
                raise PatchError(f"`{shown(path, policy)}` may not be written: {need.reason}")


def _check_writable(changes: "Sequence[Change]", policy: Policy) -> None:
    """Directories that this user may not write; known before anything is asked or staged.

    A workspace that was removed or renamed is not made anew at its old place.
    """
    if not policy.workspace.is_dir():
        raise PatchError(f"the workspace `{policy.workspace}` is gone, it was removed or renamed")
    for change in changes:
        for path in filter(None, (change.path, change.moved_from)):
            there = next(above for above in path.parents if os.path.lexists(above))
            if not os.access(there, os.W_OK | os.X_OK):
                raise PatchError(f"the directory `{shown(there, policy)}` may not be written by this user")


def _shown(arguments: Arguments) -> str:
    if "patch" in arguments:
        text: str = arguments["patch"]
        return text
    every = " (all)" if arguments.get("all") else ""
    return f"{arguments['path']}{every}\n--- old\n{arguments['old']}\n--- new\n{arguments['new']}"


def _hashes(change: "Change", policy: Policy) -> list[tuple[str, tuple[str, str]]]:
    before = sha256(change.before.data) if change.before else ""
    after = sha256(change.after.data) if change.after else ""
    if change.moved_from is None:
        return [(shown(change.path, policy), (before, after))]
    return [(shown(change.moved_from, policy), (before, "")), (shown(change.path, policy), ("", after))]


def _written(change: "Change", policy: Policy) -> WrittenPath:
    difference = change.difference(policy)
    return WrittenPath(
        path=shown(change.path, policy),
        kind=change.kind,
        old_path=shown(change.moved_from, policy) if change.moved_from else None,
        added=difference.added,
        removed=difference.removed,
    )


def _line(one: WrittenPath) -> str:
    name = f"{one.old_path} → {one.path}" if one.old_path else one.path
    return f"{one.kind} {name} +{one.added} -{one.removed}"
