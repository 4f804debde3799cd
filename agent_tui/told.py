"""Which notices were told before: of a terminal or a model, once is enough on this machine."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

FILE = "told"
MAX_BYTES = 64_000  # what is longer was not written here


def news(state_dir: Path | None, texts: Sequence[str]) -> list[str]:
    """Those not told before, noted as told; all of them where nothing is kept or it cannot be read."""
    if state_dir is None or not texts:
        return list(texts)
    file = state_dir / FILE
    known: set[str] = set()
    with contextlib.suppress(OSError), open(file, "rb", opener=_at_once) as stream:
        known = set(stream.read(MAX_BYTES).decode(errors="replace").splitlines())
    new = [text for text in texts if text not in known]
    if new:
        with contextlib.suppress(OSError), open(file, "a", encoding="utf-8", opener=_at_once) as out:
            out.writelines(f"{text}\n" for text in new)
    return new


def _at_once(path: str, flags: int) -> int:
    """A pipe in the place of the file is not waited for."""
    return os.open(path, flags | os.O_NONBLOCK, 0o600)
