import os
import subprocess
from pathlib import Path

import pytest

from agent_tui.engine.events import CallProposed, CallStarted
from agent_tui.engine.fold import Call
from agent_tui.engine.lost import evidence_of, is_alive, kill_if_ours
from tools.types import Spawned


def spawned(process: subprocess.Popen[bytes], boot_id: str = "this boot") -> Spawned:
    stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return Spawned(
        pid=process.pid, started_at_ticks=int(stat[19]), boot_id=boot_id, process_group=process.pid
    )


def test_only_exactly_the_same_process_is_killed() -> None:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    ours = spawned(process)
    later = Spawned(
        pid=ours.pid, started_at_ticks=ours.started_at_ticks + 1, boot_id=ours.boot_id, process_group=ours.pid
    )
    assert not kill_if_ours(later, "this boot")
    assert not kill_if_ours(ours, "another boot")
    assert is_alive(ours, "this boot")
    assert kill_if_ours(ours, "this boot")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet reaped
    assert not is_alive(ours, "this boot")
    process.wait()
    assert not is_alive(ours, "this boot")


@pytest.mark.parametrize("printed", ["", "last words\n"])
def test_the_evidence_names_process_and_output(tmp_path: Path, printed: str) -> None:
    (tmp_path / "spool").write_text(printed)
    gone = Spawned(pid=2**22, started_at_ticks=1, boot_id="this boot", process_group=2**22)
    started = CallStarted(
        call_id="c",
        attempt=1,
        arguments_sha256="",
        cwd="/",
        sandbox="",
        spool=str(tmp_path / "spool"),
        boot_id="",
    )
    proposed = CallProposed(call_id="c", step_id="s1", tool="exec_command", arguments="{}")
    text = evidence_of(Call(proposed=proposed, started=started, processes=[gone]), "this boot").text
    assert text.startswith("its process is gone; ")
    assert (printed or "it had printed nothing") in text
