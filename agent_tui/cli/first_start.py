"""The first start, with no model configured: shows what was found here and offers the demo."""

import json
import os
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from agent_tui.config.layers import Settings
from agent_tui.config.providers import provider_table
from agent_tui.models.catalog import Provider, find_provider, provider_names

DEMO = "demo/scripted"
ANSWER_WITHIN_S = 0.5  # of a local server
MODELS_OF_EACH = 3


def choose_model(settings: Settings) -> str | None:
    """Ask for a model; its name, or None to quit. Nothing leaves this machine before the answer."""
    table = provider_table(settings)
    providers = [find_provider(name, table) for name in provider_names(table)]
    keyed = [p for p in providers if p.api_key_env and os.environ.get(p.api_key_env) and not p.needs_base_url]
    local = [p for p in providers if p.local and p.base_url]
    with ThreadPoolExecutor(max_workers=max(1, len(local))) as pool:
        found = [model for models in pool.map(_served, local) for model in models]
    choices = [(name, p.api_key_env) for p in keyed for name in _catalogued(p)]
    choices += [(name, "on this machine") for name in found]
    print("\nNo model is set up." if not choices else "\nChoose a model. Found:")
    if not choices:
        variables = sorted(p.api_key_env for p in providers if p.api_key_env and not p.needs_base_url)
        print(f"  Keys in the environment: none of {', '.join(variables)}")
        print(f"  Local servers: none of {', '.join(sorted(p.name for p in local))} answered")
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


def _served(provider: Provider) -> list[str]:
    """What a server on this machine says it has; nothing where none answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{provider.base_url}/models", timeout=ANSWER_WITHIN_S) as response:
            listed = json.loads(response.read(1_000_000))["data"]
            return [f"{provider.name}/{entry['id']}" for entry in listed][:MODELS_OF_EACH]
    except (OSError, ValueError, KeyError, TypeError):
        return []
