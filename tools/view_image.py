"""`view_image`: an image from disk for a model that can see."""

import base64
import os
import stat

from sandbox.policy import Policy
from tools.descriptions import description
from tools.file_kind import image_type, kind_of
from tools.image_size import MAX_SIDE, image_size
from tools.paths import open_resolved, place_of, reading_need, shown
from tools.reads import assess_read, read_in_thread, refused
from tools.types import Arguments, Assessment, CallSink, Invocation, Outcome, OutcomeStatus, Picture, ToolSpec

MAX_BYTES = 5_000_000  # the smallest limit of the providers for one image
_PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string", "minLength": 1, "description": "image file"}},
    "required": ["path"],
    "additionalProperties": False,
}


class ViewImage:
    """The tool."""

    def __init__(self, image_capable: bool) -> None:
        self._image_capable = image_capable
        self.spec = ToolSpec(name="view_image", description=description("view_image"), parameters=_PARAMETERS)

    def refuse(self, arguments: Arguments) -> str:  # noqa: ARG002 - depends on the model alone
        """Why valid arguments still make no call, or ''."""
        return (
            "" if self._image_capable else "the model of this session takes no images; read about it instead"
        )

    def assess(self, arguments: Arguments, policy: Policy) -> Assessment:
        """Like reading the file."""
        return assess_read(arguments["path"], policy, verb="views")

    async def run(self, invocation: Invocation, sink: CallSink) -> Outcome:  # noqa: ARG002 - shows nothing
        """Read it in a thread."""
        return await read_in_thread(lambda: self._run(invocation), invocation)

    def _run(self, invocation: Invocation) -> Outcome:
        policy = invocation.policy
        path = place_of(invocation.arguments["path"], policy)
        need = reading_need(path, policy)
        if need is not None:
            return refused(need)
        name = shown(path, policy)
        with os.fdopen(open_resolved(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                return _failed(f"`{name}` is no regular file")
            if state.st_size > MAX_BYTES:
                return _failed(
                    f"`{name}` has {state.st_size:,} bytes, at most {MAX_BYTES:,} can be shown; scale it down"
                )
            data = file.read(MAX_BYTES + 1)
        media_type = image_type(data[:64])
        if not media_type:
            return _failed(f"`{name}` is no PNG, JPEG, GIF or WebP image but {kind_of(data[:512])}")
        size = image_size(data)
        if size is None:
            return _failed(f"`{name}` is a damaged {kind_of(data[:64])}: its header cannot be read")
        if max(size) > MAX_SIDE:
            return _failed(
                f"`{name}` has {size[0]:,}×{size[1]:,} pixels, at most {MAX_SIDE:,} a side can be shown; "
                "scale it down"
            )
        picture = Picture(media_type=media_type, data=base64.b64encode(data).decode("ascii"), name=name)
        return Outcome(
            status=OutcomeStatus.SUCCEEDED,
            text=f"[{name} · {kind_of(data[:64])} · {size[0]:,}×{size[1]:,} pixels · {len(data):,} bytes]",
            data={"media_type": media_type, "size_bytes": len(data), "width": size[0], "height": size[1]},
            pictures=(picture,),
            total_bytes=len(data),
        )


def _failed(text: str) -> Outcome:
    return Outcome(status=OutcomeStatus.FAILED, text=text)
