"""What a session is, computed from its records: the same fold live and at resume.

Nothing here is written but by `apply`; nothing is in it that the records do not hold.
"""

from dataclasses import field, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from agent_tui.engine import typed
from agent_tui.engine.budget import Spent
from agent_tui.engine.changes import merge_changes
from agent_tui.engine.costs import Costs, add_cost, add_usage
from agent_tui.engine.events import (
    ApprovalAsked,
    ApprovalDecided,
    Body,
    CallEnded,
    CallProposed,
    CallSpawned,
    CallStarted,
    CheckpointTaken,
    CompactionEnded,
    Event,
    GrantRemoved,
    InputAccepted,
    InputDelivered,
    InputEdited,
    InputReturned,
    LostResultAsked,
    NoticeRaised,
    PlanChanged,
    ProgressJudged,
    QuestionAnswered,
    QuestionAsked,
    ResponseEnded,
    RolledBack,
    SessionClosed,
    SessionStarted,
    SettingChanged,
    SideRequestEnded,
    StepStarted,
    TaskChanged,
    TerminalChanged,
    TerminalTyped,
    TurnEnded,
    TurnStarted,
)
from agent_tui.engine.progress import Progress
from agent_tui.engine.states import CUT, NOT_RUN, RunState, States
from agent_tui.engine.types import OF_GATE, Decision, EndReason, TaskStatus, moved
from agent_tui.frozen import mutable
from checkpoints.types import Checkpoint, FileChange, Phase
from context.guard import Guard
from context.items import CompactionItem, Item, NoticeItem, ResultItem, RollbackItem, Usage
from context.units import LogReader, visibility_of
from tools.types import Artifact, Outcome, Spawned

if TYPE_CHECKING:
    from context.facts import CallFact

TERMINALS_NOTICE = "Live terminals: "
SETTINGS_NOTICE = "Changed by the user, whatever was said before: "
ACTIVE = (TaskStatus.RUNNING, TaskStatus.WAITING_TOOL)  # nobody is waited for: time counts


@mutable
class Call:
    """One call; its outcome is kept only until the model has been answered."""

    proposed: CallProposed
    reserved: bool = False  # counted against the tool call limit
    started: CallStarted | None = None
    started_at: float = 0.0
    processes: list[Spawned] = field(default_factory=list)
    ended: CallEnded | None = None

    @property
    def id(self) -> str:
        return self.proposed.call_id

    @property
    def outcome(self) -> Outcome | None:
        return self.ended.outcome if self.ended else None


@mutable
class Run:
    """One attempt to drive a task."""

    id: str
    task_id: str
    attempt: int
    state: RunState = RunState.OPEN
    steps: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0  # None: some of it is unknown
    changes: tuple[FileChange, ...] = ()
    active_s: float = 0.0  # without waiting for a person
    end_reason: EndReason | None = None
    is_cut: bool = False  # a call in it was stopped midway, or its result lost

    def add_response(self, body: ResponseEnded) -> None:
        """Count one response."""
        self.steps += not body.grace
        self.add_cost(body.usage, body.cost_usd)

    def add_cost(self, usage: Usage, cost_usd: float | None) -> None:
        """Count what one request took."""
        self.usage = add_usage(self.usage, usage)
        self.cost_usd = add_cost(self.cost_usd, cost_usd)


class Fold:
    """The state of a session; see the module."""

    def __init__(self) -> None:
        self.log: list[Item] = []
        self.reader = LogReader(self.log)  # the units of it
        self.epoch = ""  # the compaction record of the present view
        self.states = States()
        self.first: SessionStarted | None = None
        self.base_url = ""  # the newest that was given with the session's model
        self.session_id = ""
        self.model = ""  # the newest one used
        self.settings: dict[str, str] = {}
        self.in_force: dict[str, str] = {}  # what the newest process said, and what was changed since
        self.untold: list[tuple[str, str]] = []  # of what guards the machine, changed since the model heard
        self._told: dict[str, list[tuple[str, str]]] = {}  # notice → what it told of that
        self.notices: set[str] = set()  # keys of notices raised
        self.tasks = 0
        self.runs = 0
        self.steps = 0
        self.inputs = 0
        self.asked = 0  # approvals, questions and lost results so far
        self.asked_ids: set[str] = set()  # of all of them, so that one that was never asked is told apart
        self.task_id = ""
        self.spent = Spent()
        self.costs = Costs()
        self.was_title_asked = False
        self.run: Run | None = None  # the newest one
        self.responses: dict[str, str] = {}  # step id → id of its response item
        self.calls: dict[str, Call] = {}
        self.owed: dict[str, Call] = {}  # calls without a result in the log, in call order
        self.own_calls = 0  # of the person and the contract
        self.facts: dict[str, CallFact] = {}
        self.facts_before = 0  # of them, from before the task at hand
        self.inbox: dict[str, InputAccepted] = {}
        self.approvals: dict[str, ApprovalAsked] = {}  # open ones
        self.grants: list[tuple[ApprovalAsked, ApprovalDecided]] = []  # session grants still valid
        self.questions: dict[str, QuestionAsked | LostResultAsked] = {}  # open ones
        self.plan: PlanChanged | None = None
        self.is_planned = False  # the task at hand has a plan, or changed something without one
        self.guard = Guard()
        self.project = ""  # instructions of the project as of the newest epoch
        self.terminals: dict[str, TerminalChanged] = {}
        self.progress = Progress()
        self.judged: ProgressJudged | None = None  # newest
        self.fresh_input = False  # the person said something since progress was judged
        self.checks: dict[str, CallFact] = {}  # newest run of each check
        self.moved_checks: set[str] = set()  # calls
        self.trees: set[str] = set()  # contents of the workspace seen in this turn
        self.old_content: set[str] = set()  # calls that led back to one of them
        self.unavailable = 0  # approvals in a row that nobody could give
        self.artifacts: dict[str, Artifact] = {}  # newest of each reference
        # turn, and step it began after (a turn that was paused begins again), or after which the person
        # said something in it → place in the log
        self.turn_starts: dict[tuple[int, int], int] = {}
        self.told_terminals = ""  # the newest notice to the model of what is live
        self.typed: list[TerminalTyped] = []  # in terminals, of which the model has not heard
        self.rollbacks: list[RolledBack] = []
        self.rollback_places: dict[str, int] = {}  # checkpoint before a rollback → place in the log
        self.clean_end = True  # the process before this one said goodbye
        self._newest_at: float | None = None
        self.left_at = 0.0  # of the newest record of the process before this one
        self._reserving = False

    @property
    def is_running(self) -> bool:
        """Whether a run is open."""
        return self.run is not None and self.run.state is RunState.OPEN

    @property
    def is_unused(self) -> bool:
        """Whether nothing was ever said or run in it: there is nothing to come back to."""
        return not (self.log or self.inputs or self.calls)

    @property
    def task_status(self) -> TaskStatus | None:
        """State of the newest task."""
        found = self.states.of("task", self.task_id)
        return TaskStatus(found) if found is not None else None

    def facts_of(self, step: int) -> "list[CallFact]":
        """Facts of the calls of one step, newest first; looks at no earlier step."""
        newest = takewhile(lambda fact: fact.step >= step, reversed(self.facts.values()))
        return [fact for fact in newest if fact.step == step]

    def apply_item(self, item: Item) -> None:
        """Append an item to the log."""
        self.states.apply(item)
        self.log.append(item)
        if isinstance(item, CompactionItem) and item.undone is None:
            self.epoch = item.id
        elif isinstance(item, CompactionItem | RollbackItem):
            newest = visibility_of(self.log).summary
            self.epoch = newest.id if newest else ""
        if isinstance(item, NoticeItem) and item.text.startswith(TERMINALS_NOTICE):
            self.told_terminals = item.text
        if isinstance(item, NoticeItem) and item.text.startswith(typed.TYPED_NOTICE):
            self.typed.clear()
        if isinstance(item, NoticeItem) and item.text.startswith(SETTINGS_NOTICE):
            self._told[item.id], self.untold = self.untold, []
        if isinstance(item, RollbackItem):  # of what it hides the model knows no more
            for told in [*(self._told.pop(name, []) for name in item.hidden), self.untold]:
                for key, value in told:
                    self._note_untold(key, value)
        if isinstance(item, ResultItem) and (call := self.calls.get(item.call_id)):
            call.ended = None  # its text is in the log from here on
            self.owed.pop(item.call_id, None)

    def _change_setting(self, body: SettingChanged) -> None:
        self.settings[body.key] = body.value
        if body.key in OF_GATE:
            self._note_untold(body.key, body.value)
        if body.key in self.in_force:
            self.in_force[body.key] = body.value
        if body.key == "model":
            self._use_model(body.value)

    def _note_untold(self, key: str, value: str) -> None:
        """Only the newest value counts, but each directory by itself."""
        is_list = key == "add_dir"
        kept = [one for one in self.untold if one[0] != key or (is_list and one[1] != value)]
        self.untold = [*kept, (key, value)]

    def apply(self, event: Event) -> None:
        """Take in one durable event."""
        self._count_time(event)
        self.states.apply(event.body)
        self._apply_run(event.body)
        self._apply_call(event)
        self._apply_question(event.body)
        self._apply_input(event.body)
        self._apply_rest(event.body)

    def active_s(self, now: float) -> float:
        """Active time of the open run until `now`."""
        assert self.run is not None
        waiting = self.task_status not in ACTIVE or self._newest_at is None
        return self.run.active_s + (0.0 if waiting else max(0.0, now - (self._newest_at or now)))

    @property
    def newest_at(self) -> float:
        """UTC seconds of the newest record of this process, or of the one before while it has none; 0 for
        none at all."""
        return self._newest_at or self.left_at

    def _count_time(self, event: Event) -> None:
        """Time between two records of a run is active unless somebody was waited for, or nobody ran it."""
        if isinstance(event.body, SessionStarted):
            self.left_at, self._newest_at = self._newest_at or 0.0, None
            return
        active = self.is_running and self.task_status in ACTIVE
        if self.run is not None and active and self._newest_at is not None:
            self.run.active_s += max(0.0, event.at - self._newest_at)
        self._newest_at = event.at

    def _use_model(self, name: str) -> None:
        """Compaction has another chance with another model."""
        if self.model and name != self.model:
            self.guard = self.guard.with_other_model()
        self.model = name

    def _apply_run(self, body: Body) -> None:
        match body:
            case TaskChanged():
                if body.task_id != self.task_id:
                    self.tasks += 1
                    self.task_id = body.task_id
                    self.facts_before = len(self.facts)
                    self.spent.new_task()
                    self.costs.new_turn()
                    self.is_planned = False
                    self.progress = Progress()
                    self.trees.clear()
            case TurnStarted():
                self.runs += 1
                self.costs.new_run()
                self.turn_starts.setdefault((self.tasks, self.steps), len(self.log))
                self.run = Run(id=body.run_id, task_id=body.task_id, attempt=body.attempt)
            case TurnEnded() if self.run is not None:
                self.run.state = RunState.ENDED
                self.spent.active_s += self.run.active_s
                self.run.end_reason = body.reason
            case StepStarted():
                self.steps = max(self.steps, body.number)
            case ResponseEnded():
                self.responses[body.step_id] = body.item_id
                self._reserving = body.reserved_calls > 0  # for the calls proposed with it
                if not body.grace:
                    self.spent.add_step(body.reserved_calls)
                self.spent.add(body.usage, body.cost_usd)
                self.costs.add(body.model or self.model, body.usage, body.cost_usd, self.steps)
                if self.run is not None:
                    self.run.add_response(body)
            case SideRequestEnded():
                self._count_beside(body)
            case _:
                pass

    def _count_beside(self, body: SideRequestEnded) -> None:
        self.was_title_asked |= body.role == "title" and not body.interrupted
        self.spent.add(body.usage, body.cost_usd)
        self.costs.add(body.model, body.usage, body.cost_usd)
        if self.run is not None and self.is_running:
            self.run.add_cost(body.usage, body.cost_usd)

    def _apply_call(self, event: Event) -> None:
        body = event.body
        match body:
            case CallProposed():
                call = Call(proposed=body)
                self.calls[body.call_id] = call
                self.own_calls += body.by != "model"
                if body.by == "model":
                    self.owed[body.call_id] = call
                    call.reserved = self._reserving
            case CallStarted():
                self.calls[body.call_id].started = body
                self.calls[body.call_id].started_at = event.at
                self._forget_questions(body.call_id)
            case CallSpawned():
                self.calls[body.call_id].processes.append(body.process)
            case CallEnded():
                self._end_call(body)
                self._forget_questions(body.call_id)
            case _:
                pass

    def _end_call(self, body: CallEnded) -> None:
        from agent_tui.engine.facts import fact_of

        call = self.calls[body.call_id]
        call.ended = body
        if body.outcome.status in NOT_RUN and call.reserved:
            self.spent.tool_calls -= 1
        number = step_number(call.proposed.step_id)
        fact = fact_of(body, call.proposed, number)
        self.facts[body.call_id] = fact
        self._note_check(fact)
        if body.outcome.artifact is not None:
            self.artifacts[body.outcome.artifact.ref] = body.outcome.artifact
        if body.outcome.data.get("unavailable"):
            self.unavailable += 1
        elif body.outcome.status not in NOT_RUN:
            self.unavailable = 0
        self.guard = self.guard.after_call(body.call_id, self.facts[body.call_id].key)
        if self.run is not None:
            self.run.is_cut |= body.outcome.status in CUT
        if self.run is not None and body.changes:
            self.is_planned = True
            self.run.changes = merge_changes((*self.run.changes, *body.changes))

    def _note_check(self, fact: "CallFact") -> None:
        """Remember whether a check moved: from fail to pass, or to another set of failures."""
        if fact.is_check and fact.status in ("succeeded", "failed", "timed_out"):
            old = self.checks.get(fact.key)
            if old is not None and (old.passed, old.failing_tests) != (fact.passed, fact.failing_tests):
                self.moved_checks.add(fact.call_id)
            self.checks[fact.key] = fact

    def _note_checkpoint(self, taken: Checkpoint) -> None:
        """Remember whether a call left the workspace with content not seen in this turn."""
        if taken.cause.phase is Phase.AFTER_CALL and taken.tree in self.trees:
            self.old_content.add(taken.cause.call_id)
        self.trees.add(taken.tree)

    def _forget_questions(self, call_id: str) -> None:
        """What was asked about a call is settled by its next start, and by its end."""
        for key, asked in list(self.approvals.items()):
            if asked.call_id == call_id:
                del self.approvals[key]
        for name, one in list(self.questions.items()):
            if isinstance(one, LostResultAsked) and one.call_id == call_id:
                del self.questions[name]

    def _apply_question(self, body: Body) -> None:
        match body:
            case ApprovalAsked():
                self.asked += 1
                self.asked_ids.add(body.approval_id)
                self.approvals[body.approval_id] = body
            case ApprovalDecided():
                asked = self.approvals.pop(body.approval_id, None)
                if asked is not None and body.decision is Decision.SESSION:
                    self.grants.append((asked, body))
            case GrantRemoved():
                self.grants = [pair for pair in self.grants if pair[0].approval_id != body.grant_id]
            case QuestionAsked() | LostResultAsked():
                self.asked += 1
                self.asked_ids.add(body.question_id)
                self.questions[body.question_id] = body
            case QuestionAnswered():
                self.questions.pop(body.question_id, None)
            case _:
                pass

    def _apply_input(self, body: Body) -> None:
        match body:
            case InputAccepted():
                self.inputs += 1
                self.inbox[body.input_id] = body
            case InputEdited() if body.input_id in self.inbox:
                old = self.inbox[body.input_id]
                self.inbox[body.input_id] = replace(old, text=body.text, kind=body.kind)
                self.inbox = moved(self.inbox, body.input_id, body.before)
            case InputDelivered() | InputReturned():
                self.inbox.pop(body.input_id, None)
                self.fresh_input = self.fresh_input or isinstance(body, InputDelivered)
                if isinstance(body, InputDelivered):  # behind its item, which is in the log
                    self.turn_starts.setdefault((self.tasks, self.steps), len(self.log) - 1)
            case _:
                pass

    def _apply_rest(self, body: Body) -> None:
        match body:
            case SessionStarted():
                self.project = self.project or body.project
                self.first = self.first or body
                self.base_url = body.base_url or self.base_url
                self.session_id = body.session_id  # a copy goes on under its own
                self.in_force |= body.settings or {}
                self.untold = [one for one in self.untold if self.in_force.get(one[0]) == one[1]]
                self._use_model(self.settings.get("model") or body.model)
                self.clean_end = False
            case SessionClosed():
                self.clean_end = True
            case SettingChanged():
                self._change_setting(body)
            case NoticeRaised() if body.key:
                self.notices.add(body.key)
            case PlanChanged():
                self.plan, self.is_planned = body, True
            case CheckpointTaken():
                self._note_checkpoint(body.checkpoint)
            case ProgressJudged():
                self.progress.apply(body)
                self.judged = body
                self.fresh_input = False
            case CompactionEnded():
                self.guard = body.guard
                self.project = self.project if body.project is None else body.project
            case TerminalChanged():
                self.terminals[body.terminal] = body
            case TerminalTyped():
                typed.add(self.typed, body)
            case RolledBack():
                self.rollbacks.append(body)
                if body.item_id:  # the view is another
                    self.guard = self.guard.reopened()
                if body.files is not None:
                    self.rollback_places[body.files.undo] = len(self.log)
            case _:
                pass


def step_number(step_id: str) -> int:
    """The number in a step id `s<number>`; 0 for calls outside of steps."""
    return int(step_id[1:]) if step_id[1:].isdigit() else 0
