"""`request_user_input`: a question to the person. The engine asks it; nothing runs here."""

from dataclasses import replace

from sandbox.policy import Policy
from tools.descriptions import description
from tools.types import READS_NOTHING, Arguments, Assessment, CallClass, ToolSpec

_PARAMETERS = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "minLength": 1, "description": "one question"},
        "options": {
            "type": "array",
            "maxItems": 9,
            "items": {
                "type": "object",
                "properties": {
                    "label": {"type": "string", "minLength": 1, "description": "a few words"},
                    "description": {"type": "string", "description": "what it means, one sentence"},
                },
                "required": ["label"],
                "additionalProperties": False,
            },
        },
        "free_text": {"type": "boolean", "description": "they may answer in their own words; default true"},
    },
    "required": ["question"],
    "additionalProperties": False,
}


class RequestUserInput:
    """The tool, as far as the toolbox goes: the engine puts the question and answers the call."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="request_user_input", description=description("request_user_input"), parameters=_PARAMETERS
        )

    def refuse(self, arguments: Arguments) -> str:
        """Why valid arguments still make no call, or ''."""
        if not arguments.get("options") and arguments.get("free_text") is False:
            return "without `options` the user must be able to answer in their own words"
        return ""

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:  # noqa: ARG002 - a part of `Offered`
        """Alone with the person: shares a wave with nothing."""
        return Assessment(
            action="question",
            call_class=CallClass.AUTO,
            reason="asks you a question",
            shown=arguments["question"],
            effects=replace(READS_NOTHING, exclusive=True),
            keys=("tool request_user_input",),
            read_only=True,
        )
