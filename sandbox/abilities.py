"""What a machine can do for the sandbox, as the probe found it."""

from agent_tui.frozen import frozen


@frozen
class ProbeResult:
    """What this machine can do. `detail` says what is wrong, `fix` the exact next step."""

    available: bool
    bwrap: str  # path, empty when none was found
    version: str
    seccomp: bool
    detail: str = ""
    fix: str = ""
    shared_network: bool = False  # commands of a session can have one loopback network together
    lost: tuple[str, ...] = ()  # promises that cannot be kept here, one phrase each
    is_fresh: bool = False  # found out just now; not kept
