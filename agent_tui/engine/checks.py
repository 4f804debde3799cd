"""Which command lines are checks: a test, build or lint whose failure the exit code cannot hide."""

import re
from collections.abc import Iterator

_WORDS_BEFORE = (
    r"[({\s]*(?:(?:\w+=\S*|time|nice|exec|command|env|sudo|xvfb-run|npx|bunx|timeout(?:\s+-\S+)*\s+\S+"
    r"|(?:uv|poetry|pipenv|pdm|hatch|rye|pnpm|yarn)\s+(?:run|exec)(?:\s+-\S+)*|bundle\s+exec"
    r"|(?:\S*/)?python[\d.]*(?:\s+-(?!m)\S+)*\s+-m|(?:\S*/)?coverage\s+run(?:\s+-(?!m)\S+)*\s+-m)\s+)*"
)
_CHECK = (
    _WORDS_BEFORE + r"(?:\S*/)?(?:"
    r"pytest|unittest|tox|nox|make|ninja|ctest|mvnw?|gradlew?|ruff|mypy|pyright|flake8|tsc|eslint|rspec|phpunit"
    r"|jest|vitest|cargo (?:test|build|check|clippy)|go (?:test|build|vet)|npm (?:test|run \w+)"
    r"|yarn test|pnpm test|dotnet test"
    r")(?=[\s)}]|$)"
)
_STOPS_AT_ERRORS = r"set\s+-\w*e"
_HEEDS_PIPES = r"set\s+.*\bpipefail\b"
_TOKEN = (
    r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|\$?\(|\)"  # what belongs to a word
    r"|[<>]&|&>|&&|\|\||\|&|[;&|\n]|#|[^\\'\"`$()<>&|;\n#]+|."
)


def is_check(command: str) -> bool:
    """Whether it runs a check, and the exit code 0 says that this passed: nothing behind it, such as `| tail`
    or `; echo`, puts another exit code in its place."""
    found, stops_at_errors, heeds_pipes = False, False, False
    for parts, after in _pipelines(command):
        ran = [part for part in (parts if heeds_pipes else parts[-1:]) if re.match(_CHECK, part)]
        found |= bool(ran)
        if ran and stops_at_errors and after in (";", "\n"):
            return True
        found &= after in ("&&", "")
        stops_at_errors |= re.match(_STOPS_AT_ERRORS, parts[0]) is not None
        heeds_pipes |= re.match(_HEEDS_PIPES, parts[0]) is not None
    return found


def _pipelines(command: str) -> Iterator[tuple[list[str], str]]:
    """The parts of each, and the operator behind it: none behind the last, which `;` may end."""
    text = command.strip().rstrip(";").rstrip()
    parts, part, depth, is_remark = [], "", 0, False
    for token in (*re.findall(_TOKEN, text, re.DOTALL), ""):
        is_remark = token != "\n" and (is_remark or (token == "#" and (not part or part[-1].isspace())))
        if is_remark and token:
            continue
        depth += (token == "$(" or (token == "(" and depth > 0)) - (token == ")" and depth > 0)
        if depth > 0 or token not in ("&&", "||", "|&", ";", "&", "|", "\n", ""):
            part += token
            continue
        if part.strip():
            parts.append(part.strip())
        part = ""
        if parts and token not in ("|", "|&"):
            yield parts, token
            parts = []
