"""How much text there is, and how much of it one result may show."""

BYTES_PER_TOKEN = 4
_MIN_BUDGET_BYTES = 400


def budget_bytes(max_output_tokens: int, wanted: int | None = None) -> int:
    """The bytes one result may show; the model may ask for fewer tokens than it could have."""
    tokens = min(max_output_tokens, wanted or max_output_tokens)
    return max(_MIN_BUDGET_BYTES, tokens * BYTES_PER_TOKEN)


def size_of(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", errors="surrogatepass"))
