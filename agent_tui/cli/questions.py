"""What is asked before a session exists: trust in a directory's files, a model, what without a sandbox.

On a screen each question is a sheet of `agent_tui.tui.start`; in line mode the same words as text.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_tui.cli.entering import Choice, ask_line, entered_address, entered_key
from agent_tui.config.edit import set_value
from agent_tui.config.layers import Settings, project_effects
from agent_tui.config.providers import provider_table
from agent_tui.config.trust import Survey, TrustFile, TrustStore, survey
from agent_tui.engine.types import Config
from agent_tui.models.catalog import Provider, find_model, readable_providers
from agent_tui.models.example import EXAMPLE_LOCAL_MODEL, EXAMPLE_MODEL
from agent_tui.models.local import find_local_servers
from agent_tui.safe_text import visible
from agent_tui.tui.start import FoundModel, Sheet, ask, cut_sheet, model_sheet, sandbox_sheet, trust_sheet
from checkpoints.types import CutRollback
from context.instructions import NAMES, candidates

MODELS_OF_EACH = 3
EXAMPLES = f"""\
model = "{EXAMPLE_MODEL}"        # the key in OPENAI_API_KEY
model = "{EXAMPLE_LOCAL_MODEL}"    # a server on this machine, no key
model = "compatible/NAME"           # any other server, with [providers.compatible] base_url = "http://…/v1"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """How questions are put here."""

    place: str
    branch: str
    plain: bool
    theme: str

    def ask(self, sheet: Sheet) -> str:
        """The value chosen, empty when the person left."""
        return _ask_in_lines(sheet) if self.plain else ask(sheet, self.theme)


def ask_for_trust(
    asker: Asker, config: Config, settings: Settings
) -> Literal["unasked", "trusted", "refused", "quit"]:
    """Ask once for exactly these files; nothing of them counts before the answer."""
    store = TrustStore(config.state_dir, config.workspace)
    found = survey(config.workspace, instructions=candidates(config.workspace))
    if not store.look(found).must_ask:
        return "unasked"
    found = survey(config.workspace, instructions=candidates(config.workspace), names=NAMES)
    sheet = trust_sheet(
        asker.place, [(file.shown, _effects(file, settings)) for file in found.files], branch=asker.branch
    )
    while True:
        match asker.ask(sheet):
            case "trust":
                store.trust(found)
                return "trusted"
            case "not_now":
                store.refuse(found)
                return "refused"
            case "view":
                _view(found, asker)
            case _:
                return "quit"


def ask_for_model(asker: Asker, settings: Settings, health: Sequence[tuple[str, str]] = ()) -> Choice | None:
    """Ask which model; None to quit. Nothing leaves this machine before the answer."""
    table = provider_table(settings)
    providers = list(readable_providers(table))
    keys = sorted(p.api_key_env for p in providers if p.api_key_env and not p.needs_base_url)
    found = _with_keys(providers)
    for server in asyncio.run(find_local_servers(table)):
        address = server.base_url.removeprefix("http://").partition("/")[0]
        names = server.models[:MODELS_OF_EACH]
        found += [FoundModel(name=f"{server.provider}/{name}", where=address) for name in names]
    sheet = model_sheet(
        asker.place, found, keys=keys, ports=_ports(providers), branch=asker.branch, health=health
    )
    while True:
        match asker.ask(sheet):
            case "":
                return None
            case "demo":
                return Choice(demo=True)
            case "key" | "address" as way:
                choice = entered_key(providers) if way == "key" else entered_address(settings)
                if choice is not None:
                    return choice
            case "file":
                print(f"{settings.config_dir / 'config.toml'}\n\n{EXAMPLES}")
                return None
            case chosen:
                name = chosen.removesuffix("+")
                if chosen != name:
                    print(f"kept as default in {set_value(settings.config_dir, 'model', name)}")
                return Choice(model=name)


def health_of(config: Config, *, has_sandbox: bool) -> list[tuple[str, str]]:
    """What the first screen says of sandbox and undo."""
    network = f"network {'on' if config.network else 'off'}"
    if config.sandbox == "off":
        sandbox = "OFF   commands run as you: your files, your keys, the network"
    elif not has_sandbox:
        sandbox = "none  not available here; what to do is asked next"
    elif config.sandbox == "read-only":
        sandbox = f"ok    commands change no file, {network}"
    else:
        sandbox = f"ok    commands write in this directory only, {network}"
    kept = "ok    checkpoints are kept outside your project"
    return [("Sandbox", sandbox), ("Undo", kept if config.checkpoints else "OFF   no checkpoints are taken")]


def ask_about_cut(asker: Asker, config: Config, cut: CutRollback) -> bool:
    """Finish or undo a rollback that was killed; False to quit."""
    from checkpoints.offline import settle_cut

    sheet = cut_sheet(asker.place, target=cut.target, done=cut.done, total=cut.total, branch=asker.branch)
    answer = asker.ask(sheet)
    if answer:
        settle_cut(config.workspace, config.state_dir, cut, complete=answer == "finish")
    return bool(answer)


def ask_without_sandbox(asker: Asker, what: str, fix: str) -> str:
    """`ask_each`, `look_only`, or empty to quit."""
    return asker.ask(sandbox_sheet(asker.place, what=what, fix=fix, branch=asker.branch))


def _effects(file: TrustFile, settings: Settings) -> list[str]:
    if not file.sha256:
        return ["cannot be read, so it is never used"]
    if file.kind == "settings":
        return project_effects(settings, file.path, file.path.read_bytes())
    return [f"{file.lines} line{'' if file.lines == 1 else 's'} of instructions for the model"]


def _view(found: Survey, asker: Asker) -> None:
    for file in found.files:
        print(f"--- {visible(file.shown)}")
        print(visible(file.path.read_text(encoding="utf-8", errors="replace")))
    if not asker.plain:
        ask_line("Enter goes back> ")


def _with_keys(providers: Sequence[Provider]) -> list[FoundModel]:
    found = []
    for provider in providers:
        if provider.needs_base_url or not os.environ.get(provider.api_key_env or "-"):
            continue
        for model in list(provider.table.get("models", {}))[:MODELS_OF_EACH]:
            info, _ = find_model(provider, model)
            prices = (info.price_input, info.price_output)
            price = f"${prices[0]:.2f} / ${prices[1]:.2f}" if None not in prices else ""
            window = f"{info.context_window // 1000}k"
            found.append(FoundModel(name=info.name, where=provider.api_key_env, window=window, price=price))
    return found


def _ports(providers: Sequence[Provider]) -> list[int]:
    return [int(p.base_url.rpartition(":")[2].partition("/")[0]) for p in providers if p.local and p.base_url]


def _ask_in_lines(sheet: Sheet) -> str:
    print(f"\n{sheet.heading}\n")
    for label, text in sheet.facts:
        print(f"  {visible(label)}  {visible(text)}")
    print(f"\n{sheet.question}" if sheet.question else "")
    for option in sheet.options:
        print(f"  {option.key}  {visible(option.label)}  {visible(option.note)}".rstrip())
    print("\n".join(["", *sheet.below]))
    for label, text in sheet.health:
        print(f"{label}: {' '.join(text.split())}")
    keys = [option.key for option in sheet.options]
    while True:
        answer = ask_line(f"{', '.join(keys)}> ").lower()
        if not answer and sheet.preselected >= 0:
            return sheet.options[sheet.preselected].value
        if answer in keys:
            return sheet.options[keys.index(answer)].value
        if answer in ("", "q"):
            return ""
