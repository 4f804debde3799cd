"""Gathers what one sandboxed command needs before bwrap is started, and gives it back afterwards."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox import git_ignores, git_settings, host, pins, repository
from sandbox.bwrap import Host, Kind, Layers, Mount
from sandbox.errors import SandboxError
from sandbox.pins import Pins
from sandbox.placeholders import Placeholders, StandIn, present
from sandbox.policy import Mode, Policy
from sandbox.private import private_dir
from sandbox.quarantine import after_lane


@frozen
class Plan:
    """What bwrap is told for one command."""

    host: Host
    layers: Layers


@frozen
class Preparation:
    """Facts and mounts of one command; `release` once everything in its sandbox is gone."""

    policy: Policy
    plan: Plan
    git: Mapping[str, bytes]  # files of `git_settings`
    pins: Pins
    checked: tuple[Mount, ...]  # sources that another command might exchange while bwrap starts
    placeholders: Sequence[Placeholders]  # one for each writable root
    gitlinks: frozenset[str]

    def release(self) -> list[str]:
        """Take stand-ins away; returns what a person should know about the workspace now."""
        try:
            return after_lane(self.policy, self.pins.lane, self.gitlinks) if self.pins.lane else []
        finally:  # a nested repository that cannot be moved leaves no stand-ins behind
            _release(self.placeholders)


def prepare(
    policy: Policy, environ: Mapping[str, str], tell: Callable[[Plan], None] = lambda _: None
) -> Preparation:
    """Look at the machine and the workspace, and make the stand-ins; `tell` hears of the plan ahead of that.
    Raises `SandboxError` for an impossible policy."""
    home_dir = host.home(environ)
    _check(policy)
    try:
        return _gather(policy, home_dir, environ, tell)
    except OSError as error:
        raise SandboxError(f"sandbox: cannot prepare `{error.filename}`: {error.strerror}") from error


def _gather(
    policy: Policy, home_dir: Path, environ: Mapping[str, str], tell: Callable[[Plan], None]
) -> Preparation:
    places = Places.of(policy)
    private_dir(places.blanks)
    host.private_cache(places.cache)
    facts = host.look(policy, home_dir, places.cache, environ)
    standing = {*present(policy.state_dir)}
    plans: list[Plan] = []

    def plan(found: Pins) -> None:
        plans.append(Plan(host=facts, layers=_layers(policy, home_dir, places, found)))
        tell(plans[0])

    found, held, others = _pin(policy, lambda: pins.collect(policy, home_dir, places.blanks), standing, plan)
    layers = plans[0].layers
    try:
        mounts = (*facts.system, *facts.hidden, *facts.home_parts, *layers)
        git = _git(policy, home_dir, sorted({*standing, *found.masked}), mounts)
        gitlinks = frozenset(repository.gitlinks(found.lane)) if found.lane else frozenset()
    except BaseException:
        _release(held)
        raise
    return Preparation(
        policy=policy,
        plan=plans[0],
        git=git,
        pins=found,
        checked=(*layers.granted, *layers.approved, *(layers.pins if others else ())),
        placeholders=held,
        gitlinks=gitlinks,
    )


def _layers(policy: Policy, home_dir: Path, places: "Places", found: Pins) -> Layers:
    beside = Kind.WRITE if policy.mode is Mode.WORKSPACE_WRITE else Kind.READ
    approved = [path for path in policy.writable if _needs_mount(path, policy)]
    return Layers(
        granted=_grants(Kind.READ, policy.readable) + _grants(beside, policy.extra_roots),
        pins=tuple(found.mounts),
        approved=_grants(Kind.WRITE, approved),
        covers=host.covers_of(policy, home_dir, places.cache),
    )


def _git(
    policy: Policy, home_dir: Path, places: Sequence[Path], mounts: Iterable[Mount]
) -> Mapping[str, bytes]:
    """The settings of git, which is to offer none of `places`: what is there for sandboxes only, and what a
    command does not see as it is."""
    roots = pins.roots(policy)
    shown = {str(policy.workspace): True} | {mount.target: mount.source == mount.target for mount in mounts}

    def is_shown(place: Path) -> bool:
        return next((shown[over] for over in map(str, (place, *place.parents)) if over in shown), False)

    ignores = git_ignores.collect(places, home_dir, is_shown)
    ignores.sort(key=lambda one: not any(one.top.is_relative_to(root) for root in roots))
    names = dict.fromkeys(name for root in roots for name in git_ignores.patterns(places, root))
    return git_settings.copy(home_dir, [*names], ignores, len(roots))


def _release(held: Iterable[Placeholders]) -> None:
    for journal in held:
        journal.release()


def _pin(
    policy: Policy, collect: Callable[[], Pins], standing: set[Path], plan: Callable[[Pins], None]
) -> tuple[Pins, list[Placeholders], int]:
    """Look, and make the stand-ins, each noted in the journal of its root and in `standing`, with those that
    others made there. `plan` is called when they are known, before any is made in the last root."""
    if policy.mode is not Mode.WORKSPACE_WRITE:
        found = collect()
        plan(found)
        return found, [], 0
    roots = sorted(
        {policy.workspace, *pins.roots_beside(policy)}
    )  # one order for all, so no two wait in a ring
    held: list[Placeholders] = []

    def hold(left: list[Path]) -> tuple[Pins, int]:
        if not left:
            return collect(), 0
        below: list[tuple[Pins, int]] = []

        def look(already: Sequence[Path]) -> list[StandIn]:
            below.append(hold(left[1:]))
            wanted = [each for each in below[0][0].stand_ins if _root_of(each.path, policy, roots) == left[0]]
            standing.update(already, (each.path for each in wanted))
            if left == roots:
                plan(below[0][0])
            return wanted

        journal = Placeholders.of(policy.state_dir, left[0])
        others = journal.acquire(look)
        held.append(journal)
        found, more = below[0]
        return found, others + more

    try:
        found, others = hold(roots)
    except BaseException:
        _release(held)
        raise
    return found, held, others


def _root_of(place: Path, policy: Policy, roots: Sequence[Path]) -> Path:
    """The innermost root of a stand-in; git data of the workspace that lies elsewhere is the workspace's."""
    if len(roots) == 1:
        return policy.workspace
    inside = [root for root in roots if place.is_relative_to(root)]
    return max(inside, key=lambda root: len(root.parts), default=policy.workspace)


def _check(policy: Policy) -> None:
    if policy.workspace == Path("/") or Path("/usr").is_relative_to(policy.workspace):
        raise SandboxError(
            "sandbox: the workspace cannot be `/` or hold the system; start in a project directory"
        )
    for path in policy.writable:
        if path != policy.workspace and policy.workspace.is_relative_to(path):
            raise SandboxError(f"sandbox: cannot grant `{path}`: it holds the workspace; name less of it")
    if policy.temp_dir:
        private_dir(policy.temp_dir)


def _needs_mount(path: Path, policy: Policy) -> bool:
    """A missing path of the workspace is simply not protected, so that the command can make it."""
    return not path.is_relative_to(policy.workspace) or path.exists()


@frozen
class Places:
    """Directories of ours."""

    blanks: Path  # what covers a file
    cache: Path  # the `~/.cache` of one workspace's commands; a shared one would carry files between projects

    @classmethod
    def of(cls, policy: Policy) -> "Places":
        name = hashlib.sha256(os.fsencode(policy.workspace)).hexdigest()[:16]
        base = policy.state_dir / "sandbox"
        return cls(blanks=base / "blanks", cache=base / "caches" / name)


def _grants(kind: Kind, paths: Iterable[Path]) -> tuple[Mount, ...]:
    return tuple(_grant(kind, path) for path in paths)


def _grant(kind: Kind, path: Path) -> Mount:
    if not path.is_absolute() or path == Path("/"):
        raise SandboxError(f"sandbox: cannot grant `{path}`")
    try:
        state = path.stat()
    except OSError as error:
        raise SandboxError(f"sandbox: cannot grant `{path}`: {error.strerror}") from error
    return Mount(kind=kind, source=str(path), target=str(path), identity=(state.st_dev, state.st_ino))
