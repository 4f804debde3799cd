"""Searches files with Python's regular expressions; a process of its own, because a bad pattern can
hang one for ever. Standard library only, started with `python -I`; talks JSON lines like `rg --json`.

Arguments: the process id of the parent, with which it dies; the descriptor of the directory; a JSON
object with `pattern`, `ignore_case`, `context`.
Paths relative to the directory come on standard input, each ended by NUL; no link in one is followed.
Exit code 2 when something could not be read; standard error names it, as ripgrep does.
"""

import base64
import ctypes
import json
import os
import re
import signal
import stat
import sys

_PR_SET_PDEATHSIG = 1  # prctl(2)
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def main() -> int:
    """Search every file and write what was found."""
    parent, root, wanted = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before that
        return 1
    pattern = re.compile(wanted["pattern"], re.IGNORECASE if wanted["ignore_case"] else 0)
    code = 0
    for name in sys.stdin.buffer.read().split(b"\0"):
        if name:
            try:
                search(root, name, pattern, wanted["context"])
            except OSError as error:
                told = f"{os.fsdecode(name)}: {error.strerror} (os error {error.errno})\n"
                sys.stderr.buffer.write(os.fsencode(told))
                code = 2
    return code


def opened(root: int, name: bytes) -> int:
    """The file of that name, without following a link; raises OSError."""
    *directories, last = name.split(b"/")
    at = os.dup(root)
    try:
        for part in directories:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)


def search(root: int, name: bytes, pattern: "re.Pattern[str]", context: int) -> None:
    """One file; binary ones, and what is no plain file, are passed over. Raises OSError."""
    with os.fdopen(opened(root, name), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return
        data = file.read()
    lines = lines_of(data)
    if lines is None:
        return
    hits: dict[int, int] = {}
    for number, line in enumerate(lines):
        text = text_of(line).removesuffix("\n")
        match = search_line(pattern, text)
        if match:
            hits[number] = len(text[: match.start()].encode("utf-8", errors="surrogateescape"))
    shown: set[int] = set()
    for number in hits:
        shown.update(range(max(0, number - context), min(len(lines), number + context + 1)))
    for number in sorted(shown):
        tell(name, number + 1, lines[number], hits.get(number))


def search_line(pattern: "re.Pattern[str]", text: str) -> "re.Match[str] | None":
    """Nothing matches a byte that is no UTF-8: such a line is searched between them."""
    if text.isascii() or not (
        invalid := [at for at, char in enumerate(text) if "\udc80" <= char <= "\udcff"]
    ):
        return pattern.search(text)
    start = 0
    for end in [*invalid, len(text)]:
        match = pattern.search(text, start, end)
        if match:
            return match
        start = end + 1
    return None


def lines_of(data: bytes) -> "list[bytes] | None":
    """Lines with their ends; None for a binary file."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            data = data[2:].decode(encoding, errors="replace").encode("utf-8")
            return split(data)
    if b"\0" in data:
        return None
    return split(data.removeprefix(b"\xef\xbb\xbf"))


def split(data: bytes) -> list[bytes]:
    """By line feeds only."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def text_of(line: bytes) -> str:
    return line.decode("utf-8", errors="surrogateescape")


def tell(name: bytes, number: int, line: bytes, start: "int | None") -> None:
    """One JSON line; text that is no UTF-8 as base64, as ripgrep writes it."""
    data: dict[str, object] = {"path": field(name), "line_number": number, "lines": field(line)}
    if start is not None:
        data["submatches"] = [{"start": start}]
    kind = "context" if start is None else "match"
    sys.stdout.write(json.dumps({"type": kind, "data": data}) + "\n")


def field(value: bytes) -> dict[str, str]:
    try:
        return {"text": value.decode("utf-8")}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(value).decode("ascii")}


if __name__ == "__main__":
    sys.exit(main())
