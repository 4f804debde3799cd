"""What the system text and the first event say of the place a session runs in."""

import os
import platform
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from agent_tui import git_files
from agent_tui.config.toml_file import content
from agent_tui.config.trust import TrustStore, survey
from agent_tui.engine.types import ApprovalPolicy, Config
from context.builder import Surroundings, system_text
from context.instructions import Instructions, candidates, discover, nested
from sandbox.policy import Mode
from tools.ripgrep import find_ripgrep

MAX_PATH_CHARS = 4_096  # Linux takes no longer path (PATH_MAX)

_APPROVALS: Mapping[ApprovalPolicy, str] = {
    ApprovalPolicy.UNTRUSTED: "The person is asked before everything that is not provably read-only.",
    ApprovalPolicy.ON_REQUEST: "What the sandbox allows runs at once; leaving it asks the person.",
    ApprovalPolicy.NEVER: "Nobody can be asked: what the sandbox does not allow is refused.",
}


def frozen_system_text(config: Config, *, sandbox_available: bool) -> str:
    """The system text of a session, written once at its start."""
    return system_text(
        Surroundings(
            workspace=str(config.workspace),
            day=datetime.now().astimezone().date().isoformat(),
            platform=f"{platform.system()} {platform.release()}, {platform.machine()}",
            shell="bash",
            sandbox=_sandbox(config, sandbox_available),
            approval=_APPROVALS[config.approval],
            undo=_undo(config),
            extra_roots=tuple(str(root) for root in config.extra_roots),
            is_git=(config.workspace / ".git").exists(),
        )
    )


def instructions(config: Config) -> Instructions:
    """AGENTS.md files of the person, and of the project unless the person refused them when last asked,
    whatever became of them since; what changes while they are in use is read anew.

    A run without a person reads them unasked: they are text for the model like every file of the
    project, and have no power over sandbox, approvals or providers.
    """
    user_file = config.config_dir / "AGENTS.md"
    return discover(config.workspace, user_file=user_file, project=_project_wanted(config))


def project_text(config: Config, section: Callable[[], str] | None) -> str:
    """The pinned project text: instructions and, where wanted, a section made by `section`."""
    parts = (instructions(config).text, section() if section is not None else "")
    return "\n\n".join(part for part in parts if part)


def _project_wanted(config: Config) -> bool:
    found = survey(config.workspace, instructions=candidates(config.workspace))
    return not TrustStore(config.state_dir, config.workspace).look(found).refused


def workspace_files(
    workspace: Path, *, ignored: bool = False, stand_ins: Collection[Path] = ()
) -> dict[str, str]:
    """Files for mentions with git's word for each, '' for what is as it was staged; with `ignored` also
    those that ignore files leave out, and never `stand_ins`. May take a while."""
    paths = _listed(workspace, ignored=False)
    words = dict.fromkeys(_listed(workspace, ignored=True), "ignored") if ignored else {}
    words.update(dict.fromkeys(paths, ""))
    words.update(git_files.states(workspace, paths))
    for place in stand_ins:
        if place.is_relative_to(workspace):
            words.pop(str(place.relative_to(workspace)), None)
    return words


def _listed(workspace: Path, *, ignored: bool) -> list[str]:
    """By ripgrep where it is there."""
    rg = find_ripgrep()
    if rg is None:
        from tools.ignoring import Walk

        return [entry.path for entry in Walk(workspace, ignored=ignored) if not entry.is_dir]
    command = [rg, "--files", "--hidden", "--no-config", "--no-require-git", "--null", "--glob", "!.git"]
    command += [*(["--no-ignore"] if ignored else []), "."]
    done = subprocess.run(command, cwd=workspace, capture_output=True)
    names = (os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
    return sorted(name.removeprefix("./") for name in names)


def git_branch(workspace: Path) -> str:
    """The branch that the workspace is on, the start of the commit where it is on none, or ''."""
    found = git_files.repository(workspace)
    try:
        head = content(found.git_dir / "HEAD").decode().strip() if found is not None else ""
    except (OSError, ValueError):  # ValueError: no UTF-8
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:8]


def nested_instructions(config: Config, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Name and text of the instruction files beside `paths` and above, below the workspace; none where
    the person refused the project's instructions."""
    # what a call named that was not run may be no path at all
    usable = [path for path in paths if path.isprintable() and len(path) < MAX_PATH_CHARS]
    places = [(config.workspace / path).resolve() for path in usable]
    found = nested(places, workspace=config.workspace)
    if not found.files or not _project_wanted(config):  # asked last: after most calls there are none
        return []
    return [(file.shown, file.text) for file in found.files]


def settings_of(config: Config) -> dict[str, str]:
    """What is compared when a session is resumed."""
    return {
        "model": config.model.name if config.model else "",
        "sandbox": str(config.sandbox),
        "network": "on" if config.network else "off",
        "approval": str(config.approval),
        "verify": config.verify or "",
    }


def _sandbox(config: Config, available: bool) -> str:
    network = "on" if config.network else "off"
    if config.sandbox is Mode.OFF:
        return "Commands run without a sandbox, as the person."
    if not available:
        return "There is no sandbox on this machine: commands run only with the person's approval."
    if config.sandbox is Mode.READ_ONLY:
        return f"Commands run in a sandbox that can write nothing; network {network}."
    return f"Commands run in a sandbox that can write in the workspace and /tmp only; network {network}."


def _undo(config: Config) -> str:
    if config.checkpoints:
        return "A checkpoint is taken before each call that can change files; the person can go back to any."
    return "No checkpoints are taken: changes cannot be taken back."
