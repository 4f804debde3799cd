"""What is asked before a session exists: trust in a directory's files, a model, what without a sandbox.

On a screen each question is a sheet of `agent_tui.tui.start`; in line mode the same words as text.
"""

import asyncio
import os
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from agent_tui.cli.entering import LEAVE, Choice, ask_line, entered_address, entered_key
from agent_tui.config.edit import keep_model
from agent_tui.config.layers import Settings, project_effects
from agent_tui.config.paths import CONFIG_NAME
from agent_tui.config.providers import provider_table
from agent_tui.config.trust import Survey, TrustFile, TrustStore, survey
from agent_tui.engine.types import Config
from agent_tui.figures import count
from agent_tui.frozen import frozen
from agent_tui.models.catalog import CatalogError, Provider, find_model, readable_providers
from agent_tui.models.example import EXAMPLE_LOCAL_MODEL, EXAMPLE_MODEL
from agent_tui.models.local import LocalServer, find_local_servers
from agent_tui.safe_text import one_line, visible
from agent_tui.short_path import short_path
from agent_tui.tui.start import FoundModel, Sheet, ask, cut_sheet, model_sheet, sandbox_sheet, trust_sheet
from checkpoints.types import CutRollback
from context.instructions import NAMES, candidates

MODELS_OF_EACH = 3
EXAMPLES = f"""\
model = "{EXAMPLE_MODEL}"        # the key in OPENAI_API_KEY

model = "{EXAMPLE_LOCAL_MODEL}"    # a server on this machine, no key

model = "compatible/NAME"           # any other server
[providers.compatible]
base_url = "http://127.0.0.1:8000/v1"
"""


@frozen
class Asker:
    """How questions are put here."""

    place: str
    branch: str
    plain: bool
    interface: Mapping[str, str]  # settings of the interface

    def ask(self, sheet: Sheet) -> str:
        """The value chosen, empty when the person left."""
        return _ask_in_lines(sheet) if self.plain else ask(sheet, self.interface)


def ask_for_trust(
    asker: Asker, config: Config, settings: Settings
) -> Literal["unasked", "trusted", "refused", "quit"]:
    """Ask once for exactly these files; nothing of them counts before the answer."""
    store = TrustStore(config.state_dir, config.workspace)
    found = survey(config.workspace, instructions=candidates(config.workspace))
    if not store.look(found).must_ask:
        return "unasked"
    found = survey(config.workspace, instructions=candidates(config.workspace), names=NAMES)
    sheet = trust_sheet(asker.place, _effects(found.files, settings), branch=asker.branch)
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
    keys = [p.api_key_env for p in providers if p.api_key_env and not p.needs_base_url]
    file = settings.config_dir / CONFIG_NAME
    sheet = model_sheet(
        asker.place,
        _found(providers, asyncio.run(find_local_servers(table))),
        keys=keys,
        ports=_ports(providers),
        branch=asker.branch,
        health=health,
        settings_file=short_path(file),
    )
    while True:
        match asker.ask(sheet):
            case "":
                return None
            case "demo":
                return Choice(demo=True)
            case "key" | "address" as way:
                choice = entered_key(providers) if way == "key" else entered_address(settings)
                if choice is not None and choice.keep:
                    _keep(choice.model, settings, choice.base_url)
                if choice is not None:
                    return choice
            case "file":
                made = "" if file.exists() else "\n`agent-tui config init` makes it"
                print(f"{one_line(str(file), strict=True)}{made}\n\nOne of these in it:\n\n{EXAMPLES}")
                return None
            case chosen:
                name = chosen.removesuffix("+")
                if chosen != name:
                    _keep(name, settings)
                return Choice(model=name)


def _keep(name: str, settings: Settings, address: str = "") -> None:
    kept_in = short_path(keep_model(name, settings, address))
    print(one_line(f"kept as default in {kept_in}", strict=True))


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


def ask_without_sandbox(asker: Asker, config: Config, what: str, fix: str) -> str:
    """`ask_each`, `look_only`, or empty to quit."""
    undo = health_of(config, has_sandbox=False)[1:]
    return asker.ask(sandbox_sheet(asker.place, what=what, fix=fix, branch=asker.branch, health=undo))


def _effects(files: Sequence[TrustFile], settings: Settings) -> list[tuple[str, Sequence[str]]]:
    """Each file with what it would do; what lines of instructions are is said once."""
    effects: list[tuple[str, Sequence[str]]] = []
    kind = " of instructions for the model"
    for file in files:
        if not file.sha256:
            told = ["cannot be read, so it is never used"]
        elif file.kind == "settings":
            told = project_effects(settings, file.path, file.path.read_bytes())
        else:
            told, kind = [f"{count(file.lines, 'line')}{kind}"], ""
        effects.append((file.shown, told))
    return effects


def _view(found: Survey, asker: Asker) -> None:
    for file in found.files:
        print(f"--- {one_line(file.shown, strict=True)}")
        print(visible(file.path.read_text(encoding="utf-8", errors="replace"), strict=True))
    if not asker.plain:
        ask_line("Enter goes back> ")


def _found(providers: Sequence[Provider], servers: Sequence[LocalServer]) -> list[FoundModel]:
    """Models of providers that have a key, then those that servers on this machine name."""
    with_key = [p for p in providers if not p.needs_base_url and os.environ.get(p.api_key_env or "-")]
    found: list[FoundModel] = []
    for provider in with_key:
        found += _models(provider, list(provider.table.get("models", {})), provider.api_key_env)
    known = {provider.name: provider for provider in providers}
    for server in servers:
        address = server.base_url.partition("://")[2].partition("/")[0]
        where = "on this machine" if with_key else address
        for model in server.models[:MODELS_OF_EACH]:
            price = "no price" if with_key else server.state_of(model)
            found += _models(known[server.provider], [model], where, price=price)
    return found


def _models(provider: Provider, names: Sequence[str], where: str, *, price: str = "") -> Iterator[FoundModel]:
    """The first ones, with what stands in place of a price; settings of one that are wrong are told when
    it is chosen."""
    for name in names[:MODELS_OF_EACH]:
        with suppress(CatalogError):
            info, _ = find_model(provider, name)
            known = not provider.local and info.price_input is not None and info.price_output is not None
            yield FoundModel(
                name=info.name,
                where=where,
                window=info.context_window if info.known else None,
                price=f"${info.price_input:.2f} / ${info.price_output:.2f}" if known else price,
                is_local=provider.local,
            )


def _ports(providers: Sequence[Provider]) -> list[int]:
    return [int(p.base_url.rpartition(":")[2].partition("/")[0]) for p in providers if p.local and p.base_url]


def _ask_in_lines(sheet: Sheet) -> str:
    print(f"\n{sheet.heading}\n")
    for label, text in sheet.facts:
        print(f"  {one_line(label, strict=True)}  {one_line(text, strict=True)}")
    print(f"\n{sheet.question}" if sheet.question else "")
    for option in sheet.options:
        print(one_line(f"  {option.key}  {option.label}  {option.note}".rstrip(), strict=True))
    print("\n".join(["", *map(str.strip, sheet.below)]))
    for label, text in sheet.health:
        print(f"{label}: {' '.join(text.split())}")
    keys = [option.key for option in sheet.options]
    leave = [] if any(not option.value for option in sheet.options) else [LEAVE]
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before it was there is no answer
    while True:
        answer = ask_line(f"{', '.join([*keys, *leave])}> ").lower()
        if not answer and sheet.preselected >= 0:
            return sheet.options[sheet.preselected].value
        if answer in keys:
            return sheet.options[keys.index(answer)].value
        if answer in ("", LEAVE):
            return ""
