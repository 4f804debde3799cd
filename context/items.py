"""What the log of a session holds: typed, ordered, append-only items.

Nothing here is ever edited or deleted. Compaction and rollback append records that hide items from
the view. Everything is plain data, so that the same item gives the same bytes in every request.
"""

from enum import StrEnum
from typing import Literal

from agent_tui.frozen import frozen

Api = Literal["chat", "responses", "messages"]


class Origin(StrEnum):
    """How a user item came to be."""

    PROMPT = "prompt"
    STEER = "steer"
    QUEUED = "queued"
    ANSWER = "answer"


class StopReason(StrEnum):
    """Why a model response ended."""

    END = "end"
    CALLS = "calls"
    LENGTH = "length"
    REFUSAL = "refusal"
    PAUSED = "paused"  # a server-side tool loop asks to be continued with the same content
    INTERRUPTED = "interrupted"  # cut by the person; only text was kept


@frozen
class Usage:
    """Tokens of one response as the provider reports them; `input_tokens` includes cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False  # the provider sent none, these are our estimate


@frozen
class Image:
    """A picture given to the model."""

    media_type: str  # such as image/png
    data: str  # base64
    name: str = ""


@frozen
class ModelOrigin:
    """Which model made a response; reasoning goes back to this origin and no other."""

    provider: str
    model: str
    api: Api


@frozen
class ReasoningPart:
    """Reasoning text for people; `raw` is what the provider needs back, byte for byte."""

    text: str
    raw: str | None = None  # the provider's own JSON of this part, None where it gave none


@frozen
class TextPart:
    """Text of the answer."""

    text: str
    raw: str | None = None


@frozen
class CallPart:
    """One tool call as the model made it."""

    call_id: str  # ours: unique in the session, `c<step>.<n>`
    provider_id: str  # what the provider called it; echoed on the wire, made unique there if needed
    tool: str
    arguments: str  # JSON text as sent; not necessarily valid
    family: Literal["function", "custom"] = "function"
    raw: str | None = None


@frozen
class OpaquePart:
    """A provider's item we only replay: server-side tool use and its result, opaque compaction."""

    raw: str


Part = ReasoningPart | TextPart | CallPart | OpaquePart


@frozen
class UserItem:
    """Something the person said."""

    id: str
    text: str
    origin: Origin = Origin.PROMPT
    images: tuple[Image, ...] = ()


@frozen
class ResponseItem:
    """One complete model response; with the results of its calls it forms an exchange unit."""

    id: str
    step_id: str
    parts: tuple[Part, ...]
    origin: ModelOrigin
    response_id: str = ""
    usage: Usage = Usage()
    stop: StopReason = StopReason.END

    @property
    def calls(self) -> tuple[CallPart, ...]:
        """The calls in the order the model made them."""
        return tuple(part for part in self.parts if isinstance(part, CallPart))

    @property
    def text(self) -> str:
        """All answer text, parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


@frozen
class ResultItem:
    """The one answer to one call; what the model sees of its outcome."""

    id: str
    response_item_id: str
    call_id: str
    text: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    artifact: str | None = None  # reference of the full output, readable with the history tool


@frozen
class NoticeItem:
    """A line from the runtime to the model; belongs to the unit it follows unless `sticky`."""

    id: str
    text: str
    sticky: bool = False


@frozen
class Replacement:
    """New text for a result or a message, which is without its pictures then, or new arguments for a call,
    inside the view of one epoch on."""

    item_id: str
    call_id: str  # '' for a message
    result_text: str | None = None
    arguments: str | None = None
    message_text: str | None = None


@frozen
class CompactionItem:
    """One epoch: what it hid, what it shortened, and the text that stands for the hidden part."""

    id: str
    hidden: tuple[str, ...]  # item ids, whole units only
    replacements: tuple[Replacement, ...]
    text: str  # ledger and optional summary; absorbs that of the previous epoch
    undone: str | None = None  # id of the compaction this record takes back, then all else is empty


@frozen
class KeptWhole:
    """What is in the view word for word, or named in it, after an epoch: counts for people."""

    messages: int = 0  # of the person, steers too, answers to questions not
    steers: int = 0
    plan: bool = False
    files: int = 0  # changed paths that the view names
    steps: int = 0  # the newest, in which nothing is hidden or shortened


@frozen
class RollbackItem:
    """Conversation rollback: hides the items from one point on; a redo names the one it undoes."""

    id: str
    hidden: tuple[str, ...]
    undone: str | None = None


Item = UserItem | ResponseItem | ResultItem | NoticeItem | CompactionItem | RollbackItem


@frozen
class ToolSchema:
    """A tool as the model is told of it."""

    name: str
    description: str
    parameters: str  # JSON Schema as canonical JSON text: bytes must not change in a session
