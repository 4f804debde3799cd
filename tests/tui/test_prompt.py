from pathlib import Path

import pytest
from textual import events as toolkit

from agent_tui.engine import commands, events
from agent_tui.engine.types import Decision, InputKind
from tests.tui import scenes
from tests.tui.driving import driven

ONE_FILE = (
    "--- a/slugify.py\n+++ b/slugify.py\n@@ -5,2 +5,3 @@\n def slugify(text: str) -> str:\n"
    '-    return text\n+    text = text.strip("-")\n+    return text or "n-a"\n'
)


async def test_what_is_typed_for_the_draft_while_a_question_comes_stays_there(tmp_path: Path) -> None:  # A31
    async with driven(tmp_path, [*scenes.turn(), *scenes.step(1)]) as it:
        await it.type("yes ple")
        it.engine.play(scenes.approval(1, "touch YES"))
        await it.until("━━ approval")
        await it.type("ase a 1")
        it.clock.at += 60
        it.app.prompt.check()
        await it.press("enter")  # steers, as it would have without the question
        assert it.engine.sent == [commands.Submit(text="yes please a 1", kind=InputKind.STEER)]
        await it.wait_for_arming()
        await it.press("n")
        assert it.engine.sent[1:] == [commands.Decide(approval_id="ap1", decision=Decision.DENY, digest="d1")]


async def test_typed_text_never_answers_and_stays_in_the_draft(tmp_path: Path) -> None:  # A31
    async with driven(tmp_path, scenes.asks()) as it:
        await it.type("yes please")
        it.clock.at += 60
        it.app.prompt.check()
        await it.type(" y")
        assert it.engine.sent == []
        assert it.app.editor.text == "yes please y"
        assert "·  once" in it.screen


async def test_an_armed_prompt_takes_one_key(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("y")
        assert it.engine.sent == [commands.Decide(approval_id="ap1", decision=Decision.ONCE, digest="d1")]


@pytest.mark.parametrize(
    ("key", "decision"), [("s", Decision.SESSION), ("n", Decision.DENY), ("escape", Decision.DENY_AND_PAUSE)]
)
async def test_each_choice_has_its_key(tmp_path: Path, key: str, decision: Decision) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press(key)
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [decision]  # type: ignore[attr-defined]


async def test_denying_for_good_shows_the_rule_first(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("b")
        assert "deny run make publish INDEX=staging" in it.screen
        assert it.engine.sent == []
        await it.wait_for_arming()
        await it.press("enter")
        assert it.engine.sent == [
            commands.Decide(approval_id="ap1", decision=Decision.DENY_RULE, digest="d1")
        ]


async def test_escape_denies_even_while_unarmed(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.press("x", "escape")
        assert it.engine.sent == [
            commands.Decide(approval_id="ap1", decision=Decision.DENY_AND_PAUSE, digest="d1")
        ]
        assert it.app.editor.text == "x"


@pytest.mark.parametrize("armed", [False, True])
async def test_ctrl_c_interrupts_while_a_question_is_open(tmp_path: Path, armed: bool) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        if armed:
            await it.wait_for_arming()
        assert it.app.prompt.armed is armed
        await it.press("ctrl+c")
        assert it.engine.sent == [commands.Interrupt()]


async def test_shift_tab_turns_to_the_prompt_with_a_draft_open(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.press("x", "shift+tab", "n")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.DENY]  # type: ignore[attr-defined]
        assert it.app.editor.text == "x"


@pytest.mark.parametrize("key", ["enter", "ctrl+c"])
async def test_a_draft_that_is_sent_or_cleared_gives_the_prompt_its_keys(tmp_path: Path, key: str) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.type("rather this")
        await it.wait_for_arming()  # the pause passes with the draft open
        assert "Shift+Tab answer it" in it.screen
        await it.press(key)
        it.clock.at += 0.6
        await it.until("y  once")


async def test_enter_accepts_nothing_until_a_choice_was_reached(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("enter")
        assert it.engine.sent == []
        await it.press("up", "up", "up", "enter")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.DENY]  # type: ignore[attr-defined]


async def test_a_prompt_takes_no_keys_from_a_picked_block(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.finished()) as it:
        await it.press("ctrl+up")
        it.engine.play(scenes.approval(1, "make publish"))
        await it.settle()
        await it.wait_for_arming()
        await it.press("y")  # copies the block
        assert not it.engine.sent_of(commands.Decide)
        assert it.app.clipboard
        await it.press("escape")
        await it.wait_for_arming()
        await it.press("n")
    assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.DENY]  # type: ignore[attr-defined]


async def test_a_paste_goes_to_the_draft(tmp_path: Path) -> None:  # A42
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        it.app.post_message(toolkit.Paste("y"))
        await it.settle()
        assert it.engine.sent == []
        assert it.app.editor.text == "y"
        assert it.app.editor.has_focus


async def test_feedback_is_written_inside_the_prompt(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("f")
        await it.wait_for_arming()  # which must not take the keys from the text
        await it.type("bump it")
        assert "deny, and tell the model:" in it.screen
        await it.press("enter")
        wanted = commands.Decide(approval_id="ap1", decision=Decision.DENY, digest="d1", feedback="bump it")
        assert it.engine.sent == [wanted]


@pytest.mark.parametrize("key", ["f", "e", "p"])
async def test_out_of_a_text_with_a_draft_open_the_keys_are_the_editors(tmp_path: Path, key: str) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.type("abc")
        await it.press("shift+tab")
        await it.press(key)
        if key != "p":
            await it.type("x")
        await it.wait_for_arming()
        await it.press("escape")
        await it.wait_for_arming()
        assert "·  once" in it.screen and it.app.focused is it.app.editor
        await it.press("shift+tab")
        assert "y  once" in it.screen and it.app.focused is it.app.prompt
        await it.press("n")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.DENY]  # type: ignore[attr-defined]
        assert it.app.editor.text == "abc"


@pytest.mark.parametrize("draft", ["abc", ""])
async def test_the_activity_line_names_the_key_that_leaves_a_text_in_the_prompt(
    tmp_path: Path, draft: str
) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.type(draft)
        await it.press("shift+tab", "f")
        await it.type("not now")
        assert "─ Tab type a message ──" in it.screen and "Enter steer" not in it.screen
        await it.press("escape")
        assert ("Shift+Tab answer it" in it.screen) == bool(draft)


async def test_an_edited_command_is_sent_as_text(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("e", "backspace", "backspace")
        await it.press("enter")
        [sent] = it.engine.sent_of(commands.Decide)
        assert isinstance(sent, commands.Decide)
        assert (sent.decision, sent.edited) == (Decision.EDIT, "make publish INDEX=stagi")


async def test_an_edited_command_goes_through_the_external_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        monkeypatch.setattr(it.app.outside, "edit", lambda text: text.replace("staging", "test"))
        await it.wait_for_arming()
        await it.press("e", "ctrl+g")
        assert "make publish INDEX=test" in it.screen
        assert not it.engine.sent, "nothing is sent before Enter"
        await it.press("enter")
        assert it.engine.sent == [
            commands.Decide(
                approval_id="ap1", decision=Decision.EDIT, digest="d1", edited="make publish INDEX=test"
            )
        ]


async def test_saving_a_rule_shows_it_first_and_is_unarmed_again(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("p", "enter")
        assert it.engine.sent == []
        assert "run  make publish INDEX=staging" in it.screen
        assert "kept in     ~/.config/agent-tui/rules.toml" in it.screen
        await it.wait_for_arming()
        await it.press("enter")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.RULE]  # type: ignore[attr-defined]


async def test_two_approvals_cannot_be_allowed_by_one_double_press(tmp_path: Path) -> None:
    def on(body: commands.CommandBody) -> list[events.Body]:
        assert isinstance(body, commands.Decide)
        decided = events.ApprovalDecided(
            approval_id=body.approval_id, call_id="c21", decision=body.decision, by="person"
        )
        return [decided]

    play = [*scenes.asks(), *scenes.approval(2, "rm -r build")]
    async with driven(tmp_path, play, on=on) as it:
        await it.wait_for_arming()
        await it.press("y", "y")
        assert [body.approval_id for body in it.engine.sent_of(commands.Decide)] == ["ap1"]  # type: ignore[attr-defined]
        assert "rm -r build" in it.screen
        assert "allowed once" in it.screen


async def test_rows_that_move_when_another_question_comes_take_no_key_for_a_moment(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("down", "down", "down")  # on `save a rule`
        it.engine.play(scenes.approval(2, "rm -r build"))
        await it.until("1 of 2")
        await it.press("enter", "3")
        assert it.engine.sent == []
        assert it.app.editor.text == "3"


async def test_beside_others_what_denies_comes_first_and_digits_follow_the_rows(tmp_path: Path) -> None:
    patch = scenes.approval(2, "*** Begin Patch", {"action": "edit"}, diff=ONE_FILE, tool="apply_patch")
    async with driven(tmp_path, [*scenes.asks(), *patch]) as it:
        await it.wait_for_arming()
        assert "    n  deny · f deny and say · b deny for good · e edit · p save a rule" in it.screen
        assert "    2  waiting        edit slugify.py  +2 -1" in it.screen
        await it.press("3")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.DENY]  # type: ignore[attr-defined]


async def test_a_raised_digit_is_no_row(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("²")  # a key of its own on some keyboards
        await it.wait_for_arming()
        assert it.engine.sent == []
        await it.press("1")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.ONCE]  # type: ignore[attr-defined]


async def test_a_long_command_must_be_seen_before_it_can_be_allowed(tmp_path: Path) -> None:
    long = "\n".join(f"echo line {number}" for number in range(60)) + "\ntouch EVIL"
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, long)]) as it:
        await it.wait_for_arming()
        await it.press("y")
        assert it.engine.sent == []
        assert "locked until all was seen" in it.screen
        await it.press("v", "end", "escape")
        await it.wait_for_arming()
        await it.press("y")
        assert len(it.engine.sent_of(commands.Decide)) == 1


async def test_what_was_seen_in_narrow_rows_unlocks_no_wide_ones(tmp_path: Path) -> None:
    shown = "cat " + " ".join(f"/srv/data/part-{number}.csv" for number in range(60)) + "; touch EVIL"
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, shown)], size=(60, 24)) as it:
        await it.wait_for_arming()
        await it.press("space", "home")
        await it.resize(190, 24)
        await it.wait_for_arming()
        assert "EVIL" not in it.screen
        await it.press("y")
        assert it.engine.sent == []
        await it.press("end")
        assert "EVIL" in it.screen
        await it.press("y")
        assert len(it.engine.sent_of(commands.Decide)) == 1


async def test_a_long_rule_is_shown_from_its_start_and_saved_once_all_was_seen(tmp_path: Path) -> None:
    shown = "cat " + " ".join(f"/srv/data/part-{number}.csv" for number in range(150))
    play = scenes.approval(1, shown, rule=f"run {shown}", rule_allows=f"`{shown}` in ~/src/slugkit")
    async with driven(tmp_path, [*scenes.turn(), *play]) as it:
        await it.wait_for_arming()
        await it.press("end", "p")
        await it.wait_for_arming()
        assert "  rule        run  cat /srv/data/part-0.csv" in it.screen
        await it.press("enter")
        assert it.engine.sent == []
        await it.press("end", "enter")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.RULE]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "shown",
    [
        "touch EVIL #\r\x1b[2Kls",
        "ls" + " " * 400 + "; touch EVIL",
        "ls \u202eEVIL",
        "[bold]EVIL[/]",
        "a " * 1_500 + "; touch EVIL",
        "\n".join(f"echo {number}" for number in range(60)) + "\ntouch EVIL",
    ],
)
async def test_nothing_of_a_command_is_hidden(tmp_path: Path, shown: str) -> None:  # A29
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, shown)]) as it:
        await it.wait_for_arming()
        assert "EVIL" in it.screen or "Space more · v all" in it.screen
        await it.press("v", "end")
        assert "EVIL" in it.screen
        assert "\x1b" not in it.screen


async def test_wider_grants_are_stepped_through_and_no_sandbox_is_said(tmp_path: Path) -> None:
    changes = {"grants": ("write_path /home/you/.cache", "network", "no_sandbox")}
    play = [*scenes.turn(), *scenes.approval(1, "pip wheel .", first_attempt="1 file", **changes)]
    async with driven(tmp_path, play) as it:
        await it.wait_for_arming()
        for _ in range(3):
            await it.press("g")
            await it.wait_for_arming()
        assert "NO SANDBOX: your files, your keys and the network, as you" in it.screen
        assert "this session" not in it.screen
        await it.press("y")
        assert [body.grant for body in it.engine.sent_of(commands.Decide)] == ["no_sandbox"]  # type: ignore[attr-defined]


async def test_a_question_takes_a_digit_or_free_text(tmp_path: Path) -> None:
    asked = events.QuestionAsked(
        question_id="q1",
        call_id="c1",
        text="Which database?",
        options=("SQLite", "PostgreSQL"),
        free_text=True,
    )
    async with driven(tmp_path, [*scenes.turn(), asked]) as it:
        await it.wait_for_arming()
        await it.press("2")
        assert it.engine.sent == [commands.Answer(question_id="q1", text="PostgreSQL")]


@pytest.mark.parametrize("free_text", [True, False])
@pytest.mark.parametrize("count", range(10))
async def test_a_question_with_any_number_of_options_takes_a_digit_for_each(
    tmp_path: Path, count: int, free_text: bool
) -> None:
    options = tuple(f"option {number}" for number in range(count))
    asked = events.QuestionAsked(
        question_id="q1", call_id="c1", text="Which?", options=options, free_text=free_text
    )
    async with driven(tmp_path, [*scenes.turn(), asked], size=(80, 30)) as it:
        await it.wait_for_arming()
        if free_text or not count:
            await it.press("1234567890"[count])
        if count and not free_text:
            await it.press(str(count))
            assert it.engine.sent == [commands.Answer(question_id="q1", text=options[-1])]
        else:
            await it.type("mine")
            await it.press("enter")
            assert it.engine.sent == [commands.Answer(question_id="q1", text="mine")]


async def test_what_is_typed_as_a_question_without_options_comes_is_no_answer(tmp_path: Path) -> None:
    asked = events.QuestionAsked(question_id="q1", call_id="c1", text="Which?", options=(), free_text=True)
    async with driven(tmp_path, [*scenes.turn()]) as it:
        await it.type("mind the t")
        it.engine.emit(asked)
        await it.settle()
        await it.type("ests")
        await it.press("enter")
        assert [body.text for body in it.engine.sent_of(commands.Submit)] == ["mind the tests"]
        assert it.engine.sent_of(commands.Answer) == []


async def test_free_text_answers_a_question(tmp_path: Path) -> None:
    asked = events.QuestionAsked(
        question_id="q1", call_id="c1", text="Which database?", options=("SQLite",), free_text=True
    )
    async with driven(tmp_path, [*scenes.turn(), asked]) as it:
        await it.wait_for_arming()
        await it.press("2")
        await it.type("duckdb")
        await it.press("enter")
        assert it.engine.sent == [commands.Answer(question_id="q1", text="duckdb")]


@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
async def test_arrows_pick_an_option_and_its_description_stands_beside_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    options = ("SQLite: one file, nothing to install", "PostgreSQL: what docker-compose.yml starts today")
    asked = events.QuestionAsked(
        question_id="q1", call_id="c1", text="Which?", options=options, free_text=True
    )
    async with driven(tmp_path, [*scenes.turn(), asked], size=size) as it:
        await it.wait_for_arming()
        assert "    2  PostgreSQL        what docker-compose.yml starts" in it.screen
        await it.press("down", "down")
        assert "  > 2  PostgreSQL" in it.screen
        await it.press("enter")
        assert it.engine.sent == [commands.Answer(question_id="q1", text=options[1])]


async def test_arrows_pick_where_choices_share_a_row(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks(), size=(60, 15)) as it:
        await it.wait_for_arming()
        await it.press("up", "up", "up")
        assert "  > n deny   b deny for good" in it.screen
        await it.press("enter")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.DENY]  # type: ignore[attr-defined]


async def test_a_lost_result_asks_twice_before_it_runs_again(tmp_path: Path) -> None:
    lost = events.LostResultAsked(
        question_id="l1", call_id="c1", tool="exec_command", shown="alembic upgrade head", started_at=900.0,
        facts="its process is gone", changes=scenes.CHANGES, checkpoint_id="7f3a/31",
    )  # fmt: skip
    async with driven(tmp_path, [lost]) as it:
        await it.wait_for_arming()
        await it.press("a")
        assert it.engine.sent == []
        await it.wait_for_arming()
        await it.press("a")
        assert it.engine.sent == [commands.Settle(question_id="l1", choice="again")]


async def test_escape_closes_why_before_it_denies(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("?")
        assert "because" in it.screen
        await it.press("escape")
        assert "because" not in it.screen
        assert it.engine.sent == []
        await it.press("escape")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.DENY_AND_PAUSE]  # type: ignore[attr-defined]


async def test_once_why_is_closed_the_same_keys_answer_at_once(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.press("?", "escape", "y")
        assert [body.decision for body in it.engine.sent_of(commands.Decide)] == [Decision.ONCE]  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["yes please", "no, another way", "ssh in", "just do it", "kill it"])
async def test_a_burst_of_text_answers_nothing_and_is_in_the_editor(tmp_path: Path, text: str) -> None:  # A31
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.feed(text.encode())
        assert it.engine.sent == []
        assert it.app.editor.text == text
        assert it.app.editor.has_focus
        assert "·  once" in it.screen


async def test_enter_right_behind_typed_text_neither_answers_nor_sends(tmp_path: Path) -> None:
    async with driven(tmp_path, scenes.asks()) as it:
        await it.wait_for_arming()
        await it.feed(b"y\r")
        assert it.engine.sent == []
        assert it.app.editor.text == "y"


async def test_why_says_nothing_twice_and_a_rule_in_words(tmp_path: Path) -> None:
    why = "not a known safe command"
    play = scenes.approval(why=why, rule_allows="`make` in ~/src\n`make test` in ~/src")
    async with driven(tmp_path, [*scenes.turn(), *play]) as it:
        await it.wait_for_arming()
        await it.press("?")
        assert it.screen.count(why) == 1
        assert "would allow `make` in ~/src; `make test` in ~/src" in it.screen
