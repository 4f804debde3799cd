"""Prints the option table of README.md; a test compares the two."""

from agent_tui.config.options import EXEC_OPTIONS, RUN_OPTIONS, SETTINGS, Option


def _row(option: Option) -> str:
    names = ", ".join(f"`{flag}`" for flag in option.flags) or "–"
    if option.metavar and option.flags:
        names += f" `{option.metavar}`"
    variable = f"`{option.environment}`" if option.environment else "–"
    choices = f": {', '.join(f'`{choice}`' for choice in option.choices)}" if option.choices else ""
    default = (
        f" (default `{option.default}`)" if isinstance(option.default, str | int) and option.default else ""
    )
    return f"| {names} | `{option.name}` | {variable} | {option.help}{choices}{default} |"


def main() -> None:
    """Write the table to standard output."""
    print("| Flag | Key | Variable | Meaning |")
    print("|---|---|---|---|")
    for option in (*RUN_OPTIONS, *EXEC_OPTIONS, *SETTINGS):
        print(_row(option))


if __name__ == "__main__":
    main()
