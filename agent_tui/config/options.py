"""The one table of settings. Flags, environment variables, settings files, `--help`, `config show`
and the README's option table are all made from it."""

from collections.abc import Sequence
from typing import Literal

from agent_tui.frozen import frozen
from agent_tui.models.example import EXAMPLE_MODEL

Value = str | bool | int | float | tuple[str, ...] | None
Key = tuple[str, ...]  # segments of a dotted key; names of providers and models may hold dots
Kind = Literal["text", "flag", "integer", "number", "choice", "list", "scalar"]
Group = Literal["run", "exec", "settings"]


@frozen
class Option:
    """One setting. `strictest` ranks values, safest first: the project may only move towards it."""

    key: Key  # `*` stands for any one segment
    kind: Kind
    help: str
    flags: tuple[str, ...] = ()
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: Value = None
    unset: str = ""  # what counts where nothing is set, in words; for those without a default
    group: Group = "run"  # where its flag exists: every run, `exec` only, or no flag at all
    project: Literal["free", "tighten", "never"] = "never"  # what a trusted workspace may set
    strictest: tuple[Value, ...] = ()
    positive: bool = False  # a number that means nothing at 0

    @property
    def name(self) -> str:
        """The dotted key."""
        return ".".join(self.key)

    @property
    def environment(self) -> str:
        """Its environment variable; empty where the key has free segments."""
        return "" if "*" in self.key else "AGENT_TUI_" + "_".join(self.key).upper()


def _flag(*flags: str, help: str, **rest: object) -> Option:
    return _option(*flags, kind="flag", help=help, default=False, **rest)


def _option(*flags: str, **rest: object) -> Option:
    key = (flags[-1].removeprefix("--").replace("-", "_"),)
    return Option(key=key, flags=flags, **rest)  # type: ignore[arg-type]  # checked by the table's test


def _setting(name: str, kind: Kind = "text", **rest: object) -> Option:
    return Option(key=tuple(name.split(".")), kind=kind, group="settings", **rest)  # type: ignore[arg-type]  # as above


SANDBOX_MODES = ("read-only", "workspace-write", "off")
APPROVAL_POLICIES = ("untrusted", "on-request", "never")
LOST_RESULT_CHOICES = ("report", "rollback", "stop")

RUN_OPTIONS: tuple[Option, ...] = (
    _option(
        "-m",
        "--model",
        kind="text",
        metavar="PROVIDER/MODEL",
        help=f"the model, such as {EXAMPLE_MODEL}",
        unset="none chosen",
        project="free",
    ),
    _option(
        "--base-url",
        kind="text",
        metavar="URL",
        help="address of the provider's API",
        unset="the provider's own",
    ),
    _option(
        "-C", "--cd", kind="text", metavar="DIR", help="work in this directory", unset="the current directory"
    ),
    _option(
        "--add-dir", kind="list", metavar="DIR", help="commands may write there too; repeatable", default=()
    ),
    _option(
        *("-s", "--sandbox"),
        kind="choice",
        choices=SANDBOX_MODES,
        default="workspace-write",
        help="what commands may touch",
        project="tighten",
        strictest=SANDBOX_MODES,
    ),
    _flag("--network", help="allow network inside the sandbox", project="tighten", strictest=(False, True)),
    _option(
        *("-a", "--approval"),
        kind="choice",
        choices=APPROVAL_POLICIES,
        help="when a call asks; by default on-request, in exec never",
        unset="on-request, in exec never",
        project="tighten",
        strictest=("untrusted", "never", "on-request"),
    ),
    _option(
        "--profile", kind="text", metavar="NAME", help="use the settings of `[profiles.NAME]`", unset="none"
    ),
    _option("-i", "--image", kind="list", metavar="FILE", help="attach a picture; repeatable", default=()),
    _flag("--ephemeral", help="store nothing"),
    _flag("--no-checkpoints", help="take no checkpoints", project="tighten", strictest=(False, True)),
    _flag(
        "--require-checkpoints",
        help="end the run where a checkpoint cannot be taken",
        project="tighten",
        strictest=(True, False),
    ),
    _option(
        *("--verify",),
        kind="text",
        metavar="CMD",
        help="the run counts as done only when CMD exits 0 after the last change",
        unset="none",
        project="free",
    ),
    _option(
        "--max-turns",
        kind="integer",
        metavar="N",
        help="end after N model responses",
        unset="no limit",
        project="tighten",
        positive=True,
    ),
    _option(
        "--max-tool-calls",
        kind="integer",
        metavar="N",
        help="end after N tool calls; 0 for none at all",
        unset="no limit",
        project="tighten",
    ),
    _option(
        "--max-tokens",
        kind="integer",
        metavar="N",
        help="end after N tokens, in and out",
        unset="no limit",
        project="tighten",
        positive=True,
    ),
    _option(
        "--max-cost",
        kind="number",
        metavar="USD",
        help="end when it has cost so much; 0 for models that cost nothing only",
        unset="no limit",
        project="tighten",
    ),
    _option(
        "--timeout",
        kind="number",
        metavar="SECONDS",
        help="end after so much active time",
        unset="no limit",
        project="tighten",
        positive=True,
    ),
    _flag("--plain", help="line mode instead of the screen"),
    _flag("--debug", help="show tracebacks"),
)

EXEC_OPTIONS: tuple[Option, ...] = (
    _flag("--json", help="events as JSON lines on stdout", group="exec"),
    _option(
        *("-o", "--output-last-message"),
        kind="text",
        metavar="FILE",
        help="also write the final answer to FILE",
        unset="none",
        group="exec",
    ),
    _option(
        *("--output-schema",),
        kind="text",
        metavar="FILE",
        help="JSON Schema that the final answer must fit",
        unset="none",
        group="exec",
    ),
    _option(
        *("--on-lost-result",),
        kind="choice",
        choices=LOST_RESULT_CHOICES,
        default="report",
        help="what to do about a call whose result was lost in a crash",
        group="exec",
        project="free",
    ),
    _option(
        *("--answer",),
        kind="list",
        metavar="TEXT",
        help="answer for a question of the model, in order",
        default=(),
        group="exec",
    ),
)

SETTINGS: tuple[Option, ...] = (
    _setting("api_key", help="the key, from the environment only: `AGENT_TUI_API_KEY`", unset="not set"),
    _setting("state_dir", help="where sessions and checkpoints are kept", unset="in $XDG_STATE_HOME"),
    _setting(
        "effort",
        "choice",
        choices=("minimal", "low", "medium", "high"),
        help="reasoning effort",
        unset="the model's own",
        project="free",
    ),
    _setting(
        "max_idle_steps",
        "integer",
        default=12,
        help="steps without progress before a run ends; 0 for no limit",
    ),
    _setting(
        "idle_timeout",
        "number",
        default=120,
        positive=True,
        help="seconds without a word of the model before a request is sent again",
    ),
    _setting(
        "fast_model",
        metavar="PROVIDER/MODEL",
        help="cheap model for small work: titles of sessions, and summaries unless `summary_model` is set",
        unset="none",
    ),
    _setting(
        "summary_model",
        metavar="PROVIDER/MODEL",
        help="model that sums up what compaction hides, `main` for the one in use",
        unset="`fast_model`",
    ),
    _setting(
        "planner_model",
        metavar="PROVIDER/MODEL",
        help="strong model that answers until a task has a plan, which the model in use carries out",
        unset="none",
    ),
    _setting(
        "fallback",
        "list",
        metavar="PROVIDER/MODEL",
        default=(),
        help="models that take over, in order, while the chosen one cannot be had",
    ),
    _setting(
        "repo_map", "flag", help="a map of the project in the project text", unset="false", project="free"
    ),
    _setting("limits.tasks", "integer", positive=True, help="processes of one command", unset="1024"),
    _setting(
        "limits.memory_bytes",
        "integer",
        positive=True,
        help="memory of one command",
        unset="75 % of what is free",
    ),
    _setting(
        "limits.file_size_bytes",
        "integer",
        positive=True,
        help="largest file a command may write",
        unset="4 GiB",
    ),
    _setting("limits.tmp_bytes", "integer", positive=True, help="size of a command's /tmp", unset="2 GiB"),
    _setting("theme", help="colours of the interface", unset="auto", project="free"),
    _setting(
        "glyphs", "choice", choices=("auto", "unicode", "ascii"), help="signs", unset="auto", project="free"
    ),
    _setting("motion", "flag", help="animations", unset="true", project="free"),
    _setting("mouse", "flag", help="mouse capture", unset="true", project="free"),
    _setting(
        "output",
        "choice",
        choices=("auto", "always", "failed", "never"),
        help="when a card shows a command's output",
        unset="auto",
        project="free",
    ),
    _setting("screen_reader", "flag", help="words in place of colour", unset="false", project="free"),
    _setting("progress", "flag", help="progress signals to the terminal", unset="false", project="free"),
    _setting("keys.*", "text", help="key of an action of the interface"),
    _setting("providers.*.api", "choice", choices=("responses", "chat", "messages"), help="dialect"),
    _setting("providers.*.base_url", help="address"),
    _setting("providers.*.api_key_env", help="variable that holds the key"),
    _setting(
        "providers.*.api_key_command",
        "list",
        help="command that prints the key, a list or one text; run once, when it is needed",
    ),
    _setting("providers.*.api_key_keyring", help="`SERVICE/USER` of the key in the system's keyring"),
    _setting("providers.*.headers.*", help="extra header of each request"),
    _setting("providers.*.models.*.context_window", "integer", help="tokens", positive=True),
    _setting("providers.*.models.*.max_output", "integer", help="tokens", positive=True),
    _setting("providers.*.models.*.price_input", "number", help="USD per million tokens"),
    _setting("providers.*.models.*.price_output", "number", help="USD per million tokens"),
    _setting("providers.*.models.*.price_cache_read", "number", help="USD per million tokens"),
    _setting("providers.*.models.*.price_cache_write", "number", help="USD per million tokens"),
    _setting("providers.*.models.*.long_from", "integer", help="tokens above which long prices count"),
    _setting("providers.*.models.*.long_input", "number", help="times the input prices"),
    _setting("providers.*.models.*.long_output", "number", help="times the output price"),
    _setting("providers.*.models.*.images", "flag", help="takes pictures"),
    _setting("providers.*.models.*.reasoning", "flag", help="reasons"),
    _setting("providers.*.models.*.quirks.*", "scalar", help="departs from its dialect"),
    _setting("providers.*.quirks.*", "scalar", help="departs from its dialect"),
    _setting("providers.*.local", "flag", help="runs on this machine and costs nothing"),
)

OPTIONS: tuple[Option, ...] = RUN_OPTIONS + EXEC_OPTIONS + SETTINGS
INTERFACE_KEYS = ("theme", "glyphs", "motion", "mouse", "output", "screen_reader", "progress")


def find(key: Key) -> Option | None:
    """The option that a key names."""
    return next((option for option in OPTIONS if _matches(option.key, key)), None)


def by_name(name: str) -> Option:
    """The option of a fixed name; raises KeyError."""
    found = find(tuple(name.split(".")))
    if found is None:
        raise KeyError(name)
    return found


def is_table(key: Key) -> bool:
    """Whether a key names a table that holds options."""
    return any(len(o.key) > len(key) and _matches(o.key[: len(key)], key) for o in OPTIONS)


def siblings(key: Key) -> Sequence[str]:
    """The names that would have been known in the place of the last segment of `key`."""
    depth = len(key)
    names = {
        o.key[depth - 1] for o in OPTIONS if len(o.key) >= depth and _matches(o.key[: depth - 1], key[:-1])
    }
    return sorted(names - {"*"})


def dotted(key: Key) -> str:
    """A key as TOML writes it: segments with other characters are quoted."""
    return ".".join(s if s.replace("-", "").replace("_", "").isalnum() else f'"{s}"' for s in key)


def _matches(pattern: Key, key: Key) -> bool:
    return len(pattern) == len(key) and all(p in ("*", k) for p, k in zip(pattern, key, strict=True))
