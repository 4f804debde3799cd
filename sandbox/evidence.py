"""What a command of a policy can see and write, asked from outside: the proof behind a denial."""

import os
from collections.abc import Mapping
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox import host, pins
from sandbox.policy import Mode, Policy

_LANE_KEEPS_CLOSED = ("hooks", "info", "config", "config.lock", "config.worktree", "modules", "commondir")

_PRIVATE_PLACES = ("/tmp", "/var/tmp", "/run", "/dev/shm")


@frozen
class Reach:
    """The reach of one policy, for this user on this machine."""

    policy: Policy
    home: Path
    environ: Mapping[str, str]

    def refuses_writing(self, place: Path, *, certain: bool) -> bool:
        """Whether `place` could be written outside, and may not be inside; with `certain` the error
        itself says the latter: our mounts are the read-only file systems here."""
        return os.access(existing(place), os.W_OK) and (certain or not self._is_writable(place))

    def refuses_reading(self, place: Path) -> bool:
        """Whether `place` exists and could be read outside, and is not there inside. Our own state
        and what holds the whole home never count, since nobody should be asked to grant them."""
        if not os.access(place, os.R_OK) or self._is_visible(place) or str(place) in _PRIVATE_PLACES:
            return False
        return not place.is_relative_to(self.policy.state_dir) and not self.home.is_relative_to(place)

    def is_lane_matter(self, place: Path) -> bool:
        """Whether the git lane would let `place` be written; hooks and settings it keeps closed."""
        parts = place.parts
        if self.policy.git_lane or self.policy.mode is not Mode.WORKSPACE_WRITE or ".git" not in parts:
            return False
        if not place.is_relative_to(self.policy.workspace) and self._is_beside(place):
            return False  # the lane is the workspace's
        below = parts[parts.index(".git") + 1 :]
        return not below or below[0] not in _LANE_KEEPS_CLOSED

    def _is_writable(self, place: Path) -> bool:
        policy = self.policy
        granted = (*policy.writable, Path("/dev"), Path("/proc"))
        if any(place.is_relative_to(root) for root in granted):
            return True
        if place.is_relative_to(policy.workspace) or self._is_beside(place):
            return policy.mode is Mode.WORKSPACE_WRITE and not self._is_pinned(place)
        if place.is_relative_to(self.home):
            own = (self.home / ".cache", *(self.home / name for name in host.PRIVATE))
            return any(place.is_relative_to(root) for root in own)
        return any(place.is_relative_to(root) for root in _PRIVATE_PLACES)

    def _is_beside(self, place: Path) -> bool:
        return any(place.is_relative_to(root) for root in self.policy.extra_roots)

    def _is_pinned(self, place: Path) -> bool:
        names = (*pins.DIRECTORIES, *pins.FILES, *pins.IF_PRESENT, *self.policy.protected, "HEAD")
        roots = (self.policy.workspace, *self.policy.extra_roots)
        for inside in [place.relative_to(root) for root in roots if place.is_relative_to(root)]:
            if ".git" in inside.parts or any(inside.is_relative_to(name) for name in names):
                return True
        return False

    def _is_visible(self, place: Path) -> bool:
        policy = self.policy
        roots = (policy.workspace, *policy.extra_roots, *policy.writable, *policy.readable)
        parts = host.home_parts(policy, self.home, self.home / ".cache", self.environ)
        bound = [mount for mount in (*host.system_tree(), *parts) if mount.source.startswith("/")]
        shown = [Path(mount.target) for mount in bound] + [Path("/proc"), Path("/dev")]
        return any(place.is_relative_to(root) for root in (*roots, *shown))


def existing(place: Path) -> Path:
    """The nearest path above, or the path itself, that exists."""
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    return place
