"""What the gate is told of a command line: the surface of this package for `exec_command`."""

from tools.command_line.classify import Classified, classify
from tools.command_line.parts import Setting
from tools.types import Assessment, CallClass, Effects, Grant, PathSet

_READS = Effects(reads=PathSet(everything=True), writes=PathSet(), network=False, idempotent=True)


def assess_command(
    command: str, setting: Setting, *, wanted: Grant = Grant.NONE, wanted_detail: str = ""
) -> Assessment:
    """Class, grant, keys and effects of a bash command line; never raises, runs nothing.

    `wanted` is what the model asked for beyond the sandbox (a path, the network, no sandbox),
    `wanted_detail` its path or host; its reason is the caller's to add.
    """
    found = classify(command, setting)
    return Assessment(
        action="command",
        call_class=_class(found, wanted),
        reason=found.reason if wanted is Grant.NONE else _wanted_reason(wanted, wanted_detail, found),
        shown=command,
        effects=_READS if found.read_only and wanted is Grant.NONE else Effects(),
        keys=found.keys,
        read_only=found.read_only and wanted is Grant.NONE,
        grant=found.grant if wanted is Grant.NONE else wanted,
        grant_detail=wanted_detail,
        needs_more=wanted is not Grant.NONE and found.grant is not Grant.NONE,
        grant_is_automatic=found.grant_is_automatic and wanted is Grant.NONE,
        hard_line=found.hard_line,
        files=found.scripts,
        cwd=str(setting.cwd),
        parsed=found.parsed,
        notes=found.notes,
    )


def _class(found: Classified, wanted: Grant) -> CallClass:
    if wanted is not Grant.NONE and found.call_class is CallClass.AUTO:
        return CallClass.ASK
    return found.call_class


_WANTED = {
    Grant.READ_PATH: "the model asked to read {}",
    Grant.WRITE_PATH: "the model asked to write {}",
    Grant.HOST: "the model asked to connect to {}",
    Grant.GIT_LANE: "the model asked to commit to git",
    Grant.NETWORK: "the model asked for the network",
    Grant.NO_SANDBOX: "the model asked to leave the sandbox",
}


def _wanted_reason(wanted: Grant, detail: str, found: Classified) -> str:
    if found.hard_line or found.call_class is CallClass.REJECT:
        return found.reason
    return _WANTED[wanted].format(detail)
