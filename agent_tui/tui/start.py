"""What is asked before a session exists: which model, whether to trust, what without a sandbox (3.1).

Each function runs one small screen and returns plain data; the command line acts on it. None of
these screens has an editor, so nothing that is typed can end up in a message.
"""

import sys
from collections.abc import Mapping, Sequence

from agent_tui.frozen import frozen
from agent_tui.tui import toolkit, words
from agent_tui.tui.glyphs import Glyphs
from agent_tui.tui.probe import Probe
from agent_tui.tui.transcript.lines import BLANK, Line, Span, clip, line, untrusted, width_of, wrap

WIDEST_LABEL = 30  # columns of a fact's label, with the gap behind it


@frozen
class Option:
    """One row; `value` is what is returned."""

    key: str
    label: str
    note: str = ""
    value: str = ""
    keeps: bool = False  # whether the extra key of its sheet takes it


@frozen
class Sheet:
    """A screen of facts and options; `preselected` is an index, -1 for none."""

    place: str
    branch: str = ""
    heading: str
    warning: bool = False
    facts: Sequence[tuple[str, str]] = ()
    question: str = ""
    options: Sequence[Option] = ()
    below: Sequence[str] = ()
    health: Sequence[tuple[str, str]] = ()  # "Sandbox", "ok    commands write …"
    keys: str = ""
    foot: str = ""
    preselected: int = -1
    columns: int = 0  # of a label that has a note, at least
    extra: str = ""  # a key that takes the picked option, where it `keeps`, and returns it with a `+`

    def lines(self, at: int, width: int, glyphs: Glyphs) -> list[Line]:
        """Its body with the option `at` picked."""
        return sheet_lines(self, at, width, glyphs)


def sheet_lines(sheet: Sheet, at: int, width: int, glyphs: Glyphs) -> list[Line]:
    """The body of a sheet."""
    head = [Span("  "), Span("agent-tui", "strong"), Span("  "), *untrusted(sheet.place, strict=True)]
    if sheet.branch:
        head += [Span("  branch "), *untrusted(sheet.branch, strict=True)]
    lead: Line = (Span("! ", "attention"),) if sheet.warning else line("  ")
    rows: list[Line] = [
        clip(head, width, glyphs.more),
        BLANK,
        *wrap([Span(sheet.heading, "strong")], width, first=lead, rest=line("  ")),
        BLANK,
    ]
    labels_shown = [untrusted(label, "muted", strict=True) for label, _ in sheet.facts]
    column = min(max(map(width_of, labels_shown), default=0) + 4, WIDEST_LABEL)
    for label, (_, text) in zip(labels_shown, sheet.facts, strict=True):
        rows += _fact(label, text, column, width)
    rows += [BLANK] if sheet.facts else []
    if sheet.question:
        rows += [*wrap([Span(sheet.question)], width, first=line("  "), rest=line("  ")), BLANK]
    noted = (len(option.label) + 2 for option in sheet.options if option.note)
    labels = max(sheet.columns, *noted, 0)
    for index, option in enumerate(sheet.options):
        mark = Span("  > " if index == at else "    ", "accent")
        first = (
            mark,
            Span(f"{option.key}  ", "accent"),
            *untrusted(f"{option.label:<{labels}}", "strong" if index == at else "text", strict=True),
        )
        rows += wrap(
            untrusted(option.note, "muted", strict=True), width, first=first, rest=line(" " * (7 + labels))
        ) or [first]
    rows += [BLANK] if sheet.below else []
    for text in sheet.below:
        said = text.lstrip()
        indent = line(Span(" " * (len(text) - len(said)), "muted"))
        rows += wrap([Span(said, "muted")], width, first=indent, rest=indent)
    rows += [BLANK] if sheet.health else []
    for part, text in sheet.health:
        word, _, said = text.partition(" ")
        begun = line(Span(f"  {part:<9} ", "muted"), f"{word:<6}")
        rows += wrap([Span(said.strip())], width, first=begun, rest=line(" " * width_of(begun)))
    return rows


def _fact(label: Sequence[Span], text: str, column: int, width: int) -> list[Line]:
    """A label and what it says; a label too long for its column, as a file's name may be, stands above."""
    rest = line(" " * (column + 4))
    room = column - width_of(label)
    rows: list[Line] = []
    first: Line = (Span("    "), *label, Span(" " * max(room, 1)))
    if room < 1:
        rows += wrap(label, width, first=line("    "), rest=line("    "))
        first = rest
    return [*rows, *(wrap(untrusted(text, strict=True), width, first=first, rest=rest) or [first])]


def ask(sheet: Sheet, interface: Mapping[str, str]) -> str:
    """Show a sheet on this terminal; the value chosen, empty when the person left. Raises SystemExit.

    `interface` holds the settings of the look. What was typed before the sheet was there answers nothing.
    """
    descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
    answers = Probe(descriptor).answers()
    toolkit.prepare()
    from agent_tui.tui.sheet_app import SheetApp

    return SheetApp(sheet, toolkit.look_for(interface, answers)).answer(descriptor)


# --- the three sheets ----------------------------------------------------------------------------


@frozen
class FoundModel:
    """A model that could be used at once."""

    name: str  # PROVIDER/MODEL
    where: str  # the variable that holds its key, or the address of a local server
    window: int | None = None  # tokens; None: nothing is known of the model
    price: str = ""  # or, of what has none, whether it is loaded
    is_local: bool = False  # of a server on this machine


def model_sheet(
    place: str, found: Sequence[FoundModel], *, keys: Sequence[str], ports: Sequence[int], branch: str = "",
    health: Sequence[tuple[str, str]] = (), settings_file: str = "",
) -> Sheet:  # fmt: skip
    """First start. Values: a model's name (with `+`: keep as default, in `settings_file`), `key`, `address`,
    `demo`, `file`, empty for quit."""
    if not found:
        return _nothing_found_sheet(place, keys=keys, ports=ports, branch=branch, health=health)
    options = [
        Option(
            key=str(number),
            label=model.name,
            note=f"{model.where:<19} {_window(model):>5}  {model.price}".rstrip(),
            value=model.name,
            keeps=True,
        )
        for number, model in enumerate(found[:7], 1)
    ]
    options.append(Option(key=str(len(options) + 1), label="Another model or address", value="address"))
    options.append(
        Option(key=str(len(options) + 1), label="Try the demo", note="no key, no network", value="demo")
    )
    is_local = all(model.is_local for model in found)
    return Sheet(
        place=place,
        branch=branch,
        heading=f"Choose a model. Found{' on this machine, no key needed' if is_local else ''}:",
        options=options,
        below=_below_local(found) if is_local else _BELOW_KEYS,
        health=health,
        preselected=0,
        columns=27,
        extra="d",
        keys="Enter use once · d use and keep as default · q quit",
        foot=f"settings file: {settings_file}",
    )


_BELOW_KEYS = (
    "    Keys are read from the environment and never stored.",
    "    Prices are per million tokens, in / out.",
)
SMALL_WINDOW = 32_000  # tokens


def _window(model: FoundModel) -> str:
    return "" if model.window is None else words.tokens(model.window)


def _below_local(found: Sequence[FoundModel]) -> tuple[str, ...]:
    if any(model.window is not None and model.window < SMALL_WINDOW for model in found):
        return ("    ! A window under 32k is small for coding work; compaction will be frequent.",)
    return ()


def _nothing_found_sheet(
    place: str, *, keys: Sequence[str], ports: Sequence[int], branch: str, health: Sequence[tuple[str, str]]
) -> Sheet:
    return Sheet(
        place=place,
        branch=branch,
        heading="No model is set up.",
        facts=[
            ("Keys in the environment", "none of " + ", ".join(keys)),
            ("Local servers", f"none answered (ports {', '.join(map(str, ports))})"),
        ],
        question="Choose how to begin. Nothing leaves this machine before you do.",
        options=[
            Option(
                key="1",
                label="Enter a key",
                note="for this session only, or name a variable to read",
                value="key",
            ),
            Option(
                key="2",
                label="Enter an address",
                note="of a server, such as http://127.0.0.1:8000/v1",
                value="address",
            ),
            Option(
                key="3",
                label="Try the demo",
                note="scripted model, no key, no network, on a copy",
                value="demo",
            ),
            Option(
                key="4",
                label="Show the file",
                note="where a model is set, with three short examples",
                value="file",
            ),
            Option(key="5", label="Quit"),
        ],
        health=health,
        columns=19,
        keys="1–5 or ↑ ↓ and Enter",
        foot="agent-tui doctor checks everything in detail",
    )


def trust_sheet(place: str, files: Sequence[tuple[str, Sequence[str]]], *, branch: str = "") -> Sheet:
    """A directory with settings of its own. Values: `not_now`, `trust`, `view`, empty for quit."""
    kept = words.count(len(files), "file")
    facts = [
        (name if index == 0 else "", effect)
        for name, effects in files
        for index, effect in enumerate(effects)
    ]
    return Sheet(
        place=place,
        branch=branch,
        heading="This directory brings its own settings. They are off until you trust them.",
        facts=facts,
        options=[
            Option(
                key="n",
                label="Not now",
                note="work here without these settings; ask again if they change",
                value="not_now",
            ),
            Option(
                key="t",
                label="Trust",
                note="use them; ask again if one of these files changes",
                value="trust",
            ),
            Option(key="v", label="View", note="read the files first", value="view"),
            Option(key="q", label="Quit"),
        ],
        below=("  Commands run in the sandbox either way.",),
        preselected=0,
        columns=11,
        keys="n · t · v · q, or ↑ ↓ and Enter",
        foot=f"sha-256 of the {kept} is kept in your state directory, nothing here",
    )


def cut_sheet(place: str, *, target: str, done: int, total: int, branch: str = "") -> Sheet:
    """A rollback was killed in the middle. Values: `finish`, `undo`, empty for quit."""
    return Sheet(
        place=place,
        branch=branch,
        heading=f"A rollback was cut: {done} of {words.count(total, 'step')} done.",
        warning=True,
        facts=[("to", f"checkpoint {target}"), ("means", "some files are as then, others as before it")],
        options=[
            Option(key="f", label="Finish it", value="finish"),
            Option(key="u", label="Undo it", note="every file as before the rollback", value="undo"),
            Option(key="q", label="Quit"),
        ],
        keys="f · u · q, or ↑ ↓ and Enter",
        foot="what others changed since stays in both cases",
    )


def sandbox_sheet(
    place: str, *, what: str, fix: str, branch: str = "", health: Sequence[tuple[str, str]] = ()
) -> Sheet:
    """No sandbox here. Values: `ask_each`, `look_only`, empty for quit."""
    return Sheet(
        place=place,
        branch=branch,
        heading="The sandbox cannot start on this machine.",
        warning=True,
        facts=[
            ("what", what),
            ("means", "each command would run as you: your files, your keys, the network"),
            ("fix", fix),
            ("or", "start in a container and say so:  agent-tui -s off"),
        ],
        options=[
            Option(key="1", label="Ask for each command, without a sandbox", value="ask_each"),
            Option(
                key="2",
                label="Look only",
                note="reading and planning, no commands, no edits",
                value="look_only",
            ),
            Option(key="3", label="Quit and fix it"),
        ],
        health=health,
        columns=24,
        keys="1–3 or ↑ ↓ and Enter",
        foot="agent-tui doctor shows each part that works",
    )
