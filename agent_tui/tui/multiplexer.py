"""What tmux does to keys, told once at the start with the setting that changes it."""

import asyncio
import contextlib

WAIT_S = 1.0
SLOW_ESC_MS = 50  # above this a person feels it
# Options are formats too (tmux manual, FORMATS); behind them the names of the terminal that shows it.
_FORMAT = "#{escape-time} #{extended-keys} #{allow-passthrough} #{client_termname} #{client_termtype}"


async def ask() -> str:
    """The options as tmux prints them; empty where it does not answer."""
    process = None
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux", "display-message", "-p", _FORMAT,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        out, _ = await asyncio.wait_for(process.communicate(), WAIT_S)
    except (OSError, TimeoutError):
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        return ""
    return out.decode(errors="replace").strip()


def notices(answer: str) -> list[str]:
    """Sentences about what is withheld or slow; none for an answer that is not understood."""
    delay, extended, *_ = [*answer.split(" "), ""]
    if not delay.isdigit():
        return []
    said = []
    if extended == "off":
        said.append(
            "tmux withholds Shift+Enter and Ctrl+Enter; use Ctrl+J for a new line and Ctrl+S to steer now, "
            "or set `extended-keys on`"
        )
    if int(delay) > SLOW_ESC_MS:
        said.append(f"tmux holds Esc back for {delay} ms; set `escape-time` to {SLOW_ESC_MS} or less")
    return said


def sends_modified_enter(answer: str) -> bool | None:
    """Whether Shift+Enter and Ctrl+Enter can arrive; None where the terminal around it decides."""
    return False if answer.split(" ")[1:2] == ["off"] else None


def passes_to(answer: str) -> str | None:
    """Names of the terminal that gets what is wrapped for it; None where tmux lets nothing through."""
    _, _, allowed, names = [*answer.split(" ", 3), "", "", "", ""][:4]
    return None if allowed in ("", "0", "off") else names
