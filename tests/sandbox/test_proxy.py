"""A command that may reach single hosts reaches those, and nothing else."""

import asyncio
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox import launch, listener, targets
from sandbox import proxy as proxy_module
from sandbox.errors import SandboxError
from sandbox.policy import Mode, Policy
from sandbox.proxy import Proxy, _has_closed, environment
from sandbox.shared_network import SharedNetwork
from sandbox.targets import Target
from tests.sandbox.conftest import Shell, read_until
from tests.waiting import WAIT_S

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends RST


@asynccontextmanager
async def server(seen: list[bytes], *, closes: bool = True) -> AsyncIterator[int]:
    """On the host's loopback: keeps what it was sent, says hello; gives its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(65536))
        writer.write(ANSWER)
        await writer.drain()
        if not closes:
            seen[-1] += await reader.read()
        writer.close()

    made = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with made:
        yield made.sockets[0].getsockname()[1]


@dataclass
class Way:
    """A proxy that a test connects to itself, with a resolver and a person that it makes up."""

    names: dict[str, Sequence[str]]
    listed: Sequence[str] = ()
    refuses: str = ""
    asked: list[str] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    resolve: targets.Resolve | None = None

    async def ask(self, target: Target) -> str:
        self.asked.append(str(target))
        await asyncio.sleep(0)
        return self.refuses

    async def look_up(self, name: str, port: int) -> Sequence[str]:
        self.resolved.append(name)
        return self.names[name]

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Proxy]:
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        self.proxy = Proxy(self.listed, self.ask, self.resolve or self.look_up)
        await self.proxy.serve(listening)
        try:
            yield self.proxy
        finally:
            await self.proxy.close()

    async def say(self, data: bytes) -> bytes:
        """All that comes back."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        async with asyncio.timeout(WAIT_S):
            said = await reader.read()
        writer.close()
        return said


async def soon(condition: Callable[[], object]) -> None:
    """Look again until it is so."""
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)


def code(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@asynccontextmanager
async def way(port: int) -> AsyncIterator[Way]:
    """The name `pip.test` leads to a server of the test, whose address is listed."""
    made = Way(names={"pip.test": ["127.0.0.1"]}, listed=(f"pip.test:{port}", f"127.0.0.1:{port}"))
    async with made.open():
        yield made


# --- what is asked for ---------------------------------------------------------------------------


async def test_each_way_leads_to_a_listed_host() -> None:
    async with server(seen := []) as port, way(port) as to:
        place = b"pip.test:%d" % port
        assert (await to.say(b"GET http://%s/a?b HTTP/1.1\r\nHost: x\r\n\r\n" % place)).endswith(b"hello")
        tunnelled = await to.say(b"CONNECT %s HTTP/1.1\r\n\r\nraw" % place)
        assert tunnelled == b"HTTP/1.1 200 Connected\r\n\r\n" + ANSWER
        name = b"\x08pip.test" + port.to_bytes(2, "big")
        by_socks = await to.say(b"\5\1\0" + b"\5\1\0\3" + name + b"raw")
        assert by_socks == b"\5\0" + b"\5\0\0\1\0\0\0\0\0\0" + ANSWER
        literal = await to.say(b"\5\1\0" + b"\5\1\0\1\x7f\0\0\1" + port.to_bytes(2, "big") + b"raw")
        assert literal.endswith(ANSWER)
    assert seen[0] == b"GET /a?b HTTP/1.1\r\nHost: pip.test:%d\r\nConnection: close\r\n\r\n" % port
    assert seen[1:] == [b"raw"] * 3
    assert to.asked == [] and to.resolved == ["pip.test"] * 3


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: pip.test",
        b"GET https://pip.test/ HTTP/1.1",
        b"GET http:///x HTTP/1.1",
        b"GET http://evil.test@pip.test:{port}/ HTTP/1.1",
        b"GET http://pip.test:{port}@evil.test/ HTTP/1.1",
        b"GET http://pip.test:{port}\\@evil.test/ HTTP/1.1",
        b"GET http://pip.test.:{port}/ HTTP/1.1",
        b"GET http://pip.test%00.evil.test:{port}/ HTTP/1.1",
        b"CONNECT pip.test\0.evil.test:{port} HTTP/1.1",
        b"CONNECT pip.test HTTP/1.1",
        b"CONNECT pip.test:{port} HTTP/1.1 HTTP/1.1",
        b"CONNECT  pip.test:{port} HTTP/1.1",
        b"CONNECT pip.test:{port}\tHTTP/1.1",
        b"CONNECT pip.test:{port} HTTP/2.0",
        b"CONNECT pip.test:{port} HTTP/1.1\nX: y",
        b"CONNECT pip.test:{port} HTTP/1.1\r\nX: y\n\nGET / HTTP/1.1",
        b"CONNECT pip.test:{port} HTTP/1.1\r\n folded: y",
        b"CONNECT pip.test:{port} HTTP/1.1\r\nX : y",
        b"CONNECT pip.test:{port} HTTP/1.1\r\nX: y\rz",
        b"CONNECT pip.test:{port} HTTP/1.1\r\nX: y\0z",
        b"CONNECT 2130706433:{port} HTTP/1.1",
        b"CONNECT 127.1:{port} HTTP/1.1",
        b"CONNECT 0x7f.1:{port} HTTP/1.1",
        b"CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1",
        b"POST http://pip.test:{port}/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1",
        b"POST http://pip.test:{port}/ HTTP/1.1\r\nContent-Length: +1",
        b"POST http://pip.test:{port}/ HTTP/1.1\r\nContent-Length: 1, 1",
        b"POST http://pip.test:{port}/ HTTP/1.1\r\nTransfer-Encoding: chunked",
        b"POST http://pip.test:{port}/ HTTP/1.1\r\nTransfer-Encoding: x\r\nContent-Length: 1",
        b"GET http://pip.test:{port}/ HTTP/1.1\r\nX: " + b"y" * 20_000,
    ],
)
async def test_what_can_be_read_in_two_ways_goes_nowhere(head: bytes) -> None:
    async with server(seen := []) as port, way(port) as to:
        answer = await to.say(head.replace(b"{port}", b"%d" % port) + b"\r\n\r\n")
    assert 400 <= code(answer) < 500
    assert not seen and not to.asked and not to.resolved


async def test_an_old_client_is_not_announced_as_a_newer_one() -> None:
    async with server(seen := []) as port, way(port) as to:
        await to.say(b"GET http://pip.test:%d/ HTTP/1.0\r\n\r\n" % port)
    assert seen[0].startswith(b"GET / HTTP/1.0\r\nHost: ")


async def test_no_second_request_rides_on_the_first() -> None:
    async with server(seen := [], closes=False) as port, way(port) as to:
        rest = b"xyGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"
        head = (
            b"POST http://pip.test:%d HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 2\r\n"
            b"Proxy-Authorization: Basic c2VjcmV0\r\nConnection: keep-alive\r\nUpgrade: x\r\nA: b\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", to.port)
        writer.write(head % port + rest)
        assert await reader.readexactly(len(ANSWER)) == ANSWER
        writer.close()
        await soon(lambda: seen and seen[0].endswith(b"xy"))
    expected = (
        b"POST / HTTP/1.1\r\nHost: pip.test:%d\r\nContent-Length: 2\r\nA: b\r\nConnection: close\r\n\r\nxy"
    )
    assert seen == [expected % port]


# --- where it leads ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.1", "192.168.0.1", "172.16.0.1"],
        ["169.254.169.254"],
        ["::1", "fe80::1%eth0", "fd00::1"],
        ["::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"],
        ["0.0.0.0", "::"],
        [],
    ],
    ids=str,
)
async def test_a_granted_name_leads_to_no_private_address(addresses: list[str]) -> None:
    async with server(seen := []) as port:
        to = Way(names={"pip.test": addresses}, listed=(f"pip.test:{port}",))
        async with to.open() as proxy:
            answer = await to.say(b"CONNECT pip.test:%d HTTP/1.1\r\n\r\n" % port)
            assert code(answer) == 403 and b"not public" in answer
            assert "not public" in proxy.decisions[f"pip.test:{port}"]
    assert not seen


async def test_the_address_that_was_checked_is_the_one_that_is_dialled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialled = []

    async def connect(host: str, port: int, **_: object) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        dialled.append((host, port))
        raise OSError

    to = Way(names={"pip.test": ["10.0.0.1", "93.184.216.34", "127.0.0.1"]}, listed=("pip.test:443",))
    async with to.open() as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", to.port)
        monkeypatch.setattr(asyncio, "open_connection", connect)
        writer.write(b"CONNECT pip.test:443 HTTP/1.1\r\n\r\n")
        assert code(await reader.read()) == 502
        writer.close()
        assert proxy.decisions == {"pip.test:443": "not reached: it could not be connected to"}
    assert dialled == [("93.184.216.34", 443)] and to.resolved == ["pip.test"]


# --- who is asked --------------------------------------------------------------------------------


async def test_another_host_is_asked_about_once() -> None:
    async with server([]) as port, way(port) as to:
        to.refuses = "by the user"
        heads = [b"CONNECT other.test:443 HTTP/1.1\r\n\r\n"] * 3 + [
            b"CONNECT OTHER.test:443 HTTP/1.1\r\n\r\n"
        ]
        answers = await asyncio.gather(*map(to.say, heads))
        assert all(b"other.test:443 is refused: by the user" in answer for answer in answers)
        await to.say(b"CONNECT other.test:80 HTTP/1.1\r\n\r\n")
    assert to.asked == ["other.test:443", "other.test:80"] and not to.resolved


async def test_an_address_is_never_asked_about() -> None:
    async with server(seen := []) as port, way(port) as to, server(closed := []) as other:
        assert code(await to.say(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % other)) == 403
        socks = await to.say(b"\5\1\0" + b"\5\1\0\1\x7f\0\0\1" + other.to_bytes(2, "big"))
        assert socks[2:4] == b"\5\2"
    assert not to.asked and not seen and not closed


async def test_words_of_a_person_make_no_head() -> None:
    async with server([]) as port, way(port) as to:
        to.refuses = 'by the user, who says: "no\r\nX: y\r\n\r\n"'
        answer = await to.say(b"CONNECT other.test:443 HTTP/1.1\r\n\r\n")
    assert answer.count(b"\r\n\r\n") == 1 and b"\r\nX: y" not in answer


@pytest.mark.parametrize("resets", [False, True])
async def test_nothing_is_sent_for_a_client_that_left_before_the_answer(resets: bool) -> None:
    to, answered = Way(names={}), asyncio.Event()

    async def ask(target: Target) -> str:
        to.asked.append(str(target))
        await answered.wait()
        return ""

    to.ask = ask  # type: ignore[method-assign]
    async with server(seen := []) as port, to.open() as proxy:
        to.names["pip.test"] = ["127.0.0.1"]
        proxy._listed |= {f"127.0.0.1:{port}"}
        data = b"POST http://pip.test:%d/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nxy" % port
        _, gone = await asyncio.open_connection("127.0.0.1", to.port)
        gone.write(data)
        await soon(lambda: to.asked)
        if resets:
            gone.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        gone.close()
        await soon(lambda: any(map(_has_closed, proxy._open.values())))
        stayed = asyncio.create_task(to.say(data))
        await soon(lambda: len(proxy._open) == 2)
        answered.set()
        assert (await stayed).endswith(b"hello")
        await soon(lambda: not proxy._open)
    assert len(seen) == 1 and to.asked == [f"pip.test:{port}"]
    assert proxy.decisions == {f"pip.test:{port}": ""}


async def test_whoever_waits_for_an_answer_ends_with_the_command() -> None:
    to, began, ended = Way(names={}), asyncio.Event(), asyncio.Event()

    async def ask(_: Target) -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    to.ask = ask  # type: ignore[method-assign]
    async with asyncio.timeout(WAIT_S):
        async with to.open():
            reader, writer = await asyncio.open_connection("127.0.0.1", to.port)
            writer.write(b"CONNECT pip.test:443 HTTP/1.1\r\n\r\n")
            await began.wait()
        assert ended.is_set()
        assert await reader.read() == b""
    writer.close()


async def test_whoever_was_accepted_as_the_command_ended_is_not_served() -> None:
    async with server(seen := []) as port, way(port) as to:
        await to.proxy.close()
        async with await asyncio.start_server(to.proxy._accept, "127.0.0.1", 0) as late:  # is told of it late
            to.port = late.sockets[0].getsockname()[1]
            with suppress(ConnectionResetError):
                assert await to.say(b"GET http://pip.test:%d/ HTTP/1.1\r\n\r\n" % port) == b""
    assert not seen and not to.proxy._open


async def test_connections_are_bounded() -> None:
    to = Way(names={}, listed=("pip.test:443",))
    async with to.open() as proxy:
        held = [await asyncio.open_connection("127.0.0.1", to.port) for _ in range(64)]
        for _, writer in held:
            writer.write(b"G")
        await soon(lambda: len(proxy._open) == 64)
        assert code(await to.say(b"CONNECT pip.test:443 HTTP/1.1\r\n\r\n")) == 503
        assert await to.say(b"\5\1\0") == b"\5\xff"
        for _, writer in held:
            writer.close()


@asynccontextmanager
async def silent(seen: list[bytes]) -> AsyncIterator[int]:
    """A server that reads nothing and says nothing until the test is over; keeps who came."""
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(b"")
        await over.wait()
        writer.transport.abort()

    made = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1024)
    async with made:
        yield made.sockets[0].getsockname()[1]
        over.set()


@pytest.mark.parametrize("head", [b"GET http://%s/ HTTP/1.1\r\n\r\n", b"CONNECT %s HTTP/1.1\r\n\r\nx"])
@pytest.mark.parametrize("resets", [False, True])
async def test_clients_that_are_gone_keep_nobody_out(head: bytes, resets: bool) -> None:
    async with silent(seen := []) as quiet, server([]) as port, way(port) as to:
        to.proxy._listed |= {f"pip.test:{quiet}", f"127.0.0.1:{quiet}"}
        for count in range(1, 71):
            _, writer = await asyncio.open_connection("127.0.0.1", to.port)
            writer.write(head % b"pip.test:%d" % quiet)
            await soon(lambda count=count: len(seen) == count)
            if resets:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.close()
        if resets:
            await soon(lambda: not to.proxy._open)
        assert (await to.say(b"GET http://pip.test:%d/ HTTP/1.1\r\n\r\n" % port)).endswith(b"hello")


@pytest.mark.parametrize("head", [b"GET http://%s/ HTTP/1.1\r\n\r\n", b"CONNECT %s HTTP/1.1\r\n\r\nx"])
async def test_a_client_that_only_reads_on_gets_its_answer(head: bytes) -> None:
    may_answer = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        await may_answer.wait()
        writer.write(ANSWER)
        writer.close()

    made = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = made.sockets[0].getsockname()[1]
    async with made, way(port) as to:
        reader, writer = await asyncio.open_connection("127.0.0.1", to.port)
        writer.write(head % b"pip.test:%d" % port)
        writer.write_eof()
        await soon(lambda: any(map(_has_closed, to.proxy._open.values())))
        may_answer.set()
        async with asyncio.timeout(WAIT_S):
            assert (await reader.read()).endswith(ANSWER)
        writer.close()


async def test_tunnels_that_a_server_does_not_read_leave_no_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialled: list[asyncio.StreamWriter] = []
    dial = asyncio.open_connection

    async def connect(*args: Any, **options: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        made = await dial(*args, **options)
        dialled.append(made[1])
        return made

    monkeypatch.setattr(asyncio, "open_connection", connect)
    before, loop = descriptors(), asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0), backlog=32) as deaf, ExitStack() as clients:
        async with way(deaf.getsockname()[1]) as to:
            data = b"CONNECT %s HTTP/1.1\r\n\r\n" % to.listed[0].encode() + b"x" * 10_000_000
            sending = []
            for _ in range(20):
                client = clients.enter_context(socket.create_connection(("127.0.0.1", to.port)))
                client.setblocking(False)
                sending.append(asyncio.create_task(loop.sock_sendall(client, data)))
            await soon(lambda: sum(away.transport.get_write_buffer_size() > 0 for away in dialled) == 20)
        await asyncio.gather(*sending, return_exceptions=True)
        assert descriptors() <= before + 1 + 20, "the server's, and those of the clients"


async def test_slow_lookups_keep_no_thread_that_others_need(monkeypatch: pytest.MonkeyPatch) -> None:
    over, began = threading.Event(), list[str]()

    def look_up(name: str, port: int, **_: object) -> list[tuple[object, ...]]:
        began.append(name)
        over.wait(WAIT_S)
        raise socket.gaierror

    names = [f"n{number}.test:443" for number in range(6)]
    ways = [Way(names={}, listed=names, resolve=targets.resolve) for _ in range(3)]
    async with AsyncExitStack() as stack:
        stack.callback(over.set)
        for to in ways:
            await stack.enter_async_context(to.open())
        with monkeypatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", look_up)
            patched.setattr(proxy_module, "_DIAL_S", 0.2)
            heads = [b"CONNECT %s HTTP/1.1\r\n\r\n" % name.encode() for name in names]
            answers = await asyncio.gather(*(to.say(head) for to in ways for head in heads))
        assert all(code(answer) == 504 and b"cannot be found in time" in answer for answer in answers)
        assert set(ways[0].proxy.decisions.values()) == {"not reached: its name was not found in time"}
        assert len(began) == 2, "in all commands together, as long as they last"
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*(asyncio.to_thread(int) for _ in range(40)))
            over.set()
            assert "127.0.0.1" in await targets.resolve("localhost", 80)


def test_the_agent_ends_while_a_name_is_looked_up() -> None:
    script = """
import asyncio, socket, threading
from sandbox import targets

socket.getaddrinfo = lambda *_, **__: threading.Event().wait()

async def main():
    try:
        async with asyncio.timeout(0.1):
            await targets.resolve("pip.test", 443)
    except TimeoutError:
        print("in time")

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", script], timeout=WAIT_S, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "in time\n", "")


def test_local_names_stay_local_unless_they_are_listed() -> None:
    assert environment(["pip.test:443"])["NO_PROXY"] == "localhost,127.0.0.1,::1"
    assert environment(["127.0.0.1:80", "[::1]:80"])["no_proxy"] == "localhost"


# --- in the sandbox ------------------------------------------------------------------------------

REACH = 'python3 -c \'import socket; socket.create_connection(("127.0.0.1", 3128), 5); print("reached")\''


@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
@pytest.mark.parametrize("tty", [False, True])
async def test_programs_find_the_way_to_a_granted_host_and_to_no_other(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, mode: str, tty: bool
) -> None:
    async with server(seen := []) as port, server(other := []) as closed:
        script = f"""
        curl -sS http://pip.test:{port}/a; echo
        python3 -c 'import urllib.request as u; print(u.urlopen("http://pip.test:{port}/").read().decode())'
        curl -sS --socks5-hostname 127.0.0.1:3128 --noproxy '' http://pip.test:{port}/; echo
        curl -sS -o /dev/null -w '%{{http_code}}\\n' http://pip.test:{closed}/
        curl -sS -o /dev/null -w '%{{http_code}}\\n' http://evil.test:{port}/
        curl -sS --noproxy '*' http://127.0.0.1:{port}/ 2>&1 | head -c 8
        python3 -m http.server -b 127.0.0.1 8000 >/dev/null 2>&1 &
        while ! curl -s http://127.0.0.1:8000 -o /dev/null; do :; done; echo; echo local
        """
        monkeypatch.setattr(targets, "resolve", partial(_lead, "127.0.0.1"))
        hosts = (f"pip.test:{port}", f"127.0.0.1:{port}")
        _, said = await shell.run(script, policy={"hosts": hosts, "mode": mode}, tty=tty)
    lines = said.replace("\r", "").splitlines()
    assert lines == ["hello", "hello", "hello", "403", "403", "curl: (7", "local"], said
    assert len(seen) == 3 and not other


async def _lead(address: str, _name: str, _port: int) -> Sequence[str]:
    return [address]


async def test_no_other_command_comes_to_the_proxy(shell: Shell) -> None:
    network = SharedNetwork(shell.found.bwrap)
    policy = {"hosts": ("pip.test:443",)}
    granted = await shell.start(f"{REACH}; read -r _", policy=policy, shared_network=network, stdin=True)
    assert "reached" in await read_until(granted, "\n")
    for options in ({"shared_network": network}, {}, {"policy": {"network": True}}):
        _, said = await shell.run(f"{REACH}; env | grep -ic _proxy=", **options)
        assert "ConnectionRefusedError" in said and said.startswith("0\n"), options
    _, said = await shell.run(REACH, policy=policy, shared_network=network)
    assert said.strip() == "reached"
    granted.kill()
    await granted.ended()
    granted.close()
    await network.close()


async def test_a_command_holds_nothing_of_the_proxy(shell: Shell) -> None:
    script = (
        "ls -l /proc/self/fd /proc/1/fd; grep CapEff /proc/self/status; env; set -- /proc/[0-9]*; echo $#"
    )
    plain, with_host = [
        (await shell.run(script, policy=policy))[1] for policy in ({}, {"hosts": ("pip.test:443",)})
    ]
    assert "socket:" not in with_host and "CapEff:\t0000000000000000" in with_host
    assert with_host.splitlines()[-1] == plain.splitlines()[-1], "no process of ours is in it"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_nothing_listens_once_the_command_is_gone(shell: Shell) -> None:
    before = descriptors()
    for _ in range(3):
        ended, _ = await shell.run("true", policy={"hosts": ("pip.test:443",)})
        assert ended.code == 0
    await soon(lambda: descriptors() <= before)


async def test_a_start_that_is_given_up_leaves_nothing_that_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, may_end = socket.create_server(("127.0.0.1", 0)), threading.Event()
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listen(_: int) -> socket.socket:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(WAIT_S)
        return made

    monkeypatch.setattr(listener, "listen", listen)
    policy = Policy(mode=Mode.WORKSPACE_WRITE, workspace=tmp_path, state_dir=tmp_path)
    opening = asyncio.create_task(launch._open_proxy(1, policy, _nobody))
    await begun.wait()
    opening.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert made.fileno() == -1


async def _nobody(_: object) -> str:
    raise AssertionError("nothing is asked for")


async def test_without_a_network_of_its_own_no_command_is_let_run(shell: Shell) -> None:
    with pytest.raises(SandboxError, match="network of its own"):
        await asyncio.to_thread(listener.listen, os.getpid())


async def test_a_listener_that_cannot_be_made_starts_nothing(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "_HELPER", "raise SystemExit('nothing here')")
    mark = shell.world.ws / "ran"
    with pytest.raises(SandboxError, match="no listener in its network: nothing here"):
        await shell.run(f"touch {mark}", policy={"hosts": ("pip.test:443",)})
    assert not mark.exists()
