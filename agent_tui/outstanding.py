"""Which files a session leaves changed, and the checkpoint that takes just these back."""

from agent_tui.engine.events import (
    Body,
    CallEnded,
    CheckpointTaken,
    RolledBack,
    TurnEnded,
    TurnStarted,
)
from agent_tui.frozen import frozen
from checkpoints.types import ChangeKind, FileChange, Phase


@frozen
class _Changed:
    """How one path differs, and the checkpoint from before its first change."""

    kind: ChangeKind
    before: str


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

    def __len__(self) -> int:
        return len(self._files)

    @property
    def checkpoint(self) -> str:
        """What to go back to; empty where nothing is changed, or no checkpoint was taken before it."""
        wanted = {changed.before for changed in self._files.values()}
        return "" if "" in wanted else next((taken for taken in self._places if taken in wanted), "")

    def take(self, body: Body) -> None:
        """One event."""
        match body:
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

    def take_over(self, earlier: "Outstanding") -> None:
        """Put what an earlier process of the session left in front."""
        told = len(earlier._story)
        self._places = earlier._places | {taken: told + place for taken, place in self._places.items()}
        self._story = earlier._story + self._story
        self._files = self._files | earlier._files

    def _mark(self, body: CheckpointTaken) -> None:
        taken = body.checkpoint
        self._places.setdefault(taken.id, len(self._story))
        self._newest = taken.id if taken.cause.phase is Phase.AFTER_CALL else ""
        if taken.cause.phase is Phase.TURN_START and taken.cause.turn != self._turn[0]:
            self._turn = (taken.cause.turn, taken.id)  # of a later message of a turn: not its beginning

    def _change(self, change: FileChange, before: str) -> None:
        old = self._files.get(change.path)
        if change.kind == "R" and change.old_path is not None and change.old_path in self._files:
            old = self._files[change.old_path]
            self._set(change.old_path, None)
        if old is not None and (old.kind, change.kind) == ("A", "D"):
            self._set(change.path, None)
        elif old is None or change.path not in self._files:
            kind = change.kind if old is None or old.kind != "A" else "A"
            self._set(change.path, _Changed(kind=kind, before=old.before if old else before))

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
        differs = (told.rpartition(" (")[0] for told in files.mismatches)
        stays = {*files.kept, *files.merged_with_markers, *differs}
        went = {name for change in files.changed for name in (change.path, change.old_path)}
        for path, changed in then.items():
            if path not in stays and (path in went or not body.paths):
                self._set(path, changed)
        session, _, number = files.undo.rpartition("/")
        if number.isdigit():  # the next one is that of the state after it
            self._places[f"{session}/{int(number) + 1}"] = len(self._story)
