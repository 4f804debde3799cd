"""What a list of sessions says beyond names and times, read from one store; the index keeps it."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict

from agent_tui.frozen import frozen

LAST_CHARS = 200
MAX_PATHS = 8
SHORT_ID = 4  # characters of an id that tell it from the others of a workspace

_RUN = "('TurnStarted', 'TurnEnded')"
_TYPE = "json_extract(body, '$.body.type')"
_FORK = f"""
  SELECT seq, json_extract(body, '$.body.forked_from') AS source FROM records
     WHERE kind = 'event' AND {_TYPE} = 'SessionStarted' AND source <> '' ORDER BY seq DESC LIMIT 1
"""
_OWN = "coalesce((SELECT seq FROM fork), 0)"  # what comes after it is not of the session it is a copy of
_MORE = f"""
WITH fork AS ({_FORK})
SELECT
  (SELECT {_TYPE} FROM records WHERE kind = 'event' AND {_TYPE} IN {_RUN} ORDER BY seq DESC LIMIT 1),
  (SELECT json_extract(body, '$.body.reason') FROM records
     WHERE kind = 'event' AND {_TYPE} = 'TurnEnded' ORDER BY seq DESC LIMIT 1),
  (SELECT {_TYPE} FROM records WHERE kind = 'event'
     AND {_TYPE} IN ('ApprovalAsked', 'ApprovalDecided', 'TurnEnded') ORDER BY seq DESC LIMIT 1),
  (SELECT count(*) FROM records WHERE kind = 'event' AND {_TYPE} = 'InputDelivered' AND seq > {_OWN}),
  (SELECT count(DISTINCT json_extract(each.value, '$.path'))
     FROM records, json_each(records.body, '$.body.changes') AS each
     WHERE kind = 'event' AND {_TYPE} = 'CallEnded' AND seq > {_OWN}),
  (SELECT json_extract(body, '$.body.text') FROM records
     WHERE kind = 'event' AND {_TYPE} = 'TurnEnded' ORDER BY seq DESC LIMIT 1),
  (SELECT sum(json_extract(body, '$.body.cost_usd')) FROM records
     WHERE kind = 'event' AND {_TYPE} = 'TurnEnded'),
  (SELECT source FROM fork),
  (SELECT count(*) FROM records
     WHERE kind = 'event' AND {_TYPE} = 'InputDelivered' AND seq < {_OWN}),
  (SELECT count(*) FROM records WHERE kind = 'event' AND {_TYPE} = 'SettingChanged'
     AND json_extract(body, '$.body.key') = 'title' AND seq > {_OWN})
"""
# The newest answer to a request, or what a compaction made of the view since.
_VIEW = f"""
SELECT
  json_extract(body, '$.body.usage.input_tokens') + json_extract(body, '$.body.usage.output_tokens'),
  json_extract(body, '$.body.tokens_after'), json_extract(body, '$.body.model')
FROM records WHERE kind = 'event' AND {_TYPE} IN ('ResponseEnded', 'CompactionEnded')
ORDER BY seq DESC
"""
_PATHS = f"""
WITH fork AS ({_FORK})
SELECT json_extract(each.value, '$.path') AS changed
FROM records, json_each(records.body, '$.body.changes') AS each
WHERE kind = 'event' AND {_TYPE} = 'CallEnded' AND seq > {_OWN}
GROUP BY changed ORDER BY min(seq) LIMIT {MAX_PATHS}
"""


@frozen
class SessionFacts:
    """How a session stands. `ended` is the reason of its last run, `waiting` with an open approval,
    `running` for a run without an end: crashed, where no process has the session open."""

    ended: str = ""
    messages: int = 0  # of a copy: since it was made
    files: int = 0  # changed, each path once; of a copy: since it was made
    last: str = ""  # the last answer, on one line
    cost_usd: float | None = None  # None: not known
    forked_from: str = ""
    fork_title: str = ""  # of a copy that got no title of its own
    context_tokens: int = 0  # in the view, as of the newest response
    last_model: str = ""  # that gave it
    paths: Sequence[str] = ()  # the first files that were changed

    def to_text(self) -> str:
        """The form the index keeps."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "SessionFacts":
        """Read what `to_text` wrote."""
        return cls(**json.loads(text)) if text else cls()


def read_facts(store: sqlite3.Connection) -> SessionFacts:
    """From the records of a store. Raises sqlite3.Error."""
    newest, reason, asked, messages, files, last, cost_usd, *fork = store.execute(_MORE).fetchone()
    forked, copied, named = fork
    tokens, model = _view(store)
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
        fork_title=f"fork of {forked[:SHORT_ID]} at message {copied}" if forked and not named else "",
        context_tokens=tokens,
        last_model=model,
        paths=[path for (path,) in store.execute(_PATHS)],
    )


def _view(store: sqlite3.Connection) -> tuple[int, str]:
    """Tokens of the view after the newest response or compaction, and the model that gave the response."""
    tokens = 0
    for used, compacted, model in store.execute(_VIEW):
        tokens = tokens or int(compacted or used or 0)
        if model:
            return tokens, str(model)
    return tokens, ""
