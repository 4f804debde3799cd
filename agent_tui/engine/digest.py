"""What an approval is bound to: one hash for each part of a call, so that a change can be named."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sandbox.policy import Policy
from tools.types import Arguments

_PARTS = {
    "tool": "the tool is another one",
    "arguments": "the call is not the one that was shown",
    "cwd": "the directory is another one",
    "sandbox": "the sandbox changed after you were asked",
    "files": "the file changed after you were asked",
    "policy": "the approval policy changed after you were asked",
}
_SHORT = 16  # hex digits of each part; the whole is a full SHA-256 before them
_FILES = list(_PARTS).index("files") + 1


def digest_of(*, tool: str, arguments: Arguments, cwd: str, sandbox: Policy, files: str, policy: str) -> str:
    """`TOTAL.PART.PART…`: SHA-256 over all parts, then the start of each part's own hash."""
    hashes = [
        _hash(part) for part in (tool, _canonical(arguments), cwd, _canonical(asdict(sandbox)), files, policy)
    ]
    return ".".join([_hash("\0".join(hashes)), *(part[:_SHORT] for part in hashes)])


def short(text: str) -> str:
    """The form in which a part stands in a digest."""
    return _hash(text)[:_SHORT]


def files_part(digest: str) -> str:
    """The part of a digest that stands for the files a call names."""
    return digest.split(".")[_FILES]


def difference(asked: str, now: str) -> str:
    """What differs between two digests, in words for a person; empty when they are equal."""
    if asked == now:
        return ""
    pairs = zip(asked.split(".")[1:], now.split(".")[1:], _PARTS.values(), strict=False)
    changed = [words for old, new, words in pairs if old != new]
    return ", ".join(changed) or "the call is not the one that was shown"


def files_digest(paths: Sequence[Path]) -> str:
    """Hash over the content of named files, absent ones included; empty when none is named."""
    if not paths:
        return ""
    return _hash("\0".join(f"{path}\0{_content_hash(path)}" for path in sorted(set(paths))))


def _content_hash(path: Path) -> str:
    """Of the bytes; of the reason where it is not a readable regular file."""
    try:
        if not path.is_file():
            return "absent" if not path.exists() else "not a file"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable {error.errno}"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
