"""The approval form: a command, an edit, a host, a way out of the sandbox."""

import re

from agent_tui import granted, safe_text
from agent_tui.engine.commands import Decide
from agent_tui.engine.events import ApprovalAsked
from agent_tui.engine.types import RULES_FILE, Decision
from agent_tui.tui import words
from agent_tui.tui.forms.form import CHOICE, Act, Choice, Effect, Fact, Send, Spacing, Writing
from agent_tui.tui.forms.saving import Saving
from agent_tui.tui.glyphs import own_words
from agent_tui.tui.transcript import diff
from agent_tui.tui.transcript.lines import Line, Span, untrusted, wrap
from agent_tui.tui.transcript.look import Look

_RULES_LINE = re.compile(rf" \({re.escape(RULES_FILE)}, line \d+\)$")  # where a rule stands is told by `v`


class ApprovalForm:
    """One `ApprovalAsked`; the digest that was shown goes back with every answer."""

    columns = CHOICE
    in_rows = False

    def __init__(self, event: ApprovalAsked, *, rules: str) -> None:
        """`rules` is the file that a saved rule goes to, as it is shown."""
        self.event = event
        self._rules = rules
        self.writing: Writing | None = None
        self._purpose = ""
        self._grants = [
            self._asked_grant(),
            *(grant for grant in event.grants if grant != self._asked_grant()),
        ]
        self._grant = 0
        self._explained = False
        self._saving: Saving | None = None
        self.waiting = 1  # approvals that are open, this one included
        self.is_one_of_several = False  # others stand beside it, answered or not
        self._files = diff.parse(event.diff) if event.diff else []

    @property
    def title(self) -> str:
        """Kind and size of the object."""
        if self._saving is not None:
            return "deny for good" if self._saving.denies else "save a rule"
        assessment = self.event.assessment
        if self._asks_for_network:
            return "approval · network"
        if self._leaves_sandbox:
            return "approval · leave the sandbox"
        if self._files:
            return f"approval · edit · {words.count(len(self._files), 'file')} {self._size}"
        return f"approval · {assessment.action}"

    @property
    def _size(self) -> str:
        added = sum(file.added for file in self._files)
        return f"+{added} -{sum(file.removed for file in self._files)}"

    @property
    def name(self) -> str:
        """Its object in the list of several, in one line: `edit .github/workflows/ci.yml  +3 -1`."""
        if self._files:
            several = words.count(len(self._files), "file")
            return f"edit {self._files[0].path if len(self._files) == 1 else several}  {self._size}"
        assessment = self.event.assessment
        if self.event.during:
            return f"network {self.event.session_key}"
        prefix = "" if assessment.action == "command" else f"{assessment.action} "
        return prefix + assessment.shown.split("\n")[0]

    @property
    def aside(self) -> str | None:
        """Where a rule holds."""
        return None if self._saving is None else "this workspace"

    @property
    def _leaves_sandbox(self) -> bool:
        return (
            bool(self._grants[0])
            and self.event.assessment.action == "command"
            and self._grants[0] != "git_lane"
        )

    @property
    def _asks_for_network(self) -> bool:
        """Whether the network alone is asked for, as shown now."""
        return self._leaves_sandbox and self._grants[self._grant].partition(" ")[0] in ("network", "host")

    @property
    def spacing(self) -> Spacing:
        """A diff and a rule take the rows."""
        if self._saving is not None:
            return "close"
        return "close" if self._files else "airy"

    def _asked_grant(self) -> str:
        assessment = self.event.assessment
        if assessment.grant.value == "none":
            return ""
        return f"{assessment.grant.value} {assessment.grant_detail}".strip()

    def object(self, look: Look) -> list[Line]:
        """Command or diff, whole; what is hidden in it is shown."""
        if self._saving is not None:
            return self._saving.facts(look)
        if self._files:
            rows: list[Line] = []
            for file in self._files:
                rows += [(Span(" "), *diff.heading(file, look)), *diff.rows(file, look, wrapped=True)]
            return rows
        lead: Line = (Span("    "),)
        shown = self.event.assessment.shown
        rows = wrap(untrusted(shown, "strong", strict=True), look.width, first=lead, rest=lead)
        detail = self.event.assessment.grant_detail
        named = f"{shown}\n{detail}" if self._grants[0].startswith("host ") else shown
        for said in safe_text.warnings(named):
            spans = untrusted(own_words(said, look.glyphs), "attention")
            rows += wrap(spans, look.width, first=(Span("  ! ", "attention"),), rest=lead)
        return rows

    def facts(self, look: Look, *, whole: bool = False) -> list[Fact]:
        """in, why, changes, grant, sandbox."""
        event = self.event
        if self._saving is not None:
            return []
        why = _RULES_LINE.sub("", event.why) if look.low and not whole else event.why
        rows = [Fact(label="why", spans=untrusted(why))]
        if not self._files:
            place = Fact(label="in", spans=untrusted(event.during or words.home(event.cwd), strict=True))
            rows = [place, *rows, *self._reach(look)]
        return rows + (self._explanation() if self._explained or whole else [])

    def _reach(self, look: Look) -> list[Fact]:
        """What an earlier attempt left, and what this one could reach."""
        event = self.event
        rows: list[Fact] = []
        if event.first_attempt:
            rows.append(Fact(label="changes", spans=untrusted(event.first_attempt, strict=True)))
        if self._grants[self._grant]:
            return rows + self._grant_facts(look)
        if event.sandbox:
            role = "alarm" if event.sandbox.startswith("NONE") else "text"
            rows.append(Fact(label="sandbox", spans=untrusted(self._sandbox(look), role), decides=True))
        return rows

    def _sandbox(self, look: Look) -> str:
        return self.event.sandbox_short or self.event.sandbox if look.low else self.event.sandbox

    def _grant_facts(self, look: Look) -> list[Fact]:
        grant = self._grants[self._grant]
        text = granted.in_words(grant)
        is_open = grant.startswith("no_sandbox")
        right = (
            "" if len(self._grants) < 2 else "g first" if self._grant == len(self._grants) - 1 else "g wider"
        )
        spans = untrusted(
            text if is_open else f"{text}, for this command", "alarm" if is_open else "text", strict=True
        )
        if is_open:
            below = "none for this command"
        elif self._grant:
            below = granted.under_wider(self._grants[0])
        else:  # the engine's words hold the grant that is asked for
            below = f"with this grant: {self._sandbox(look)}"
        return [
            Fact(label="grant", spans=spans, right=right, decides=True),
            Fact(label="sandbox", spans=untrusted(below), decides=True),
        ]

    def _explanation(self) -> list[Fact]:
        event, offered = self.event, {choice.key for choice in self.choices()}
        rows: list[Fact] = []
        if event.assessment.reason.casefold() not in event.why.casefold():
            rows.append(Fact(label="because", spans=untrusted(event.assessment.reason)))
        if event.session_key and "s" in offered:
            rows.append(Fact(label="session", spans=untrusted(event.session_key, strict=True)))
        if event.rule and "p" in offered:
            allowed = "; ".join(event.rule_allows.split("\n")) or event.rule
            rows.append(Fact(label="rule", spans=untrusted(f"would allow {allowed}", strict=True)))
        return rows

    def choices(self) -> list[Choice]:
        """Only what the engine offered; nothing lasting goes with NO SANDBOX."""
        if self._saving is not None:
            return self._saving.choices()
        event = self.event
        offered = set(event.choices)
        is_open = self._grants[self._grant].startswith("no_sandbox")
        again = self._leaves_sandbox
        result: list[Choice] = []
        if Decision.ONCE in offered:
            ran = "run again" if event.first_attempt else "run"
            once = (
                f"{ran} without a sandbox"
                if is_open
                else "run again with this grant"
                if again and event.first_attempt
                else "once"
            )
            is_brief = event.during or (self._asks_for_network and once == "once")
            note = "while this command runs" if is_brief else ""
            short = once if is_open else "once"
            result.append(Choice(key="y", label=once, note=note, short=short, needs_end=True))
        if Decision.SESSION in offered and not is_open:
            result.append(Choice(key="s", label="this session", note=event.session_key, needs_end=True))
        if Decision.RULE in offered and not is_open:
            result.append(
                Choice(
                    key="p",
                    label="save a rule",
                    note=f"{event.session_key} in this workspace"
                    if event.during
                    else "shows the rule before it is saved",
                    short="save a rule" if self.is_one_of_several else "rule",
                    needs_end=True,
                )
            )
        if Decision.EDIT in offered:
            result.append(self._edit_choice())
        result.append(Choice(key="n", label="deny", note=self._deny_note(), short="deny"))
        if Decision.DENY_RULE in offered:
            note = (
                "and do not ask again in this workspace"
                if event.during
                else "shows the rule before it is saved"
            )
            result.append(Choice(key="b", label="deny for good", note=note, short="deny for good"))
        result.append(Choice(key="f", label="deny and say what to do instead", short="deny and say"))
        if self.is_one_of_several:  # what refuses is what most of several need
            result.sort(key=lambda choice: "ysnfbep".index(choice.key))
        pause = f"deny all {self.waiting} that wait, and pause" if self.waiting > 1 else "deny and pause"
        return [*result, Choice(key="Esc", label=pause)]

    def _edit_choice(self) -> Choice:
        if not self._files:
            return Choice(key="e", label="edit the command", short="edit")
        if self._has_result:
            note = f"opens $EDITOR with the patched file{'s' * (len(self._files) > 1)}"
            return Choice(key="e", label="edit the result", note=note, short="edit")
        return Choice(key="e", label="edit the patch", note="opens $EDITOR with it", short="edit")

    @property
    def _has_result(self) -> bool:
        """Whether the edit leaves any text that can be changed, and not only less files or other names."""
        return any(file.rows and file.kind != "D" for file in self._files)

    def _deny_note(self) -> str:
        if self.event.first_attempt:
            return "the model gets the first result"
        if self.event.during:
            return "the connection is refused, the command goes on"
        return "the run goes on without it"

    def corner(self) -> str:
        """Keys beside the choices."""
        if self._saving is not None:
            return ""
        return "[ ] step · v full view" if self.waiting > 1 else "? why · v full view"

    def press(self, key: str) -> Effect:
        """One armed key."""
        if self._saving is not None:
            return self._press_saving(self._saving, key)
        plain = {"y": Decision.ONCE, "s": Decision.SESSION, "n": Decision.DENY}
        if key in "yspeb" and key not in {choice.key for choice in self.choices()}:
            return None
        if key in plain:
            return self._decide(plain[key])
        if key == "p":
            self._saving = Saving(self.event, self._rules)
        elif key == "b":
            self._saving = Saving(self.event, self._rules, denies=True)
        elif key == "g" and len(self._grants) > 1:
            self._grant = (self._grant + 1) % len(self._grants)
        elif key == "f":
            self._write("say", "deny, and tell the model:", "", "Enter deny with this text · Esc back")
        elif key == "e" and self._files:
            return Act(name="edit_result" if self._has_result else "edit_patch")
        elif key == "e":
            self._write(
                "edit",
                "edit, and run once:",
                self.event.assessment.shown,
                "Enter run the edited command once · Esc back",
            )
        elif key == "question_mark":
            self._explained = not self._explained
        return None

    def _press_saving(self, saving: Saving, key: str) -> Effect:
        if key == "enter":
            decision = Decision.DENY_RULE if saving.denies else Decision.RULE
            return self._decide(decision, rule=saving.chosen)
        if key == "w":
            saving.widen()
        return None

    def _write(self, purpose: str, title: str, text: str, hint: str) -> None:
        self._purpose = purpose
        self.writing = Writing(title=title, text=text, hint=hint)

    def edited(self, arguments: str) -> Send:
        """The call with these arguments (JSON) in place of the model's, once."""
        return self._decide(Decision.EDIT, edited=arguments)

    def submit(self, text: str) -> Effect:
        """Feedback, or the edited command."""
        self.writing = None
        if self._purpose == "edit":
            return self._decide(Decision.EDIT, edited=text)
        return self._decide(Decision.DENY, feedback=text)

    def dismiss(self) -> Effect:
        """Out of a sub-step first; then deny and pause."""
        if self.writing is not None or self._saving is not None:
            self.writing, self._saving = None, None
            return None
        if self._explained:
            self._explained = False
            return None
        return self._decide(Decision.DENY_AND_PAUSE)

    def _decide(self, decision: Decision, *, feedback: str = "", edited: str = "", rule: str = "") -> Send:
        event = self.event
        chosen = self._grants[self._grant] if self._grant else ""
        return Send(
            body=Decide(
                approval_id=event.approval_id, decision=decision, digest=event.digest, feedback=feedback,
                edited=edited, grant=chosen, rule=rule,
            )
        )  # fmt: skip
