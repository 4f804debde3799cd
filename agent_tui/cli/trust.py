"""The question before the first start in a directory that brings settings or instructions."""

from typing import Literal

from agent_tui.config.trust import Survey, TrustStore, survey
from agent_tui.engine.types import Config
from context.instructions import NAMES, candidates

Answer = Literal["unasked", "trusted", "refused", "quit"]


def ask_for_trust(config: Config) -> Answer:
    """Ask once for exactly these files; nothing of them counts before the answer."""
    store = TrustStore(config.state_dir, config.workspace)
    found = survey(config.workspace, instructions=candidates(config.workspace))
    if not store.look(found).must_ask:
        return "unasked"
    found = survey(config.workspace, instructions=candidates(config.workspace), names=NAMES)
    print("This directory brings its own settings. They are off until you trust them.\n")
    for file in found.files:
        count = f"{file.lines} line{'' if file.lines == 1 else 's'}"
        what = "settings" if file.kind == "settings" else f"{count} of instructions for the model"
        print(f"  {_visible(file.shown)}  {what}")
    print("\n  n  Not now    work here without them; ask again if they change")
    print("  t  Trust      use them; ask again if one of these files changes")
    print("  v  View       read the files first")
    print("  q  Quit\n\nCommands run in the sandbox either way.")
    while True:
        answer = _line()
        if answer == "t":
            store.trust(found)
            return "trusted"
        if answer in ("n", ""):
            store.refuse(found)
            return "refused"
        if answer == "q":
            return "quit"
        if answer == "v":
            _show(found)


def _line() -> str:
    try:
        return input("n, t, v or q> ").strip().lower()
    except EOFError:
        return "q"


def _show(found: Survey) -> None:
    for file in found.files:
        print(f"--- {_visible(file.shown)}")
        print(_visible(file.path.read_text(encoding="utf-8", errors="replace")))


def _visible(text: str) -> str:
    from agent_tui.tui.safe_text import visible

    return visible(text)
