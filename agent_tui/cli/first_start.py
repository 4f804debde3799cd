"""The first start, with no model configured: shows what was found here and offers the demo."""

import asyncio
import os
from collections.abc import Sequence

from agent_tui.config.layers import Settings
from agent_tui.config.providers import provider_table
from agent_tui.models.catalog import Provider, find_provider, provider_names
from agent_tui.models.local import find_local_servers

DEMO = "demo/scripted"
MODELS_OF_EACH = 3


def choose_model(settings: Settings) -> str | None:
    """Ask for a model; its name, or None to quit. Nothing leaves this machine before the answer."""
    table = provider_table(settings)
    providers = [find_provider(name, table) for name in provider_names(table)]
    keyed = [p for p in providers if p.api_key_env and os.environ.get(p.api_key_env) and not p.needs_base_url]
    served = [
        f"{s.provider}/{m}" for s in asyncio.run(find_local_servers(table)) for m in s.models[:MODELS_OF_EACH]
    ]
    choices = [(name, p.api_key_env) for p in keyed for name in _catalogued(p)]
    choices += [(name, "on this machine") for name in served]
    print("\nNo model is set up." if not choices else "\nChoose a model. Found:")
    if not choices:
        variables = sorted(p.api_key_env for p in providers if p.api_key_env and not p.needs_base_url)
        print(f"  Keys in the environment: none of {', '.join(variables)}")
        print(f"  Local servers: none of {', '.join(p.name for p in providers if p.local)} answered")
    return _ask([*choices, (DEMO, "scripted model, no key, no network, on a copy")], settings)


def _ask(choices: Sequence[tuple[str, str]], settings: Settings) -> str | None:
    print()
    for number, (name, where) in enumerate(choices, start=1):
        print(f"  {number}  {'Try the demo' if name == DEMO else name:<32}  {where}")
    print(f"\nA default is set in {settings.config_dir / 'config.toml'}; `agent-tui config init` writes one.")
    while True:
        try:
            answer = input(f"1 to {len(choices)}, PROVIDER/MODEL, or q to quit> ").strip()
        except EOFError:
            return None
        if answer in ("", "q"):
            return None
        if answer.isdigit() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1][0]
        if "/" in answer:
            return answer


def _catalogued(provider: Provider) -> list[str]:
    return [f"{provider.name}/{model}" for model in list(provider.table.get("models", {}))[:MODELS_OF_EACH]]
