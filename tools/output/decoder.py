"""Bytes to text, with state kept across reads and polls."""

import codecs

REPLACEMENT = "\ufffd"
_ENCODED = REPLACEMENT.encode("utf-8")


class Decoder:
    """UTF-8 of one stream; each invalid byte sequence becomes one U+FFFD and is counted."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._before = b""  # where a genuine U+FFFD may be cut
        self.invalid = 0

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """The text that is certain now; a character cut at the end waits for the next call."""
        text = self._decoder.decode(data, final)
        if REPLACEMENT in text:
            genuine = (self._before + data).count(_ENCODED)
            self.invalid += max(0, text.count(REPLACEMENT) - genuine)
        self._before = (self._before + data)[-2:]
        return text
