"""Keeps each picture in the store of a session once, though an event and an item of the log both hold it."""

import hashlib
from typing import Any


class Pictures:
    """The pictures of one store by their hash; a stored one is replaced by its hash where it comes again.

    `shorten` and `restore` change encoded records in place, in the order of the store. What was
    shortened since the last `keep` counts as stored only with it.
    """

    def __init__(self) -> None:
        self._stored: dict[str, str] = {}
        self._fresh: dict[str, str] = {}

    def shorten(self, body: dict[str, Any]) -> None:
        """Put the hash in the place of each picture that is stored already."""
        for picture in _list_of(body):
            digest = _sha256(picture["data"])
            if digest in self._stored or digest in self._fresh:
                picture["data"], picture["same_as"] = "", digest
            else:
                self._fresh[digest] = picture["data"]

    def restore(self, body: dict[str, Any]) -> None:
        """Put pictures back; one whose first record is lost is left out."""
        found = _list_of(body)
        for picture in list(found):
            digest = picture.get("same_as")
            if digest is None:
                self._stored[_sha256(picture["data"])] = picture["data"]
            elif digest in self._stored:
                picture["data"] = self._stored[digest]
            else:
                found.remove(picture)

    def keep(self) -> None:
        """What was shortened is on disk."""
        self._stored |= self._fresh
        self._fresh = {}

    def drop(self) -> None:
        """What was shortened and not kept was not stored, as far as is known."""
        self._fresh = {}


def _list_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The encoded pictures of a record: `images` of items and inputs, `pictures` of outcomes."""
    inner = body.get("body", body)
    holder = inner if isinstance(inner, dict) else {}
    if isinstance(outcome := holder.get("outcome"), dict):
        holder = outcome
    found: Any = holder.get("images") or holder.get("pictures")
    if isinstance(found, list) and all(isinstance(one, dict) and "data" in one for one in found):
        return found
    return []


def _sha256(data: Any) -> str:
    return hashlib.sha256(str(data).encode("ascii", errors="replace")).hexdigest()
