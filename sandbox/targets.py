"""What a command may connect to: one spelling for each host and port, and the addresses that are dialled.

A name and what a resolver makes of it must never be read in two ways, so there is one form of each and
everything else is refused, not mended: numbers that resolvers take for addresses, trailing dots, escapes.
"""

import asyncio
import concurrent.futures
import ipaddress
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

from agent_tui.frozen import frozen

HTTPS_PORT = 443
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # as a last label, an address in one of its spellings
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LONGEST_NAME = 253
_LOOKUPS = threading.BoundedSemaphore(2)
_LOOK_AGAIN_S = 0.05
_DISGUISED = tuple(
    map(
        ipaddress.ip_network,
        (
            *("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96"),  # compatible, mapped, translated (RFC 4291, 2765)
            *("64:ff9b::/96", "64:ff9b:1::/48"),  # NAT64 (RFC 6052, 8215)
            *("2001::/32", "2002::/16"),  # Teredo, 6to4 (RFC 4380, 3056)
        ),
    )
)
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            *("::/3", "4000::/2", "8000::/1"),  # with fc00::/7, fe80::/10, fec0::/10, 5f00::/16
            *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
        ),
    )
)
# where clouds answer for the machine, besides link-local: Alibaba, Azure, AWS; and broadcast
_NOBODYS = ("100.100.100.200", "168.63.129.16", "fd00:ec2::254", "255.255.255.255")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@frozen
class Target:
    """A host, by name or literal address, and a port."""

    name: str  # in lower case and ASCII; an IPv6 address without brackets
    port: int

    def __str__(self) -> str:
        """As grants and rules hold it: `pip.test:443`, `[2001:db8::1]:443`."""
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"

    @property
    def address(self) -> Address | None:
        """The address of a literal; None for a name."""
        return _literal(self.name)


def parse(text: str, port: int | None = None) -> Target:
    """The target of `NAME:PORT` as a program sends it; `port` is the one of a text without. Raises
    ValueError with what is wrong."""
    found = re.fullmatch(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::(.*))?", text.lower(), re.DOTALL)
    if found is None or not text.isascii():
        raise ValueError("it is no host and port")
    name, number = found[1], found[2]
    if number is not None and not (_PORT.fullmatch(number) and int(number) < 65536):
        raise ValueError("its port is no number from 1 to 65535")
    if number is None and port is None:
        raise ValueError("it names no port")
    return Target(name=_checked(name), port=int(number) if number is not None else port or 0)


def spelled(text: str) -> Target:
    """The target that a person or a model writes: other scripts become punycode, the port is 443 where
    none is given. Raises ValueError with what is wrong."""
    name, found, port = text.strip().rpartition(":")
    if not found or (name.count(":") and not name.endswith("]")) or text.endswith("]"):
        name, found, port = text.strip(), "", ""
    try:
        name = name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise ValueError("it is no host name") from error
    return parse(name + found + port, HTTPS_PORT)


def _checked(name: str) -> str:
    bare = name[1:-1] if name.startswith("[") else name
    labels = bare.split(".")
    address = _literal(bare)
    if address is not None and (address.version == 6) == name.startswith("["):
        if not may_be_listed(address):
            raise ValueError("it is an address that nothing may connect to")
        return bare
    if name.startswith("[") or _NUMBER.fullmatch(labels[-1]):
        raise ValueError("it is an address in an unusual spelling")
    if len(bare) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("it is no host name: letters, digits and hyphens between single dots")
    return bare


def _literal(name: str) -> Address | None:
    """The address in its one canonical spelling, else None."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return None
    return address if str(address) == name else None


def may_be_listed(address: Address) -> bool:
    """Whether an address can be granted at all: never one that is another in disguise, stands for many,
    or answers for the machine itself (link-local, where clouds keep their credentials)."""
    is_disguised = str(address) != "::1" and any(address in network for network in _DISGUISED)
    is_none = address.is_unspecified or address.is_multicast or address.is_link_local
    return not (is_disguised or is_none or str(address) in _NOBODYS)


def may_be_dialled(address: Address, port: int, listed: Collection[str]) -> bool:
    """Whether a name may lead there: to the public internet, and elsewhere only where the address itself
    is listed. Not public is what the IANA registries of special-purpose addresses (RFC 6890 and its updates)
    call so, what they took back (192.88.99.0/24, RFC 7526), and of IPv6 all but global unicast, 2000::/3
    (RFC 4291); `is_global` would answer by the version of Python."""
    if not may_be_listed(address):
        return False
    if str(Target(name=str(address), port=port)) in listed:
        return True
    return not any(address in network for network in _NOT_PUBLIC) and not _is_own(address)


def _is_own(address: Address) -> bool:
    """Whether it is one of this machine: only those can be bound."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


async def resolve(name: str, port: int) -> Sequence[str]:
    """The addresses of a name, by the resolver of this machine. It may take minutes and cannot be stopped, so
    it keeps threads of its own, few in the whole process, and nothing waits for their end. Raises OSError."""
    # until a thread is done, not whoever waited for it
    while not _LOOKUPS.acquire(blocking=False):  # noqa: ASYNC110 - it may be one of another loop
        await asyncio.sleep(_LOOK_AGAIN_S)
    found = concurrent.futures.Future[list[str]]()
    found.set_running_or_notify_cancel()
    try:
        threading.Thread(target=_look_up, args=(name, port, found), name="lookup", daemon=True).start()
    except RuntimeError as error:
        _LOOKUPS.release()
        raise OSError(f"no thread to look up {name}: {error}") from error
    return await asyncio.wrap_future(found)


def _look_up(name: str, port: int, found: concurrent.futures.Future[list[str]]) -> None:
    try:
        places = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        answer: Callable[[], None] = partial(found.set_exception, error)
    else:
        answer = partial(found.set_result, list(dict.fromkeys(str(place[0]) for *_, place in places)))
    finally:
        _LOOKUPS.release()
    answer()
