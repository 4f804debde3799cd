"""Puts the layers on top of each other: flag > environment > project > profile > user > default."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui.config import paths
from agent_tui.config.options import OPTIONS, Key, Option, Value, by_name, dotted, find
from agent_tui.config.toml_file import FileSettings, content, parse, parse_assignment, read_file
from agent_tui.config.values import BadValueError, from_text
from agent_tui.errors import UsageError
from agent_tui.frozen import frozen
from agent_tui.near import nearest
from agent_tui.short_path import long_path, short_path

DEFAULT, USER, PROJECT, ENVIRONMENT, FLAG = "default", "user", "project", "env", "flag"
SESSION = "session"  # what a session that is continued was begun with
IsTrusted = Callable[[Path, Path, bytes], bool]  # state directory, file, its content → whether it counts


@frozen
class Setting:
    """A value and the layer it came from."""

    value: Value
    layer: str


@frozen
class Ignored:
    """Something a workspace asked for and did not get."""

    key: str  # empty: the whole file
    reason: str


@frozen
class Settings:
    """Effective values of all layers."""

    values: Mapping[Key, Setting]
    workspace: Path
    config_dir: Path
    state_dir: Path
    ignored: tuple[Ignored, ...] = ()

    def get(self, name: str) -> Value:
        """The value of a fixed key."""
        found = self.values.get(tuple(name.split(".")))
        return found.value if found else None

    def layer(self, name: str) -> str:
        """The layer of a fixed key."""
        found = self.values.get(tuple(name.split(".")))
        return found.layer if found else DEFAULT

    def text(self, name: str) -> str | None:
        """A text or choice; None where unset or empty."""
        value = self.get(name)
        return value if isinstance(value, str) and value else None

    def flag(self, name: str) -> bool:
        """A flag; unset is false."""
        return self.get(name) is True

    def integer(self, name: str) -> int | None:
        """A whole number, None where unset."""
        value = self.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def number(self, name: str) -> float | None:
        """A number, None where unset."""
        value = self.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def items(self, name: str) -> tuple[str, ...]:
        """A list; unset is empty."""
        value = self.get(name)
        return value if isinstance(value, tuple) else ()

    def continuing(self, model: str, base_url: str) -> "Settings":
        """With the address that a session was begun at, unless a model or an address is given now."""
        if not base_url or self.text("base_url") or self.layer("model") in (FLAG, ENVIRONMENT):
            return self
        begun: dict[Key, Value] = {("model",): model, ("base_url",): base_url}
        return replace(self, values={**self.values, **_layer(begun, SESSION)})

    def below(self, *prefix: str) -> Mapping[Key, Value]:
        """Every value whose key starts with `prefix`; the keys without it."""
        size = len(prefix)
        return {key[size:]: s.value for key, s in self.values.items() if key[:size] == prefix}


def resolve(
    flags: Mapping[str, Value],
    assignments: Sequence[str],
    *,
    environ: Mapping[str, str],
    directory: Path,
    is_trusted: IsTrusted,
) -> Settings:
    """All layers, `directory` being where the program was started. Raises UsageError."""
    config_dir = paths.config_dir(environ)
    user = read_file(config_dir / paths.CONFIG_NAME)
    top = {**_environment(environ), **_flags(flags, assignments)}
    below: dict[Key, Setting] = {
        o.key: Setting(value=o.default, layer=DEFAULT) for o in OPTIONS if "*" not in o.key
    }
    if user is not None:
        below |= _layer(user.values, USER)
    below |= _profile(user, below | top, config_dir / paths.CONFIG_NAME)
    workspace = _workspace(below | top, directory)
    state_dir = _state_dir(below | top, environ)
    project, ignored = _project(workspace, below, lambda path, data: is_trusted(state_dir, path, data))
    return Settings(
        values=below | project | top,
        workspace=workspace,
        config_dir=config_dir,
        state_dir=state_dir,
        ignored=tuple(ignored),
    )


def project_effects(settings: Settings, path: Path, data: bytes) -> list[str]:
    """What a workspace's file would do on top of `settings`, in words; nothing of it is used yet."""
    try:
        wanted = parse(data, path).values
    except UsageError as error:
        return [f"cannot be used: {error}"]
    effects = []
    for key, value in wanted.items():
        option = find(key)
        said = f"{dotted(key)} = {_toml(value)}"
        if option and _objection(option, value, settings.values.get(key)):
            why = "may not be loosened" if option.project == "tighten" else "no project may set it"
            effects.append(f"ignored: {said}  ({why})")
        else:
            effects.append(f"sets {said}" + ("  (a command)" if dotted(key) == "verify" else ""))
    return effects or ["sets nothing"]


def _layer(values: Mapping[Key, Value], name: str) -> dict[Key, Setting]:
    return {key: Setting(value=value, layer=name) for key, value in values.items()}


def _environment(environ: Mapping[str, str]) -> dict[Key, Setting]:
    found: dict[Key, Setting] = {}
    for option in OPTIONS:
        text = environ.get(option.environment, "") if option.environment else ""
        if not text:
            continue
        try:
            found[option.key] = Setting(value=from_text(option, text), layer=ENVIRONMENT)
        except BadValueError as problem:
            raise UsageError(f"environment: `{option.environment}` {problem}") from problem
    return found


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """What is to be said of variables that look like ours and are not."""
    known = {option.environment for option in OPTIONS if option.environment}
    told = []
    for name in sorted(name for name in environ if name.startswith("AGENT_TUI_") and name not in known):
        near = nearest(name.lower(), (each.lower() for each in known)).upper()
        told.append(f"`{name}` is set and has no meaning" + (f"; did you mean `{near}`?" if near else ""))
    return told


def _flags(flags: Mapping[str, Value], assignments: Sequence[str]) -> dict[Key, Setting]:
    """Flags win over `-c`, whatever their order on the line."""
    found = dict(parse_assignment(text) for text in assignments)
    found |= {by_name(name).key: value for name, value in flags.items() if value is not None}
    return _layer(found, FLAG)


def _profile(user: FileSettings | None, settings: Mapping[Key, Setting], path: Path) -> dict[Key, Setting]:
    wanted = settings[("profile",)].value
    if not isinstance(wanted, str) or not wanted:
        return {}
    profiles = user.profiles if user else {}
    if wanted not in profiles:
        near = nearest(wanted, profiles)
        if near:
            hint = f"did you mean `{near}`?"
        elif profiles:
            hint = f"there are: {', '.join(f'`{name}`' for name in sorted(profiles))}"
        else:
            hint = f"one begins with `[{dotted(('profiles', wanted))}]`"
        raise UsageError(f"{short_path(path)}: no profile `{wanted}`; {hint}")
    return _layer(profiles[wanted], f"profile {wanted}")


def _workspace(settings: Mapping[Key, Setting], directory: Path) -> Path:
    wanted = settings[("cd",)].value
    path = directory / long_path(str(wanted)) if wanted else directory
    try:
        resolved = path.resolve(strict=True)
        next(resolved.iterdir(), None)
        (resolved / "..").stat()  # forbidden where only the names may be read, and nothing that has them
    except FileNotFoundError as error:
        raise UsageError(f"directory `{short_path(path)}` does not exist") from error
    except NotADirectoryError as error:
        raise UsageError(f"`{short_path(path)}` is not a directory") from error
    except OSError as error:
        raise UsageError(f"directory `{short_path(path)}` cannot be read: {error.strerror}") from error
    return resolved


def _state_dir(settings: Mapping[Key, Setting], environ: Mapping[str, str]) -> Path:
    wanted = settings[("state_dir",)].value
    return long_path(str(wanted)).absolute() if wanted else paths.state_dir(environ)


def _project(
    workspace: Path, below: Mapping[Key, Setting], is_trusted: Callable[[Path, bytes], bool]
) -> tuple[dict[Key, Setting], list[Ignored]]:
    path = workspace / paths.PROJECT_CONFIG
    try:
        data = content(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}, []
    except OSError as error:
        return {}, [Ignored(key="", reason=f"`{paths.PROJECT_CONFIG}` cannot be read: {error.strerror}")]
    if not is_trusted(path, data):
        return {}, [Ignored(key="", reason=f"`{paths.PROJECT_CONFIG}` is not trusted, so it was not used")]
    settings = parse(data, path)
    found, ignored = {}, []
    for key, value in settings.values.items():
        option = find(key)
        reason = _objection(option, value, below.get(key)) if option else ""
        if reason:
            ignored.append(Ignored(key=dotted(key), reason=f"{reason} (`{paths.PROJECT_CONFIG}`)"))
        else:
            found[key] = Setting(value=value, layer=PROJECT)
    if settings.profiles:
        ignored.append(Ignored(key="profiles", reason="profiles belong in your own settings"))
    return found, ignored


def _objection(option: Option, value: Value, below: Setting | None) -> str:
    """Why a workspace may not set this value; empty where it may."""
    if option.project == "never":
        return f"`{option.name}` cannot be set by a project"
    if option.project == "tighten" and not _is_stricter(option, value, below.value if below else None):
        return f"`{option.name} = {_toml(value)}` would loosen it"
    return ""


def _is_stricter(option: Option, value: Value, below: Value) -> bool:
    """Equal counts as stricter. Numbers are limits: lower is stricter, none is the loosest."""
    if option.strictest:
        ranks = option.strictest
        current = ranks.index(below) if below in ranks else len(ranks) - 1
        return ranks.index(value) <= current
    return below is None or (
        isinstance(value, int | float) and isinstance(below, int | float) and value <= below
    )


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
