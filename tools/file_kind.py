"""What a file is by its first bytes: text or not, and which kind where that is known."""

HEAD_BYTES = 8_192
BINARY_SHARE = 0.10  # of NUL and undecodable bytes

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x7fELF", "ELF executable or library"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF87a", "GIF image"),
    (0, b"GIF89a", "GIF image"),
    (8, b"WEBP", "WebP image"),
    (0, b"%PDF-", "PDF document"),
    (0, b"PK\x03\x04", "ZIP archive"),
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"\xfd7zXZ\x00", "xz data"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (257, b"ustar", "tar archive"),
    (0, b"SQLite format 3\x00", "SQLite database"),
    (0, b"\x00asm", "WebAssembly module"),
    (0, b"\xca\xfe\xba\xbe", "Java class or Mach-O"),
    (0, b"!<arch>\n", "static library"),
)
_IMAGES = {
    "PNG image": "image/png",
    "JPEG image": "image/jpeg",
    "GIF image": "image/gif",
    "WebP image": "image/webp",
}


def kind_of(head: bytes) -> str:
    """The kind in words; `binary data` when it is none of the known ones."""
    for offset, signature, name in _SIGNATURES:
        if head.startswith(signature, offset):
            return name
    return "binary data"


def image_type(head: bytes) -> str:
    """The media type of an image that models take, or ''."""
    return _IMAGES.get(kind_of(head), "")


def looks_binary(head: bytes) -> bool:
    """Whether more than a tenth of it is NUL or cannot be UTF-8."""
    text = head.decode("utf-8", errors="surrogateescape")
    bad = head.count(0) + sum("\udc80" <= char <= "\udcff" for char in text)
    return bad > len(head) * BINARY_SHARE
