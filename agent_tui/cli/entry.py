"""Runs one command line to an exit code: the last place that an error can reach."""

import importlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn, TextIO

from agent_tui.errors import AgentError, UsageError

INTERNAL_FAILURE = 1
INTERRUPTED = 130  # 128 + SIGINT
PIPE_CLOSED = 141  # 128 + SIGPIPE: the reader of our output went away


def run(argv: Sequence[str]) -> int:
    """Parse, dispatch, and turn every failure into one line on stderr and its exit code."""
    show_traceback = "--debug" in argv or os.environ.get("AGENT_TUI_DEBUG", "") not in ("", "0", "false")
    _end_cleanly_by_signal()
    _take_any_text(sys.stdout)
    try:
        code = _run(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as ended:  # by `_end`
        return int(ended.code or 0)
    except BrokenPipeError:
        _silence_stdout()
        return PIPE_CLOSED
    except Exception as error:
        with suppress(OSError):  # stderr is full or gone: the exit code still tells
            if show_traceback:
                traceback.print_exc()
            print(_line(error), file=sys.stderr, flush=True)
        return _exit_code(error)
    return code


def _take_any_text(stream: TextIO) -> None:
    """What the locale's encoding does not have, such as a name that is no UTF-8, becomes its escape."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def _end_cleanly_by_signal() -> None:
    """Being told to end unwinds as an interrupt does, so that nothing stays behind; those who run
    for long have handlers of their own. A signal that was to be ignored still is (nohup)."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _run(argv: Sequence[str]) -> int:
    from agent_tui.cli.parser import parse

    try:
        spec, arguments = parse(argv)
    except SystemExit as done:  # `--help` was printed
        return int(done.code or 0)
    command = importlib.import_module(f"agent_tui.cli.{spec.module}")
    return int(command.run(arguments))


def _exit_code(error: Exception) -> int:
    return error.exit_code if isinstance(error, AgentError) else _package_code(error)


def _package_code(error: Exception) -> int:
    """Packages below have their own errors; what they cannot do is what exit code 5 is for, unless
    what was asked for does not exist."""
    names = {cls.__name__ for cls in type(error).__mro__}
    if "NotThereError" in names:
        return UsageError.exit_code
    return 5 if names & {"SandboxError", "CheckpointError", "RecordsError"} else INTERNAL_FAILURE


def _line(error: Exception) -> str:
    if isinstance(error, OSError) and _stdout_is_stuck():
        return f"agent-tui: stdout cannot be written: {error.strerror}"
    from agent_tui.safe_text import visible  # an error names what others named: files, models, keys

    text = visible(" ".join(str(error).split()), strict=True)
    if isinstance(error, AgentError) or _package_code(error) != INTERNAL_FAILURE:
        return f"agent-tui: {text.removeprefix('agent-tui: ')}"
    kind = type(error).__name__
    return f"agent-tui: internal error: {kind}: {text}; `--debug` shows where"


def _stdout_is_stuck() -> bool:
    """Whether what was printed cannot be written; it is given up then."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence_stdout()
        return True
    return False


def _silence_stdout() -> None:
    """The interpreter flushes stdout at exit; into a closed pipe that would print a second error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
