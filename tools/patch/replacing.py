"""The plain form of an edit: one exact piece of text, given once in the file, for another."""

import re

from tools.patch.grammar import Hunk, PatchError
from tools.patch.locate import MAX_NAMED, missing
from tools.text_file import TextFile


def replace_text(file: TextFile, old: str, new: str, path: str, *, every: bool) -> bytes:
    """The bytes of the file with `new` for `old`; `\\n` stands for any line end. Raises `PatchError`."""
    body = file.data[len(file.mark) :]
    matches = [match for match in _pattern(file, old, path).finditer(body) if match.start() % file.width == 0]
    if not matches:
        hunk = Hunk(1, changes=[("-", line) for line in old.splitlines() or [old]])
        raise PatchError(missing(file.texts, hunk, f"`{path}`: `old` is not in the file"))
    if len(matches) > 1 and not every:
        numbers = [body.count(file.feed, 0, match.start()) + 1 for match in matches[:MAX_NAMED]]
        raise PatchError(
            f"`{path}`: `old` stands in {len(matches)} places, the first at lines "
            f"{', '.join(map(str, numbers))}; give more of the text around it, or set `all`"
        )
    pieces, at = [file.mark], 0
    for match in matches:
        lines = [_encoded(file, line, path) for line in new.replace("\r\n", "\n").split("\n")]
        pieces += [body[at : match.start()], _line_end(file, body, match).join(lines)]
        at = match.end()
    return b"".join([*pieces, body[at:]])


def _pattern(file: TextFile, old: str, path: str) -> "re.Pattern[bytes]":
    end = b"(?:" + re.escape(file.turn) + b")?" + re.escape(file.feed)
    lines = [re.escape(_encoded(file, line, path)) for line in old.replace("\r\n", "\n").split("\n")]
    return re.compile(end.join(lines))


def _line_end(file: TextFile, body: bytes, match: "re.Match[bytes]") -> bytes:
    """The line end in the replaced text, else that of the line it stands in, else the one before."""
    for text in (match[0], body[match.end() :], body[: match.start()]):
        at = text.find(file.feed)
        if at >= 0:
            return file.turn + file.feed if text[:at].endswith(file.turn) else file.feed
    return file.feed


def _encoded(file: TextFile, text: str, path: str) -> bytes:
    try:
        return file.encode(text)
    except UnicodeEncodeError as error:
        letter = text[error.start : error.start + 1]
        raise PatchError(
            f"`{path}`: `{letter}` cannot be written in {file.encoding}, its encoding"
        ) from error
