"""Keeps a store small in idle time: packs what is loose, and once a day prunes. Never in a turn's way."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from checkpoints.catalog import Catalog
from checkpoints.gitprocess import Git
from checkpoints.lock import hold
from checkpoints.retention import DAY_S, PACK_FROM_LOOSE, Keep, Pruned, Retention
from checkpoints.store import Store
from checkpoints.types import CheckpointError

IDLE_S = 5.0  # after the end of a turn
_BUDGET_S = 60.0
_PRUNED_AT = "pruned_at"


class Upkeep:
    """Scheduled at the end of a turn, stopped by whatever needs the workspace."""

    def __init__(
        self,
        directory: Path,
        git: Git | None,
        keep: Keep,
        *,
        idle_s: float = IDLE_S,
        pack_from: int = PACK_FROM_LOOSE,
    ) -> None:
        self._directory = directory
        self._git = git
        self._keep = keep
        self._idle_s = idle_s
        self._pack_from = pack_from
        self._stop = threading.Event()
        self._timer: threading.Timer | None = None

    def schedule(self) -> None:
        """Run soon, unless interrupted before."""
        self.interrupt()
        self._stop = threading.Event()
        self._timer = threading.Timer(self._idle_s, self._run, args=(self._stop, _BUDGET_S))
        self._timer.daemon = True
        self._timer.start()

    def interrupt(self) -> None:
        """Stop at once: returns when nothing of it runs any more."""
        self._stop.set()
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            timer.join()

    def finish(self, budget_s: float) -> None:
        """Pack now if it is due; for a process that is about to end."""
        self.interrupt()
        self._run(threading.Event(), budget_s, may_prune=False)

    def _run(self, stop: threading.Event, budget_s: float, *, may_prune: bool = True) -> None:
        # What cannot be done now is done another time: nothing depends on it.
        with suppress(CheckpointError, OSError):
            self._with_store(stop, budget_s, may_prune)

    def _with_store(self, stop: threading.Event, budget_s: float, may_prune: bool) -> None:
        store = Store(self._directory / "store", self._git)
        catalog = Catalog(self._directory / "catalog.db")
        retention = Retention(
            self._directory, store, catalog, budget_s=budget_s, pack_from=self._pack_from, stop=stop
        )
        try:
            due = time.time() - float(catalog.meta(_PRUNED_AT) or 0) > DAY_S
            if may_prune and due:
                self._alone(lambda: prune(retention, catalog, self._keep))
            elif retention.needs_packing():
                with hold(self._directory / "lock", alone=False, what="packing", timeout_s=0):
                    retention.pack()
        finally:
            store.close()
            catalog.close()

    def _alone(self, work: Callable[[], object]) -> None:
        with hold(self._directory / "lock", alone=True, what="a prune in idle time", timeout_s=0):
            work()


def prune(retention: Retention, catalog: Catalog, keep: Keep) -> Pruned:
    """Prune and remember when."""
    done = retention.prune(keep)
    if done.finished:
        catalog.set_meta(_PRUNED_AT, str(time.time()))
    return done
