"""Three-way merge of a path in conflict: the user's text stays, what the agent did is taken back."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace

from checkpoints.attribution import Trace
from checkpoints.gitprocess import GitError, environment
from checkpoints.journal import Step
from checkpoints.objects import EXECUTABLE, FILE
from checkpoints.plan import Evidence
from checkpoints.states import Entry, shown
from checkpoints.store import Store
from checkpoints.types import CheckpointError, NotThereError

_TIMEOUT_S = 10


def merged_step(step: Step, trace: Trace | None, evidence: Evidence) -> tuple[Step, bool]:
    """The step that writes the merged text, and whether it has conflict markers.

    Base is the agent's last version, ours the present text, theirs the checkpoint's. Raises
    NotThereError when one of them is no text.
    """
    store = evidence.trees.store
    sides = (step.before, _agent_version(step.path, trace, evidence), step.after)
    texts = [_text(store, entry) for entry in sides]
    if store.git is None or step.before is None or any(text is None for text in texts):
        raise NotThereError(
            f"`{shown(step.path)}` cannot be merged; keep it, or take the checkpoint's version"
        )
    merged, has_markers = _merge(store, [text or b"" for text in texts])
    try:
        oid = store.put("blob", merged)
    except OSError as error:
        raise CheckpointError(f"checkpoint store `{store.directory}`: {error.strerror}") from error
    return replace(step, after=Entry(step.before.mode, oid, step.before.permissions)), has_markers


def _agent_version(path: bytes, trace: Trace | None, evidence: Evidence) -> Entry | None:
    for row, state in reversed(evidence.later):
        if trace is not None and row.seq == trace.agent_seq:
            return evidence.trees.find(state, path)
    return None


def _text(store: Store, entry: Entry | None) -> bytes | None:
    if entry is None or entry.mode not in (FILE, EXECUTABLE):
        return None
    content = store.read(entry.oid)
    return None if b"\0" in content else content


def _merge(store: Store, texts: Sequence[bytes]) -> tuple[bytes, bool]:
    """`git merge-file`: its status is the number of conflicts left as markers, at most 127."""
    assert store.git is not None
    with tempfile.TemporaryDirectory(dir=store.directory / "tmp") as folder:
        names = []
        for name, text in zip(("yours", "agent", "checkpoint"), texts, strict=True):
            path = os.path.join(folder, name)
            with open(path, "wb") as stream:
                stream.write(text)
            names.append(path)
        labels = [part for label in ("yours", "agent", "checkpoint") for part in ("-L", label)]
        try:
            answer = subprocess.run(
                [store.git.program, "merge-file", "-p", *labels, *names],
                capture_output=True,
                timeout=_TIMEOUT_S,
                env=environment(os.fspath(store.directory)),
                cwd=store.directory,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitError(f"`git merge-file` failed: {error}") from error
    if not 0 <= answer.returncode <= 127:
        raise GitError(f"`git merge-file` failed: {answer.stderr.decode('utf-8', 'replace').strip()}")
    return answer.stdout, answer.returncode > 0
