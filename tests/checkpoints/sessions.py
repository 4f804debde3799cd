"""One session in a workspace, driven without threads."""

from pathlib import Path

from checkpoints.coverage import Limits
from checkpoints.gitprocess import Git
from checkpoints.rollback import Request, Rollback
from checkpoints.roots import home_of
from checkpoints.types import Cause, Choice, FileChange, Phase, RollbackResult
from checkpoints.workspace import Recorded, Workspace


class Session:
    """One session that runs calls and goes back, without threads."""

    def __init__(
        self,
        root: Path,
        state_dir: Path,
        name: str = "s1",
        *,
        git: Git | None,
        limits: Limits | None = None,
        targeted: str = "",
    ) -> None:
        self.stand_ins: set[Path] = set()
        self.root = root
        self.name = name
        home = home_of(root, state_dir, alone=bool(targeted))
        self.core = Workspace(
            home,
            name,
            git=git,
            limits=limits or Limits(),
            state_dir=state_dir,
            targeted=targeted,
            stand_ins=lambda _: self.stand_ins,
        )
        self.core.open(lambda _: None)
        self.core.first_import()
        self.calls = 0

    def take(self, phase: Phase = Phase.TURN_START, **facts: object) -> Recorded:
        return self.core.record(Cause(phase=phase, session=self.name, **facts))  # type: ignore[arg-type]

    def before(self, *touched: str) -> Recorded:
        self.calls += 1
        return self.take(Phase.BEFORE_CALL, step=self.calls, call_id=f"c{self.calls}", touched=touched)

    def after(self, *touched: str, only_touched: bool = False) -> tuple[FileChange, ...]:
        recorded = self.take(
            Phase.AFTER_CALL,
            step=self.calls,
            call_id=f"c{self.calls}",
            touched=touched,
            only_touched=only_touched,
        )
        return recorded.changes

    def rollback(
        self, target: str, *paths: str, default: Choice = "keep", choices: dict[str, Choice] | None = None
    ) -> RollbackResult:
        request = Request(target=target, paths=paths, choices=choices or {}, default=default)
        return Rollback(self.core).run(request)

    def redo(self) -> RollbackResult:
        return Rollback(self.core).redo(self.name)

    def close(self) -> None:
        self.core.close()
