"""Errors meant for people: one line that says what, where and what to do.

    AgentError                exit 1
    ├── UsageError            exit 2   arguments, configuration, no model
    └── UnavailableError      exit 5   sandbox, checkpoints or state store missing where required
        └── SessionBusyError  exit 5   another process owns the session

Packages below have their own base: `SandboxError`, `CheckpointError`, `RecordsError`.
Failures inside the loop are values, never exceptions.
"""


class AgentError(Exception):
    """Ends the program with one line on stderr and `exit_code`."""

    exit_code = 1


class UsageError(AgentError):
    """The command line, the environment or a settings file is wrong."""

    exit_code = 2


class UnavailableError(AgentError):
    """Something that the run requires cannot be had on this machine."""

    exit_code = 5


class SessionBusyError(UnavailableError):
    """Another live process owns the session; the text names it and the ways on."""
