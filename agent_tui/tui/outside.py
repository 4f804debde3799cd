"""What leaves the screen for a while or for good: other programs, other sessions."""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import termios
import tty
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui import told
from agent_tui.tui import multiplexer, slash

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp


class Outside:
    """Runs an editor or the doctor on the bare terminal; notes which session is next."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self.next_arguments: list[str] | None = None  # of `agent-tui`, after this session ended

    def edit(self, text: str, *, suffix: str = ".md") -> str | None:
        """The text after `$VISUAL` or `$EDITOR`; None when there is none or it failed.

        What the editor left alone comes back as it was, also characters that a file cannot hold: a caller
        may take any difference for a decision.
        """
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
        if not editor:
            self._app.say("no editor: set $VISUAL or $EDITOR", 4.0)
            return None
        try:
            argv = shlex.split(editor)
        except ValueError:  # a quote without its end
            slash.notice(self._app, f"`{editor}` is no command; mend $VISUAL or $EDITOR")
            return None
        with tempfile.TemporaryDirectory(prefix="agent-tui-") as directory:
            file = Path(directory) / f"draft{suffix}"
            written = text.encode("utf-8", errors="replace")
            file.write_bytes(written)
            if self._run([*argv, str(file)]) != 0:
                return None
            left = file.read_bytes()
        if left.rstrip(b"\n") == written.rstrip(b"\n"):
            return text.rstrip("\n")
        return left.decode("utf-8", errors="replace").rstrip("\n")

    def _run(self, argv: list[str], then: Callable[[], None] = lambda: None) -> int:
        try:
            with self._app.suspend():
                code = subprocess.run(argv, cwd=self._app.config.workspace).returncode
                then()
                return code
        except OSError as error:
            slash.notice(self._app, f"`{argv[0]}` did not start: {error.strerror}")
            return 1

    async def look_at_multiplexer(self) -> None:
        """Say what tmux keeps from us, and which of its settings gives it."""
        if os.environ.get("TMUX") and not self._app.is_headless:
            state_dir = None if self._app.config.ephemeral else self._app.config.state_dir
            for text in told.news(state_dir, multiplexer.notices(await multiplexer.ask())):
                slash.notice(self._app, text)

    def doctor(self) -> None:
        """`agent-tui doctor` with what this session runs with, until a key."""
        self._command("doctor", *self._model(), *self._guards())

    def _command(self, *words: str) -> None:
        """One of our own, until a key. `-P`: the workspace may hold an `agent_tui` of its own."""
        self._run([sys.executable, "-P", "-m", "agent_tui", *words], then=_wait_for_key)

    def prune(self) -> None:
        """`agent-tui checkpoints prune`, until a key."""
        self._command("checkpoints", "prune")

    def switch(self, session_id: str, *, fork: bool = False) -> None:
        """End this session, which is kept, and continue another one."""
        self.next_arguments = ["resume", session_id, *(["--fork"] if fork else []), *self._guards()]
        self._app.acts.quit()

    def new(self) -> None:
        """End this session and begin an empty one with the same settings."""
        self.next_arguments = [*self._model(), *self._guards()]
        self._app.acts.quit()

    def _model(self) -> list[str]:
        """The model of this session, and its address where it is still the one that was given."""
        session = self._app.session
        name = session.status.model
        model = ["-m", name] if name else []
        if session.base_url and session.first_model.partition("/")[0] == name.partition("/")[0]:
            model += ["--base-url", session.base_url]
        return model

    def _guards(self) -> list[str]:
        """What guards the machine stays as this start was told."""
        config = self._app.config
        roots = [word for root in config.extra_roots for word in ("--add-dir", str(root))]
        network = ["--network"] if config.network else []
        return ["-s", config.sandbox.value, "-a", config.approval.value, *network, *roots]


def _wait_for_key() -> None:
    """Any key, Esc and Enter among them; none that was typed before; at once where there is no terminal."""
    with contextlib.suppress(OSError, termios.error):
        before = termios.tcgetattr(0)
        try:
            tty.setcbreak(0)  # drops what was typed so far
            sys.stdout.write("\nEsc or Enter returns to the session ")
            sys.stdout.flush()
            os.read(0, 64)
        finally:
            termios.tcsetattr(0, termios.TCSANOW, before)


def go_on(arguments: list[str], workspace: Path) -> None:
    """Become the `agent-tui` of the next session; does not return."""
    os.chdir(workspace)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "agent_tui", *arguments])
