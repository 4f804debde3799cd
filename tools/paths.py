"""Where a path of the model leads, and whether a tool may go there without a grant."""

import os
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox.policy import Policy
from sandbox.survey import is_env_file
from tools.types import Grant

# programs and their headers: every sandboxed command sees them, nothing in them is private
_SYSTEM = (Path("/usr"), Path("/opt"), Path("/nix"), Path("/snap"))


@frozen
class Need:
    """What has to be granted before a path may be used; `never` says that nothing can."""

    reason: str
    never: bool = False


def place_of(text: str, policy: Policy) -> Path:
    """The absolute path a text means, with every link followed; it need not exist."""
    return Path(os.path.realpath(policy.workspace / _expanded(text)))


def name_of(text: str, policy: Policy) -> Path:
    """Like `place_of`, but a link at the end is not followed: the name itself is meant."""
    path = policy.workspace / _expanded(text)
    if path.name in ("", ".", ".."):
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent)) / path.name


def _expanded(text: str) -> Path:
    """A leading `~` as a shell takes it: of a user that does not exist it is a name like others."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def shown(path: Path, policy: Policy) -> str:
    """The path as a person or the model should read it: relative inside the workspace."""
    return str(path.relative_to(policy.workspace)) if path.is_relative_to(policy.workspace) else str(path)


def reading_need(path: Path, policy: Policy) -> Need | None:
    """None when a resolved path may be read."""
    if is_within(path, own_places(policy)):
        return Need(reason="it belongs to the agent's own state", never=True)
    if is_within(path, policy.readable) or is_within(path, policy.writable):
        return None
    if not is_within(path, (policy.workspace, *policy.extra_roots, *_SYSTEM)):
        return Need(reason=f"`{path}` lies outside the workspace")
    if policy.mask_env_files and is_env_file(path.name):
        return Need(reason=f"`{shown(path, policy)}` may hold secrets")
    return None


def writing_need(path: Path, policy: Policy) -> Need | None:
    """None when a resolved path may be written, made or removed."""
    if ".git" in path.parts:
        return Need(reason=f"`{shown(path, policy)}` is git's own; use git commands", never=True)
    own = (policy.state_dir, *((policy.config_dir,) if policy.config_dir else ()))
    if is_within(path, own) or ".agent-tui" in path.parts:
        return Need(reason=f"`{shown(path, policy)}` is configuration of the agent itself", never=True)
    if is_within(path, policy.writable):
        return None
    roots = (policy.workspace, *policy.extra_roots)
    if not is_within(path, roots):
        return Need(reason=f"`{path}` lies outside the workspace")
    if any(_is_obeyed(path, root, policy) for root in roots if path.is_relative_to(root)):
        return Need(reason=f"programs run or obey `{shown(path, policy)}`, so it is protected")
    if policy.mask_env_files and is_env_file(path.name) and os.path.lexists(path):
        return Need(reason=f"`{shown(path, policy)}` may hold secrets")
    return None


def _is_obeyed(path: Path, root: Path, policy: Policy) -> bool:
    from sandbox import pins

    inside = path.relative_to(root)
    names = (*pins.DIRECTORIES, *pins.FILES, *pins.IF_PRESENT, *policy.protected)
    is_named = any(inside.is_relative_to(name) for name in names) or str(inside) == "HEAD"
    return is_named or is_within(path, pins.obeyed(root))


def own_places(policy: Policy) -> tuple[Path, ...]:
    """What no tool shows, whatever was granted: the agent's own state."""
    return (policy.state_dir,)


def is_within(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a path is one of the roots or below one."""
    return any(path.is_relative_to(root) for root in roots)


def open_resolved(path: Path, flags: int) -> int:
    """Open exactly this resolved path: a link that has appeared in it since is refused.

    Raises OSError (ELOOP or ENOTDIR for such a link). Each directory is opened by name below the one
    before it, so that nothing can be exchanged behind the check.
    """
    directory = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in path.parts[1:-1]:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            os.close(directory)
            directory = below
        name = path.parts[-1] if len(path.parts) > 1 else "."
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    finally:
        os.close(directory)


def grant_for(need: Need | None, *, writing: bool) -> Grant:
    """The grant that answers a need."""
    if need is None or need.never:
        return Grant.NONE
    return Grant.WRITE_PATH if writing else Grant.READ_PATH
