"""Whether one simple command only reads: the program, its options, and where its operands lead."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from agent_tui.frozen import frozen
from tools.command_line import programs
from tools.command_line.programs import Options
from tools.command_line.syntax import SimpleCommand, Word, Wrap


@frozen
class Reading:
    """`refusal` empty: it only reads, the files in `paths`."""

    refusal: str = ""
    paths: tuple[Word, ...] = ()


_Check = Callable[[Sequence[Word]], Reading]

_FINE = Reading()
_GLOB_START = ("-", "*", "?", "[")
_GIT_PAGERLESS = frozenset(("--no-pager", "-P", "--no-optional-locks"))
_SIGNATURE = re.compile(r"%G")


def reading_of(command: SimpleCommand) -> Reading:
    """Look at words only; redirections and assignments are the caller's."""
    if command.wrap in (Wrap.PLAIN, Wrap.SHELL):
        return _FINE  # what it starts is judged by itself
    program = command.program
    if program is None or command.words[0].quoted:
        return Reading(refusal="the name of the program is not a plain word")
    if "/" in program:
        return Reading(refusal=f"`{program}` is named by a path")
    if command.wrap is Wrap.OTHER:
        return Reading(refusal=f"`{program}` runs another program")
    arguments = command.words[1:]
    if program in _BY_HAND:
        return _BY_HAND[program](arguments)
    if program in programs.VERSION_ONLY and [word.text for word in arguments] in _VERSION_CALLS:
        return _FINE
    if program in programs.HARMLESS:
        return _harmless(program, arguments)
    if program in programs.CHECKED:
        return scan(program, arguments, programs.CHECKED[program])
    return Reading(refusal=f"`{program}` is not a known safe command")


_VERSION_CALLS = [[word] for word in programs.VERSION_WORDS]


def scan(program: str, arguments: Sequence[Word], options: Options) -> Reading:
    """Every option must be one of `options`; what is no option is an operand."""
    operands: list[Word] = []
    index, ended = 0, False
    while index < len(arguments):
        word = arguments[index]
        index += 1
        refusal = _word_refusal(word)
        if refusal:
            return Reading(refusal=refusal)
        text = word.text or ""
        if ended or text == "-" or not text.startswith("-"):
            operands.append(word)
        elif text == "--":
            ended = True
        else:
            step = _option_words(text, options)
            value = arguments[index : index + 1] if step == 2 else ()
            # a value that looks like an option may be taken for one by the program
            if step is None or any(not each.is_literal or _is_option(each) for each in value):
                return Reading(refusal=f"`{program} {text}` may do more than read")
            index += step - 1
    if options.max_operands is not None and len(operands) > options.max_operands:
        return Reading(refusal=f"`{program}` with these arguments may do more than read")
    return Reading(paths=tuple(operands[options.text_operands :]) if options.paths else ())


def _is_option(word: Word) -> bool:
    return (word.text or "").startswith("-")


def _word_refusal(word: Word) -> str:
    if word.text is None:
        return f"`{word.source}` is only known when the shell runs"
    if word.glob and word.text.startswith(_GLOB_START):
        return f"`{word.source}` may become an option"
    return ""


def _option_words(text: str, options: Options) -> int | None:
    """How many words an option takes; None when it is not known."""
    if text in options.words or (options.numbers and re.fullmatch(r"-\d+", text)):
        return 1
    if text.startswith("--"):
        name, equals, _ = text[2:].partition("=")
        if name + equals in options.long or (equals and name + ":" in options.long):
            return 1
        return 2 if not equals and name + ":" in options.long else None
    for position, letter in enumerate(text[1:], start=1):
        if letter in options.valued:
            return 1 if position + 1 < len(text) else 2
        if letter not in options.flags:
            return None
    return 1


def _harmless(program: str, arguments: Sequence[Word]) -> Reading:
    """No option of these does anything but change what is read and how it is shown."""
    if program == "echo":
        unknown = [word for word in arguments if word.text is None and not word.variables]
    else:
        unknown = [word for word in arguments if word.text is None]
    if unknown:
        return Reading(refusal=f"`{unknown[0].source}` is only known when the shell runs")
    if program in programs.TEXT:
        return _FINE
    operands = [word for word in arguments if not (word.text or "").startswith("-")]
    if program in programs.PATTERN_FIRST and not any(_gives_pattern(word.text or "") for word in arguments):
        operands = operands[1:]
    return Reading(paths=(*operands, *(word for word in arguments if _option_path(word.text or ""))))


def _gives_pattern(text: str) -> bool:
    return bool(re.match(r"-[A-Za-z]*[ef]|--(regexp|file|from-file)\b", text))


def _option_path(text: str) -> bool:
    """An option word that carries a path of its own: `--file=/x`, `-f/x`, `-f../x`."""
    return text.startswith("-") and ("/" in text or ".." in text)


# --- programs with a language of their own -----------------------------------------------------

_FIND_ALONE = frozenset(
    """
    -empty -executable -readable -writable -depth -d -prune -print -print0 -ls -not ! -a -and -o -or
    ( ) , -true -false -follow -L -H -P -xdev -mount -daystart -quit -noleaf -nouser -nogroup
    -ignore_readdir_race
    """.split()
)
_FIND_VALUED = frozenset(
    """
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -mmin
    -atime -amin -ctime -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -maxdepth
    -mindepth -links -inum -samefile -regextype -lname -ilname -printf -fstype -used
    """.split()
)


def _find(arguments: Sequence[Word]) -> Reading:
    paths: list[Word] = []
    index, expression = 0, False
    while index < len(arguments):
        word = arguments[index]
        text = word.text or ""
        refusal = _word_refusal(word)
        if refusal:
            return Reading(refusal=refusal)
        index += 1
        if text in _FIND_ALONE:
            expression = expression or text not in ("-L", "-H", "-P")
        elif text in _FIND_VALUED:
            expression = True
            if index < len(arguments) and not arguments[index].is_literal:
                return Reading(refusal=f"`{arguments[index].source}` may become several words")
            index += 1
        elif text.startswith("-") or expression:
            return Reading(refusal=f"`find {text}` may do more than read")
        else:
            paths.append(word)
    return Reading(paths=tuple(paths))


_SED_PRINT = re.compile(r"\s*(?:\d+|\$)?\s*(?:,\s*(?:\d+|\$|\+\d+))?\s*[pdq=]\s*\Z")
_SED_MATCH = re.compile(r"\s*/(?:[^/\\\n]|\\[^\n])*/\s*[pd]\s*\Z")
_SED_REPLACE = re.compile(
    r"\s*(?:\d+\s*(?:,\s*\d+\s*)?)?s(?P<mark>[/|#,])(?:(?!(?P=mark))[^\\\n]|\\[^\n]){0,400}(?P=mark)"
    r"(?:(?!(?P=mark))[^\\\n]|\\[^\n]){0,400}(?P=mark)[gpiI0-9]*\s*\Z"
)
_SED = Options(
    flags="nErsuz", valued="e", long=frozenset(("quiet", "silent", "regexp-extended", "expression:"))
)
_SED_SCRIPT = re.compile(r"-[nErsuz]*e(.*)|--expression(?:=(.*))?\Z", re.DOTALL)


def _sed(arguments: Sequence[Word]) -> Reading:
    """Scripts of one command that prints, deletes or replaces; never `w`, `e`, `-i`."""
    checked = scan("sed", arguments, _SED)
    if checked.refusal:
        return checked
    scripts = _scripts(arguments)
    operands = checked.paths
    if not scripts:
        scripts, operands = [word.text for word in operands[:1]], operands[1:]
    safe = (_SED_PRINT, _SED_MATCH, _SED_REPLACE)
    if not scripts or not all(any(form.match(script or "\n") for form in safe) for script in scripts):
        return Reading(refusal="the script of `sed` may write or run something")
    return Reading(paths=operands)


def _scripts(arguments: Sequence[Word]) -> list[str | None]:
    """The values of `-e`, in every way it may be written."""
    values: list[str | None] = []
    for index, word in enumerate(arguments):
        option = _SED_SCRIPT.match(word.text or "")
        if option:
            following = arguments[index + 1].text if index + 1 < len(arguments) else None
            values.append(option[1] or option[2] or following)
    return values


_AWK = re.compile(
    r"\s*(?:/[^/\\\n]*/|NR\s*[=<>!]=?\s*\d+)?"
    r"\s*(?:\{\s*print(?:\s+\$\w+(?:\s*,\s*\$\w+)*)?\s*;?\s*\})?\s*\Z"
)


def _awk(arguments: Sequence[Word]) -> Reading:
    """`awk '{print $1, $3}'`, with `-F` at most."""
    checked = scan("awk", arguments, Options(valued="F"))
    if checked.refusal:
        return checked
    if not checked.paths or not _AWK.match(checked.paths[0].text or "\n"):
        return Reading(refusal="the program of `awk` may write or run something")
    return Reading(paths=checked.paths[1:])


_FORMAT = re.compile(r"(?:[^%]|%%|%[-+ #0]*\d*(?:\.\d+)?[sdiuoxXcfeEgGbq])*\Z", re.DOTALL)


def _printf(arguments: Sequence[Word]) -> Reading:
    """No `-v NAME` and no `%n`: both assign, and a name may hold a substitution."""
    if not arguments or arguments[0].text is None or arguments[0].text.startswith("-"):
        return Reading(refusal="`printf` may assign a variable")
    if not _FORMAT.match(arguments[0].text) or arguments[0].glob:
        return Reading(refusal="the format of `printf` may assign a variable")
    unknown = [word for word in arguments if word.text is None and not word.variables]
    return Reading(refusal=f"`{unknown[0].source}` is only known when the shell runs") if unknown else _FINE


_TEST_OPERATORS = frozenset(
    """
    -a -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -L -O -G -S -N -n -z -nt -ot -ef -o = == != < >
    ! ( ) && || ]
    """.split()
)
_NUMERIC = frozenset("-eq -ne -lt -le -gt -ge".split())


def _test(arguments: Sequence[Word]) -> Reading:
    """`-v` and `-R` evaluate subscripts, and numbers in `[[ ]]` are arithmetic."""
    texts = [word.text for word in arguments if word.is_literal]
    if len(texts) < len(arguments):
        return Reading(refusal="a word of the test is only known when the shell runs")
    for position, text in enumerate(texts):
        if text in _NUMERIC:
            around = texts[max(0, position - 1) : position] + texts[position + 1 : position + 2]
            if not all(re.fullmatch(r"-?\d+", each or "") for each in around):
                return Reading(refusal="the test may evaluate an expression")
        elif (text or "").startswith("-") and text not in _TEST_OPERATORS:
            return Reading(refusal=f"the test `{text}` may evaluate an expression")
    return Reading(paths=tuple(word for word in arguments if word.text not in _TEST_OPERATORS | _NUMERIC))


def _set(arguments: Sequence[Word]) -> Reading:
    """`set -euo pipefail` at the head of a line."""
    texts = [word.text or "" for word in arguments]
    fine = all(re.fullmatch(r"[-+][eux]*o?", text) or text == "pipefail" for text in texts)
    return _FINE if texts and fine else Reading(refusal="`set` changes how the shell reads the line")


def _date(arguments: Sequence[Word]) -> Reading:
    checked = scan("date", arguments, programs.CHECKED["date"])
    texts = [word.text or "" for word in arguments]
    values = {following for text, following in pairwise(texts) if text in ("-d", "--date")}
    sets = any(not text.startswith(("-", "+")) and text not in values for text in texts)
    return Reading(refusal="`date` may set the clock") if sets else checked


def _command(arguments: Sequence[Word]) -> Reading:
    """`command -v NAME`."""
    known = all(word.is_literal for word in arguments)
    lookup = bool(arguments) and arguments[0].text in ("-v", "-V")
    return _FINE if known and lookup else Reading(refusal="`command` runs another program")


def _git(arguments: Sequence[Word]) -> Reading:
    """Reading verbs with known options; `-c`, `-C`, `--git-dir` and their kin are not looked into."""
    rest = list(arguments)
    while rest and rest[0].text in _GIT_PAGERLESS:
        del rest[0]
    if not rest or not rest[0].is_literal or rest[0].text is None:
        return Reading(refusal="`git` without a plain subcommand")
    if [word.text for word in rest] == ["--version"]:
        return _FINE
    verb = rest[0].text
    second = (rest[1].text or "") if len(rest) > 1 else ""
    if (verb, second) in programs.GIT_READ_VERBS:
        checked = scan(f"git {verb} {second}", rest[2:], programs.GIT_READ_VERBS[verb, second])
    elif verb in programs.GIT_READS:
        checked = scan(f"git {verb}", rest[1:], programs.GIT_READS[verb])
    else:
        return Reading(refusal=f"`git {verb}` may change the repository")
    if any(_SIGNATURE.search(word.text or "") for word in rest):
        return Reading(refusal="the format of `git` runs a signature check")
    return checked


def _cd(arguments: Sequence[Word]) -> Reading:
    """To one place that is known, so that what follows can be placed too."""
    if len(arguments) != 1 or not arguments[0].is_literal or _is_option(arguments[0]):
        return Reading(refusal="`cd` to a place that is not named")
    return Reading(paths=tuple(arguments))


_BY_HAND: dict[str, _Check] = {
    "cd": _cd,
    "find": _find,
    "sed": _sed,
    "awk": _awk,
    "printf": _printf,
    "test": _test,
    "[": _test,
    "[[": _test,
    "set": _set,
    "date": _date,
    "command": _command,
    "git": _git,
}
