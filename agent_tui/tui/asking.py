"""Which question the prompt shows, and what happens with its answer."""

import contextlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.engine import commands, events
from agent_tui.engine.types import RULES_FILE, Decision, EndReason
from agent_tui.safe_text import one_line
from agent_tui.tui import slash, words
from agent_tui.tui.forms.approval import ApprovalForm
from agent_tui.tui.forms.form import Act, Form, Send
from agent_tui.tui.forms.question import LeaveForm, LostForm, QuestionForm
from agent_tui.tui.forms.standstill import LimitForm, NoCheckpointForm, NoProgressForm, UnwritableForm
from agent_tui.tui.link import RefusedError
from agent_tui.tui.state import Asked
from agent_tui.tui.transcript.lines import Line, Span, clip, untrusted
from checkpoints.types import Kept
from context.codec import decode

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentApp

SMALLEST_ROOM = 8
KEPT_ROWS = 7  # of the screen that a prompt leaves free
TRANSCRIPT_ROWS = 1  # that the transcript always has


class Asking:
    """Keeps a form for each open question, so that stepping back finds it as it was left."""

    def __init__(self, app: "AgentApp") -> None:
        self._app = app
        self._forms: dict[str, Form] = {}
        self._current = ""
        self._own: LeaveForm | UnwritableForm | None = None  # a question of the interface itself
        self._told_unwritable = False
        self._is_editing = False  # an editor has the files of an edit

    def fit(self, height: int) -> None:
        """The terminal has this many rows, of which the other fixed parts take theirs."""
        app = self._app
        fixed = (app.pending, app.list, app.activity, app.status)
        left = height - TRANSCRIPT_ROWS - sum(len(pane.lines) for pane in fixed) - app.editor.rows_of(height)
        app.prompt.fit(min(max(height - KEPT_ROWS, SMALLEST_ROOM), left), left, compact=height < 20)

    def update(self) -> None:
        """Show what is open now."""
        if self._own is not None:
            return
        if self._is_newly_unwritable():
            self._put(UnwritableForm(self._app.config.state_dir, self._app.session.stored_calls))
            self._app.run_worker(self._tell_kept(), exit_on_error=False)
            return
        asked = self._app.session.asked
        opened = self._app.session.open_questions
        if not opened:
            self._forms.clear()
            self._current = ""
            self._show(None)
            return
        if self._current not in {each.id for each in opened}:
            self._current = opened[0].id
        index = next(index for index, each in enumerate(asked) if each.id == self._current)
        others = self._others(asked, index) if len(asked) > 1 else []
        form = self._form(asked[index])
        if isinstance(form, ApprovalForm):
            form.waiting = sum(isinstance(each.event, events.ApprovalAsked) for each in opened)
            form.is_one_of_several = bool(others)
        self._show(form, f"{index + 1} of {len(asked)}", others, index)

    def _is_newly_unwritable(self) -> bool:
        """Once for each end of a run that the store refused."""
        ended = self._app.session.ended is EndReason.STATE_UNWRITABLE
        told, self._told_unwritable = self._told_unwritable, ended
        return ended and not told

    async def _tell_kept(self) -> None:
        """What the checkpoints take is found out while the question stands."""
        with contextlib.suppress(RefusedError):
            kept = decode(Kept, await self._app.link.ask(commands.Subject.KEPT))
            if isinstance(self._own, UnwritableForm):
                self._own.kept = kept
                self._app.prompt.draw()

    def _put(self, form: LeaveForm | UnwritableForm) -> None:
        self._own = form
        self._show(form)

    def _show(
        self, form: Form | None, position: str = "", others: Sequence[Line] = (), current: int = 0
    ) -> None:
        prompt = self._app.prompt
        had_focus = prompt.has_focus_within
        self.drafted()
        prompt.ask(form, position=position, others=others, current=current)
        self._app.completing.fit()
        if form is None and had_focus:
            self._app.editor.focus()

    def drafted(self) -> None:
        """A draft was begun, or sent or cleared: then the pause of the prompt begins."""
        draft = bool(self._app.editor.text)
        if draft != self._app.prompt.draft:
            self._app.prompt.typed(draft=draft)

    def _form(self, asked: Asked) -> Form:
        if asked.id not in self._forms:
            event = asked.event
            if isinstance(event, events.ApprovalAsked):
                rules = self._app.config.config_dir / RULES_FILE
                self._forms[asked.id] = ApprovalForm(event, rules=words.home(rules))
            elif isinstance(event, events.QuestionAsked):
                self._forms[asked.id] = self._question(event)
            else:
                self._forms[asked.id] = LostForm(event)
        return self._forms[asked.id]

    def _question(self, event: events.QuestionAsked) -> Form:
        if event.limit is not None:
            return LimitForm(event)
        if event.kind == "no_progress":
            return NoProgressForm(event)
        if event.kind == "no_checkpoint":
            call = self._app.feed.calls.find(event.call_id)
            return NoCheckpointForm(event, call.shown if call is not None else "")
        return QuestionForm(event)

    def _others(self, asked: list[Asked], current: int) -> list[Line]:
        rows = []
        for index, each in enumerate(asked):
            mark = "  > " if index == current else "    "
            state = each.answer or "waiting"
            role = "muted" if each.answer else "text"
            spans = [
                Span(mark, "accent"),
                Span(f"{index + 1}  {state:<14} ", role),
                *untrusted(one_line(self._named(each)), role, strict=True),
            ]
            rows.append(clip(spans, self._app.size.width, self._app.glyphs.more))
        return rows

    def _named(self, asked: Asked) -> str:
        form = self._form(asked)
        if isinstance(form, ApprovalForm):
            return form.name
        assert not isinstance(asked.event, events.ApprovalAsked)
        return asked.event.text if isinstance(asked.event, events.QuestionAsked) else asked.event.shown

    def step(self, by: int) -> None:
        """Another open question."""
        opened = [each.id for each in self._app.session.open_questions]
        if len(opened) > 1 and self._current in opened:
            self._current = opened[(opened.index(self._current) + by) % len(opened)]
            self.update()

    def armed(self) -> None:
        """The prompt takes keys, or gives them back."""
        app = self._app
        if app.prompt.armed and len(app.screen_stack) == 1:
            app.prompt.take_focus()
        elif app.prompt.has_focus and not app.prompt.is_writing and app.transcript.picked is None:
            app.editor.focus()

    def answered(self, effect: Send | Act) -> None:
        """The person answered."""
        if isinstance(effect, Act):
            self._act(effect.name)
            return
        body = effect.body
        if isinstance(body, commands.Decide) and body.decision is Decision.DENY_AND_PAUSE:
            self._deny_others(body.approval_id)
        sent = self._app.link.send(body)
        if isinstance(body, commands.Settle):
            self._app.feed.settled(body.question_id)
        elif isinstance(body, commands.Decide | commands.Answer):
            self._mark(body.approval_id if isinstance(body, commands.Decide) else body.question_id, sent)
        self.update()
        self._app.draw_fixed()

    def _deny_others(self, but: str) -> None:
        """Esc denies all that wait, so that nothing of them is open in a paused run."""
        for asked in self._app.session.open_questions:
            event = asked.event
            if isinstance(event, events.ApprovalAsked) and asked.id != but:
                deny = commands.Decide(approval_id=asked.id, decision=Decision.DENY, digest=event.digest)
                self._mark(asked.id, self._app.link.send(deny))

    def _mark(self, question_id: str, sent: str) -> None:
        """Answered here by the command `sent`; the engine's event will put its own words there."""
        self._app.session.answers[sent] = question_id
        for asked in self._app.session.asked:
            if asked.id == question_id and not asked.answer:
                asked.answer = "answered"

    def _act(self, name: str) -> None:
        if name == "full_view":
            self._app.acts.do("prompt_full_view")
        elif name == "cancel":
            self._app.acts.do("cancel")
        elif name == "lost_back":
            self._go_back()
        elif name == "edit_outside":
            text = self._app.outside.edit(self._app.prompt.written)
            if text is not None and self._app.prompt.is_writing:
                self._app.prompt.rewrite(text)
        elif name in ("edit_result", "edit_patch"):
            form = self._app.prompt.form
            if isinstance(form, ApprovalForm) and not self._is_editing:
                self._app.run_worker(self._edit(form, name))
        elif name in ("lost_diff", "lost_output"):
            self._show_lost(name)
        elif name in ("stay", "retry_write", "quit_now"):
            self._own = None
            if name == "stay":  # also with the session that was to come
                self._app.outside.next_arguments = None
            self._show(None)
            self.update()
            if name == "retry_write":
                self._app.link.send(commands.Continue())
            elif name == "quit_now":
                self._app.acts.do("quit_now")
        elif name == "prune":
            self._app.outside.prune()

    async def _edit(self, form: ApprovalForm, name: str) -> None:
        """Another editor's work; the prompt takes keys again a moment after it."""
        self._is_editing = True
        try:
            await (self._edit_result(form) if name == "edit_result" else self._edit_patch(form))
        except RefusedError as error:
            slash.notice(self._app, f"the edit cannot be used: {error}")
        finally:
            self._is_editing = False
            self._app.prompt.returned()

    async def _edit_result(self, form: ApprovalForm) -> None:
        """The files as the edit would leave them in the external editor; what they are then comes back as
        the arguments of the call, to run once."""
        link, call_id = self._app.link, form.event.call_id
        try:
            texts: dict[str, str | None] = await link.ask(commands.Subject.EDIT, call=call_id)
            why = "no file of this edit can be edited as text"
        except RefusedError as error:
            texts, why = {}, str(error)
        files = {path: text for path, text in texts.items() if text is not None}
        if not files:
            slash.notice(self._app, f"{why}; the editor has its patch")
            return await self._edit_patch(form)
        changed = self._app.outside.edit_files(files)
        if changed:
            changes = json.dumps(changed, ensure_ascii=False)
            self._send_edited(form, await link.ask(commands.Subject.EDITED, call=call_id, texts=changes))
        return None

    async def _edit_patch(self, form: ApprovalForm) -> None:
        """The patch in the external editor, for what has no result to edit."""
        arguments = self._app.feed.calls.arguments(form.event.call_id)
        patch = arguments.get("patch")
        if not isinstance(patch, str):
            slash.notice(self._app, "this edit has no patch that could be edited")
            return
        changed = self._app.outside.edit_files({"edit.patch": patch})
        if changed:
            again = {**arguments, "patch": changed["edit.patch"]}
            self._send_edited(form, json.dumps(again, ensure_ascii=False))

    def _send_edited(self, form: ApprovalForm, arguments: str) -> None:
        """Unless the question was answered while the editor was open."""
        if self._app.prompt.form is form:
            self.answered(form.edited(arguments))

    def _show_lost(self, name: str) -> None:
        form = self._app.prompt.form
        if not isinstance(form, LostForm):
            return
        if name == "lost_output":
            self._app.views.output(form.event.shown or form.event.tool, f"out/{form.event.call_id}")
        else:
            lost = form.event.checkpoint_id
            self._app.views.diff(f"since {lost}", {"checkpoint": lost}, before=lost, after="now")

    def _go_back(self) -> None:
        """To before a lost result, once its preview was seen."""
        form = self._app.prompt.form
        if isinstance(form, LostForm):
            self._app.views.back_to_before(
                form.event.checkpoint_id, lambda conflicts: self.answered(form.back(conflicts))
            )

    def leave(self) -> None:
        """Ask whether live terminals may be stopped."""
        goes_on = self._app.outside.next_arguments is not None
        self._put(LeaveForm(self._app.session.live_terminals, goes_on=goes_on))
        self._app.prompt.turn_to()
