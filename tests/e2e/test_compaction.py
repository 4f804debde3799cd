"""Long sessions through the whole program: the view stays valid, small, and keeps what matters."""

import itertools
import json
import os
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import project
from tests.e2e.project import call
from tests.model_server.fixture import ModelServer, RecordedRequest
from tests.program import Program, Ran, model_flags
from tests.waiting import WAIT_S, until

DIALECTS = ("chat", "responses", "messages")
NAMES = {"chat": "compatible", "responses": "openai", "messages": "anthropic"}
STEPS = int(os.environ.get("AGENT_TUI_COMPACTION_STEPS", "24"))  # of the random script, in each dialect
WINDOW = 16_000
SEEN = "What happened before"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program.at(tmp_path, OPENAI_API_KEY="sk-test-openai", ANTHROPIC_API_KEY="sk-test-anthropic")
    project.make(program)
    configure(program)
    (program.workspace / "data").mkdir()
    for number in range(40):
        lines = "".join(f"w{number} line {line} of some text\n" for line in range(220))
        (program.workspace / "data" / f"w{number}.txt").write_text(lines)
    return program


@pytest.fixture
def summariser(model_server_process: tuple[int, Path]) -> ModelServer:
    """A second model, for summaries alone; what it is asked is not of this session's protocol."""
    server = ModelServer(*model_server_process)
    server.allow_unplayed = True
    return server


def configure(program: Program, extra: str = "", window: int = WINDOW) -> None:
    """Every dialect's model has a small window."""
    sizes = f"{{ context_window = {window}, max_output = 2000 }}"
    big = "{ context_window = 200000, max_output = 2000 }"
    tables = "".join(
        f"[providers.{name}.models]\nscripted = {sizes}\nbig = {big}\n" for name in NAMES.values()
    )
    program.config(f"{extra}\n{tables}")


def with_summaries(program: Program, summariser: ModelServer, window: int = 8_000) -> None:
    configure(
        program,
        'summary_model = "sums/short"\n'
        f'[providers.sums]\napi = "chat"\nbase_url = "{summariser.base_url()}"\n'
        f"[providers.sums.models]\nshort = {{ context_window = {window}, max_output = 1000 }}\n",
    )


def execute(program: Program, server: ModelServer, *argv: str, dialect: str = "chat", **rest: Any) -> Ran:
    flags = model_flags(dialect, server.base_url(dialect))
    return program.run("exec", *flags, "--json", *argv, **rest)


def attended(
    program: Program,
    server: ModelServer,
    *argv: str,
    dialect: str,
    orders: Callable[[dict[str, Any]], dict[str, Any] | None],
) -> Ran:
    """Like `execute`, with a program on stdin that may answer each event with an order."""
    flags = model_flags(dialect, server.base_url(dialect))
    process = program.start("exec", *flags, "--json", "--stdin-commands", *argv)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        event = json.loads(line)
        order = orders(event)
        if event["type"] in ("turn.completed", "turn.failed"):
            process.stdin.close()
        elif order is not None and not process.stdin.closed:
            with suppress(BrokenPipeError):  # it ended meanwhile
                process.stdin.write(json.dumps(order) + "\n")
                process.stdin.flush()
    with process.stdout, process.stderr:
        error = process.stderr.read()
    return Ran(process.wait(WAIT_S), "".join(lines), error)


def events(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def epochs(ran: Ran) -> list[dict[str, Any]]:
    found = events(ran)
    return [e["item"] for e in found if e["type"] == "item.completed" and e["item"]["type"] == "compaction"]


def talk(step: dict[str, Any]) -> dict[str, Any]:
    """A step whose size the program estimates: the server's stock numbers have nothing to do with it."""
    return {"usage": None, **step}


def printing(lines: int, word: str = "line") -> dict[str, Any]:
    return call("exec_command", cmd=f"seq -f '{word} %g of some output' 1 {lines}")


def reading(number: int) -> dict[str, Any]:
    """About 2,000 tokens that cost no process; each from a file of its own."""
    return call("read_file", path=f"data/w{number}.txt")


def messages(request: RecordedRequest) -> list[Any]:
    """The messages of a request, without the marks for the cache, which move by design (a.10)."""
    return messages_of(request.json)


def messages_of(body: dict[str, Any]) -> list[Any]:
    found: list[Any] = body["input"] if "input" in body else body["messages"]
    for message in found:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            block.pop("cache_control", None)
    return found


def next_messages(program: Program, server: ModelServer, dialect: str = "chat") -> list[Any]:
    """The messages that `debug request` says would be sent next."""
    ran = program.run("debug", "request", *model_flags(dialect, server.base_url(dialect)))
    assert ran.code == 0, ran.err
    return messages_of(json.loads(ran.out))


def prefix_breaks(requests: list[RecordedRequest]) -> int:
    pairs = itertools.pairwise(requests)
    return sum(messages(b)[: len(messages(a))] != messages(a) for a, b in pairs)


def fixed_parts(request: RecordedRequest) -> str:
    """What must never change in a session: tools and system text, without the marks for the cache."""
    body = json.loads(request.body)
    for block in (*body.get("tools", ()), *(body.get("system") or ())):
        block.pop("cache_control", None)
    return json.dumps([body.get("tools"), body.get("system"), body.get("instructions")])


# --- the random script -----------------------------------------------------------------------------


def random_script(seed: int, steps: int) -> list[dict[str, Any]]:
    """Reads, commands that fail, edits, bad arguments, lost connections; 1 to 8 calls."""
    rng = random.Random(seed)
    script: list[dict[str, Any]] = []
    for number in range(steps):
        if rng.random() < 0.08:
            script.append({"status": 503, "headers": {"retry-after": "0"}})
        if rng.random() < 0.05:
            script.append({"text": "cut short", "cut": "text"})
        calls = [_random_call(rng, number, n) for n in range(rng.choice((1, 1, 1, 2, 3, 8)))]
        script.append(talk({"text": f"step {number}", "calls": calls}))
    return [*script, *[talk({"text": "that is all"})] * 8]


class Steers:
    """Orders that steer at random moments; each carries a mark that must outlive every epoch."""

    def __init__(self, rng: random.Random, chunk: int) -> None:
        self._rng = rng
        self._chunk = chunk
        self.said: list[str] = []
        self.returned: list[str] = []

    def __call__(self, event: dict[str, Any]) -> dict[str, Any] | None:
        item = event.get("item", {})
        if item.get("status") == "returned":
            self.returned += [mark for mark in self.said if mark in item["text"]]
        is_due = event["type"].startswith("item.") and (not self.said or self._rng.random() < 0.05)
        if not is_due or len(self.said) == 6:
            return None
        self.said.append(f"mark_{self._chunk}_{len(self.said)}")
        text = f"also mind `{self.said[-1]}`"
        return {"type": "steer", "text": text, "now": self._rng.random() < 0.2}


def _random_call(rng: random.Random, number: int, n: int) -> dict[str, Any]:
    match rng.randrange(7):
        case 0:
            return call("read_file", path="calc.py", start_line=1, end_line=rng.randrange(2, 9))
        case 1:
            return call("search_files", pattern=f"add|{number}")
        case 2:
            head = f"*** Begin Patch\n*** Add File: made/f{number}_{n}.txt\n"
            return call("apply_patch", patch=f"{head}+{'x' * rng.randrange(900)}\n*** End Patch")
        case 3:
            return call("exec_command", cmd=f"echo E-{number}-{n} failed; exit 3")
        case 4:
            return {"tool": "read_file", "arguments": f"{{not json {number} {n}"}
        case 5:
            return call("read_file", path=f"missing-{number}-{n}")
        case _:
            return printing(rng.randrange(200, 600), f"s{number}")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_random_session_stays_valid_in_every_dialect(
    program: Program, model_server: ModelServer, dialect: str
) -> None:
    seed = DIALECTS.index(dialect)
    chunks, done = 3, 0
    delivered: list[str] = []
    for chunk in range(chunks):
        model_server.script(random_script(seed * 10 + chunk, STEPS // chunks), window=WINDOW)
        model_server.allow_unplayed = True  # the spare answers, for steers that come at the last moment
        how = ("--last",) if chunk else ()
        text = f"part {chunk}: keep port :84{chunk}3 and `name_{chunk}`"
        steers = Steers(random.Random(seed * 10 + chunk), chunk)
        ran = attended(program, model_server, *how, text, dialect=dialect, orders=steers)
        assert ran.end["reason"] == "completed", (ran.end, ran.err)
        done += len(epochs(ran))
        assert steers.said
        delivered += [mark for mark in steers.said if mark not in steers.returned]
    requests = model_server.requests
    assert done >= 1
    assert prefix_breaks(requests) == done, "the prefix breaks once an epoch"
    assert len({fixed_parts(request) for request in requests}) == 1
    last = requests[-1].body.decode()
    assert all(f"name_{chunk}" in last and f":84{chunk}3" in last for chunk in range(chunks))
    assert delivered and all(mark in last for mark in delivered)
    written = {path.name for path in (program.workspace / "made").glob("*")}
    lost = {name for name in written if name not in last}
    assert lost == set()


# --- A49 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_and_results_stay_together_and_a_resume_sends_the_same(
    program: Program, model_server: ModelServer, dialect: str
) -> None:
    denied = call(
        "exec_command", cmd="cat calc.py", sandbox_permissions="require_escalated", justification="x"
    )
    steps = [{"calls": [reading(10 * n + m) for m in range(count)]} for n, count in enumerate((1, 3, 8, 3))]
    steps.insert(2, {"calls": [denied, printing(30)]})
    model_server.script([talk(step) for step in (*steps, *steps, {"text": "done"})], window=WINDOW)
    ran = execute(program, model_server, "go", dialect=dialect)
    assert ran.end["reason"] == "completed", ran.err
    assert len(epochs(ran)) >= 2
    live = model_server.requests[-1]
    shown = next_messages(program, model_server, dialect)
    assert shown[: len(messages(live))] == messages(live)
    model_server.script([talk({"text": "again"})])
    assert execute(program, model_server, "--last", "more", dialect=dialect).code == 0


def test_an_interrupted_call_is_kept_or_hidden_with_its_result(
    program: Program, model_server: ModelServer
) -> None:
    dialect = "messages"  # the one that refuses most; in the view, results are the same for all
    cut = [reading(1), call("exec_command", cmd="echo begun; sleep 60"), reading(2)]
    model_server.script([talk({"calls": [reading(0)]}), talk({"calls": cut})], window=WINDOW)

    def interrupt(event: dict[str, Any]) -> dict[str, Any] | None:
        is_begun = event["type"] == "item.started" and "sleep 60" in event["item"].get("command", "")
        return {"type": "interrupt"} if is_begun else None

    ran = attended(program, model_server, "go", dialect=dialect, orders=interrupt)
    assert ran.end["reason"] == "interrupted", (ran.end, ran.err)
    before = next_messages(program, model_server, dialect)
    for n in range(2):
        rest = [talk({"calls": [reading(10 * n + m)]}) for m in range(3, 9)]
        model_server.script([*rest, talk({"text": "done"})], window=WINDOW)
        ran = execute(program, model_server, "--last", f"part {n}", dialect=dialect)
        assert ran.end["reason"] == "completed", ran.err
        assert epochs(ran)
        shown = next_messages(program, model_server, dialect)
        live = messages(model_server.requests[-1])
        assert shown[: len(live)] == live
    assert shown[: len(before)] != before, "the interrupted step was compacted"


def test_a_retry_sends_the_same_bytes(program: Program, model_server: ModelServer) -> None:
    model_server.script([{"status": 503, "headers": {"retry-after": "0"}}, talk({"text": "done"})])
    assert execute(program, model_server, "go").code == 0
    first, second = model_server.requests
    assert first.body == second.body


# --- A50 ---------------------------------------------------------------------------------------------


def test_large_output_every_step_never_compacts_for_ever(program: Program, model_server: ModelServer) -> None:
    (program.workspace / "AGENTS.md").write_text("rule " * 4_000)
    steps = [talk({"calls": [call("exec_command", cmd="seq 1 200000")]}) for _ in range(8)]
    model_server.script([*steps, talk({"text": "done"})], window=WINDOW)
    ran = execute(program, model_server, "count")
    assert ran.end["reason"] == "completed", ran.err
    kinds = [
        e["item"]["type"]
        for e in events(ran)
        if e["type"] == "item.completed" and e["item"]["type"] in ("compaction", "command_execution")
    ]
    assert ("compaction", "compaction") not in list(itertools.pairwise(kinds))
    assert "cannot be hidden" in ran.err + ran.out, "the person is told at the start that little room is left"


@pytest.mark.parametrize("big", ["message", "instructions"])
def test_what_cannot_fit_ends_with_a_plain_statement(
    program: Program, model_server: ModelServer, big: str
) -> None:
    configure(program, window=WINDOW if big == "message" else 8_000)
    if big == "instructions":
        (program.workspace / "AGENTS.md").write_text("a b c d " * 4_000)
    text = "word " * 20_000 if big == "message" else "go"
    ran = execute(program, model_server, "-", stdin=text)
    assert (ran.code, ran.end["reason"]) == (3, "context_exhausted")
    what = "your messages" if big == "message" else "the project instructions"
    assert f"most of it is {what}" in ran.out
    assert len(epochs(ran)) <= 2
    assert model_server.requests == []


# --- A51 ---------------------------------------------------------------------------------------------


def test_the_task_and_the_present_rules_outlive_a_compaction(
    program: Program, model_server: ModelServer, summariser: ModelServer
) -> None:
    with_summaries(program, summariser)
    summariser.script([{"text": "ok"}], repeat_last=True, check=False)
    (program.workspace / "AGENTS.md").write_text("RULE-7341\n")
    model_server.script([talk({"text": "fine"})], window=WINDOW)
    assert execute(program, model_server, "TASK-A: write the parser").code == 0
    (program.workspace / "AGENTS.md").write_text("RULE-9000\n")
    steps = [talk({"calls": [reading(n)]}) for n in range(9)]
    model_server.script([*steps, talk({"text": "B is done"})])
    ran = execute(program, model_server, "--last", "no, do TASK-B instead")
    assert ran.end["reason"] == "completed", ran.err
    assert len(epochs(ran)) >= 1
    assert all("refused: empty" in epoch["detail"] for epoch in epochs(ran)), "a summary of `ok` is not used"
    last = model_server.requests[-1].body.decode()
    assert SEEN in last
    assert "RULE-9000" in last and "RULE-7341" not in last
    assert last.index("TASK-A: write the parser") < last.index("no, do TASK-B instead")


# --- A52 ---------------------------------------------------------------------------------------------

TOO_LONG = {
    "openai": {
        "status": 400,
        "body": {
            "error": {"code": "context_length_exceeded", "message": "maximum context length is 9000 tokens"}
        },
    },
    "anthropic": {
        "status": 400,
        "body": {
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 12000 tokens > 9000 maximum",
            }
        },
    },
    "413": {"status": 413, "body": {"error": {"type": "request_too_large", "message": "Request too large"}}},
    "local": {
        "status": 400,
        "body": {
            "error": {
                "message": "the request exceeds the available context size (9000 tokens), try increasing it"
            }
        },
    },
}


@pytest.mark.parametrize("shape", TOO_LONG)
def test_too_long_is_understood_and_the_next_request_fits(
    program: Program, model_server: ModelServer, shape: str
) -> None:
    steps = [talk({"calls": [reading(n)]}) for n in range(3)]
    model_server.script([*steps, TOO_LONG[shape], talk({"text": "done"})], window=WINDOW)
    ran = execute(program, model_server, "go")
    assert ran.end["reason"] == "completed", ran.err
    assert [epoch["cause"] for epoch in epochs(ran)] == ["the provider said the request is too long"]
    body = model_server.requests[-1].json
    limit = 9_000 if shape != "413" else WINDOW
    assert len(model_server.requests[-1].body) / 4 + body["max_tokens"] <= limit


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 400, "body": {"error": {"code": "context_length_exceeded", "message": "too long"}}},
        {"text": "The person wants the server on another port; the tests should be run next."},
    ],
    ids=["too long", "drops a port"],
)
def test_a_far_too_long_session_goes_on_with_a_small_model_and_a_bad_summariser(
    program: Program, model_server: ModelServer, summariser: ModelServer, answer: dict[str, Any]
) -> None:
    with_summaries(program, summariser)
    summariser.script([answer], repeat_last=True, check=False)
    steps = [talk({"calls": [reading(8 * n + m) for m in range(8)]}) for n in range(4)]
    model_server.script([*steps, talk({"text": "so far"})])
    flags = ("-m", "compatible/big", "--base-url", model_server.base_url())
    assert program.run("exec", *flags, "serve on port :8443").code == 0
    assert len(model_server.requests[-1].body) > 4 * WINDOW
    model_server.script([talk({"text": "done"})], window=WINDOW)
    ran = execute(program, model_server, "--last", "go on")
    assert ran.end["reason"] == "completed", ran.err
    assert len(epochs(ran)) == 1
    last = model_server.requests[-1].body.decode()
    assert ":8443" in last and "go on" in last and SEEN in last
    asked = summariser.requests
    assert asked and all(len(one.body) / 4 + one.json["max_tokens"] <= 8_000 for one in asked)


# --- what was hidden is still there --------------------------------------------------------------------


def test_hidden_items_are_read_by_reference_over_epochs_resume_and_fork(
    program: Program, model_server: ModelServer
) -> None:
    steps = [talk({"calls": [reading(n)]}) for n in range(18)]
    model_server.script(
        [talk({"text": "SECRET-WORD-771 is noted"}), *steps, talk({"text": "done"})], window=WINDOW
    )
    assert execute(program, model_server, "first").code == 0
    ran = execute(program, model_server, "--last", "second")
    records = [epoch["id"] for epoch in epochs(ran)]
    assert len(records) >= 2
    last = model_server.requests[-1].body.decode()
    assert "SECRET-WORD-771" not in last
    assert all(f"out/history-{record}" in last for record in records)
    reads = [call("read_file", path=f"out/history-{record}") for record in records[:2]]
    for how in (("--last",), ("--last", "--fork")):
        model_server.script([talk({"calls": reads}), talk({"text": "found"})])
        assert execute(program, model_server, *how, "look back").code == 0
        assert "SECRET-WORD-771" in model_server.requests[-1].body.decode(), how


# --- killed in the middle ------------------------------------------------------------------------------


def test_a_kill_during_an_epoch_leaves_the_old_view_whole(
    program: Program, model_server: ModelServer, summariser: ModelServer
) -> None:
    with_summaries(program, summariser)
    summariser.script(
        [{"gate": "never", "text": "x"}, {"text": "The next step is to go on printing more lines."}],
        repeat_last=True,
        check=False,
    )
    model_server.allow_unplayed = True
    steps = [talk({"calls": [reading(n)]}) for n in range(9)]
    model_server.script([*steps, talk({"text": "done"})], window=WINDOW)
    process = program.start("exec", *model_flags("chat", model_server.base_url()), "print a lot")
    until(lambda: summariser.requests)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = messages(model_server.requests[-1])
    summariser.release("never")
    shown = next_messages(program, model_server)
    assert shown[: len(before)] == before and SEEN not in json.dumps(shown)
    ran = execute(program, model_server, "--last", "go on")
    assert ran.end["reason"] == "completed", ran.err
    assert len(epochs(ran)) >= 1
    assert SEEN in model_server.requests[-1].body.decode()
    assert "go on printing more lines" in model_server.requests[-1].body.decode()
