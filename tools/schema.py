"""Checks the arguments of a call; the answer to a bad one says which field, and what would be right."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tools.types import Arguments, ToolSpec

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MAX_ARGUMENT_CHARS = 2 * 2**20  # several times what a model can say at once
MAX_FAULTS = 5  # named in one answer
_SURROGATE = "[\ud800-\udfff]"  # no path, command or file can hold one
_TYPE_WORDS = {
    "str": "a string", "int": "an integer", "float": "a number", "bool": "true or false",
    "list": "a list", "dict": "an object", "NoneType": "null",
}  # fmt: skip
_JSON_WORDS = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip


class ArgumentCheck:
    """Validates arguments against the schemas of all tools; validators are built on first use."""

    def __init__(self, specs: Mapping[str, ToolSpec]) -> None:
        self._specs = specs
        self._validators: dict[str, Draft202012Validator] = {}

    def check(self, tool: str, text: str) -> Arguments | str:
        """The arguments, or why the call is invalid."""
        spec = self._specs.get(tool)
        if spec is None:
            return _unknown_tool(tool, tuple(self._specs))
        if len(text) > MAX_ARGUMENT_CHARS:
            return (
                f"The arguments of `{tool}` have {len(text):,} characters, at most {MAX_ARGUMENT_CHARS:,} "
                "are possible; do it in several smaller calls"
            )
        value = _parse(tool, text)
        if isinstance(value, str):
            return value
        required = spec.parameters.get("required", ())
        value = {name: field for name, field in value.items() if field is not None or name in required}
        faults = sorted(
            self._validator(spec).iter_errors(value), key=lambda fault: list(map(str, fault.path))
        )
        if faults:
            told = "; ".join(_fault(fault) for fault in faults[:MAX_FAULTS])
            more = f"; and {len(faults) - MAX_FAULTS} more" if len(faults) > MAX_FAULTS else ""
            return f"Invalid arguments for `{tool}`: {told}{more}"
        return value

    def _validator(self, spec: ToolSpec) -> "Draft202012Validator":
        if spec.name not in self._validators:
            from jsonschema import Draft202012Validator

            self._validators[spec.name] = Draft202012Validator(dict(spec.parameters))
        return self._validators[spec.name]


def _unknown_tool(tool: str, known: tuple[str, ...]) -> str:
    near = _nearest(tool, known, most=3)
    listed = ", ".join(f"`{name}`" for name in near or sorted(known))
    return f"There is no tool `{tool[:80]}`; {'did you mean' if near else 'the tools are'} {listed}"


def _nearest(name: str, known: Sequence[str], *, most: int) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, known, n=most, cutoff=0.5)


def _parse(tool: str, text: str) -> dict[str, Any] | str:
    """The object in the text; text that holds an object as a JSON string is taken apart twice."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = json.loads(value, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return _broken(tool, error)
    except (ValueError, RecursionError) as error:
        return f"Invalid arguments for `{tool}`: {error}"
    if not isinstance(value, dict):
        return f"Invalid arguments for `{tool}`: they must be an object, not {_word(value)}"
    if re.search(_SURROGATE, json.dumps(value, ensure_ascii=False)):
        return f"Invalid arguments for `{tool}`: they hold half a character (a lone surrogate)"
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"`{name}` is no JSON value")


def _broken(tool: str, error: json.JSONDecodeError) -> str:
    """Cut text and wrong text need different remedies, so they are told apart."""
    is_cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    if is_cut:
        return (
            f"The arguments of `{tool}` end in the middle, after {len(error.doc):,} characters: they were "
            "cut off because of their length; send the same in several smaller calls"
        )
    near = error.doc[max(0, error.pos - 30) : error.pos + 30]
    where = f"line {error.lineno}, column {error.colno}"
    return f"The arguments of `{tool}` are no valid JSON: {error.msg} at {where}, near `{near}`"


def _fault(fault: Any) -> str:  # a `ValidationError`; its typing knows no attribute for sure
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.path).lstrip(".")
    field = f"field `{where}`" if where else "the object"
    describe = _FAULTS.get(str(fault.validator))
    return describe(fault, field) if describe else f"{field}: {fault.message[:200]}"


def _required(fault: Any, field: str) -> str:
    missing = [name for name in fault.validator_value if name not in fault.instance]
    words = f"missing field{'s' if len(missing) > 1 else ''} {', '.join(f'`{name}`' for name in missing)}"
    return words if field == "the object" else f"{field}: {words}"


def _additional(fault: Any, _field: str) -> str:
    known = sorted(fault.schema.get("properties", {})) if isinstance(fault.schema, Mapping) else []
    told = []
    for name in sorted(set(fault.instance) - set(known)):
        near = _nearest(name, known, most=1) or known
        told.append(f"unknown field `{name[:60]}`; did you mean {' or '.join(f'`{one}`' for one in near)}")
    return "; ".join(told)


def _type(fault: Any, field: str) -> str:
    wanted = fault.validator_value
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return f"{field} must be {' or '.join(_JSON_WORDS[name] for name in names)}, not {_word(fault.instance)}"


def _enum(fault: Any, field: str) -> str:
    return f"{field} must be one of {', '.join(f'`{value}`' for value in fault.validator_value)}"


def _bound(fault: Any, field: str) -> str:
    words = "at least" if fault.validator == "minimum" else "at most"
    return f"{field} must be {words} {fault.validator_value}, not {fault.instance}"


def _length(fault: Any, field: str) -> str:
    if fault.validator in ("minLength", "minItems"):
        return f"{field} must not be empty"
    unit = "characters" if fault.validator == "maxLength" else "entries"
    return f"{field} has {len(fault.instance):,} {unit}, at most {fault.validator_value:,} are possible"


def _word(value: object) -> str:
    return _TYPE_WORDS.get(type(value).__name__, type(value).__name__)


_FAULTS: dict[str, Callable[[Any, str], str]] = {
    "required": _required,
    "additionalProperties": _additional,
    "type": _type,
    "enum": _enum,
    "minimum": _bound,
    "maximum": _bound,
    "minLength": _length,
    "minItems": _length,
    "maxLength": _length,
    "maxItems": _length,
}
