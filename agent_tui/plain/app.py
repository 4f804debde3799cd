"""Line mode: a full front end for dumb terminals, serial lines, screen readers and pipes.

Append-only. It consumes the engine's events and sends commands, and nothing else. A line that was
begun before a question appeared never answers it: it is set aside and offered again.
"""

import asyncio
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agent_tui import __version__, additions, handover
from agent_tui.engine.commands import (
    Command,
    CommandBody,
    Continue,
    Engine,
    Inspect,
    Interrupt,
    RunShell,
    Settle,
    Shutdown,
    Subject,
    Submit,
)
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Event,
    Inspected,
    LostResultAsked,
    QuestionAnswered,
    QuestionAsked,
    Refused,
    RolledBack,
    SessionClosed,
    SessionStarted,
    StatusChanged,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.types import Config
from agent_tui.guardian import Guardian
from agent_tui.history import history_file
from agent_tui.plain import questions, slash
from agent_tui.plain.asking import Asking
from agent_tui.plain.choosing import is_sure
from agent_tui.plain.lines import (
    MESSAGE,
    RESET,
    Interrupted,
    LineSource,
    StreamLines,
    TerminalLines,
    keys_kept,
)
from agent_tui.plain.menus import Menus
from agent_tui.plain.progress import Progress
from agent_tui.plain.questions import Question
from agent_tui.plain.sent import Sent
from agent_tui.plain.standing import Standing
from agent_tui.plain.wording import Narrator
from agent_tui.safe_text import one_line, visible

FORCE_WITHIN_S = 2.0


class PlainApp:
    """One session in line mode."""

    def __init__(self, engine: Engine, config: Config, lines: LineSource, offered: str = "") -> None:
        self._engine = engine
        self._config = config
        self._lines = lines
        self._narrator = Narrator()
        self.standing = Standing(config=config)
        self.named: Callable[[str], None] = lambda _: None  # is given the id of the session
        self._menus = Menus(self)
        self._open: dict[str, Question] = {}
        self._settling: dict[str, LostResultAsked] = {}  # by the command that may be refused
        self._replies: dict[str, asyncio.Future[Inspected | Refused]] = {}
        self._recalling = ""  # id of the command that asks for what an earlier process stored
        self._behind: list[Event] = []  # that wait for it, the start of this process first
        self._draft = ""
        self._offered = offered  # sent by an empty line as the first message
        self._asked = ""  # id of the question that is being put
        self._is_choosing = False  # what is typed belongs to a menu
        self._commands = 0
        self._newest = ""  # line that was printed
        self._held: list[str] | None = []  # lines that wait: for the first ones, for an editor
        self.is_bare = False  # what is printed stands behind an open prompt, not above it
        self._is_prompting = False
        self._sent = Sent()
        self._closed = asyncio.Event()
        self._begun = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._working = asyncio.Event()
        self._interrupted_at = 0.0

    async def run(self, first: Submit | None) -> int:
        """Until the person leaves; returns the exit code."""
        follower = asyncio.create_task(self._follow())
        progress = asyncio.create_task(self._report_progress())
        if first is not None:
            self.send(first)
        try:
            await self._begun.wait()  # who speaks is said before the first prompt
            while not self._closed.is_set():
                if self._open:
                    await self._ask(next(iter(self._open.values())))
                elif not await self._one_line():
                    break
            self.send(Shutdown())
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), timeout=10)
        finally:
            progress.cancel()
            follower.cancel()
            ended = await asyncio.gather(progress, follower, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error
        if self.next_arguments is None:
            self.say(*self.standing.farewell())
        return 0

    @property
    def next_arguments(self) -> list[str] | None:
        """What `agent-tui` is to be started with now, where another session was chosen."""
        return self._menus.next_arguments

    # --- events --------------------------------------------------------------------------------

    async def _follow(self) -> None:
        try:
            async for event in self._engine.events():
                self._take_in_order(event)
                if isinstance(event.body, SessionClosed):
                    break
        finally:
            self._begun.set()  # first, since a stdout that takes nothing must hold nothing up
            self._closed.set()
            if self._recalling:  # it is not answered any more
                self._recall(())
            self._print_held()
            for sent, future in self._replies.items():  # nobody is left to answer
                if not future.done():
                    future.set_result(Refused(command_id=sent, reason="the session is closed"))
            self._replies.clear()
            self._lines.set_aside()

    def _take_in_order(self, event: Event) -> None:
        """What an earlier process said comes before what this one says."""
        body = event.body
        if isinstance(body, SessionStarted) and body.resumed:
            self._recalling = f"plain-{self._commands + 1}"
            self.send(Inspect(subject=Subject.TRANSCRIPT, args={"after": "0"}))
        if not self._recalling:
            self._take(event)
        elif isinstance(body, Inspected | Refused) and body.command_id == self._recalling:
            self._recall(body.data if isinstance(body, Inspected) else ())
        else:
            self._behind.append(event)

    def _recall(self, stored: Iterable[Event]) -> None:
        """Take what was stored before this process, and then what waited for it."""
        self._recalling, behind, self._behind = "", self._behind, []
        earlier = [event.body for event in stored if event.seq < behind[0].seq]
        self._narrator.calls.recall(earlier)
        self.standing.recall(earlier)
        for event in behind:
            self._take(event)

    def _take(self, event: Event) -> None:
        body = event.body
        if isinstance(body, Inspected | Refused) and body.command_id in self._replies:
            reply = self._replies.pop(body.command_id)
            if not reply.done():  # nobody waits for it any more
                reply.set_result(body)
            return
        typed = self._sent.take(event, self.standing.pending)
        if typed is not None:  # the next draft, with its pictures
            self._menus.give_back(typed.images)
            self._give_back(typed.text)
        self.standing.take(body)
        match body:
            case SessionStarted():
                self.named(body.session_id)
            case TurnStarted():
                self._working.set()
                self._settling.clear()
            case TurnEnded():
                self._working.clear()
            case ApprovalAsked() | QuestionAsked() | LostResultAsked():
                self._open[questions.question_id(body)] = body
                self._set_aside()
            case RolledBack(messages=messages) if messages:
                self._give_back("\n\n".join(messages))
            case ApprovalDecided(approval_id=answered) | QuestionAnswered(question_id=answered):
                if self._open.pop(answered, None) is not None and answered == self._asked:
                    self._lines.set_aside()
            case Refused(command_id=refused) if refused in self._settling:
                question = self._settling.pop(refused)
                self._open = {question.question_id: question, **self._open}
                self._set_aside()
            case _:
                pass
        self._note_idle()
        self.say(*self._narrator.lines(body))
        if isinstance(body, TurnEnded) and self._begun.is_set():  # else it is said with what begins
            self.say(*self.standing.pause(self._open.values()))
        if isinstance(body, StatusChanged) and not self._begun.is_set():
            self._begin()

    def _begin(self) -> None:
        """Say where this is, now that all of it is known."""
        place, model, guards = self.standing.where()
        said = ["/transcript prints what was said before."] if self.standing.resumed else []
        first = [f"agent-tui {__version__}, plain mode. {place}", model, f"{guards} Type /help for commands."]
        self._held = [*first, *self.standing.pause(self._open.values()), *said, "", *(self._held or ())]
        self._print_held()
        self.say(*([f"Press Enter to begin: {self._offered}", ""] if self._offered else []))
        self._begun.set()

    def _print_held(self) -> None:
        held, self._held = self._held, None
        self.say(*(held or ()))

    def _set_aside(self) -> None:
        """The line that is being typed must not answer what comes; a message is offered again."""
        typed = self._lines.set_aside()
        if not self._asked and not self._is_choosing:
            self._draft = typed or self._draft

    def _give_back(self, text: str) -> None:
        """What was said is the next draft again, behind what is typed now."""
        self._set_aside()
        self._draft = f"{self._draft}\n{text}" if self._draft else text

    @property
    def _is_busy(self) -> bool:
        """Something runs, is about to, or waits for its turn."""
        standing = self.standing
        return standing.running or standing.is_compacting or bool(self._sent or standing.pending)

    def _note_idle(self) -> None:
        """Idle: there is nothing to do, or a question holds everything up."""
        if self._open or not self._is_busy:
            self._idle.set()
        else:
            self._idle.clear()

    async def _report_progress(self) -> None:
        progress = Progress(self._narrator.calls, self.say)
        while True:
            await self._working.wait()
            progress.look(is_held=bool(self._open) or self.standing.waits_to_retry)
            await asyncio.sleep(1)

    # --- input ---------------------------------------------------------------------------------

    async def _one_line(self) -> bool:
        """Read and act on one line; False when the person leaves."""
        draft, self._draft = self._draft, ""
        try:
            line = await self._line(MESSAGE, draft)
        except Interrupted:
            return self._interrupt()
        if line is None:
            if self._lines.ended:
                await self._idle.wait()
                return bool(self._open)
            return True
        if not line.strip():
            if self.standing.paused or self.standing.waits_to_retry:
                self.send(Continue())
            elif self._offered:
                self._submit(self._offered)
            return True
        if slash.is_command(line):
            return await self._slash(line)
        if line.startswith("!"):
            quiet = line.startswith("!!")
            command = line.lstrip("!").strip()
            if command:
                self.send(RunShell(command=command, to_context=not quiet))
        else:
            self._submit(line)
        return True

    async def _line(self, prompt: str, draft: str = "") -> str | None:
        """See LineSource.read."""
        self._is_prompting = True
        try:
            return await self._lines.read(prompt, draft)
        finally:
            self._is_prompting = False
            self._newest = prompt  # it stands above what is printed next

    def _submit(self, text: str) -> None:
        self._offered = ""
        self.send(Submit(text=text, images=self._menus.take_images()))

    def _interrupt(self) -> bool:
        now = time.monotonic()
        again = now - self._interrupted_at < FORCE_WITHIN_S
        self._interrupted_at = now
        if self.standing.running or self.standing.is_compacting or self._sent.runs_own:
            self.send(Interrupt(force=again))
            return True
        if not again:
            self.say("Ctrl+C again leaves.")
        return not again

    async def _slash(self, line: str) -> bool:
        parsed = slash.parse(line, busy=self._is_busy)
        if parsed.leave:
            return not await self._may_leave()
        if parsed.menu:
            return await self._menus.run(parsed.menu, parsed.rest)
        if parsed.about:
            await self._tell(parsed.about)
        self.say(*parsed.text.splitlines())
        if isinstance(parsed.body, Inspect) and parsed.show is not None:
            data = await self.facts(parsed.body.subject, **parsed.body.args)
            self.say(*(parsed.show(data) if data is not None else ()))
        elif parsed.body is not None:
            self.send(parsed.body)
        return True

    async def _may_leave(self) -> bool:
        """Live terminals are named first."""
        live = self.standing.live_terminals
        if not live:
            return True
        names = ", ".join(f"{each.terminal} {one_line(each.command, strict=True)}" for each in live)
        self.say(f"Terminals end when you leave: {names}.")
        return await is_sure(self, "leave")

    async def _tell(self, about: str) -> None:
        if about == "status":
            self.say(*self.standing.lines())
        elif about == "plan":
            plan = self.standing.plan
            self.say(*(self._narrator.lines(plan) if plan else ["No plan yet."]))
        elif about == "memory":
            self.say(*(one_line(row, strict=True) for row in additions.memory(self._config)))
        else:
            argv = (*handover.PROGRAM, "doctor", *self._menus.flags())
            doctor = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            found, _ = await doctor.communicate()
            self.say(*visible(found.decode("utf-8", "replace")).splitlines())

    async def ask(self, prompt: str) -> str | None:
        """One line for a menu; None when the person turned away from it, or a question came."""
        self._is_choosing = True
        try:
            return await self._line(prompt)
        except Interrupted:
            return None
        finally:
            self._is_choosing = False

    def set_aside(self) -> None:
        """End the line that is asked for."""
        self._lines.set_aside()

    async def reply(self, subject: Subject, **args: str) -> Inspected | Refused:
        """The answer to an `Inspect`."""
        future: asyncio.Future[Inspected | Refused] = asyncio.get_running_loop().create_future()
        self._replies[f"plain-{self._commands + 1}"] = future
        self.send(Inspect(subject=subject, args=args))
        return await future

    async def facts(self, subject: Subject, **args: str) -> Any | None:
        """What an `Inspect` gives; None after its refusal was printed."""
        reply = await self.reply(subject, **args)
        if isinstance(reply, Inspected):
            return reply.data
        self.say(f"Refused: {one_line(reply.reason)}")
        return None

    async def list_files(self, ignored: bool) -> Sequence[str]:
        """The paths of the workspace, for a mention in the line that is being typed."""
        return list(await self.facts(Subject.FILES, **({"ignored": "1"} if ignored else {})) or ())

    # --- questions -----------------------------------------------------------------------------

    async def _ask(self, question: Question) -> None:
        """Put one question; its answer is sent, and Ctrl+C or the end of input allow nothing.

        Where another question comes, or this one is answered elsewhere, nothing is sent.
        """
        key = questions.question_id(question)
        self._asked = key
        try:
            answer = await self._answer_to(question)
        except Interrupted:
            answer = questions.no_answer(question)
        finally:
            self._asked = ""
        if answer is not None and self._open.pop(key, None) is not None:
            self.send(answer)
            self._note_idle()
            if isinstance(answer, Settle) and answer.choice == "stop":
                self.say(*self.standing.pause(self._open.values()))
            elif isinstance(question, LostResultAsked):
                self._settling[f"plain-{self._commands}"] = question

    async def _answer_to(self, question: Question) -> CommandBody | None:
        asking = Asking(
            self, question, arguments=self.standing.arguments.get(question.call_id, ""),
            waiting=sum(isinstance(each, ApprovalAsked) for each in self._open.values()),
            is_spoken=self.standing.is_spoken, rules=self.standing.rules,
        )  # fmt: skip
        return await asking.answer(list(self._open).index(self._asked) + 1, len(self._open))

    async def read(self, prompt: str, draft: str = "") -> str | None:
        """A line for the open question; None when it was set aside. Raises Interrupted, also at the end."""
        line = await self._line(prompt, draft)
        if line is None and self._lines.ended:
            raise Interrupted
        return line

    async def edit(self, texts: Mapping[str, str]) -> dict[str, str]:
        """See LineSource; what is printed meanwhile waits for its end."""
        self._held = []
        try:
            return await self._lines.edit(texts)
        finally:
            self._print_held()

    # --- output --------------------------------------------------------------------------------

    def send(self, body: CommandBody) -> None:
        """To the engine."""
        self._commands += 1
        command = Command(id=f"plain-{self._commands}", body=body)
        self._sent.add(command)
        self._note_idle()
        self._engine.send(command)

    def say(self, *lines: str) -> None:
        """Print lines; of blank ones in a row only the first."""
        if self._held is not None:
            self._held += lines
            return
        if self.is_bare and self._is_prompting and lines:
            sys.stdout.write("\n")
            self._is_prompting = False
        for line in lines:
            if line or self._newest:
                sys.stdout.write(line + "\n")
            self._newest = line
        sys.stdout.flush()


async def run(engine: Engine, config: Config, *, first: Submit | None, offered: str = "") -> int:
    """Drive `engine` in line mode until the person leaves; returns the exit code. `offered` is a
    message that an empty line sends as the first one."""
    if not sys.stdin.isatty():
        app = PlainApp(engine, config, StreamLines(), offered)
        code = await app.run(first)
        if app.next_arguments is not None:  # the lines that were read ahead would be lost to it
            words = one_line(shlex.join(app.next_arguments), strict=True)
            app.say(f"Go on with: agent-tui {words}")
        return code
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.output.plain_text import PlainTextOutput
    from prompt_toolkit.patch_stdout import patch_stdout
    from prompt_toolkit.utils import is_dumb_terminal

    is_bare = is_dumb_terminal() or not sys.stdout.isatty()  # nothing can be printed above the prompt
    screen = create_app_session(output=PlainTextOutput(sys.stdout)) if is_bare else patch_stdout()
    history = None if config.ephemeral else history_file(config.state_dir, config.workspace)
    guardian = Guardian(sys.stdin.fileno(), RESET)
    guardian.watch()
    try:
        with keys_kept(), screen:
            lines = TerminalLines(history)
            app = PlainApp(engine, config, lines, offered)
            app.is_bare = is_bare
            app.named = guardian.name if not config.ephemeral else app.named
            lines.completing.listing = app.list_files
            code = await app.run(first)
    finally:
        guardian.dismiss()
    if app.next_arguments is not None:
        handover.become(app.next_arguments, config.workspace)
    return code
