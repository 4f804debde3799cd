"""Why bwrap failed and what to do about it here: its own words and facts of the machine → two sentences."""

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from agent_tui.frozen import frozen
from sandbox import processes

_FAMILIES = (
    # distribution families by ID or ID_LIKE of os-release(5): installer, package of libseccomp
    (("debian", "ubuntu"), "apt-get install", "libseccomp2"),
    (("fedora", "rhel", "centos"), "dnf install", "libseccomp"),
    (("arch",), "pacman -S", "libseccomp"),
    (("suse", "opensuse"), "zypper install", "libseccomp2"),
    (("alpine",), "apk add", "libseccomp"),
    (("nixos",), "nix-env -iA nixos.", "libseccomp"),
    (("gentoo",), "emerge", "libseccomp"),
)


@frozen
class Machine:
    """What the fix depends on."""

    distribution: tuple[str, ...] = ()
    container: bool = False
    root: bool = False
    sysctls: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> "Machine":
        return cls(
            distribution=_distribution(),
            container=any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")),
            root=os.geteuid() == 0,
            sysctls=processes.namespace_settings(),
        )


def _distribution() -> tuple[str, ...]:
    fields = dict(line.split("=", 1) for line in _read(Path("/etc/os-release")).splitlines() if "=" in line)
    words = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}"
    return tuple(words.replace('"', "").split())


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def install(package: str, machine: Machine) -> str:
    """The command that installs `bubblewrap` or `libseccomp` on this distribution."""
    for names, installer, seccomp in _FAMILIES:
        if any(name.startswith(names) for name in machine.distribution):
            name = seccomp if package == "libseccomp" else package
            joined = installer + name if installer.endswith(".") else f"{installer} {name}"
            return f"run `{'' if machine.root else 'sudo '}{joined}`"
    return f"install `{package}` with your package manager"


def explain(said: str, path: str, machine: Machine) -> tuple[str, str]:
    """What is wrong and the fix, from the last line bwrap wrote."""
    lines = [line for line in said.splitlines() if line.strip()]
    last = lines[-1].removeprefix("bwrap: ") if lines else "it ended without a word"
    detail, fix = _classify(last, path, machine)
    return f"{detail} (`bwrap` said: {last})", fix


def _classify(last: str, path: str, machine: Machine) -> tuple[str, str]:
    if "Unknown option" in last:
        return "`bwrap` is older than 0.8", install("bubblewrap", machine)
    if "nesting depth" in last or "max_" in last or "No space left on device" in last:
        return (
            "no more user namespaces are allowed",
            "raise `user.max_user_namespaces`: `sudo sysctl -w user.max_user_namespaces=15000`",
        )
    if "Can't mount proc" in last:
        return (
            "this container hides parts of /proc, so no private /proc can be mounted",
            "start the container with `--security-opt systempaths=unconfined`",
        )
    if "Failed to make / slave" in last:
        return _container_refusal()
    if "RTM_NEWADDR" in last or "uid map" in last or "new namespace" in last or "namespace failed" in last:
        return _namespaces_refused(last, path, machine)
    return "`bwrap` cannot build the sandbox", "run `agent-tui doctor` and report what it prints"


def _container_refusal() -> tuple[str, str]:
    return (
        "the container's AppArmor or seccomp profile forbids namespaces or mounts",
        "start the container with `--security-opt apparmor=unconfined --security-opt seccomp=unconfined`",
    )


def _namespaces_refused(last: str, path: str, machine: Machine) -> tuple[str, str]:
    if machine.sysctls.get("user/max_user_namespaces") == "0":
        return "user namespaces are switched off", "run `sudo sysctl -w user.max_user_namespaces=15000`"
    if machine.sysctls.get("kernel/unprivileged_userns_clone") == "0":
        return (
            "user namespaces are switched off for ordinary users",
            "run `sudo sysctl -w kernel.unprivileged_userns_clone=1`",
        )
    if machine.sysctls.get("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "AppArmor restricts user namespaces", _apparmor_fix(path, machine)
    if machine.container:
        return _container_refusal()
    if machine.root and "uid map" in last:
        return "root lacks CAP_SETFCAP here, so no user can be mapped", "start as an ordinary user"
    return (
        "`bwrap` may not create a user namespace",
        "allow user namespaces for `bwrap`; see `agent-tui doctor`",
    )


def _apparmor_fix(path: str, machine: Machine) -> str:
    if not path.startswith("/usr/"):
        return f"{install('bubblewrap', machine)}: AppArmor allows `bwrap` by its path /usr/bin/bwrap"
    profile = "bwrap-userns-restrict"
    link = f"sudo ln -s /usr/share/apparmor/extra-profiles/{profile} /etc/apparmor.d/"
    load = f"sudo apparmor_parser -r /etc/apparmor.d/{profile}"
    return f"run `sudo apt-get install apparmor-profiles && {link} && {load}`"
