"""What leaves the screen for a while or for good: other programs, other sessions."""

import contextlib
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui import external_editor, handover, told
from agent_tui.engine.types import Config
from agent_tui.tui import multiplexer, slash
from agent_tui.tui.opening import KEYS

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

ENDS_S = 0.5  # for a program in front to end once we are told to


class Outside:
    """Runs an editor or the doctor on the bare terminal; notes which session is next."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self.next_arguments: list[str] | None = None  # of `agent-tui`, after this session ended

    def edit(self, text: str) -> str | None:
        """The text after `$VISUAL` or `$EDITOR`; None when there is none or it failed."""
        try:
            return external_editor.edited(text, self._in_front)
        except external_editor.EditorError as error:
            slash.notice(self._app, str(error))
            return None

    def edit_files(self, files: Mapping[str, str]) -> dict[str, str] | None:
        """Those of the files that the editor changed; what became of it is said where there are none."""
        try:
            return external_editor.changed(files, self._in_front)
        except external_editor.EditorError as error:
            slash.notice(self._app, str(error))
            return None

    def _in_front(self, argv: Sequence[str], then: Callable[[], None] = lambda: None) -> int:
        """The exit code of a program that has the terminal, also for what comes then. Raises OSError."""
        failed: OSError | _ToldToEndError
        with self._app.suspend():  # which an exception would not end
            try:
                with _signals_of_another():
                    code = _ended(argv, self._app.config.workspace)
                    then()
                    return code
            except (OSError, _ToldToEndError) as error:
                failed = error
        if isinstance(failed, OSError):
            raise failed
        self._app.acts.end_by_signal(128 + failed.number)
        return 1

    async def look_at_multiplexer(self) -> None:
        """Say what tmux keeps from us, and which of its settings gives it."""
        if os.environ.get("TMUX") and not self._app.is_headless:
            state_dir = None if self._app.config.ephemeral else self._app.config.state_dir
            answer = await multiplexer.ask()
            self._app.keys_told = multiplexer.sends_modified_enter(answer)
            self._app.notifier.around_tmux = multiplexer.passes_to(answer)
            for text in told.news(state_dir, multiplexer.notices(answer)):
                self._app.feed.opening.tell(text, information=True, about=KEYS)
            self._app.flush()

    def doctor(self) -> None:
        """`agent-tui doctor` with what this session runs with, until a key."""
        self._command("doctor", *self._anew())

    def _command(self, *words: str) -> None:
        """One of our own, until a key."""
        try:
            self._in_front([*handover.PROGRAM, *words], then=_wait_for_key)
        except OSError as error:
            slash.notice(self._app, f"`agent-tui` did not start: {error.strerror}")

    def prune(self) -> None:
        """`agent-tui checkpoints prune`, until a key."""
        self._command("checkpoints", "prune")

    def switch(self, session_id: str, *, fork: bool = False) -> None:
        """End this session, which is kept, and continue another one."""
        self.next_arguments = handover.resuming(self._guards(), session_id, fork=fork)
        self._app.acts.quit()

    def new(self) -> None:
        """End this session and begin an empty one with the same settings."""
        self.next_arguments = self._anew()
        self._app.acts.quit()

    def _anew(self) -> list[str]:
        session = self._app.session
        return handover.anew(self._guards(), session.status.model, (session.first_model, session.base_url))

    def _guards(self) -> Config:
        status = self._app.session.status
        return handover.as_now(self._app.config, status.sandbox, status.approval)


class _ToldToEndError(Exception):
    """By a signal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def _signals_of_another() -> Iterator[None]:
    """While another program has the terminal and our loop stands still: Ctrl+C is meant for that program,
    and what tells us to end does not wait for it. Raises _ToldToEndError."""

    def end(number: int, _: object) -> None:
        raise _ToldToEndError(number)

    noted = signal.set_wakeup_fd(-1)  # else the loop would act upon them later
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(noted)


def _ended(argv: Sequence[str], directory: Path) -> int:
    """The exit code of a program, which does not outlive us."""
    with subprocess.Popen(argv, cwd=directory) as process:
        try:
            return process.wait()
        except _ToldToEndError:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_S)
            process.kill()
            raise


def _wait_for_key() -> None:
    """Any key, Esc and Enter among them; none that was typed before; at once where there is no terminal."""
    with contextlib.suppress(OSError, termios.error):
        before = termios.tcgetattr(0)
        try:
            mode = termios.tcgetattr(0)
            mode[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)  # Ctrl+C is a key too
            termios.tcsetattr(0, termios.TCSAFLUSH, mode)  # drops what was typed so far
            sys.stdout.write("\nEsc or Enter returns to the session ")
            sys.stdout.flush()
            os.read(0, 64)
        finally:
            termios.tcsetattr(0, termios.TCSANOW, before)
