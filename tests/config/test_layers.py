"""Which layer wins, what a workspace may not do, and how mistakes are told."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_tui.config.edit import set_values
from agent_tui.config.effective import build
from agent_tui.config.layers import Settings, resolve
from agent_tui.config.options import Value
from agent_tui.config.providers import route_to
from agent_tui.engine.types import ApprovalPolicy
from agent_tui.errors import UsageError
from sandbox.policy import Limits, Mode


class Place:
    """A home, a workspace, and what their files and the environment say."""

    def __init__(self, root: Path) -> None:
        self.workspace = root / "work"
        self.workspace.mkdir()
        self.home = root / "home"
        self.environ = {"HOME": str(self.home)}
        self.user_file = self.home / ".config" / "agent-tui" / "config.toml"
        self.trusts = True

    def user(self, text: str) -> None:
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.user_file.write_text(text)

    def project(self, text: str) -> None:
        (self.workspace / ".agent-tui").mkdir(exist_ok=True)
        (self.workspace / ".agent-tui" / "config.toml").write_text(text)

    def settings(self, flags: Mapping[str, Value] | None = None, assignments: Sequence[str] = ()) -> Settings:
        return resolve(
            flags or {},
            assignments,
            environ=self.environ,
            directory=self.workspace,
            is_trusted=lambda state_dir, path, data: self.trusts,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_each_layer_wins_over_those_below(place: Place) -> None:
    place.user(
        'effort = "low"\nverify = "user"\nmax_turns = 9\ntheme = "user"\n[profiles.p]\nmax_turns = 8\n'
    )
    place.project('effort = "medium"\nverify = "project"\nmax_turns = 7\n')
    place.environ |= {"AGENT_TUI_EFFORT": "high", "AGENT_TUI_PROFILE": "p"}
    found = place.settings({"verify": "flag"})
    assert [
        (found.get(name), found.layer(name)) for name in ("verify", "effort", "max_turns", "theme", "timeout")
    ] == [
        ("flag", "flag"),
        ("high", "env"),
        (7, "project"),
        ("user", "user"),
        (None, "default"),
    ]
    place.trusts = False
    assert place.settings().get("max_turns") == 8
    assert place.settings().layer("max_turns") == "profile p"


def test_a_flag_wins_over_an_assignment(place: Place) -> None:
    assert place.settings({"max_turns": 1}, ["max_turns=2"]).get("max_turns") == 1
    assert place.settings({}, ["max_turns=2"]).get("max_turns") == 2


@pytest.mark.parametrize(
    ("user", "project", "key", "effective"),
    [
        ("", 'sandbox = "off"', "sandbox", "workspace-write"),
        ("", 'sandbox = "read-only"', "sandbox", "read-only"),
        ('sandbox = "read-only"', 'sandbox = "workspace-write"', "sandbox", "read-only"),
        ("", "network = true", "network", False),
        ("network = true", "network = false", "network", False),
        ('approval = "untrusted"', 'approval = "on-request"', "approval", "untrusted"),
        ('approval = "untrusted"', 'approval = "never"', "approval", "untrusted"),
        ("", 'approval = "untrusted"', "approval", "untrusted"),
        ("", "no_checkpoints = true", "no_checkpoints", False),
        ("max_cost = 1", "max_cost = 2", "max_cost", 1.0),
        ("max_cost = 2", "max_cost = 1", "max_cost", 1.0),
        ("", 'base_url = "http://evil.example"', "base_url", None),
        ("", 'add_dir = ["/"]', "add_dir", ()),
        ("", 'state_dir = "/tmp/x"', "state_dir", None),
        ("", "ephemeral = true", "ephemeral", False),
        ("", 'output_last_message = "/etc/x"', "output_last_message", None),
        ("", 'answer = ["yes"]', "answer", ()),
    ],
)
def test_a_project_can_tighten_and_never_loosen(
    place: Place, user: str, project: str, key: str, effective: Value
) -> None:
    place.user(user)
    place.project(project)
    found = place.settings()
    assert found.get(key) == effective
    assert bool(found.ignored) == (found.layer(key) != "project")


def test_a_project_cannot_name_a_provider(place: Place) -> None:
    place.project('[providers.openai]\nbase_url = "http://evil.example"\nheaders = { x = "y" }\n')
    found = place.settings()
    assert found.below("providers") == {}
    assert [ignored.key for ignored in found.ignored] == [
        "providers.openai.base_url",
        "providers.openai.headers.x",
    ]


def test_an_untrusted_project_file_is_not_even_parsed(place: Place) -> None:
    place.trusts = False
    place.project("this is = not [ toml")
    found = place.settings()
    assert [ignored.reason for ignored in found.ignored] == [
        "`.agent-tui/config.toml` is not trusted, so it was not used"
    ]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('model = "a/b"\naproval = "never"\n', 2, "unknown key `aproval`; did you mean `approval`?"),
        ("[limits]\ntaks = 3\n", 2, "unknown key `limits.taks`; did you mean `limits.tasks`?"),
        (
            '[providers.x]\napi = "chat"\nbase_uri = "u"\n',
            3,
            "unknown key `providers.x.base_uri`; did you mean `providers.x.base_url`?",
        ),
        ("zzz = 1", 1, "unknown key `zzz`; `agent-tui config show` lists the known ones"),
        (
            'sandbox = "of"',
            1,
            "`sandbox` must be one of `read-only`, `workspace-write`, `off`, not `of`; did you mean `off`?",
        ),
        ('\n\nnetwork = "yes"', 3, "`network` must be true or false, not the text `yes`"),
        ("max_turns = -1", 1, "`max_turns` must be a whole number from 1 up, not `-1`"),
        ("max_turns = true", 1, "`max_turns` must be a whole number from 1 up, not `true`"),
        ('max_turns = "3"', 1, "`max_turns` must be a whole number from 1 up, not the text `3`"),
        ("timeout = 0", 1, "`timeout` must be a number above 0, not `0`"),
        ("limits.tmp_bytes = 0", 1, "`limits.tmp_bytes` must be a whole number from 1 up, not `0`"),
        ("max_cost = nan", 1, "`max_cost` must be a number from 0 up, not `nan`"),
        (f"max_turns = {10**309}", 1, f"`max_turns` must be a whole number from 1 up, not `{10**309}`"),
        (f"max_cost = {10**309}", 1, f"`max_cost` must be a number from 0 up, not `{10**309}`"),
        (f"max_cost = 1{'0' * 5000}", 1, "not valid TOML: a number with too many digits"),
        (f"add_dir = {'[' * 5000}", 1, "not valid TOML: nested too deeply"),
        ("limits = 3", 1, "`limits` is a table, such as `[limits]`"),
        ("a = 1\nb = = 2", 2, "not valid TOML: invalid value"),
        ('api_key = "sk-1"', 1, "a key is never kept in a file; set `AGENT_TUI_API_KEY` instead"),
        ('[profiles.fast]\nmodle = "a/b"\n', 2, "unknown key `modle`; did you mean `model`?"),
        (
            'providers = { x = { api = "soap" } }',
            1,
            "`providers.x.api` must be one of `responses`, `chat`, `messages`, not `soap`",
        ),
    ],
)
def test_a_mistake_in_a_file_names_file_and_line(place: Place, text: str, line: int, problem: str) -> None:
    place.user(text)
    with pytest.raises(UsageError) as caught:
        place.settings()
    assert str(caught.value) == f"{place.user_file}:{line}: {problem}"
    assert "sk-1" not in str(caught.value)


def test_bytes_that_are_no_text_name_their_line(place: Place) -> None:
    place.user("")
    place.user_file.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(UsageError, match=r"config\.toml:2: not UTF-8 text"):
        place.settings()


@pytest.mark.parametrize(
    ("assignment", "key", "value"),
    [
        ("effort=high", ("effort",), "high"),
        ("model=openai/gpt-6.2-sol", ("model",), "openai/gpt-6.2-sol"),
        ("network=true", ("network",), True),
        (
            "providers.compatible.models.NAME.context_window=16000",
            ("providers", "compatible", "models", "NAME", "context_window"),
            16000,
        ),
        (
            'providers.ollama.models."qwen3:30b".max_output=1',
            ("providers", "ollama", "models", "qwen3:30b", "max_output"),
            1,
        ),
        ('add_dir=["/a", "/b"]', ("add_dir",), ("/a", "/b")),
        ("verify = make test", ("verify",), "make test"),
        ("keys.submit=ctrl+j", ("keys", "submit"), "ctrl+j"),
    ],
)
def test_an_assignment_is_toml_or_plain_text(
    place: Place, assignment: str, key: tuple[str, ...], value: Value
) -> None:
    assert place.settings({}, [assignment]).values[key].value == value


@pytest.mark.parametrize(
    "assignment",
    [
        "",
        "network",
        "=1",
        "no such key=1",
        "nope=1",
        "limits={tasks=1,tmp_bytes=2}",
        f"max_turns=1{'0' * 5000}",
    ],
)
def test_a_wrong_assignment_is_told(place: Place, assignment: str) -> None:
    with pytest.raises(UsageError, match=r"^-c"):
        place.settings({}, [assignment])


def test_a_wrong_variable_is_told_by_name(place: Place) -> None:
    place.environ["AGENT_TUI_MAX_TURNS"] = "many"
    with pytest.raises(
        UsageError, match="environment: `AGENT_TUI_MAX_TURNS` must be a whole number from 1 up, not `many`"
    ):
        place.settings()


def test_every_value_reaches_the_configuration(place: Place) -> None:
    place.environ |= {
        "AGENT_TUI_STATE_DIR": str(place.home / "state"),
        "AGENT_TUI_LIMITS_TASKS": "7",
        "AGENT_TUI_ADD_DIR": str(place.home / "more"),
        "AGENT_TUI_MODEL": "ollama/m",
        "AGENT_TUI_NO_CHECKPOINTS": "1",
    }
    (place.home / "more").mkdir(parents=True)
    flags: dict[str, Value] = {"max_cost": 1.5, "timeout": 3.0, "sandbox": "read-only", "network": True}
    config = build(place.settings(flags, ["keys.x=f5", "mouse=false"]), place.environ, interactive=False)
    assert config.model is not None
    assert (config.model.name, config.model.base_url) == ("ollama/m", "http://127.0.0.1:11434/v1")
    assert (config.approval, config.sandbox, config.network) == (ApprovalPolicy.NEVER, Mode.READ_ONLY, True)
    assert (config.budgets.max_cost_usd, config.budgets.timeout_s, config.budgets.max_idle_steps) == (
        1.5,
        3.0,
        12,
    )
    assert (config.state_dir, config.extra_roots) == (place.home / "state", (place.home / "more",))
    assert (config.limits, config.checkpoints) == (Limits(tasks=7), False)
    assert config.interface == {"keys.x": "f5", "mouse": "false"}
    assert (config.told["sandbox"], config.told["fallback"]) == ("read-only", "none")
    assert (config.origins["model"], config.origins["sandbox"], config.origins["theme"]) == (
        "env",
        "flag",
        "default",
    )


@pytest.mark.parametrize(
    ("environ", "flags", "problem"),
    [
        ({}, {"model": "gpt"}, "PROVIDER/MODEL"),
        ({}, {"model": "opnai/x"}, "unknown provider `opnai`"),
        ({}, {"model": "openai/x"}, "OPENAI_API_KEY"),
        ({}, {"model": "compatible/x"}, "--base-url"),
        ({}, {"model": "compatible/x", "base_url": "ftp://x"}, "http"),
        ({}, {"add_dir": ("/no/such",)}, "directory `/no/such` does not exist"),
        ({}, {"output_schema": "/no/such"}, "--output-schema: `/no/such` cannot be read"),
        ({}, {"require_checkpoints": True, "no_checkpoints": True}, "exclude each other"),
    ],
)
def test_what_cannot_work_is_told_before_anything_starts(
    place: Place, environ: dict[str, str], flags: dict[str, Value], problem: str
) -> None:
    place.environ |= environ
    with pytest.raises(UsageError) as caught:
        build(place.settings(flags), place.environ, interactive=False)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["model = = 1", pytest.param("model = " + "[" * 5000, id="nested")])
def test_a_file_that_cannot_be_read_is_not_written_over(place: Place, text: str) -> None:
    place.user(text)
    with pytest.raises(UsageError, match=r"config\.toml: `model` cannot be set: "):
        set_values(place.user_file.parent, {("model",): "fake/m"})
    assert place.user_file.read_text() == text


def test_a_key_is_needed_everywhere_but_on_loopback(place: Place) -> None:
    flags: dict[str, Value] = {"model": "compatible/x", "base_url": "https://models.example/v1"}
    with pytest.raises(UsageError, match="AGENT_TUI_API_KEY"):
        build(place.settings(flags), place.environ, interactive=False)
    place.environ["AGENT_TUI_API_KEY"] = "k"
    model = build(place.settings(flags), place.environ, interactive=False).model
    assert model is not None and model.api_key_env == "AGENT_TUI_API_KEY"
    assert "k" not in {model.base_url, model.name}


def test_a_continued_session_brings_its_address_for_its_own_provider_only(place: Place) -> None:
    place.environ["AGENT_TUI_API_KEY"] = "k"
    settings = place.settings().continuing("compatible/x", "https://models.example/v1")
    assert route_to("compatible/x", settings).base_url == "https://models.example/v1"
    assert route_to("openai/x", settings).base_url == ""


@pytest.mark.parametrize(
    "given", [{"model": "ollama/m"}, {"base_url": "https://other.example/v1", "model": "compatible/x"}]
)
def test_what_is_given_now_wins_over_what_a_session_was_begun_with(
    place: Place, given: dict[str, Value]
) -> None:
    settings = place.settings(given)
    assert settings.continuing("compatible/x", "https://models.example/v1") is settings
