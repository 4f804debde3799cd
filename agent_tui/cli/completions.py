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


def _bash() -> str:
    cases = "".join(f'    {name}) words="{" ".join(words)}" ;;\n' for name, words in _words().items() if name)
    return f"""\
_agent_tui() {{
  local words="{" ".join(_words()[""])}" word
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
    cases = "".join(
        f"      {name}) words=({' '.join(words)}) ;;\n" for name, words in _words().items() if name
    )
    return f"""\
#compdef agent-tui
_agent_tui() {{
  local -a words_of
  local word words
  words=({" ".join(_words()[""])})
  for word in "${{(@)argv[2,CURRENT-1]}}"; do
    case "$word" in
{cases}      *) continue ;;
    esac
    break
  done
  compadd -- $words
  _files
}}
compdef _agent_tui agent-tui
"""


def _fish() -> str:
    from agent_tui.cli.parser import COMMANDS

    lines = ["complete -c agent-tui -e"]
    for name, spec in COMMANDS.items():
        lines.append(f"complete -c agent-tui -n __fish_use_subcommand -f -a {name} -d '{spec.summary}'")
    for name, words in _words().items():
        where = f"'__fish_seen_subcommand_from {name}'" if name else "__fish_use_subcommand"
        for word in words:
            if word.startswith("--"):
                lines.append(f"complete -c agent-tui -n {where} -l {word[2:]}")
            elif word.startswith("-"):
                lines.append(f"complete -c agent-tui -n {where} -s {word[1:]}")
            elif name:
                lines.append(f"complete -c agent-tui -n {where} -f -a {word}")
    return "\n".join(lines) + "\n"
