"""Generated logs: every odd thing a session can record, with the facts that go with it."""

import hashlib
from dataclasses import dataclass, field
from random import Random

from context.facts import CallFact, PathChange
from context.items import (
    CallPart,
    Image,
    Item,
    ModelOrigin,
    NoticeItem,
    Origin,
    Part,
    ReasoningPart,
    ResponseItem,
    ResultItem,
    StopReason,
    TextPart,
    ToolSchema,
    UserItem,
)

ORIGIN = ModelOrigin(provider="p", model="m", api="chat")
TOOLS = (
    ToolSchema(name="apply_patch", description="Change files.", parameters='{"type":"object"}'),
    ToolSchema(name="exec_command", description="Run a command.", parameters='{"type":"object"}'),
    ToolSchema(name="read_file", description="Read a file.", parameters='{"type":"object"}'),
)
COMMANDS = ("pytest -q", "make build", "ls -la", "git status", "ruff check .")


@dataclass
class LogMaker:
    """Appends whole steps to a log; the same seed gives the same log."""

    random: Random
    result_chars: int = 3000
    items: list[Item] = field(default_factory=list)
    facts: dict[str, CallFact] = field(default_factory=dict)
    step: int = 0

    def _id(self) -> str:
        return f"i{len(self.items) + 1}"

    def user(self, text: str | None = None, origin: Origin = Origin.PROMPT) -> None:
        number = self.random.randrange(10_000)
        text = text or f"please fix `src/mod_{number}.py` on port :8{number % 1000:03d}, version 1.{number}.3"
        self.items.append(UserItem(id=self._id(), text=text, origin=origin))

    def notice(self, sticky: bool = False) -> None:
        self.items.append(NoticeItem(id=self._id(), text=f"notice {len(self.items)}", sticky=sticky))

    def final(self) -> None:
        self.step += 1
        self._response([TextPart(text=f"All done in step {self.step}.")], StopReason.END)

    def exchange(self, calls: int | None = None) -> None:
        self.step += 1
        count = calls or self.random.choice((1, 1, 1, 2, 3, 8))
        parts: list[Part] = []
        if self.random.random() < 0.3:
            parts.append(ReasoningPart(text="hm", raw='{"type":"reasoning","id":"r"}'))
        if self.random.random() < 0.5:
            parts.append(TextPart(text="I will look."))
        made = [self._call(n) for n in range(count)]
        parts.extend(call for call, _ in made)
        response = self._response(parts, StopReason.CALLS)
        if self.random.random() < 0.1:
            self.user("steer in between", Origin.STEER)
        for call, text in made:
            fact = self.facts[call.call_id]
            self.items.append(
                ResultItem(
                    id=self._id(),
                    response_item_id=response.id,
                    call_id=call.call_id,
                    text=text,
                    is_error=not fact.passed,
                    images=(Image(media_type="image/png", data="aGk="),)
                    if self.random.random() < 0.02
                    else (),
                )
            )
        if self.random.random() < 0.2:
            self.notice()

    def _response(self, parts: list[Part], stop: StopReason) -> ResponseItem:
        item = ResponseItem(
            id=self._id(), step_id=f"s{self.step}", parts=tuple(parts), origin=ORIGIN, stop=stop
        )
        self.items.append(item)
        return item

    def _call(self, number: int) -> tuple[CallPart, str]:
        call_id = f"c{self.step}.{number}"
        kind = self.random.choice(("read", "search", "write", "exec", "exec", "poll"))
        path = f"src/mod_{self.random.randrange(12)}.py"
        text = self._text()
        arguments, target, tool = f'{{"path":"{path}"}}', path, "read_file"
        changes: tuple[PathChange, ...] = ()
        exit_code, terminal = None, ""
        if kind == "exec":
            target = self.random.choice(COMMANDS)
            arguments, tool = f'{{"cmd":"{target}"}}', "exec_command"
            exit_code = self.random.choice((0, 0, 1))
        elif kind == "write":
            arguments, tool = f'{{"patch":"{"x" * self.random.randrange(3000)}"}}', "apply_patch"
            changes = (PathChange(path=path, kind="M", sha256=hashlib.sha256(text.encode()).hexdigest()),)
        elif kind == "poll":
            terminal = f"t{self.random.randrange(3)}"
            arguments, target, tool = f'{{"session":"{terminal}"}}', terminal, "write_stdin"
        self.facts[call_id] = CallFact(
            call_id=call_id,
            tool=tool,
            kind=kind,
            step=self.step,
            target=target,
            key=arguments,
            status="failed" if exit_code else "succeeded",
            exit_code=exit_code,
            changes=changes,
            checkpoint_id=f"7f3a/{self.step}" if changes else "",
            total_bytes=len(text),
            total_lines=text.count("\n"),
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            first_error="E assert 1 == 2" if exit_code else "",
            failing_tests=(f"test_x.py::test_{self.step}",) if exit_code else (),
            terminal=terminal,
            is_check=target.startswith(("pytest", "make", "ruff")),
        )
        call = CallPart(call_id=call_id, provider_id=f"call_{number}", tool=tool, arguments=arguments)
        return call, text

    def _text(self) -> str:
        lines = self.random.randrange(1, max(2, self.result_chars // 30))
        return "".join(f"line {n} of step {self.step} value\n" for n in range(lines))


def make_log(seed: int, steps: int, result_chars: int = 3000) -> LogMaker:
    """A session of `steps` steps over several turns, ending before the next request."""
    maker = LogMaker(Random(seed), result_chars)
    maker.user()
    for _ in range(steps):
        chance = maker.random.random()
        if chance < 0.85:
            maker.exchange()
        elif chance < 0.93:
            maker.final()
            maker.user()
        elif chance < 0.97:
            maker.user("keep going, use `--fast`", Origin.STEER)
        else:
            maker.notice(sticky=True)
    return maker
