"""Every attack blocked, every honest job done: as root where we are root, and as an ordinary user."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox import attacks, honest, worlds

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).with_name("driver.py")
ORDINARY_UID = 61234  # nobody's, so that nothing on the machine belongs to it
SYSTEM_PYTHON = "/usr/bin/python3"  # ours may lie where another user cannot go

USERS = ["root", "user"] if os.geteuid() == 0 else ["user"]
MEANT_FOR = {each.id: each for each in attacks.ALL}


def start(user: str, base: Path) -> dict[str, Any]:
    """Run the driver as `user`; what it found."""
    python, prefix = sys.executable, []
    paths = [str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))]
    if user == "user" and os.geteuid() == 0:
        python = SYSTEM_PYTHON
        prefix = ["setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups"]
        os.chown(base, ORDINARY_UID, ORDINARY_UID)
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(base), "LANG": "C.UTF-8"}
    env |= {"PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*prefix, python, str(DRIVER), str(base)], env=env, capture_output=True, text=True, timeout=1800
    )
    if done.returncode:
        return {"failed": f"exit {done.returncode}: {done.stderr[-3000:]}"}
    return dict(json.loads(done.stdout))


def start_once(user: str, base: Path, shared: Path) -> dict[str, Any]:
    """What the driver finds is needed in every worker of a parallel run and made in the first."""
    kept = shared / f"sandbox-{user}.json"
    with (shared / f"sandbox-{user}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_text(json.dumps(start(user, base)))
    return dict(json.loads(kept.read_text()))


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, "Future[dict[str, Any]]"]]:
    """Both users at once; their directories have short names, since sockets lie in them."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    bases = {user: Path(tempfile.mkdtemp(prefix="at-", dir="/tmp")) for user in USERS}
    with ThreadPoolExecutor(len(USERS)) as pool:
        yield {user: pool.submit(start_once, user, base, shared) for user, base in bases.items()}
    for base in bases.values():
        worlds.remove(base)


@pytest.fixture
def report(user: str, started: dict[str, "Future[dict[str, Any]]"]) -> dict[str, Any]:
    found = started[user].result()
    if "unavailable" in found:
        pytest.skip(found["unavailable"])
    assert "failed" not in found, found["failed"]
    return found


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("attack", [*MEANT_FOR, *attacks.SYSCALLS])
def test_blocked(user: str, attack: str, report: dict[str, Any]) -> None:  # A26, and other ways out
    verdict = report["attacks"].get(attack)
    if verdict is None:
        pytest.skip("needs root")
    assert verdict["blocked"], f"it worked inside: {verdict['inside']}"
    if not verdict["effective"]:
        pytest.skip(f"does not work here without a sandbox either: {verdict['control']}")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("job", [*(job.id for job in honest.ALL), honest.SERVER_THEN_CLIENT])
def test_works(user: str, job: str, report: dict[str, Any]) -> None:  # A24, A25, A27, and other honest work
    said = report["honest"][job]
    if said.startswith("skip: "):
        pytest.skip(said)
    assert said == ""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("user", USERS)
def test_enough_attempts_were_shown_to_work_without_the_sandbox(user: str, report: dict[str, Any]) -> None:
    effective = [name for name, verdict in report["attacks"].items() if verdict["effective"]]
    worked = [name for name, said in report["honest"].items() if said == ""]
    assert len(effective) >= 60, sorted(set(report["attacks"]) - set(effective))
    assert len(worked) >= 25


def test_the_other_user_can_be_tried() -> None:
    if os.geteuid() == 0:
        assert shutil.which("setpriv") and Path(SYSTEM_PYTHON).exists()
