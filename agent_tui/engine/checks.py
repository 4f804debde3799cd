"""What the exit code of a command line says of the checks in it, which are tests, builds and linters.

Many shapes of a line hide the code of a check: a pipe, `;`, `|| true`, a background. So a line is followed
along every way it may go, with each command in it failing or not, and its exit code proves what holds on
all of them. What is not understood proves nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from agent_tui.frozen import frozen

_WORDS_BEFORE = (
    r"(?:(?:\w+=(?:'[^']*'|\"[^\"]*\"|[^\s'\"])*|time|nice|exec|command|env|sudo|xvfb-run|npx|bunx|timeout(?:\s+-\S+)*\s+\S+"
    r"|(?:uv|poetry|pipenv|pdm|hatch|rye|pnpm|yarn)\s+(?:run|exec)(?:\s+-\S+)*|bundle\s+exec"
    r"|(?:\S*/)?python[\d.]*(?:\s+-(?!m)\S+)*\s+-m|(?:\S*/)?coverage\s+run(?:\s+-(?!m)\S+)*\s+-m)\s+)*"
)
_NAMES = (
    r"(?:pytest|unittest|tox|nox|make|ninja|ctest|mvnw?|gradlew?|ruff|mypy|pyright|flake8|tsc|eslint|rspec|phpunit"
    r"|jest|vitest|cargo (?:test|build|check|clippy)|go (?:test|build|vet)|npm (?:test|run \w+)"
    r"|yarn test|pnpm test|dotnet test)"
)
_CHECK = rf"{_WORDS_BEFORE}(?:\S*/)?{_NAMES}(?=\s|$)"
_HIDES = r"\$\(|[<>]\(|`|(?:^|[\s/])(?:ba|da|k|z)?sh\s"  # the result of a check behind it is lost
_EXECUTES = r"exec\s+\S"  # and nothing behind it runs
_HARDLY_FAILS = (  # so a failure of the line is taken for one of another command
    r"(?:cd|pushd|popd|export|source|\.|set|unset|echo|printf|true|:|mkdir|umask|pwd|sleep|tee|cat|tail)(?=\s|$)|\w+=[^\s`(]*$"
)
_CHANGES_THE_REST = (  # or may, as a file does that is read for more than an environment
    r"(?:trap|alias|eval|function|coproc|shopt|builtin|hash|enable"
    r"|(?:source|\.)(?!\s.*(?:activate|env|rc|profile|nvm)))(?=\s|$)"
)
_ASSIGNMENT = r"\w+(?:\[[^\]]*\])?\+?="
_LEAVES = r"(?:exit|return)(?=\s|$)"
_NAMES_A_WORD = ("for", "case", "select")  # which is no command
_OPENS, _CLOSES = ("if", "for", "while", "until", "case", "select"), ("fi", "done", "esac")
_WORD_THAT_STARTS = ("then", "do", "else", "elif", "!", "{", "time")
_NO_COMMAND = (*_CLOSES, "then", "do", "else", "elif", "!", "}")

_MAX_FOLLOWED = 8_000  # characters; all ways through more of them would take a while

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+)"
    r"|(?P<nothing>\\\n)"
    r"|(?P<document><<-?(?!<)[ \t]*(?P<end>'[^'\n]*'|\"[^\"\n\\]*\"|[^\s;&|<>()'\"\\$`]+)(?=[\s;&|<>()]|$))"
    r"|(?P<text>\\.|\$'(?:\\.|[^'\\])*'|'[^']*'|\"(?:\\.|[^\"\\])*\"|`(?:\\.|[^`\\])*`|[<>](?=\())"
    r"|(?P<redirection>[<>]+[&|]|&>+|[<>]+)"
    r"|(?P<operator>&&|\|\||\|&|;;&?|;&|[;&|\n()])"
    r"|(?P<char>.)",
    re.DOTALL,
)


@frozen
class Proof:
    """What a line with a check in it says."""

    of_success: bool  # exit code 0: each check in it ran, and passed
    of_failure: bool  # another exit code: a check in it failed


@lru_cache(maxsize=512)  # the same lines are run again and again
def proof(command: str) -> Proof | None:
    """None where no check is in it, or it is not understood."""
    if len(command) > _MAX_FOLLOWED or re.search(_NAMES, command) is None:
        return None
    try:
        line = _Parser(_tokens(command)).line()
        if not _has_check(line):
            return None
        strict = _Walk(trusts=False).ends(line)
        usual = _Walk(trusts=True).ends(line)
    except (_NotFollowedError, RecursionError):
        return None
    return Proof(
        of_success={state.all_passed for state in strict if state.is_good} == {True},
        of_failure={state.one_failed for state in usual if not state.is_good} == {True},
    )


class _NotFollowedError(Exception):
    """The line holds what is not understood here."""


class _Token(NamedTuple):
    text: str
    is_operator: bool = False
    is_target: bool = False  # of a redirection, which may stand anywhere in a command


class _Block(NamedTuple):
    """`if`, a loop, `case`: whatever they do."""

    has_check: bool
    may_leave: bool


class _Group(NamedTuple):
    line: "_Line"
    is_subshell: bool


class _Pipeline(NamedTuple):
    parts: "tuple[str | _Block | _Group, ...]"
    is_negated: bool
    before: str  # `&&`, `||`, or empty for the first of a list


class _List(NamedTuple):
    pipelines: tuple[_Pipeline, ...]
    is_background: bool


_Line = tuple[_List, ...]


def _tokens(command: str) -> Iterator[_Token]:
    word, documents, is_target, at = "", [], False, 0
    while at < len(command):
        found = _TOKEN.match(command, at)
        assert found is not None
        text, kind, at = found.group(), found.lastgroup, found.end()
        if text == "#" and not word:
            kind, at = "nothing", (command + "\n").index("\n", at)
        elif text == "(" and (word or command[at : at + 1] == "("):
            kind, at = "text", _closing(word, command, at)
            text = command[found.start() : at]
        if kind in ("text", "char"):
            word += _followed(text)
        if kind in ("text", "char", "nothing") or (kind == "blank" and not word):
            continue
        if word and not (kind in ("redirection", "document") and re.fullmatch(r"\d+|\{\w+\}", word)):
            yield _Token(word, is_target=is_target)
            is_target = False
        if is_target or text == "<<":  # a target is missing, or not understood
            raise _NotFollowedError
        word, is_target = "", kind == "redirection"
        if kind == "operator":
            yield _Token(text, is_operator=True)
        if found["document"]:
            documents.append((found["end"].strip("'\""), text.startswith("<<-")))
        if text == "\n":
            for last, has_tabs in documents:
                at = _behind_document(command, at, last, has_tabs=has_tabs)
            documents = []
    if word:
        yield _Token(word, is_target=is_target)


def _followed(text: str) -> str:
    """A part of a word; quotes that are never closed are not followed, nor some with quotes in them."""
    if text in ("'", '"', "`", "\\") or (text[0] == '"' and text.count("$(") > text.count(")")):
        raise _NotFollowedError
    return text


def _closing(word: str, command: str, at: int) -> int:
    """Behind the parenthesis that closes what opened in a word before `at`."""
    if re.fullmatch(r"[\w.-]*", word):  # arithmetic, a function
        raise _NotFollowedError
    depth = 1
    while at < len(command):
        found = _TOKEN.match(command, at)
        assert found is not None
        at = found.end()
        depth += {"(": 1, ")": -1}.get(found.group(), 0)
        if depth == 0:
            return at
    raise _NotFollowedError


def _behind_document(command: str, at: int, end: str, *, has_tabs: bool) -> int:
    while at < len(command):
        line, _, _ = command[at:].partition("\n")
        at += len(line) + 1
        if (line.lstrip("\t") if has_tabs else line) == end:
            return at
    raise _NotFollowedError


class _Parser:
    """Lists, pipelines and groups; `if`, loops and `case` as a whole."""

    def __init__(self, tokens: Iterable[_Token]) -> None:
        self._tokens = [*tokens]
        self._at = 0

    def line(self, end: str = "") -> _Line:
        """All lists up to `end`, which is passed."""
        lists: list[_List] = []
        while True:
            while self._next_is(";", "\n"):
                self._at += 1
            token = self._peek()
            if token is None or token.text == end:
                if token is None and end:
                    raise _NotFollowedError
                self._at += 1
                return tuple(lists)
            pipelines = [self._pipeline("")]
            while self._next_is("&&", "||"):
                pipelines.append(self._pipeline(self._take().text))
            lists.append(_List(tuple(pipelines), is_background=self._next_is("&")))
            if self._next_is("&", ";", "\n"):
                self._at += 1
            elif (token := self._peek()) is not None and token.text != end:
                raise _NotFollowedError

    def _pipeline(self, before: str) -> _Pipeline:
        while self._next_is("\n"):
            self._at += 1
        is_negated = False
        while (token := self._peek()) is not None and token.text in ("!", "time", "-p"):
            is_negated ^= token.text == "!"
            self._at += 1
        parts = [self._part()]
        while self._next_is("|", "|&"):
            self._at += 1
            while self._next_is("\n"):
                self._at += 1
            parts.append(self._part())
        return _Pipeline(tuple(parts), is_negated, before)

    def _part(self) -> str | _Block | _Group:
        token = self._take()
        if token.text in _NO_COMMAND or (token.is_operator and token.text != "("):
            raise _NotFollowedError
        if token.text in ("(", "{"):
            group = _Group(self.line(")" if token.is_operator else "}"), is_subshell=token.is_operator)
            if not all(word.is_target for word in self._words()):
                raise _NotFollowedError
            return group
        if token.text in _OPENS:
            return self._block(token)
        if token.text == "[[":
            while (token := self._take()).text != "]]":
                if token.is_operator and token.text not in ("&&", "||"):
                    raise _NotFollowedError
            return "[["
        return _command([token, *self._words()])

    def _words(self) -> list[_Token]:
        words = []
        while (token := self._peek()) is not None and not token.is_operator:
            words.append(self._take())
        return words

    def _block(self, opening: _Token) -> _Block:
        commands = [[opening]]
        depth, starts = 1, opening.text not in _NAMES_A_WORD
        while depth:
            token = self._take()
            if token.is_operator:
                starts = True
            elif starts and token.text in (*_OPENS, *_CLOSES, *_WORD_THAT_STARTS):
                depth += (token.text in _OPENS) - (token.text in _CLOSES)
                starts = token.text not in _NAMES_A_WORD
                commands.append([token])
            elif starts:
                commands.append([token])
                starts = False
            else:
                commands[-1].append(token)
        parts = [_command(words) for words in commands]
        changes = any(isinstance(part, str) and re.match(r"set\b", part) for part in parts)
        if changes or not all(word.is_target for word in self._words()):
            raise _NotFollowedError
        return _Block(
            has_check=any(map(_holds_check, parts)),
            may_leave=any(
                part.may_leave if isinstance(part, _Block) else re.match(f"{_LEAVES}|{_EXECUTES}", part)
                for part in parts
            ),
        )

    def _next_is(self, *texts: str) -> bool:
        token = self._peek()
        return token is not None and token.is_operator and token.text in texts

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self) -> _Token:
        token = self._peek()
        if token is None:
            raise _NotFollowedError
        self._at += 1
        return token


def _command(tokens: Sequence[_Token]) -> str | _Block:
    """As its words are for the shell: without what may stand before its name, and that without quotes."""
    words = [token.text for token in tokens if not token.is_target]
    while len(words) > 1 and (
        re.match(_ASSIGNMENT, words[0]) or (words[0] == "command" and words[1][0] != "-")
    ):
        words.pop(0)
    name = words[0] if words else ":"
    if re.search(r"[$`{*?\[]", name) and "/" not in name and name != "[" and not re.match(_ASSIGNMENT, name):
        raise _NotFollowedError
    if not re.match(_ASSIGNMENT, name):
        name = re.sub(r"\\(.)|['\"]", r"\1", name, flags=re.DOTALL)
    text = " ".join([name, *words[1:]])
    whole = " ".join(token.text for token in tokens)
    if re.match(_CHANGES_THE_REST, text) or (re.match(_LEAVES, text) and re.search(_HIDES, whole)):
        raise _NotFollowedError  # a command that runs for a word of `exit` may give it its code
    hides = re.search(_HIDES, whole)
    if hides and re.search(rf"(?<![\w.-]){_NAMES}(?![\w.-])", whole[hides.end() :]):
        return _Block(has_check=True, may_leave=re.match(f"{_LEAVES}|{_EXECUTES}", text) is not None)
    return text


def _has_check(line: _Line) -> bool:
    return any(_holds_check(part) for each in line for pipeline in each.pipelines for part in pipeline.parts)


def _holds_check(part: str | _Block | _Group) -> bool:
    if isinstance(part, str):
        return re.match(_CHECK, part) is not None
    return part.has_check if isinstance(part, _Block) else _has_check(part.line)


class _State(NamedTuple):
    """How a line may stand at one place."""

    is_good: bool = True  # what ran last ended with 0
    all_passed: bool = True  # every check before here ran, and passed
    one_failed: bool = False
    is_over: bool = False  # nothing more runs
    is_heeded: bool = True  # `set -e` would end the line for what ran last


@frozen
class _Options:
    """What `set` has set."""

    ends: bool = False  # -e
    pipes: bool = False  # -o pipefail


class _Walk:
    """All ways through a line. `trusts` commands not to fail that hardly do."""

    def __init__(self, *, trusts: bool) -> None:
        self._trusts = trusts

    def ends(self, line: _Line) -> set[_State]:
        """How it may stand when it is over."""
        return self._line(line, {_State()}, _Options(), heeds=True)[0]

    def _line(
        self, line: _Line, states: set[_State], options: _Options, *, heeds: bool
    ) -> tuple[set[_State], _Options | None]:
        known: _Options | None = options
        for each in line:
            if known is None:
                raise _NotFollowedError
            if each.is_background:
                is_lost = _has_check((each,))
                states = {
                    one._replace(
                        is_good=one.is_good or not one.is_over, all_passed=one.all_passed and not is_lost
                    )
                    for one in states
                }
                continue
            states, known = self._list(each, states, known, heeds=heeds)
            if known is None or (known.ends and heeds):
                over = {one._replace(is_over=True) for one in states if not one.is_good and one.is_heeded}
                states = {one for one in states if one.is_good or not one.is_heeded or known is None} | over
        return states, known

    def _list(
        self, each: _List, states: set[_State], options: _Options, *, heeds: bool
    ) -> tuple[set[_State], _Options | None]:
        """And the options behind it; None where that depends on what ran."""
        inner, is_known = options, True
        for number, pipeline in enumerate(each.pipelines):
            changed = _set(pipeline, inner)
            if changed != inner and pipeline.before == "||":
                raise _NotFollowedError
            if pipeline.before == "||" and not is_known:
                raise _NotFollowedError
            is_last = number == len(each.pipelines) - 1
            after: set[_State] = set()
            for state in states:
                if state.is_over or (pipeline.before and state.is_good is (pipeline.before == "||")):
                    after.add(_passed_over(state, pipeline))
                else:
                    after |= self._pipeline(pipeline, state, inner, heeds=heeds and is_last)
            states = after
            is_known = is_known and (changed == inner or number == 0)
            inner = changed
        return states, inner if is_known else None

    def _pipeline(self, pipeline: _Pipeline, state: _State, options: _Options, *, heeds: bool) -> set[_State]:
        heeds = heeds and not pipeline.is_negated
        is_alone = len(pipeline.parts) == 1
        found = {_State()}
        for left, part in zip(reversed(range(len(pipeline.parts))), pipeline.parts, strict=True):
            is_seen = options.pipes or left == 0
            found = {
                self._both(one, two, is_seen=is_seen, has_check=_holds_check(part))
                for one in found
                for two in self._part(part, state.is_good, options, heeds=heeds)
            }
        return {
            _State(
                is_good=one.is_good ^ (pipeline.is_negated and not (one.is_over and is_alone)),
                all_passed=state.all_passed and one.all_passed,
                one_failed=state.one_failed or one.one_failed,
                is_over=one.is_over and is_alone,
                is_heeded=one.is_heeded and not pipeline.is_negated,
            )
            for one in found
        }

    def _both(self, one: _State, two: _State, *, is_seen: bool, has_check: bool) -> _State:
        """Two parts of one pipeline; the exit code of one that is not seen says nothing."""
        if not is_seen:
            return one._replace(all_passed=one.all_passed and not has_check)
        return _State(
            is_good=one.is_good and two.is_good,
            all_passed=one.all_passed and two.all_passed,
            one_failed=one.one_failed or two.one_failed,
            is_over=two.is_over,
            is_heeded=two.is_heeded or not one.is_good,
        )

    def _part(
        self, part: str | _Block | _Group, was_good: bool, options: _Options, *, heeds: bool
    ) -> set[_State]:
        if isinstance(part, str):
            return self._command(part, was_good)
        if isinstance(part, _Block):
            ways = {
                _State(is_good, not part.has_check, is_heeded=h)
                for is_good in (True, False)
                for h in (True, False)
            }
            return ways | {one._replace(is_over=True) for one in ways if part.may_leave}
        ends, changed = self._line(part.line, {_State(is_good=was_good)}, options, heeds=heeds)
        if not part.is_subshell and changed != options:
            raise _NotFollowedError
        if part.is_subshell:
            ends = {one._replace(is_over=False, is_heeded=True) for one in ends}
        return ends | {one._replace(is_heeded=False) for one in ends}

    def _command(self, command: str, was_good: bool) -> set[_State]:
        if re.match(_CHECK, command):
            ways = {_State(), _State(is_good=False, all_passed=False, one_failed=True)}
        elif re.match(_LEAVES, command):
            return {_State(is_good=is_good, is_over=True) for is_good in _codes(command, was_good)}
        elif command == "false":
            ways = {_State(is_good=False)}
        elif self._trusts and re.match(_HARDLY_FAILS, command):
            ways = {_State()}
        else:
            ways = {_State(), _State(is_good=False)}
        if re.match(_EXECUTES, command):
            ways = {one._replace(is_over=True) for one in ways}
        return ways


def _passed_over(state: _State, pipeline: _Pipeline) -> _State:
    has_check = any(map(_holds_check, pipeline.parts))
    return state._replace(all_passed=state.all_passed and not has_check, is_heeded=False)


def _codes(command: str, was_good: bool) -> Sequence[bool]:
    """Whether `exit` may end with 0."""
    words = command.split()[1:]
    if not words or words[0] == "$?":
        return (was_good,)
    is_number = re.fullmatch(r"[0-9]{1,3}", words[0])
    return (int(words[0]) % 256 == 0,) if is_number else (True, False)


def _set(pipeline: _Pipeline, options: _Options) -> _Options:
    """The options behind it, where it ran."""
    part = pipeline.parts[0]
    if not isinstance(part, str) or part.split()[:1] != ["set"]:
        return options
    if len(pipeline.parts) > 1 or re.search(r"[$`'\"\\{]|[-+]\w*[nt]|noexec|onecmd", part):
        raise _NotFollowedError
    words = part.split()[1:]
    ends, pipes = options.ends, options.pipes
    while words and re.fullmatch(r"[-+]\w+", words[0]):
        word = words.pop(0)
        name = words.pop(0) if word[-1] == "o" and words else ""
        is_on = word[0] == "-"
        ends = is_on if "e" in word[1:] or name == "errexit" else ends
        pipes = is_on if name == "pipefail" else pipes
    return _Options(ends=ends, pipes=pipes)
