"""The step between `p` or `b` and a saved rule: what it would allow or deny, and one word let vary at a
time."""

from agent_tui.engine.events import ApprovalAsked
from agent_tui.granted import NOT_BY_RULE
from agent_tui.tui import words
from agent_tui.tui.forms.form import Choice, fact
from agent_tui.tui.transcript.lines import Line, Span, untrusted
from agent_tui.tui.transcript.look import Look

LABEL = 12  # columns of a label


class Saving:
    """The rule that would be saved, as shown now."""

    def __init__(self, event: ApprovalAsked, kept_in: str, *, denies: bool = False) -> None:
        self.denies = denies
        self._event = event
        self._kept_in = kept_in
        self._rules = [event.deny_rule] if denies else [event.rule, *event.wider_rules]
        self._at = 0

    @property
    def chosen(self) -> str:
        """One of the wider rules; empty for the rule as it was first shown."""
        return self._rules[self._at] if self._at else ""

    def widen(self) -> None:
        """Let another word vary, after the last one none."""
        self._at = (self._at + 1) % len(self._rules)

    def facts(self, look: Look) -> list[Line]:
        """What it says, would allow and would not."""
        rule = self._rules[self._at]
        kind, _, body = rule.partition(" ")
        if self.denies:
            rows = fact("rule", untrusted(f"deny {rule}", "strong", strict=True), look, columns=LABEL)
            more = " and all that begins like it" if kind in ("run", "edit", "read", "write") else ""
            rows += fact("would deny", untrusted(f"`{body}`{more}", strict=True), look, columns=LABEL)
        else:
            apart = "\n".join("  ".join(each.split(" ", 1)) for each in rule.split("\n"))  # one, or several
            rows = fact("rule", untrusted(apart, "strong", strict=True), look, columns=LABEL)
            rows += fact("would allow", untrusted(self._allows(rule), strict=True), look, columns=LABEL)
        refused = "" if self.denies else NOT_BY_RULE.get(kind, "")
        if refused:
            rows += fact("not", [Span(refused)], look, columns=LABEL)
        return rows + fact("kept in", untrusted(self._kept_in, strict=True), look, columns=LABEL)

    def _allows(self, rule: str) -> str:
        if not self._at:
            return self._event.rule_allows or rule
        kind, _, body = rule.partition(" ")
        return f"`{body if kind == 'run' else rule}` with any word for `*`, in {words.home(self._event.cwd)}"

    def choices(self) -> list[Choice]:
        """Enter saves."""
        wider = [Choice(key="w", label=self._next_words())] if len(self._rules) > 1 else []
        saves = "save and deny" if self.denies else "save and run"
        enter = Choice(key="Enter", label=saves, needs_end=not self.denies)
        return [enter, *wider, Choice(key="Esc", label="back")]

    def _next_words(self) -> str:
        """What the next press of `w` does."""
        following = (self._at + 1) % len(self._rules)
        if not following:
            return "let no word vary"
        before, after = self._rules[0].split(), self._rules[following].split()
        word = next((old for old, new in zip(before, after, strict=False) if old != new), "")
        if not word:
            return "let more words follow"
        name, found, _ = word.partition("=")
        return f"let the value of {name} vary" if found else f"let `{word}` vary"
