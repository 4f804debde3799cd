"""The sheets of screens.md 3.1 that are asked before a session exists; each is an app of its own."""

from agent_tui.tui.start import FoundModel, Sheet, cut_sheet, model_sheet, sandbox_sheet, trust_sheet
from tests.tui.gallery import HOSTILE

PLACE = "~/src/slugkit"
HEALTH = [
    ("Sandbox", "ok    commands write in this directory only, network off"),
    ("Undo", "ok    checkpoints are kept outside your project"),
]
FILE = "~/.config/agent-tui/config.toml"
HERE = "on this machine"
OPENAI, ANTHROPIC = "OPENAI_API_KEY", "ANTHROPIC_API_KEY"
KEYED = [
    FoundModel(name="openai/gpt-5.1", where=OPENAI, window=272_000, price="$1.25 / $10.00"),
    FoundModel(name="openai/gpt-5.1-mini", where=OPENAI, window=272_000, price="$0.25 / $2.00"),
    FoundModel(name="anthropic/claude-sonnet", where=ANTHROPIC, window=200_000, price="$3.00 / $15.00"),
    FoundModel(name="ollama/qwen3-coder:30b", where=HERE, window=64_000, price="no price", is_local=True),
]
LOCAL = [
    FoundModel(
        name="ollama/qwen3-coder:30b", where="127.0.0.1:11434", window=64_000, price="loaded", is_local=True
    ),
    FoundModel(name="ollama/devstral:24b", where="127.0.0.1:11434", price="not loaded", is_local=True),
    FoundModel(name="llamacpp/local", where="127.0.0.1:8080", window=16_000, is_local=True),
]
TRUSTED = [
    (
        ".agent-tui/config.toml",
        [
            'sets model = "openai/gpt-5.1-mini"',
            'sets verify = "make test"  (a command)',
            'ignored: sandbox = "off"  (may not be loosened)',
        ],
    ),
    ("AGENTS.md", ["38 lines of instructions for the model"]),
    ("tools/AGENTS.md", ["6 lines"]),
]


def _models(found: list[FoundModel]) -> Sheet:
    keys = [OPENAI, ANTHROPIC, "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY"]
    ports = [11_434, 1_234, 8_080]
    return model_sheet(PLACE, found, keys=keys, ports=ports, branch="main", health=HEALTH, settings_file=FILE)


SHEETS: dict[str, Sheet] = {
    "first-start-nothing-found": _models([]),
    "keys-found": _models(KEYED),
    "only-a-local-server-found": _models(LOCAL),
    "trust": trust_sheet(PLACE, TRUSTED, branch="main"),
    "trust-hostile": trust_sheet(PLACE, [*TRUSTED[:2], (f"tools/{HOSTILE}", ["6 lines"])], branch=HOSTILE),
    "sandbox-unavailable": sandbox_sheet(
        PLACE,
        what="`bwrap` may not create a user namespace (AppArmor)",
        fix="install the profile for /usr/bin/bwrap; agent-tui doctor prints it",
        branch="main",
        health=HEALTH[1:],
    ),
    "rollback-was-cut": cut_sheet(PLACE, target="7f3a/17", done=6, total=10, branch="main"),
}
