"""The slash commands of plain mode: parsing, and the text of their answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_tui.engine.commands import (
    CommandBody,
    Compact,
    EditPending,
    Inspect,
    Interrupt,
    Redo,
    Rollback,
    Set,
    Subject,
    Submit,
)
from agent_tui.engine.types import InputKind
from agent_tui.safe_text import one_line, visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a line means: a command to send, words to print, or leaving."""

    body: CommandBody | None = None
    text: str = ""
    show: Callable[[Any], Sequence[str]] | None = None  # renders the data of an Inspect
    leave: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slash:
    """One slash command."""

    usage: str
    does: str
    parse: Callable[[str], Parsed]


def _checkpoints(data: Any) -> list[str]:
    lines = []
    for found in data:
        cause = found["cause"]
        before = one_line(cause["summary"] or cause["phase"])
        lines.append(f"{found['id']}: before {before}, {len(found['changes'])} files changed since")
    return lines or ["No checkpoints yet."]


def _plain_text(data: Any) -> list[str]:
    return visible(str(data)).splitlines() or ["Nothing."]


def _pairs(data: Any) -> list[str]:
    if isinstance(data, Mapping):
        return [f"{one_line(str(key))}: {one_line(str(value))}" for key, value in data.items()] or [
            "Nothing."
        ]
    return [one_line(str(entry)) for entry in data] or ["Nothing."]


def _costs(data: Any) -> list[str]:
    """One line for the turn, its newest run, the session, and each model."""
    scopes = {**data, **{f"model {name}": tally for name, tally in data["models"].items()}}
    return [f"{one_line(name)}: {_tally(scopes[name])}" for name in scopes if name != "models"]


def _tally(tally: Mapping[str, Any]) -> str:
    cost = "price unknown" if tally["cost_usd"] is None else f"{tally['cost_usd']:.4f} dollars"
    return (
        f"{tally['requests']} requests, {tally['input_tokens']:,} tokens in ("
        f"{tally['cache_read_tokens']:,} read from a cache, "
        f"{tally['cache_write_tokens']:,} written to one), "
        f"{tally['output_tokens']:,} out, {cost}"
    )


def _plan(data: Any) -> list[str]:
    lines = [
        f"{step['action']} {one_line(step['path'], strict=True)} {one_line(step.get('detail', ''))}".rstrip()
        for step in data["operations"]
    ]
    lines += [f"conflict, kept as yours: {one_line(c['path'], strict=True)}" for c in data["conflicts"]]
    return lines or ["Nothing would change."]


def _inspect(subject: Subject, show: Callable[[Any], Sequence[str]], **args: str) -> Parsed:
    return Parsed(body=Inspect(subject=subject, args=args), show=show)


def _approvals(rest: str) -> Parsed:
    if rest.startswith("remove "):
        return _inspect(Subject.GRANTS, _pairs, remove=rest.removeprefix("remove ").strip())
    if rest:
        return Parsed(body=Set(key="approval", value=rest))
    return _inspect(Subject.GRANTS, _pairs)


def _compact(rest: str) -> Parsed:
    return Parsed(body=Compact(undo=True) if rest == "undo" else Compact(focus=rest))


def _rollback(rest: str) -> Parsed:
    words = rest.split()
    if not words:
        return Parsed(text="Name a checkpoint: /rollback ID. /checkpoints lists them.")
    mode = words[1] if len(words) > 1 else "both"
    for known in ("files", "conversation", "both"):
        if mode == known:
            return Parsed(body=Rollback(checkpoint_id=words[0], mode=known))
    return Parsed(text="The mode is one of files, conversation, both.")


def _setting(key: str) -> Callable[[str], Parsed]:
    def parse(rest: str) -> Parsed:
        if not rest:
            return _inspect(Subject.SETTINGS, lambda data: _pairs({key: data.get(key, "not set")}))
        return Parsed(body=Set(key=key, value=rest))

    return parse


def _sandbox(rest: str) -> Parsed:
    if rest.startswith("add "):
        return Parsed(body=Set(key="add_dir", value=rest.removeprefix("add ").strip()))
    return _setting("sandbox")(rest)


def _help(_: str) -> Parsed:
    lines = [f"{slash.usage:<28} {slash.does}" for slash in COMMANDS.values()]
    lines += ["", "A line typed while work runs is a steer. Ctrl+C interrupts; Ctrl+D leaves."]
    return Parsed(text="\n".join(lines))


def _diff(rest: str) -> Parsed:
    return _inspect(
        Subject.DIFF, _plain_text, **{rest: "1"} if rest in ("session", "turn") else {"turn": "1"}
    )


COMMANDS: Mapping[str, Slash] = {
    "help": Slash(usage="/help", does="this list", parse=_help),
    "status": Slash(
        usage="/status", does="settings in force", parse=lambda _: _inspect(Subject.SETTINGS, _pairs)
    ),
    "queue": Slash(
        usage="/queue TEXT",
        does="send it when this turn has ended",
        parse=lambda rest: Parsed(body=Submit(text=rest, kind=InputKind.QUEUE)),
    ),
    "now": Slash(
        usage="/now TEXT",
        does="steer now: calls not started are skipped",
        parse=lambda rest: Parsed(body=Submit(text=rest, kind=InputKind.STEER, now=True)),
    ),
    "take": Slash(
        usage="/take ID",
        does="take a pending message back",
        parse=lambda rest: Parsed(body=EditPending(input_id=rest, text=None)),
    ),
    "stop": Slash(usage="/stop", does="interrupt", parse=lambda _: Parsed(body=Interrupt())),
    "diff": Slash(usage="/diff [turn|session]", does="what changed", parse=_diff),
    "checkpoints": Slash(
        usage="/checkpoints",
        does="list what can be gone back to",
        parse=lambda _: _inspect(Subject.CHECKPOINTS, _checkpoints),
    ),
    "preview": Slash(
        usage="/preview ID",
        does="what a rollback would change",
        parse=lambda rest: _inspect(Subject.ROLLBACK_PLAN, _plan, id=rest),
    ),
    "rollback": Slash(
        usage="/rollback ID [files|conversation|both]", does="go back to before that point", parse=_rollback
    ),
    "redo": Slash(usage="/redo", does="undo the last rollback", parse=lambda _: Parsed(body=Redo())),
    "compact": Slash(
        usage="/compact [FOCUS|undo]",
        does="make room in the window, or take the last time back",
        parse=_compact,
    ),
    "context": Slash(
        usage="/context", does="what fills the window", parse=lambda _: _inspect(Subject.CONTEXT, _pairs)
    ),
    "cost": Slash(usage="/cost", does="tokens and cost", parse=lambda _: _inspect(Subject.COST, _costs)),
    "approvals": Slash(
        usage="/approvals [MODE|remove ID]", does="list, set or remove approvals", parse=_approvals
    ),
    "sandbox": Slash(usage="/sandbox [MODE|add PATH]", does="what commands may touch", parse=_sandbox),
    "model": Slash(usage="/model [NAME]", does="the model in use", parse=_setting("model")),
    "effort": Slash(usage="/effort [LEVEL]", does="reasoning effort", parse=_setting("effort")),
    "rename": Slash(usage="/rename TITLE", does="name the session", parse=_setting("title")),
    "ps": Slash(usage="/ps", does="live terminals", parse=lambda _: _inspect(Subject.TERMINALS, _pairs)),
    "sessions": Slash(
        usage="/sessions", does="stored sessions", parse=lambda _: _inspect(Subject.SESSIONS, _pairs)
    ),
    "quit": Slash(usage="/quit", does="leave; the session is kept", parse=lambda _: Parsed(leave=True)),
}


def parse(line: str) -> Parsed:
    """What a line that begins with a slash means; unknown ones name the nearest."""
    name, _, rest = line[1:].partition(" ")
    slash = COMMANDS.get(name)
    if slash is not None:
        return slash.parse(rest.strip())
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"; did you mean /{near[0]}?" if near else "; /help lists them"
    return Parsed(text=f"No command /{one_line(name, strict=True)}{hint}")
