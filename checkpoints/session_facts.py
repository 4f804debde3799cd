"""What a list of sessions says beyond names and times, read from one store; the index keeps it."""

import json
import sqlite3
from dataclasses import asdict, dataclass

LAST_CHARS = 200

_RUN = "('TurnStarted', 'TurnEnded')"
_TYPE = "json_extract(body, '$.body.type')"
_MORE = f"""
SELECT
  (SELECT {_TYPE} FROM records WHERE kind = 'event' AND {_TYPE} IN {_RUN} ORDER BY seq DESC LIMIT 1),
  (SELECT json_extract(body, '$.body.reason') FROM records
     WHERE kind = 'event' AND {_TYPE} = 'TurnEnded' ORDER BY seq DESC LIMIT 1),
  (SELECT {_TYPE} FROM records WHERE kind = 'event'
     AND {_TYPE} IN ('ApprovalAsked', 'ApprovalDecided', 'TurnEnded') ORDER BY seq DESC LIMIT 1),
  (SELECT count(*) FROM records WHERE kind = 'event' AND {_TYPE} = 'InputDelivered'),
  (SELECT count(DISTINCT json_extract(each.value, '$.path'))
     FROM records, json_each(records.body, '$.body.changes') AS each
     WHERE kind = 'event' AND {_TYPE} = 'CallEnded'),
  (SELECT json_extract(body, '$.body.text') FROM records
     WHERE kind = 'event' AND {_TYPE} = 'TurnEnded' ORDER BY seq DESC LIMIT 1),
  (SELECT sum(json_extract(body, '$.body.cost_usd')) FROM records
     WHERE kind = 'event' AND {_TYPE} = 'TurnEnded'),
  (SELECT json_extract(body, '$.body.forked_from') FROM records
     WHERE kind = 'event' AND {_TYPE} = 'SessionStarted' ORDER BY seq DESC LIMIT 1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """How a session stands. `ended` is the reason of its last run, `waiting` with an open approval,
    `running` for a run without an end: crashed, where no process has the session open."""

    ended: str = ""
    messages: int = 0
    files: int = 0  # changed, each path once
    last: str = ""  # the last answer, on one line
    cost_usd: float | None = None  # None: not known
    forked_from: str = ""

    def to_text(self) -> str:
        """The form the index keeps."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "SessionFacts":
        """Read what `to_text` wrote."""
        return cls(**json.loads(text)) if text else cls()


def read_facts(store: sqlite3.Connection) -> SessionFacts:
    """From the records of a store. Raises sqlite3.Error."""
    newest, reason, asked, messages, files, last, cost_usd, forked = store.execute(_MORE).fetchone()
    ended = reason or ""
    if newest == "TurnStarted":
        ended = "waiting" if asked == "ApprovalAsked" else "running"
    return SessionFacts(
        ended=ended,
        messages=messages,
        files=files,
        last=" ".join(str(last or "").split())[:LAST_CHARS],
        cost_usd=cost_usd,
        forked_from=forked or "",
    )
