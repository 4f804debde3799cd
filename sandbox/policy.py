"""What a command may touch: the one description that bwrap arguments, seccomp, environment and
limits are made from. Pure data, decided before anything is spawned."""

from enum import StrEnum
from pathlib import Path

from agent_tui.frozen import frozen


class Mode(StrEnum):
    """How far a command may reach."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    OFF = "off"


@frozen
class Limits:
    """Resource limits of one command and everything it starts."""

    tasks: int = 1024
    memory_bytes: int | None = None  # None: 75 % of the memory free at start
    file_size_bytes: int = 4 * 2**30
    tmp_bytes: int = 2 * 2**30


@frozen
class Policy:
    """The sandbox of one command. Paths are absolute and resolved; none comes from the model."""

    mode: Mode
    workspace: Path
    state_dir: Path  # the agent's own; never visible inside
    extra_roots: tuple[Path, ...] = ()  # writable beside the workspace
    readable: tuple[Path, ...] = ()  # visible read-only beyond the built-in allow list
    writable: tuple[Path, ...] = ()  # granted for one command by an approval
    network: bool = False
    hosts: tuple[str, ...] = ()  # as `targets.Target`: reached through a proxy while the network is off
    git_lane: bool = False  # `.git` writable but for what git executes
    config_dir: Path | None = None  # the agent's own configuration; never writable inside
    mask_env_files: bool = True  # `.env*` in the workspace read as empty
    temp_dir: Path | None = None  # private /tmp shared by the commands of a session; None: a fresh one each
    protected: tuple[str, ...] = ()  # further workspace paths that stay read-only, where they exist
    pass_env: tuple[str, ...] = ()  # further variables to hand on; secrets stay out even when named
    limits: Limits = Limits()

    @property
    def has_proxy(self) -> bool:
        """Whether single hosts can be reached, and nothing else of the network."""
        return bool(self.hosts) and not self.network and self.mode is not Mode.OFF
