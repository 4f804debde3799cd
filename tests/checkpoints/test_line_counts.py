"""Line counts without a process are those of git, wherever they are told at all."""

import random
import subprocess
from pathlib import Path

from checkpoints.line_counts import line_counts

LINES = [b"a\n", b"b\n", b"c\r\n", b"\n", b"  a\n", b"a\r\n"]
ENDS = [b"", b"a", b"x", b"a\r"]


def test_counts_are_those_of_git(tmp_path: Path) -> None:
    chance = random.Random(7)
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    told = {}
    for number in range(400):
        texts = [
            b"".join(chance.choices(LINES, k=chance.randrange(7))) + chance.choice(ENDS) for _ in range(2)
        ]
        if chance.random() < 0.5:  # one change in the middle, as most edits are
            texts[1] = b"begin\n" * 3 + texts[1] + b"end\n"
            texts[0] = b"begin\n" * 3 + chance.choice([b"", b"other\n", texts[0]]) + b"end\n"
        if texts[0] == texts[1]:
            continue
        for place, text in zip((old, new), texts, strict=True):
            (place / f"{number}").write_bytes(text)
        told[f"{number}"] = line_counts(*texts)
    command = ["git", "-c", "core.autocrlf=false", "diff", "--no-index", "--numstat", "-z", "--no-renames"]
    said = subprocess.run([*command, "old", "new"], cwd=tmp_path, capture_output=True, check=False).stdout
    fields = said.decode().split("\0")[:-1]
    counted = {}
    for head, _, after in zip(*[iter(fields)] * 3, strict=True):
        added, removed, _ = head.split("\t")
        counted[Path(after).name] = (int(added), int(removed))
    assert counted.keys() == told.keys()
    known = {name: counts for name, counts in told.items() if counts is not None}
    assert len(known) > 100
    assert {name: counted[name] for name in known} == known


def test_lines_that_may_match_are_left_to_git() -> None:
    assert line_counts(b"a\nb\nc\n", b"c\nx\na\n") is None
