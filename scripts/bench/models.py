#!/usr/bin/env python3
"""Cost of the model side: importing an SDK, the first request of a process, CPU a streamed token, a body.

Prints one JSON object a line: name, value, unit, floor (the same run's), ratio, target. Real HTTP goes
to the scripted model server of the tests, on loopback.
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from agent_tui.models.base import Completed, ModelRequest, TextDelta  # noqa: E402
from agent_tui.models.route import find_route  # noqa: E402
from agent_tui.models.router import dialect_of, open_model  # noqa: E402
from context.items import CallPart, ModelOrigin, ResponseItem, ResultItem, UserItem  # noqa: E402
from context.view import ExchangeUnit, UserUnit, View  # noqa: E402
from scripts.measuring import QUICK, report  # noqa: E402
from tests.e2e.screen import Screen  # noqa: E402
from tests.model_server.fixture import ModelServer, running_server  # noqa: E402
from tests.program import Program, model_flags  # noqa: E402

RUNS = 2 if QUICK else 5
TOKENS = 300 if QUICK else 1_000
GAP_S = 0.001  # between tokens: the fastest models, whose text is left to gather between reads
READING_GAP_S = 0.005  # 200 tokens a second, each read by itself: what a fast model sends to a person
SDK_OF = {"chat": "openai", "responses": "openai", "messages": "anthropic"}

FIRST_REQUEST = """
import sys
from agent_tui import startup
from agent_tui.models.transport import preload
startup.begin()
dialect, url = sys.argv[1:]
preload("anthropic" if dialect == "messages" else "openai")
import asyncio
from agent_tui.models.base import ModelRequest
from agent_tui.models.route import find_route
from agent_tui.models.router import open_model
from context.items import UserItem
from context.view import UserUnit, View
async def main():
    route = find_route("bench/m", providers={"bench": {"api": dialect, "base_url": url}})
    model = open_model(route)
    model.prepare()
    view = View(system="s", tools=(), project="", units=(UserUnit(item=UserItem(id="u", text="hi")),))
    async for part in model.stream(ModelRequest(view=view, model="m")):
        pass
    await model.aclose()
asyncio.run(main())
"""


def process_ms(*arguments: str) -> float:
    """Median wall time of a fresh interpreter."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, cwd=ROOT)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def import_ms(statement: str) -> float:
    """Median time of one statement in a fresh interpreter, without the interpreter's own start and end."""
    code = (
        "import time; from agent_tui.models.transport import load_sdk; started = time.perf_counter()\n"
        f"{statement}\nprint((time.perf_counter() - started) * 1000)"
    )
    command = [sys.executable, "-c", code]
    return statistics.median(float(subprocess.check_output(command, cwd=ROOT)) for _ in range(RUNS))


def first_request_ms(server: ModelServer, dialect: str) -> float:
    """Median time from the start of a process until its request is at the server."""
    times = []
    for _ in range(RUNS):
        started = time.monotonic()
        command = [sys.executable, "-c", FIRST_REQUEST, dialect, server.base_url(dialect)]
        subprocess.run(command, check=True, cwd=ROOT)
        times.append((server.requests[-1].at - started) * 1000)
    return statistics.median(times)


def microseconds_a_token(server: ModelServer, dialect: str, gap_s: float) -> float:
    """CPU time of this process for one delta, from the socket to the stream part."""
    server.script([{"text": "word " * TOKENS, "piece": 5, "delay_s": gap_s}])
    return asyncio.run(_microseconds_a_token(server, dialect))


async def _microseconds_a_token(server: ModelServer, dialect: str) -> float:
    providers = {"bench": {"api": dialect, "base_url": server.base_url(dialect)}}
    model = open_model(find_route("bench/m", providers=providers))
    started, deltas = 0.0, 0
    async for part in model.stream(asked(UserUnit(item=UserItem(id="u", text="go")))):
        deltas += isinstance(part, TextDelta)
        started = started or time.process_time()  # after the import and the connection
        last = part
    assert isinstance(last, Completed) and deltas == TOKENS, (last, deltas)
    spent = time.process_time() - started
    await model.aclose()
    return spent / TOKENS * 1e6


def headless(program: Program, flags: list[str]) -> None:
    """`agent-tui exec` to its end."""
    done = program.run("exec", *flags, "go", timeout=60)
    assert done.code == 0, done.err


def interface(program: Program, flags: list[str]) -> None:
    """The interface in a terminal, to the end of the answer."""
    with Screen(program, *flags, "go") as screen:
        screen.shows("● done")
        screen.type("\x04")
        assert screen.end() == 0


def program_us_a_token(
    server: ModelServer, front: Callable[[Program, list[str]], None], gap_s: float
) -> float:
    """CPU time of the whole program for one token: that of a long answer less that of a short one."""
    spent: dict[int, list[float]] = {1: [], TOKENS: []}
    flags = [*model_flags("chat", server.base_url())]
    for _ in range(RUNS):
        for tokens, times in spent.items():
            server.script([{"text": "word " * tokens, "piece": 5, "delay_s": gap_s}])
            with tempfile.TemporaryDirectory() as directory:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                front(Program.at(Path(directory)), flags)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return (statistics.median(spent[TOKENS]) - statistics.median(spent[1])) / TOKENS * 1e6


def asked(*units: UserUnit | ExchangeUnit) -> ModelRequest:
    """A request with these units."""
    return ModelRequest(view=View(system="You are.", tools=(), project="", units=units), model="m")


def parse_floor_us() -> float:
    """What parsing the JSON of one delta alone costs."""
    line = json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": "word "}}], "model": "m"})
    started = time.process_time()
    for _ in range(TOKENS):
        json.loads(line)
    return (time.process_time() - started) / TOKENS * 1e6


def long_request(exchanges: int) -> ModelRequest:
    """A view of that many exchanges with results of 2 KB."""
    origin = ModelOrigin(provider="bench", model="m", api="chat")
    units: list[UserUnit | ExchangeUnit] = [UserUnit(item=UserItem(id="u", text="go"))]
    for number in range(exchanges):
        call = CallPart(call_id=f"c{number}", provider_id="a", tool="read_file", arguments='{"path":"a.py"}')
        response = ResponseItem(id=f"r{number}", step_id="s", parts=(call,), origin=origin)
        text = f"{number:05}" + "x = 1\n" * 330
        result = ResultItem(id="o", response_item_id=response.id, call_id=call.call_id, text=text)
        units.append(ExchangeUnit(response=response, results=(result,)))
    return asked(*units)


def body_ms(dialect: str, request: ModelRequest) -> float:
    """Fastest of a few builds."""
    providers = {"bench": {"api": dialect, "base_url": "http://127.0.0.1:1/v1"}}
    route = find_route("bench/m", providers=providers)
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        dialect_of(route.api).build(request, route.info, route.quirks)
        times.append((time.perf_counter() - started) * 1000)
    return min(times)


def main() -> None:
    """Run all of it."""
    bare = process_ms("-c", "pass")
    report("models: bare interpreter", bare, "ms")
    for sdk, target in (("openai", "under 300 ms"), ("anthropic", "under 700 ms")):
        ours = import_ms(f"load_sdk('{sdk}')")
        report(f"models: import {sdk}", ours, "ms", import_ms(f"import {sdk}"), target)
    with tempfile.TemporaryDirectory() as directory, running_server(Path(directory)) as port:
        for dialect in SDK_OF:
            server = ModelServer(port, Path(directory))
            server.script([{"text": "hi"}], repeat_last=True)
            target = "under 1400 ms" if dialect == "messages" else "under 495 ms"
            report(f"models: first request, {dialect}", first_request_ms(server, dialect), "ms", bare, target)
        floor = parse_floor_us()
        for dialect in SDK_OF:
            server = ModelServer(port, Path(directory))
            cost = microseconds_a_token(server, dialect, GAP_S)
            report(f"models: CPU a streamed token, {dialect}", cost, "us", floor, "under 150 us")
        server = ModelServer(port, Path(directory))
        cost = microseconds_a_token(server, "chat", READING_GAP_S)
        report("models: CPU a streamed token, chat at 200 a second", cost, "us", floor, "under 500 us")
        cost = program_us_a_token(server, headless, GAP_S)
        report("models: CPU a streamed token, `exec`", cost, "us", floor, "under 300 us")
        cost = program_us_a_token(server, interface, READING_GAP_S)
        report("models: CPU a streamed token, interface at 200 a second", cost, "us", floor, "under 2000 us")
    request = long_request(1000)
    floor = min(_dump_ms(request) for _ in range(RUNS))
    for dialect in SDK_OF:
        report(
            f"models: body of 1,000 exchanges, {dialect}",
            body_ms(dialect, request),
            "ms",
            floor,
            "under 60 ms",
        )


def _dump_ms(request: ModelRequest) -> float:
    texts = [unit.results[0].text for unit in request.view.units if isinstance(unit, ExchangeUnit)]
    started = time.perf_counter()
    json.dumps(texts, ensure_ascii=False).encode()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
