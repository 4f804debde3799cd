"""A patch that a person changes by its result: the texts it makes, and the patch that makes other ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain

from sandbox.policy import Policy
from tools.patch.grammar import BEGIN, END, END_OF_FILE, NO_NEWLINE, PatchError
from tools.patch.plan import Change
from tools.paths import reading_need, shown
from tools.text_file import TextFile, encoding_of

Plan = Callable[[str], Sequence[Change]]
_CONTEXTS = (3, 12, 10**9)  # lines around a change; more where a place is not the only one like it


def texts_of(changes: Sequence[Change], policy: Policy) -> dict[str, str | None]:
    """Each file as it would be, by its path; None for what is no text to change: what goes, moves whole or
    is no sound text, and what the model may not read unasked, whose lines a patch would show it."""
    return {shown(change.path, policy): _text(change, policy) for change in changes}


def rewritten(
    changes: Sequence[Change], texts: Mapping[str, str], policy: Policy, plan: Plan, said: str
) -> str:
    """The patch after which the files named by `texts` are exactly these, and the others as `changes` makes
    them. `plan` is what a patch would do, `said` the patch of the model. Raises `PatchError` where none comes
    to that, or only one with lines that the model may not read and did not write."""
    wanted = {change.path: _wanted(change, texts.get(shown(change.path, policy))) for change in changes}
    rest = [change for change in changes if not _is_undone(change, wanted[change.path])]
    if not rest:
        raise PatchError("nothing would be changed any more; deny the call instead")
    known = {line[1:] for line in said.split("\n")}
    for change in rest:
        if _is_hidden(change, policy) and any(
            line[0] in "+-" and line[1:] not in known
            for line in _section(change, wanted[change.path], 0, policy)
        ):
            raise PatchError(
                f"it would show the model lines of `{shown(change.path, policy)}`, which it may not read; "
                "deny the call instead, and say what you want"
            )
    for context in _CONTEXTS:
        parts = (_section(change, wanted[change.path], context, policy) for change in rest)
        patch = "\n".join(chain([BEGIN], *parts, [END])) + "\n"
        try:
            made = {change.path: change.after and change.after.data for change in plan(patch)}
        except PatchError:
            continue
        if made == {change.path: wanted[change.path] for change in rest}:
            return patch
    raise PatchError("no patch makes exactly these files; leave line ends and encoding as they are")


def _text(change: Change, policy: Policy) -> str | None:
    if change.after is None or change.rename:
        return None
    if _is_hidden(change, policy):
        return None
    mark, encoding = _written(change)
    try:
        text = change.after.data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _is_hidden(change: Change, policy: Policy) -> bool:
    """Whether the model may not read the file unasked."""
    return any(path and reading_need(path, policy) is not None for path in (change.path, change.moved_from))


def _written(change: Change) -> tuple[bytes, str]:
    """Byte order mark and encoding that the patch keeps; those of a new file are its own."""
    content = change.before or change.after
    return encoding_of(content.data) if content else (b"", "utf-8")


def _wanted(change: Change, text: str | None) -> bytes | None:
    """The bytes of a file, those of a changed text in the encoding of the file."""
    if change.after is None or text is None:
        return change.after.data if change.after else None
    mark, encoding = _written(change)
    try:
        return mark + text.removeprefix("\ufeff").encode(encoding)  # an editor may have put its own mark
    except UnicodeEncodeError as error:
        letter = text[error.start : error.start + 1]
        raise PatchError(
            f"`{change.path.name}`: `{letter}` cannot be written in {encoding}, its encoding"
        ) from error


def _is_undone(change: Change, wanted: bytes | None) -> bool:
    """Whether the file is left as it was before the patch."""
    return change.kind == "M" and change.before is not None and change.before.data == wanted


def _section(change: Change, wanted: bytes | None, context: int, policy: Policy) -> Iterator[str]:
    path = shown(change.path, policy)
    if wanted is None:
        yield f"*** Delete File: {path}"
    elif change.before is None and change.moved_from is None:
        yield f"*** Add File: {path}"
        lines = wanted.decode("utf-8").split("\n")
        yield from (f"+{line}" for line in (lines if lines[-1] else lines[:-1]))
        if lines[-1]:
            yield NO_NEWLINE
    else:
        yield f"*** Update File: {shown(change.moved_from, policy) if change.moved_from else path}"
        if change.moved_from is not None:
            yield f"*** Move to: {path}"
        if change.before is not None and change.before.data != wanted:
            shared = 0 if _is_hidden(change, policy) else context
            yield from _hunks(TextFile.of(change.before.data), TextFile.of(wanted), shared)


def _hunks(old: TextFile, new: TextFile, context: int) -> Iterator[str]:
    before, after = _lines(old), _lines(new)
    matcher = SequenceMatcher(None, before, after)
    for group in matcher.get_grouped_opcodes(context):
        yield f"@@ -{group[0][1] + 1} +{group[0][3] + 1} @@"
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                yield from _marked(" ", before[start:end])
            else:
                yield from _marked("-", before[start:end])
                yield from _marked("+", after[new_start:new_end])
        if group[-1][2] == len(before):
            yield END_OF_FILE


def _lines(file: TextFile) -> list[tuple[str, bool]]:
    """The lines, and whether each has an end."""
    return [(text, bool(line.end)) for text, line in zip(file.texts, file.lines, strict=True)]


def _marked(mark: str, lines: Sequence[tuple[str, bool]]) -> Iterator[str]:
    for text, has_end in lines:
        yield mark + text
        if not has_end:
            yield NO_NEWLINE
