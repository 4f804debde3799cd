"""Whatever a prompt asks: choices, sandbox, editor and status line are on every screen, and what has no room
is told and can be read whole."""

import random
from pathlib import Path

import pytest

from agent_tui.engine import events
from agent_tui.engine.types import Decision, InputKind
from tests.tui import gallery, scenes
from tests.tui.driving import Driven, driven
from tests.tui.fake_engine import Play
from tools.types import Grant

SIZES = ((60, 15), (80, 24), (120, 40))
ROUNDS = 12
EVERY = (*scenes.ALL[:-1], Decision.DENY_RULE, scenes.ALL[-1])
FAR = "/srv/" + "far/" * 200 + "end"


def one(rng: random.Random, number: int) -> Play:
    """Some approval; what a model controls may be long."""
    grant = rng.choice((Grant.NONE, Grant.NONE, Grant.WRITE_PATH, Grant.NETWORK))
    files = rng.choice((1, 2, 40))
    edit = rng.random() < 0.3
    shown = rng.choice(("make", "cat " + FAR, "\n".join(f"echo {n}" for n in range(30)), "é 日本 " * 40))
    names = [f"src/package/module_{n}.py" for n in range(files)]
    diff = "".join(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x\n+y\n" for name in names) if edit else ""
    asked: dict[str, object] = {"action": "edit" if edit else "command", "reason": "reads " + FAR}
    if grant is not Grant.NONE and not edit:
        asked |= {
            "grant": grant,
            "grant_detail": rng.choice(("/cache", FAR)) if grant is Grant.WRITE_PATH else "",
        }
    return scenes.approval(
        number, shown, asked, diff=diff,
        why=rng.choice(("`untrusted`: edits ask first", "reads outside the workspace: " + FAR[:270] + "…")),
        session_key="edits of " + ", ".join(names),
        first_attempt=rng.choice(("", f"the first attempt left 4 files: {', '.join([FAR] * 4)}")),
        rule_allows=rng.choice(("`make` in ~/src", "`make`\n" * 12)),
        choices=EVERY if rng.random() < 0.5 else scenes.ALL,
        grants=("network", "no_sandbox") if grant is not Grant.NONE and not edit else (),
    )  # fmt: skip


def question(rng: random.Random) -> Play:
    count = rng.randint(0, 9)
    option = rng.choice(("short", "a label: " + "what it means in a long sentence " * 4))
    text = rng.choice(("Which?", "Which of these many? " * 40))
    options = tuple(f"{n} {option}" for n in range(count))
    return [events.QuestionAsked(question_id="q1", call_id="c1", text=text, options=options, free_text=True)]


def lost(rng: random.Random) -> Play:
    (asked,) = gallery.lost()
    assert isinstance(asked, events.LostResultAsked)
    return [asked] if rng.random() < 0.5 else [*gallery.lost()]


def some(seed: int) -> Play:
    """Some questions, with something pending at times."""
    rng = random.Random(seed)
    kind = rng.choice(("approval", "approval", "several", "question", "lost"))
    several = rng.choice((2, 3, 8, 12)) if kind == "several" else 1
    asked = {"question": question, "lost": lost}.get(kind)
    play = asked(rng) if asked else [each for n in range(1, several + 1) for each in one(rng, n)]
    queued = [
        events.InputAccepted(input_id=f"i{n}", kind=InputKind.QUEUE, text="then go on")
        for n in range(rng.choice((0, 0, 1, 6)))
    ]
    return [*scenes.turn(), *play, *queued]


def complaints(it: Driven) -> list[str]:
    """What is missing on the screen."""
    form, rows = it.app.prompt.form, it.screen.split("\n")
    assert form is not None
    text = "\n".join(rows)
    wrong = []
    if "gpt-5.1" not in rows[-1]:
        wrong.append("status line")
    if not any(row.startswith("›") for row in rows[-9:-1]):
        wrong.append("editor")
    if form.writing is not None:
        wrong += [] if form.writing.hint in text else ["keys of the text"]
        return wrong + ([] if form.writing.title in text else ["title of the text"])
    choices = form.choices()
    beginning = [row for row in rows if row.startswith(f"  {choices[-1].key} ")]
    if not any(choices[-1].label in row for row in beginning):
        wrong.append("row of Esc")
    keys = text[text.rindex("━━") :]
    if any(fact.label == "sandbox" for fact in form.facts(it.app.look(80))) and "  sandbox   " not in text:
        wrong.append("sandbox")
    if not it.app.prompt.armed:
        return wrong + ([] if keys.count("· ") >= len(choices) - 1 else ["choices"])
    for choice in choices[:-1]:
        if f" {choice.key} " not in keys:
            wrong.append(f"key {choice.key}")
    return wrong


@pytest.mark.parametrize("typed", ["/c", "one\ntwo\nthree\nfour\nfive\nsix"])
@pytest.mark.parametrize("opens_first", [True, False])
async def test_the_list_under_a_prompt_and_a_long_draft_leave_it_its_rows(
    tmp_path: Path, typed: str, opens_first: bool
) -> None:
    leaves = gallery.leaves_sandbox()
    async with driven(tmp_path, leaves if opens_first else (), size=(60, 15)) as it:
        await it.type(typed)
        if not opens_first:
            it.engine.play(leaves)
            await it.settle()
        assert complaints(it) == [], it.screen
        assert "  grant     write ~/.cache/pip" in it.screen


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_what_an_answer_needs_is_always_on_the_screen(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    async with driven(tmp_path, some(seed)) as it:
        for size in SIZES:
            await it.resize(*size)
            await it.wait_for_arming()
            assert complaints(it) == [], it.screen
            for key in rng.choices(("g", "question_mark", "down", "right_square_bracket", "f", "e"), k=4):
                await it.press(key)
                assert complaints(it) == [], f"{key}\n{it.screen}"
                if it.app.prompt.is_writing:
                    await it.press("escape")
                await it.wait_for_arming()


@pytest.mark.parametrize("parts", [1, 8, 30])
async def test_blank_lines_and_reasons_go_before_a_prompt_takes_more_than_its_rows(
    tmp_path: Path, parts: int
) -> None:
    shown = "cat " + " ".join(f"/srv/data/part-{number}.csv" for number in range(parts))
    why = "reads outside the workspace, " + "and far from it, " * 20
    play = scenes.approval(1, shown, why=why, choices=EVERY)
    async with driven(tmp_path, [*scenes.turn(), *play]) as it:
        await it.wait_for_arming()
        assert it.app.prompt.size.height <= 24 - 7 + 1, it.screen  # and the blank row below it
        assert complaints(it) == [], it.screen
        assert "v shows all" in it.screen


async def test_a_fact_that_is_cut_keeps_its_key(tmp_path: Path) -> None:
    async with driven(tmp_path, gallery.lost(), size=(60, 15)) as it:
        changes = next(row for row in it.screen.split("\n") if row.startswith("  changes"))
        assert changes.endswith("… v shows all d diff"), it.screen


async def test_a_wider_grant_says_that_git_is_open_beside_it(tmp_path: Path) -> None:
    asks = {"assessment": {"grant": Grant.GIT_LANE}, "grants": ("git_lane", "network", "no_sandbox")}
    async with driven(tmp_path, [*scenes.turn(), *scenes.approval(1, "git push", **asks)]) as it:
        await it.wait_for_arming()
        await it.press("g")
        assert "network on, for this command" in it.screen
        assert "commit to git too, everything else as before" in it.screen


async def test_several_rules_of_one_line_stand_below_each_other(tmp_path: Path) -> None:
    several = {"rule": "run make\nrun rm -r build", "rule_allows": "`make` in ~/src\n`rm -r build` in ~/src"}
    play = scenes.approval(1, "make && rm -r build", **several)
    async with driven(tmp_path, [*scenes.turn(), *play]) as it:
        await it.wait_for_arming()
        await it.press("p")
        assert "  rule        run  make\n              run  rm -r build\n" in it.screen
