"""Which files a session leaves changed, and the checkpoint that takes just these back."""

from agent_tui.engine.changes import what_becomes
from agent_tui.engine.events import (
    Body,
    CallEnded,
    CheckpointTaken,
    RolledBack,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from agent_tui.frozen import frozen
from checkpoints.types import FileChange, Phase


@frozen
class _Changed:
    """How one path differs, and the checkpoints from before the first change of what is there now."""

    change: FileChange
    before: frozenset[str]


class Outstanding:
    """Told from events alone, each path counted once; what a rollback took back is left out.

    It keeps in order how the count came about, so that a rollback to any checkpoint, and a redo, find what
    was changed there.
    """

    def __init__(self) -> None:
        self._files: dict[str, _Changed] = {}
        self._story: list[tuple[str, _Changed | None]] = []  # path, how it was
        self._places: dict[str, int] = {}  # checkpoint → length of the story there
        self._newest = ""  # checkpoint after calls; what they changed is told behind it
        self._turn = (0, "")  # the newest turn, and its first checkpoint
        self._is_running = False
        self._own: list[Body] | None = None  # of a process that goes on, until the part before it is known

    def __len__(self) -> int:
        return len(self._files)

    @property
    def checkpoint(self) -> str:
        """What to go back to; empty where nothing is changed, or no checkpoint was taken before it."""
        wanted = {taken for changed in self._files.values() for taken in changed.before}
        return "" if "" in wanted else next((taken for taken in self._places if taken in wanted), "")

    def take(self, body: Body) -> None:
        """One event."""
        if self._own is not None:
            self._own.append(body)
        match body:
            case SessionStarted(resumed=True, forked_from=origin):
                self._own = [body]
                if origin:  # what that one changed is told where it ends
                    self._files, self._story, self._places = {}, [], {}
            case TurnStarted() | TurnEnded():
                self._is_running = isinstance(body, TurnStarted)
            case CheckpointTaken():
                self._mark(body)
            case CallEnded(changes=changes) if changes:
                turn = self._turn[1] if self._is_running else ""
                for change in changes:
                    self._change(change, turn or body.checkpoint_id)
                if self._newest:
                    self._places[self._newest] = len(self._story)
            case RolledBack():
                self._go_back(body)
            case _:
                pass

    def behind(self, earlier: "Outstanding") -> "Outstanding":
        """`earlier`, which an earlier process of the session left, with what this one told on top."""
        for body in self._own or ():
            earlier.take(body)
        earlier._own = None
        return earlier

    def _mark(self, body: CheckpointTaken) -> None:
        taken = body.checkpoint
        self._places.setdefault(taken.id, len(self._story))
        self._newest = taken.id if taken.cause.phase is Phase.AFTER_CALL else ""
        if taken.cause.phase is Phase.TURN_START and taken.cause.turn != self._turn[0]:
            self._turn = (taken.cause.turn, taken.id)  # of a later message of a turn: not its beginning

    def _change(self, change: FileChange, before: str) -> None:
        becomes = what_becomes(self._known, change)
        told = [self._files[path].before for path in becomes if path in self._files]
        since = frozenset[str]().union(*told) or frozenset({before})
        for path, joined in becomes.items():
            self._set(path, None if joined is None else _Changed(change=joined, before=since))

    def _known(self, path: str) -> FileChange | None:
        changed = self._files.get(path)
        return None if changed is None else changed.change

    def _set(self, path: str, changed: _Changed | None) -> None:
        self._story.append((path, self._files.get(path)))
        if changed is None:
            self._files.pop(path, None)
        else:
            self._files[path] = changed

    def _go_back(self, body: RolledBack) -> None:
        files = body.files
        if files is None:
            return
        place = self._places.get(files.target, 0)  # of another process of the session: before all of this one
        self._places.setdefault(files.undo, len(self._story))
        then: dict[str, _Changed | None] = {}
        for path, changed in self._story[place:]:
            then.setdefault(path, changed)
        stays = {*files.kept, *files.merged_with_markers, *files.failed}
        went = {name for change in files.changed for name in (change.path, change.old_path)}
        for path, changed in then.items():
            if path not in stays and (path in went or not body.paths):
                self._set(path, changed)
        session, _, number = files.undo.rpartition("/")
        if number.isdigit():  # the next one is that of the state after it
            self._places[f"{session}/{int(number) + 1}"] = len(self._story)
