"""What the model is told and given beyond the conversation: instruction files, and what this version has
none of. Words for a person, not yet made safe for a screen."""

from agent_tui.engine.types import Config
from agent_tui.figures import count
from agent_tui.short_path import short_path

NO_MCP = "No MCP servers can be configured in this version"
NO_SKILLS = "No skills can be installed in this version"


def memory(config: Config) -> list[str]:
    """The instruction files that are in effect here, a line each, and why others are not; as they are on
    disk now."""
    from agent_tui.config.trust import TrustState, TrustStore, survey
    from agent_tui.surroundings import instructions
    from context.instructions import candidates

    found, project = instructions(config), candidates(config.workspace)
    trust = TrustStore(config.state_dir, config.workspace).look(
        survey(config.workspace, instructions=project)
    )
    refused = [short_path(path) for path in project] if trust.refused else []
    rows = [f"{file.shown}: {_size(file.text)}" for file in found.files]
    rows += found.problems
    rows += [f"{name}: not used, you did not trust the files of this directory" for name in refused]
    if not rows:
        place = short_path(config.config_dir / "AGENTS.md")
        return [f"No instruction files. AGENTS.md of the project and {place} would be; /init writes one"]
    told = {
        TrustState.UNKNOWN: "You were not asked whether to trust these files; they allow nothing",
        TrustState.CHANGED: "Files of this directory changed since you were asked; a start asks again",
        TrustState.TRUSTED: "You trusted the files of this directory as they are",
    }
    return [
        "Instruction files, as on disk now. Read at the start and at each compaction; of folders below, once "
        "work moves there:",
        *(f"  {row}" for row in rows),
        *([told[trust.state]] if project and trust.state in told else []),
    ]


def _size(text: str) -> str:
    lines, size = len(text.splitlines()), len(text.encode())
    return f"{count(lines, 'line')}, {count(size, 'byte')}"
