"""`update_plan`: the model's plan, shown to the person. The engine keeps it; nothing runs here."""

from sandbox.policy import Policy
from tools.descriptions import description
from tools.types import READS_NOTHING, Arguments, Assessment, CallClass, ToolSpec

_PARAMETERS = {
    "type": "object",
    "properties": {
        "plan": {
            "type": "array",
            "maxItems": 50,
            "items": {
                "type": "object",
                "properties": {
                    "step": {"type": "string", "minLength": 1, "description": "what is to be done"},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "dropped"]},
                    "note": {"type": "string", "description": "why a step was dropped, in a few words"},
                },
                "required": ["step", "status"],
                "additionalProperties": False,
            },
        },
        "explanation": {"type": "string", "description": "why the plan changed"},
    },
    "required": ["plan"],
    "additionalProperties": False,
}


class UpdatePlan:
    """The tool, as far as the toolbox goes: the engine turns the arguments into the plan."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="update_plan", description=description("update_plan"), parameters=_PARAMETERS
        )

    def refuse(self, arguments: Arguments) -> str:
        """Why valid arguments still make no call, or ''."""
        working = [step["step"] for step in arguments["plan"] if step["status"] == "in_progress"]
        return f"{len(working)} steps are `in_progress`, at most one can be" if len(working) > 1 else ""

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:  # noqa: ARG002 - a part of `Offered`
        """Touches nothing."""
        shown = "\n".join(f"{step['status']}: {step['step']}" for step in arguments["plan"])
        return Assessment(
            action="tool",
            call_class=CallClass.AUTO,
            reason="updates the plan",
            shown=shown,
            effects=READS_NOTHING,
            keys=("tool update_plan",),
            read_only=True,
        )
