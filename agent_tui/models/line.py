"""What servers and libraries say, as one line for people."""

MAX_MESSAGE_CHARS = 500


def one_line(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Text of others as one line for people, without the secrets named and without control characters."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "…")
    line = "".join(char if char.isprintable() else " " for char in " ".join(text.split()))
    return line if len(line) <= MAX_MESSAGE_CHARS else line[:MAX_MESSAGE_CHARS] + "…"
