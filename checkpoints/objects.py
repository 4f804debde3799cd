"""Git's object format: ids, trees, commits and loose files. Pure functions over bytes.

Format as documented by git (`gitformat-pack`, `git-hash-object`): an object is its type, its size
and a NUL before the content; its id is the SHA-1 of all that.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Literal, NamedTuple

from agent_tui.frozen import frozen

Kind = Literal["blob", "tree", "commit"]

ID_BYTES = 20
FILE, EXECUTABLE, LINK, FOLDER = 0o100644, 0o100755, 0o120000, 0o040000
CLONE = 0o160000  # git's mode of what lies in no object store: a copy of `checkpoints.clones`
_PACK_TYPES = {"commit": 1, "tree": 2, "blob": 3}


class TreeItem(NamedTuple):
    """One name in a tree; `mode` is one of those above."""

    name: bytes
    mode: int
    oid: bytes


def header(kind: Kind, size: int) -> bytes:
    """What stands before the content when an object is hashed or stored."""
    return b"%s %d\0" % (kind.encode(), size)


def object_id(kind: Kind, content: bytes) -> bytes:
    """The 20 bytes that name an object."""
    digest = hashlib.sha1(header(kind, len(content)), usedforsecurity=False)
    digest.update(content)
    return digest.digest()


def stream_id(stream: BinaryIO, size: int) -> bytes:
    """The id of the content of an open file, read in pieces; of nothing when its size is another."""
    digest = hashlib.sha1(header("blob", size), usedforsecurity=False)
    while piece := stream.read(1 << 20):
        digest.update(piece)
    return digest.digest()


def loose_file(kind: Kind, content: bytes) -> bytes:
    """The bytes of a loose object file; fast compression, as the store is repacked later."""
    return zlib.compress(header(kind, len(content)) + content, 1)


def parse_loose(stored: bytes) -> tuple[Kind, bytes]:
    """Type and content of a loose object file; raises ValueError when it is damaged."""
    try:
        head, _, content = zlib.decompress(stored).partition(b"\0")
    except zlib.error as error:
        raise ValueError(f"not a loose object: {error}") from error
    kind, _, size = head.partition(b" ")
    if size != b"%d" % len(content):
        raise ValueError("a loose object is cut")
    return kind_of(kind.decode("ascii", "replace")), content


def kind_of(name: str) -> Kind:
    """The type of that name; raises ValueError for any other (tags are never written here)."""
    match name:
        case "blob" | "tree" | "commit":
            return name
    raise ValueError(f"unexpected object type `{name}`")


def tree_content(items: Iterable[TreeItem]) -> bytes:
    """The content of a tree; git sorts folders as if their names ended in a slash."""
    ordered = sorted(items, key=lambda item: item.name + b"/" if item.mode == FOLDER else item.name)
    return b"".join(b"%o %s\0%s" % (item.mode, item.name, item.oid) for item in ordered)


def parse_tree(content: bytes) -> Iterator[TreeItem]:
    """The names in a tree, in git's order; raises ValueError when it is damaged."""
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        end = content.index(b"\0", space)
        yield TreeItem(
            content[space + 1 : end], int(content[at:space], 8), content[end + 1 : end + 1 + ID_BYTES]
        )
        at = end + 1 + ID_BYTES


@frozen
class Commit:
    """What a checkpoint leaves in the store, so that `git log` and a lost catalog can tell it."""

    author: str
    created_at: float  # UTC seconds
    message: str
    tree: bytes = b""  # known last


def commit_content(commit: Commit) -> bytes:
    """The content of a commit without parents: each one can be dropped alone."""
    who = f"{commit.author} <checkpoints@localhost> {int(commit.created_at)} +0000"
    text = f"tree {commit.tree.hex()}\nauthor {who}\ncommitter {who}\n\n{commit.message}\n"
    return text.encode("utf-8", "replace")


def commit_tree(content: bytes) -> bytes:
    """The id of the tree of a commit."""
    first = content.split(b"\n", 1)[0]
    return bytes.fromhex(first.removeprefix(b"tree ").decode("ascii"))


def packed_entry(kind: Kind, content: bytes) -> bytes:
    """One undeltified entry of a pack."""
    size = len(content)
    byte = (_PACK_TYPES[kind] << 4) | (size & 0x0F)
    size >>= 4
    head = bytearray()
    while size:
        head.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    head.append(byte)
    return bytes(head) + zlib.compress(content, 1)
