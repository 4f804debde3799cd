"""What each setting is, in words for people; secrets only as `set`."""

from agent_tui.config.layers import Setting, Settings
from agent_tui.config.options import Key, dotted, find
from agent_tui.short_path import short_path


def told(settings: Settings) -> dict[str, str]:
    """The value that counts of every key, in the order of their names."""
    return {dotted(key): _told(key, settings.values[key], settings) for key in sorted(settings.values)}


def shown_value(key: Key, setting: Setting) -> object:
    """The value itself, or `set` where nobody may read it."""
    is_secret = key == ("api_key",) or (key[0] == "providers" and "headers" in key[2:3])
    return "set" if is_secret and setting.value else setting.value


def _told(key: Key, setting: Setting, settings: Settings) -> str:
    """In words where the value is none of the settings' own."""
    places = {("state_dir",): settings.state_dir, ("cd",): settings.workspace}
    value = short_path(places[key]) if key in places else shown_value(key, setting)
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or value == "":
        option = find(key)
        return (option.unset if option else "") or "not set"
    return str(value)
