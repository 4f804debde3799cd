"""Prints docs/reference.md from the parsers themselves; a test compares the two."""

import os
import re
from collections.abc import Iterator

os.environ["COLUMNS"] = "100"  # argparse wraps to the terminal

from agent_tui.cli.parser import COMMANDS, build
from agent_tui.engine.rules import KINDS
from agent_tui.engine.types import END_FACTS, EndReason
from agent_tui.plain import slash as in_lines
from agent_tui.tui import slash
from tools.types import Grant

BAR = "\\|"  # within a cell of a table
WHEN = {
    EndReason.COMPLETED: "the model answered; what was required of the answer and of the files holds",
    EndReason.COMPLETED_UNVERIFIED: "the model answered; its last check failed or is older than a change",
    EndReason.CONTRACT_UNMET: "`--verify` or `--output-schema` still fails when its repairs are used up",
    EndReason.CANCELLED: "`cancel` on the stdin of `exec --stdin-commands`: the task cannot be continued",
    EndReason.INTERRUPTED: "Esc, Ctrl+C, a pause, SIGINT, SIGTERM, SIGHUP, a question left open, "
    "`--on-lost-result stop`: the task is paused and can be continued",
    EndReason.CRASHED: "the process died, as by `kill -9`; the next resume stores this end",
    EndReason.BUDGET_TURNS: "`--max-turns`",
    EndReason.BUDGET_TOOLS: "`--max-tool-calls`",
    EndReason.BUDGET_TIME: "`--timeout`",
    EndReason.BUDGET_TOKENS: "`--max-tokens`",
    EndReason.BUDGET_COST: "`--max-cost`",
    EndReason.COST_UNKNOWN: "`--max-cost` with a model that has no price, before the first request",
    EndReason.CONTEXT_EXHAUSTED: "what is needed does not fit the window, after compaction too",
    EndReason.LOOP_DETECTED: "the same calls with the same results again and again, or two empty answers",
    EndReason.MODEL_UNAVAILABLE: "no connection, a busy or silent provider, after the last attempt",
    EndReason.MODEL_REJECTED: "the provider refused key, model or request, or the model refused; "
    "which key or model the sentence says",
    EndReason.APPROVAL_UNAVAILABLE: "three calls in a row needed an approval that nobody could give",
    EndReason.CHECKPOINT_UNAVAILABLE: "`--require-checkpoints` and no checkpoint before a change",
    EndReason.STATE_UNWRITABLE: "the session could not be stored, as on a full disk; nothing ran unrecorded",
    EndReason.INTERNAL_ERROR: "a fault of agent-tui; `internal-error.txt` beside the session has the details",
}

# `tests/engine/test_rules.py` reads the example as the program would.
RULES = """
## Rules of approval

`rules.toml` beside your `config.toml` holds what was settled beforehand. `p` (allow) and `b`
(deny) at a question write to it, `/approvals` lists it and takes rules back; you may edit it too, comments
stay. Each rule is one table:

```toml
[[rule]]
action = "allow"                  # or "ask", "deny"
run = "make publish INDEX=*"      # exactly one of: KINDS
workspace = "/home/me/src/shop"   # only there; without it everywhere
directory = "/home/me/src/shop"   # only for commands that run there
grant = "network"                 # beyond the sandbox: GRANTS

[[rule]]
action = "deny"
run = "git push"

[[rule]]
action = "ask"
edit = "migrations/**"

[[rule]]
action = "allow"
read = "/home/me/.cache/shop/**"
```

| Key | Stands for |
|---|---|
| `run` | one command of a line, word by word, as `agent-tui debug classify` prints it |
| `line` | a whole line that cannot be taken apart, such as one with a loop or a substitution |
| `edit` | a file that the agent patches, relative to the workspace |
| `read` | a path that the agent reads itself, outside the workspace or a secret |
| `tool` | another tool, by its name |
| `host` | a host as `example.org:443` or `[2001:db8::1]:443` |
| `write` | a path; no tool of this version asks for it by name |

- Words with blanks stand in single quotes. `*` is one word that is no option, `NAME=*` any value of that
  name, `...` at the end any further words. In paths `*` stays within one level, `/**` at the end does not.
- An `allow` rule covers exactly its shape, and a line runs only when each command in it is covered. `deny`
  and `ask` rules also hold for everything that begins like them, and see through `env`, `xargs`, `bash -c`,
  `flock`, `strace`, `git bisect run` and their like, a path before the program, and options and assignments
  between the words (`make all=1 deploy`). A rule of an assignment (`LD_PRELOAD=* ...`) holds however it is
  set: before the command, by `export` or `env`, or by the `env` of a call.
- What a `deny` or `ask` rule cannot be sure of asks, and is refused where nobody can be asked: an unknown
  program that is given the words of the rule, and code that is not understood (`alias`, `hash -p`,
  `source /dev/stdin`, a substitution inside a quoted subscript).
- A `deny` rule guards against accidents, the sandbox is the wall: a script, a makefile or a renamed copy of a
  program can run what the rule names without the line saying so.
- `deny` beats everything. An `allow` rule without `*` beats an `ask` rule for things like it.
- What is dangerous whatever the rules say, such as removing a home, is always asked.
- Refused as too broad to be allowed: shells and interpreters with free code, `sudo` and its like, programs
  that run others (`xargs`, `env`, `find` …) with free words, `git` and its like without a subcommand, any
  host, any file. Leaving the sandbox is never a rule. `grant_detail` names the path of `read_path` and
  `write_path`, the host of `host`.
- An allowed `host` opens no network by itself. A command that asks for this host alone runs with it without a
  question, except under `untrusted`, and one that was granted another host reaches it; what its line needs
  beside that is still asked.
  A host to allow is named whole. In a `deny` or `ask` rule `*` stands for any characters, and the port may be
  left out: `*.example.org`. One that no host can match as it is dialled (capitals, `example.org.`, `127.1`)
  is refused.
- A file that cannot be read, or holds a rule that is refused, stops the start and names the line: it may
  hold a `deny`.
"""


def in_a_session() -> Iterator[str]:
    """A row for each command that a session takes, in the interface and in line mode."""
    on_screen = {each.name: each for each in slash.TABLE}
    for name in sorted({*on_screen, *in_lines.COMMANDS}):
        shown, spoken = on_screen.get(name), in_lines.COMMANDS.get(name)
        usage = f"`/{name} {shown.argument}`".replace(" `", "`") if shown else "–"
        lines = f"`{spoken.usage}`" if spoken and spoken.does != "not in line mode" else "–"
        does = [shown.help] if shown else [spoken.does] if spoken else []
        waits = any(each is not None and not each.anytime for each in (shown, spoken))
        cells = (usage, lines, *does, "when idle" if waits else "")
        yield f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def main() -> None:
    """Write the page to standard output."""
    print("# Reference\n\nWritten by `scripts/reference.py`; settings and their keys are in the README.")
    for name in ("", *COMMANDS):
        print(f"\n## `{f'agent-tui {name}'.strip()}`\n\n```text\n{build(name).format_help().rstrip()}\n```")
    print(
        "\n## Commands in a session\n\nLines that begin with `/`. What is marked waits until the turn is"
        "\nover, `/doctor` in the interface only."
        "\n\n| In the interface | In line mode | Does | |\n|---|---|---|---|"
    )
    print("\n".join(in_a_session()))
    print(
        "\n## How a run ends\n\nEach run ends once, for one reason. A paused task is also given up, with"
        "\nno end of its own, when a new message begins another.\n"
        "\n| Reason | Exit code | Sentence | When |\n|---|---|---|---|"
    )
    for reason, facts in END_FACTS.items():
        told = re.sub(r"{(\w+)}", lambda name: name[1].upper(), facts.sentence)
        print(f"| `{reason}` | {facts.exit_code} | {told} | {WHEN[reason]} |")
    grants = [grant for grant in Grant if grant not in (Grant.NONE, Grant.NO_SANDBOX)]
    print(RULES.replace("KINDS", ", ".join(KINDS)).replace("GRANTS", ", ".join(grants)).rstrip())


if __name__ == "__main__":
    main()
