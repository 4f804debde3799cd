"""The rows of docs/errors.md as patterns: what ends the program has to be one of them."""

import re
from functools import cache

from tests.program import ROOT

PAGE = ROOT / "docs" / "errors.md"


@cache
def _rows() -> re.Pattern[str]:
    found = re.findall(
        r"^\| (?!It says|Class)(.+?) \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    lines = (said if advice == "–" else f"{said}…; {advice}" for said, advice in found)
    return re.compile("|".join(re.escape(line.replace("\\|", "|")).replace("…", ".*") for line in lines))


def is_listed(line: str) -> bool:
    """Whether a line on stderr, without the name of the program, is one of the page."""
    text = line.removeprefix("sandbox: ")
    return any(_rows().fullmatch(each) is not None for each in (line, text))
