"""`agent-tui completions SHELL`: a completion script made from the parsers themselves."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only `completions` takes."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](), end="")
    return 0


def _words() -> dict[str, list[str]]:
    """Command (empty for none) → its flags and the fixed words of its arguments."""
    from agent_tui.cli.parser import COMMANDS, build

    found: dict[str, list[str]] = {}
    for name in ("", *COMMANDS):
        actions = build(name)._actions
        flags = [flag for action in actions for flag in action.option_strings]
        fixed = [str(c) for action in actions if not action.option_strings for c in action.choices or ()]
        found[name] = [*(COMMANDS if not name else ()), *fixed, *flags]
    return found


def _values() -> dict[str, tuple[str, ...]]:
    """Flag → the fixed values it takes, of all commands together."""
    from agent_tui.cli.parser import COMMANDS, build
    from agent_tui.config.options import find

    found: dict[str, tuple[str, ...]] = {}
    for name in ("", *COMMANDS):
        for action in build(name)._actions:
            is_setting = action.dest.startswith("setting_")
            option = find((action.dest.removeprefix("setting_"),)) if is_setting else None
            values = tuple(map(str, action.choices or (option.choices if option else ())))
            found |= {flag: values for flag in action.option_strings if values}
    return found


def _free() -> list[str]:
    """The flags whose value can be anything, such as a file."""
    from agent_tui.cli.parser import COMMANDS, build

    actions = [action for name in ("", *COMMANDS) for action in build(name)._actions if action.nargs != 0]
    return sorted({flag for action in actions for flag in action.option_strings} - _values().keys())


def _bash() -> str:
    offer = 'COMPREPLY=($(compgen -W "{}" -- "${{COMP_WORDS[COMP_CWORD]}}")); return ;;'
    values = f"    {'|'.join(_free())}) COMPREPLY=(); return ;;\n"  # files then
    values += "".join(f"    {flag}) {offer.format(' '.join(words))}\n" for flag, words in _values().items())
    cases = "".join(f'    {name}) words="{" ".join(words)}" ;;\n' for name, words in _words().items() if name)
    return f"""\
_agent_tui() {{
  local words="{" ".join(_words()[""])}" word
  case "${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}  esac
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in
{cases}    *) continue ;;
    esac
    break
  done
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _agent_tui agent-tui
"""


def _zsh() -> str:
    values = f"    {'|'.join(_free())}) _files; return ;;\n"
    values += "".join(
        f"    {flag}) compadd -- {' '.join(words)}; return ;;\n" for flag, words in _values().items()
    )
    cases = "".join(
        f"      {name}) offered=({' '.join(words)}) ;;\n" for name, words in _words().items() if name
    )
    return f"""\
#compdef agent-tui
_agent_tui() {{
  local -a offered
  local word
  case "$words[CURRENT-1]" in
{values}  esac
  offered=({" ".join(_words()[""])})
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$word" in
{cases}      *) continue ;;
    esac
    break
  done
  compadd -- $offered
  _files
}}
if [[ "$funcstack[1]" == _agent-tui ]]; then  # a file of that name in $fpath
  _agent_tui
else
  compdef _agent_tui agent-tui
fi
"""


def _fish() -> str:
    from agent_tui.cli.parser import COMMANDS

    lines = [
        f"function __agent_tui_bare; not __fish_seen_subcommand_from {' '.join(COMMANDS)}; end",
        "complete -c agent-tui -e",
    ]
    for name, spec in COMMANDS.items():
        lines.append(f"complete -c agent-tui -n __agent_tui_bare -f -a {name} -d '{spec.summary}'")
    values = dict.fromkeys(_free(), " -r")
    values |= {flag: f" -x -a '{' '.join(words)}'" for flag, words in _values().items()}
    for name, words in _words().items():
        where = f"'__fish_seen_subcommand_from {name}'" if name else "__agent_tui_bare"
        for word in words:
            if word.startswith("--"):
                lines.append(f"complete -c agent-tui -n {where} -l {word[2:]}{values.get(word, '')}")
            elif word.startswith("-"):
                lines.append(f"complete -c agent-tui -n {where} -s {word[1:]}{values.get(word, '')}")
            elif name:
                lines.append(f"complete -c agent-tui -n {where} -f -a {word}")
    return "\n".join(lines) + "\n"
