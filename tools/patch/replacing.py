"""The plain form of an edit: one exact piece of text, given once in the file, for another."""

import re
from itertools import islice

from tools.patch.grammar import Hunk, PatchError
from tools.patch.locate import MAX_NAMED, missing
from tools.text_file import MAX_BYTES, TextFile

MAX_PLACES = 100_000


def replace_text(file: TextFile, old: str, new: str, path: str, *, every: bool) -> bytes:
    """The bytes of the file with `new` for `old`; `\\n` stands for any line end. Raises `PatchError`."""
    body = file.data[len(file.mark) :]
    found = (match for match in _pattern(file, old, path).finditer(body) if match.start() % file.width == 0)
    spans = [match.span() for match in islice(found, MAX_PLACES + 1)]
    if not spans:
        hunk = Hunk(line=1, changes=[("-", line) for line in old.splitlines() or [old]])
        raise PatchError(missing(file.texts, hunk, f"`{path}`: `old` is not in the file"))
    if len(spans) > MAX_PLACES:
        raise PatchError(
            f"`{path}`: `old` stands in more than {MAX_PLACES:,} places; give more of the text around it, or "
            "change the file with a program"
        )
    if len(spans) > 1 and not every:
        numbers = [body.count(file.feed, 0, start) + 1 for start, _ in spans[:MAX_NAMED]]
        raise PatchError(
            f"`{path}`: `old` stands in {len(spans)} places, the first at lines "
            f"{', '.join(map(str, numbers))}; give more of the text around it, or set `all`"
        )
    lines = [_encoded(file, line, path) for line in new.replace("\r\n", "\n").split("\n")]
    added = len(spans) * (sum(map(len, lines)) + (len(lines) - 1) * 2 * file.width)
    size = len(body) + added - sum(stop - start for start, stop in spans)
    if size > MAX_BYTES:
        raise PatchError(f"`{path}` would have about {size:,} bytes, at most {MAX_BYTES:,} can be edited")
    joined = {end: end.join(lines) for end in (file.feed, file.turn + file.feed)}
    pieces, at, ends = [file.mark], 0, _Ends(file, body)
    for start, stop in spans:
        pieces += [body[at:start], joined[ends.at(start)] if len(lines) > 1 else lines[0]]
        at = stop
    return b"".join([*pieces, body[at:]])


def _pattern(file: TextFile, old: str, path: str) -> "re.Pattern[bytes]":
    end = b"(?:" + re.escape(file.turn) + b")?" + re.escape(file.feed)
    lines = [re.escape(_encoded(file, line, path)) for line in old.replace("\r\n", "\n").split("\n")]
    return re.compile(end.join(lines))


class _Ends:
    """Line ends near places that are asked for in order."""

    def __init__(self, file: TextFile, body: bytes) -> None:
        self._file, self._body = file, body
        self._place = -1  # of the newest line feed that was found
        self._is_last = False

    def at(self, start: int) -> bytes:
        """The first line end behind a place, else the last one of the file."""
        file, body = self._file, self._body
        if self._place < start and not self._is_last:
            place = body.find(file.feed, start)
            self._is_last = place < 0
            self._place = body.rfind(file.feed) if self._is_last else place
        has_turn = self._place >= file.width and body[self._place - file.width : self._place] == file.turn
        return file.turn + file.feed if has_turn else file.feed


def _encoded(file: TextFile, text: str, path: str) -> bytes:
    try:
        return file.encode(text)
    except UnicodeEncodeError as error:
        letter = text[error.start : error.start + 1]
        raise PatchError(
            f"`{path}`: `{letter}` cannot be written in {file.encoding}, its encoding"
        ) from error
