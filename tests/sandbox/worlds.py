"""A home with secrets, a workspace, another project beside it: made fresh for every attempt."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sandbox.policy import Mode, Policy

HERE = Path(__file__).parent
SECRETS = (
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".gnupg/secring",
    ".mozilla/firefox/p/logins.json",
    ".netrc",
    ".bash_history",
)


def _real_home() -> Path:
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return Path("/nonexistent")


REAL_HOME = _real_home()  # where toolchains may lie


@dataclass(frozen=True)
class World:
    """Directories of one attempt."""

    base: Path
    mark: str

    @property
    def ws(self) -> Path:
        return (self.base / "ws").resolve()  # a link to the submodule in one kind of world

    @property
    def out(self) -> Path:
        return self.base / "out"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def state(self) -> Path:
        return self.base / "state"

    def environ(self) -> dict[str, str]:
        """What the agent was started with: secrets among it."""
        toolchains = {
            name: str(place)
            for name, place in (("RUSTUP_HOME", REAL_HOME / ".rustup"), ("PYENV_ROOT", REAL_HOME / ".pyenv"))
            if os.access(place, os.R_OK)
        }
        return toolchains | {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "USER": "someone",
            "TERM": "xterm-256color",
            "OPENAI_API_KEY": self.mark,
            "MY_TOKEN": self.mark,
            "DB_PASSWORD": self.mark,
            "DATABASE_URL": f"postgres://u:{self.mark}@db/x",
            "CFLAGS": f"-DX=https://u:{self.mark}@host/",
            "PLAIN_VARIABLE": self.mark,
            "SSH_AUTH_SOCK": str(self.out / "host.sock"),
        }

    def policy(self, **changes: object) -> Policy:
        wanted: dict[str, object] = {
            "mode": Mode.WORKSPACE_WRITE,
            "workspace": self.ws,
            "state_dir": self.state,
        }
        return Policy(**{**wanted, **changes})  # type: ignore[arg-type]

    def run(self, script: str, **extra: str) -> subprocess.CompletedProcess[bytes]:
        """Outside the sandbox, as the user."""
        env = self.environ() | {"WS": str(self.base / "ws"), "OUT": str(self.out), "MARK": self.mark} | extra
        return subprocess.run(["bash", "-c", script], env=env, cwd=self.base, capture_output=True, timeout=20)


_IDENTITY = "[user]\n\tname = Tester\n\temail = tester@example.com\n[init]\n\tdefaultBranch = main\n"


def make(base: Path, kind: str, mark: str) -> World:
    """Make a world; `kind` is repo, plain, worktree or submodule. Those whose paths may move are
    copied from the first of their kind."""
    world = World(base=base.resolve(), mark=mark)
    template = base.parent / f"template-{kind}"
    if template.exists():
        shutil.copytree(template, world.base, symlinks=True)
        return world
    _build(world, kind)
    if kind in ("repo", "plain"):
        shutil.copytree(world.base, template, symlinks=True)
    return world


def _build(world: World, kind: str) -> None:
    for place in (world.out, world.home, world.base / "ws-other"):
        place.mkdir(parents=True)
    world.state.mkdir(mode=0o700)
    mark = world.mark
    for name in SECRETS:
        place = world.home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{mark}\n")
    (world.home / ".gitconfig").write_text(_IDENTITY + f"[http]\n\textraheader = {mark}\n")
    (world.home / ".profile").write_text("# mine\n")
    (world.out / "secret").write_text(f"{mark}\n")
    (world.base / "ws-other" / "secret").write_text(f"{mark}\n")
    (world.state / "sessions").write_text(f"{mark}\n")
    _workspace(world, kind)
    if world.ws.exists():
        shutil.copy(HERE / "tool.py", world.ws / "tool.py")


def _workspace(world: World, kind: str) -> None:
    commands = {
        "plain": 'mkdir "$WS"; echo a > "$WS/a.txt"',
        "repo": 'git init -q "$WS" && cd "$WS" && echo a > a.txt && git add . && git commit -qm first',
        "worktree": 'git init -q "$OUT/main" && cd "$OUT/main" && echo a > a.txt && git add . && git commit -qm first'
        ' && git worktree add -q "$WS" -b side',
        "submodule": 'git init -q "$OUT/lib" && (cd "$OUT/lib" && echo a > a.txt && git add . && git commit -qm l)'
        " && git init -q super && cd super && git commit -q --allow-empty -m s"
        ' && git -c protocol.file.allow=always submodule --quiet add "$OUT/lib" ws && git commit -qm sub'
        ' && ln -s "$PWD/ws" "$WS"',
    }
    done = world.run(commands[kind])
    if done.returncode:
        raise RuntimeError(done.stderr.decode())


def remove(base: Path) -> None:
    """Also what has no write permission."""
    for directory, _, _ in os.walk(base):
        Path(directory).chmod(0o700)
    shutil.rmtree(base, ignore_errors=True)
