"""Runs every attack without and with the sandbox and prints what happened as JSON; one user a process.

Started by the tests with the repository on the path, for another user through setpriv.
"""

import asyncio
import ctypes
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from sandbox.launch import spawn
from sandbox.policy import Mode
from sandbox.probe import ProbeResult, probe
from sandbox.shared_network import SharedNetwork
from tests.sandbox import attacks, honest, worlds
from tests.sandbox.attacks import Attack

_LIMIT_S = 120  # making an environment with pip takes long on a busy machine


@dataclass
class Verdict:
    """What one attempt came to; `effective` says that it works where nothing stops it."""

    effective: bool
    blocked: bool
    control: str
    inside: str


async def run(world: worlds.World, argv: list[str], found: ProbeResult, **options: object) -> tuple[int, str]:
    """One command to its end; exit code and output."""
    policy = world.policy(**options.pop("policy", {}))  # type: ignore[arg-type]
    running = await spawn(argv, policy=policy, cwd=world.ws, probe=found, environ=world.environ(), **options)  # type: ignore[arg-type]
    loop = asyncio.get_running_loop()
    said = bytearray()

    def take(fd: int) -> None:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        said.extend(data)
        if not data:
            loop.remove_reader(fd)

    for fd in running.outputs:
        loop.add_reader(fd, take, fd)
    try:
        ended = await asyncio.wait_for(running.wait(), _LIMIT_S)
        code = ended.code
    except TimeoutError:
        code = 124
    running.kill()
    await running.ended()
    for fd in running.outputs:
        take(fd)
        loop.remove_reader(fd)
    running.close()
    return code, said.decode(errors="replace")


class Host:
    """What the attacks try to reach: servers, memory and processes of the same user outside."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.tcp = self._serve(socket.socket(socket.AF_INET), ("127.0.0.1", 0))
        self.abstract = f"agent-tui-test-{os.getpid()}-{secrets.token_hex(4)}"
        self._serve(socket.socket(socket.AF_UNIX), "\0" + self.abstract)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        threading.Thread(target=self._answer, daemon=True).start()
        self.sleeper = self._sleep()
        self.libc = ctypes.CDLL(None)
        self.libc.shmat.restype = ctypes.c_void_p
        self.shm = self.libc.shmget(0, 4096, 0o1600)
        ctypes.memmove(self.libc.shmat(self.shm, 0, 0), mark.encode() + b"\0", len(mark) + 1)
        self.shared = Path(f"/dev/shm/agent-tui-test-{os.getpid()}")
        self.shared.write_text(mark)
        self.queue = self.libc.mq_open(
            f"/{self.shared.name}".encode(), os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o600, None
        )
        self.tmp = Path(tempfile.mkdtemp(prefix="agent-tui-host-"))
        (self.tmp / "secret").write_text(mark)
        os.chdir(self.tmp)
        secret = os.memfd_create("agent-secret", 0)
        os.write(secret, mark.encode())
        os.set_inheritable(secret, True)

    def serve_unix(self, path: Path) -> None:
        self._serve(socket.socket(socket.AF_UNIX), str(path))

    def _serve(self, server: socket.socket, address: object) -> socket.socket:
        server.bind(address)
        server.listen(16)

        def loop() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    connection.sendall(f"HTTP/1.0 200 OK\r\n\r\n{self.mark}\n".encode())

        threading.Thread(target=loop, daemon=True).start()
        return server

    def _answer(self) -> None:
        while True:
            _, sender = self.udp.recvfrom(100)
            self.udp.sendto(self.mark.encode(), sender)

    def _sleep(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(["sleep", "600"], env={"PATH": os.defpath, "OWN_SECRET": self.mark})

    def renew(self) -> None:
        self.libc.mq_send(self.queue, self.mark.encode(), len(self.mark), 0)
        if self.sleeper.poll() is not None:
            self.sleeper = self._sleep()
        (self.tmp / "new").unlink(missing_ok=True)

    def environ(self, world: worlds.World) -> dict[str, str]:
        return {
            "MARK": self.mark,
            "WS": str(world.ws),
            "OUT": str(world.out),
            "REALHOME": str(world.home),
            "STATE": str(world.state),
            "HOSTTMP": str(self.tmp),
            "PORT": str(self.tcp.getsockname()[1]),
            "UDPPORT": str(self.udp.getsockname()[1]),
            "ABSTRACT": self.abstract,
            "SHMID": str(self.shm),
            "SHMNAME": self.shared.name,
            "AGENT": str(os.getpid()),
            "SLEEPER": str(self.sleeper.pid),
        }

    def close(self) -> None:
        self.sleeper.kill()
        self.sleeper.wait()
        self.libc.shmctl(self.shm, 0, 0)
        self.libc.mq_unlink(f"/{self.shared.name}".encode())
        self.shared.unlink()
        worlds.remove(self.tmp)


class Suite:
    """All attempts of one user."""

    def __init__(self, base: Path, found: ProbeResult) -> None:
        self.base = base
        self.found = found
        self.mark = f"mark{secrets.token_hex(8)}"
        self.host = Host(self.mark)
        self.number = 0
        self.network = SharedNetwork(found.bwrap)

    def world(self, kind: str) -> worlds.World:
        self.number += 1
        return worlds.make(self.base / str(self.number), kind, self.mark)

    async def attempt(self, attack: Attack, *, sandboxed: bool, shared: bool = False) -> tuple[bool, str]:
        world = self.world(attack.world)
        self.host.serve_unix(world.out / "host.sock")
        self.host.renew()
        variables = self.host.environ(world)
        if attack.setup:
            done = world.run(attack.setup, **variables)
            if done.returncode:
                return False, f"setup: {done.stderr.decode()}"
        mode = Mode.OFF if not sandboxed else Mode.READ_ONLY if attack.read_only else Mode.WORKSPACE_WRITE
        options = {"mode": mode, "git_lane": attack.lane, "network": attack.network}
        options["hosts"] = tuple(each.replace("$PORT", variables["PORT"]) for each in attack.hosts)
        options["extra_roots"] = tuple((world.base / name).resolve() for name in attack.roots)
        shown = world.environ() if not sandboxed else {}
        _, said = await run(
            world,
            ["bash", "-c", attack.script],
            self.found,
            policy=options,
            env=shown | variables | {"HOME": str(world.home)},
            tty=attack.tty,
            shared_network=self.network if shared else None,
        )
        if attack.victim:
            world.run(attack.victim, **variables)
        succeeded = self.mark in said or (world.out / "pwned").exists()
        worlds.remove(world.base)
        return succeeded, said.replace(self.mark, "MARK")[-400:]

    async def attack(self, attack: Attack) -> Verdict:
        effective, control = await self.attempt(attack, sandboxed=False)
        inside, said = await self.attempt(attack, sandboxed=True, shared=True)
        if not inside and attack in attacks.NETWORK:
            inside, said = await self.attempt(attack, sandboxed=True)
        return Verdict(effective, not inside, control, said)

    async def syscalls(self) -> dict[str, Verdict]:
        answers: list[dict[str, str]] = []
        for mode in (Mode.OFF, Mode.WORKSPACE_WRITE):
            world = self.world("plain")
            _, said = await run(
                world,
                ["python3", "tool.py", "syscalls"],
                self.found,
                policy={"mode": mode},
                env={"MARK": "x"},
            )
            lines = [line.split() for line in said.splitlines() if line.startswith(("sys-", "abi-"))]
            answers.append({line[0]: line[1] for line in lines})
        refused = {"EPERM", "ENOSYS", "EAFNOSUPPORT", "ESOCKTNOSUPPORT", "EPROTONOSUPPORT"}
        return {
            name: Verdict(
                answers[0].get(name, "EPERM") not in refused,
                answers[1].get(name, "0") in refused,
                answers[0].get(name, "absent"),
                answers[1].get(name, "absent"),
            )
            for name in attacks.SYSCALLS
        }

    async def server_then_client(self) -> str:
        """Empty when what one command serves is fetched by the next, else what that said."""
        world = self.world("plain")
        server = await spawn(
            ["python3", "-c", honest.SERVER],
            policy=world.policy(),
            cwd=world.ws,
            probe=self.found,
            environ=world.environ(),
            shared_network=self.network,
        )
        client = ["python3", "-c", honest.CLIENT]
        _, said = await run(world, client, self.found, shared_network=self.network)
        server.kill()
        await server.ended()
        server.close()
        worlds.remove(world.base)
        return "" if "served" in said else said

    async def honest(self, job: honest.Job) -> str:
        """Empty when the job works, else what it said."""
        world = self.world(job.world)
        if not all(_has(tool, world.environ()) for tool in job.needs):
            return f"skip: {' '.join(job.needs)} not installed"
        if job.setup:
            world.run(job.setup, **self.host.environ(world)).check_returncode()
        before = worlds_tree(world.ws)
        code, said = await run(
            world,
            ["bash", "-c", job.script],
            self.found,
            policy={"git_lane": job.lane, "mode": Mode.READ_ONLY if job.read_only else Mode.WORKSPACE_WRITE},
            env={"WS": str(world.ws)},
            tty=job.tty,
        )
        worked = code == 0 and (not job.says or job.says in said)
        if worked and job.clean and worlds_tree(world.ws) != before:
            worked, said = False, f"left behind: {sorted(set(worlds_tree(world.ws)) ^ set(before))}"
        if worked and job.after:
            checked = world.run(job.after)
            worked, said = checked.returncode == 0, said + checked.stderr.decode()
        worlds.remove(world.base)
        return "" if worked else f"exit {code}: {said[-1500:]}"


def worlds_tree(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if ".git" not in path.parts)


def _has(tool: str, environ: dict[str, str]) -> bool:
    """A program of the system, or a directory named through a variable."""
    if tool.startswith("$"):
        variable, _, below = tool[1:].partition("/")
        return variable in environ and os.access(f"{environ[variable]}/{below}", os.R_OK)
    return shutil.which(tool, path=environ["PATH"]) is not None


async def main(base: Path, wanted: list[str]) -> dict[str, object]:
    found = probe(base / "probe")
    if not found.available:
        return {"unavailable": f"{found.detail}; {found.fix}"}
    suite = Suite(base, found)
    root = os.geteuid() == 0
    chosen = [
        each for each in attacks.ALL if (root or not each.root_only) and (not root or not each.user_only)
    ]
    try:
        verdicts = {}
        for each in chosen:
            if not wanted or each.id in wanted:
                verdicts[each.id] = asdict(await suite.attack(each))
        if not wanted or "syscalls" in wanted:
            verdicts |= {name: asdict(each) for name, each in (await suite.syscalls()).items()}
        jobs = {job.id: await suite.honest(job) for job in honest.ALL if not wanted or job.id in wanted}
        if not wanted or honest.SERVER_THEN_CLIENT in wanted:
            jobs[honest.SERVER_THEN_CLIENT] = await suite.server_then_client()
    finally:
        await suite.network.close()
        suite.host.close()
    return {"attacks": verdicts, "honest": jobs, "lost": found.lost}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))))
