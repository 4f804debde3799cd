"""Programs that want a person or never end, in the real sandbox: each answers as described, none hangs.

A program that is not installed is skipped by name; a stand-in that behaves alike is always tested.
"""

import shutil
from dataclasses import replace

import pytest

from tests.tools.room import Room, body, repository, sees
from tools.types import Outcome, OutcomeStatus

# An editor or pager of the person's: draws, waits for keys of the terminal, ends by one of them.
EDITOR = """#!/usr/bin/env python3
import sys, termios, tty
name, keys = sys.argv[1], open('/dev/tty', 'rb', buffering=0)
before = termios.tcgetattr(keys)
tty.setcbreak(keys)
text = open(name).read()
out = open('/dev/tty', 'w')
out.write('\\x1b[?1049h\\x1b[H' + text.split('\\n')[0] + '\\n-- press w to rename, q to quit --'); out.flush()
key = keys.read(1)
if key == b'w':
    open(name, 'w').write('renamed' + text[text.index('\\n'):])
out.write('\\x1b[?1049l'); out.flush()
termios.tcsetattr(keys, termios.TCSADRAIN, before)
"""
# As sudo: the password comes from the controlling terminal and nowhere else, without echo.
SUDO = """#!/usr/bin/env python3
import sys, termios
try:
    terminal = open('/dev/tty', 'r+b', buffering=0)
except OSError:
    sys.exit('stand-in: a terminal is required to read the password')
quiet = before = termios.tcgetattr(terminal)
quiet = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
termios.tcsetattr(terminal, termios.TCSAFLUSH, quiet)
terminal.write(b'[stand-in] password for you: ')
word = terminal.readline().strip()
termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
print('\\nSorry, try again' if word != b'open' else '\\nroot')
"""
# As `npm init`: one question after the other, each without a line end.
QUESTIONS = """
read -rp 'package name: (work) ' name
read -rp 'version: (1.0.0) ' version
read -rp 'Is this OK? (yes) ' sure
echo "{\\"name\\": \\"$name\\"}" > package.json
"""
# As `top`: draws its screen again and again until a key comes.
MONITOR = """
printf '\\033[?1049h'
n=0
until read -rsn1 -t 0.1 key; do n=$((n+1)); printf '\\033[H\\033[2JPID %s\\nbeat %s' $$ $n; done
printf '\\033[?1049l'
echo left by $key
"""
MENU = """
import curses
def main(s):
    s.addstr(3, 5, 'choose: y/n'); s.refresh()
    key = s.getkey(); s.addstr(5, 5, 'you chose ' + key); s.refresh(); s.getkey()
curses.wrapper(main)
print('left')
"""


def needs(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"`{program}` is not installed")


def script(room: Room, name: str, text: str) -> None:
    room.write(name, text).chmod(0o755)


async def finished(room: Room, outcome: Outcome) -> Outcome:
    """The result once it is over."""
    for _ in range(8):
        if outcome.data["live"]:
            outcome = await room.type(outcome.data["session"], yield_ms=30_000)
    assert not outcome.data["live"], outcome.text
    return outcome


async def test_a_repl_is_talked_to_line_by_line(room: Room) -> None:
    first = await room.exec("python3 -q -i", tty=True, yield_ms=500)
    assert (first.status, first.terminal) == (OutcomeStatus.YIELDED, "t1")
    await sees(room, first, ">>>")
    await sees(room, await room.type("t1", "6*7\n"), "42")
    await room.type("t1", "while True: pass\n\n")
    await sees(room, await room.type("t1", "\u0003"), "KeyboardInterrupt")
    await sees(room, await room.type("t1", "3+4\n"), "7")
    ended = await finished(room, await room.type("t1", eof=True, yield_ms=30_000))
    assert (ended.exit_code, ended.status, ended.terminal) == (0, OutcomeStatus.SUCCEEDED, None)


@pytest.mark.parametrize("editor", ["vim", "stand-in"])
async def test_a_rebase_with_an_editor(room: Room, editor: str) -> None:
    repository(room.workspace, commits=3)
    command = "vim -u NONE -n"
    if editor == "vim":
        needs("vim")
    else:
        script(room, "edit.py", EDITOR)
        command = str(room.policy.workspace / "edit.py")
    environment = {"GIT_SEQUENCE_EDITOR": "sed -i -e '1s/pick/reword/'", "GIT_EDITOR": command}
    room.policy = replace(room.policy, git_lane=True)
    shown = await room.exec("git rebase -i HEAD~2", tty=True, env=environment, yield_ms=1_500)
    if editor == "vim":  # it prompts after a long file name
        shown = await room.type("t1", "\n")
    await sees(room, shown, "c2")
    keys = ("ggcwrenamed\u001b", ":wq\n") if editor == "vim" else ("w",)
    for typed in keys:
        shown = await room.type("t1", typed, yield_ms=500)
    assert (await finished(room, shown)).exit_code == 0
    log = await room.exec("git log --format=%s")
    assert body(log.text).split("\n") == ["c3", "renamed", "c1"]


@pytest.mark.parametrize("tty", [False, True])
async def test_an_editor_nobody_chose_fails_at_once(room: Room, tty: bool) -> None:
    repository(room.workspace, commits=3)
    room.policy = replace(room.policy, git_lane=True)
    for command in (
        "git rebase -i HEAD~2",
        "git commit --amend",
        "crontab -e",
        "${EDITOR:-vi} f",
        "$VISUAL f",
    ):
        outcome = await room.exec(command, tty=tty, yield_ms=3_000)
        assert outcome.exit_code not in (0, None), (command, outcome.text)


async def test_less_shows_its_screen_and_quits(room: Room) -> None:
    needs("less")
    room.write("long.txt", "".join(f"line {number}\n" for number in range(1, 200)))
    first = await room.exec("less long.txt", tty=True, yield_ms=700)
    assert "line 24" not in await sees(room, first, "line 23")
    assert "[screen now]" in await sees(room, await room.type("t1", " ", yield_ms=500), "line 46")
    assert (await finished(room, await room.type("t1", "q"))).exit_code == 0


async def test_top_shows_processes_and_quits(room: Room) -> None:
    needs("top")
    await sees(room, await room.exec("top", tty=True, yield_ms=1_000), "PID")
    assert (await finished(room, await room.type("t1", "q"))).exit_code == 0


async def test_a_screen_that_is_drawn_again_and_again_is_shown_as_it_stands(room: Room) -> None:
    script(room, "monitor.sh", MONITOR)
    first = await room.exec("bash monitor.sh", tty=True, yield_ms=600)
    shown = await sees(room, first, "beat ")
    assert "[screen now]\nPID" in shown
    assert len(shown) < 1_000, "frames are not piled up"
    ended = await room.type("t1", "q")
    for _ in range(20):  # a `read` of bash whose time is over in this moment loses the key
        if ended.data["live"]:
            ended = await room.type("t1", "q")
    assert "left by q" in ended.text


async def test_npm_init_is_answered_to_its_end(room: Room) -> None:
    needs("npm")
    outcome = await room.exec("npm init --no-update-notifier", tty=True, yield_ms=1_000)
    await sees(room, outcome, "package name:")
    for _ in range(20):  # it takes no answer before its question
        if outcome.data["live"]:
            outcome = await room.type("t1", "\n", yield_ms=400)
    assert outcome.exit_code == 0, outcome.text
    assert (room.workspace / "package.json").exists()


@pytest.mark.parametrize("tty", [False, True])
async def test_questions_without_a_line_end_are_seen_and_answered(room: Room, tty: bool) -> None:
    script(room, "questions.sh", QUESTIONS)
    how = {"tty": True} if tty else {"stdin": True}
    outcome = await room.exec("bash questions.sh", yield_ms=500, **how)
    if tty:  # bash asks on terminals only
        await sees(room, outcome, "package name: (work)")
    for answer, asked in (("mine\n", "version"), ("\n", "Is this OK?"), ("\n", "")):
        outcome = await room.type("t1", answer, yield_ms=500)
        assert not tty or asked in outcome.text
    assert (await finished(room, outcome)).exit_code == 0
    assert (room.workspace / "package.json").read_text() == '{"name": "mine"}\n'


async def test_questions_nobody_answers_end_at_once(room: Room) -> None:
    script(room, "questions.sh", QUESTIONS)
    assert (await room.exec("bash questions.sh", yield_ms=5_000)).exit_code is not None


@pytest.mark.parametrize("tty", [False, True])
async def test_sudo_does_not_hang(room: Room, tty: bool) -> None:
    needs("sudo")
    outcome = await room.exec("sudo -k true", tty=tty, yield_ms=3_000)
    assert outcome.exit_code not in (0, None)


async def test_a_password_is_asked_on_the_own_terminal_of_the_command(room: Room) -> None:
    script(room, "ask.py", SUDO)
    refused = await room.exec("./ask.py", yield_ms=3_000)
    assert refused.exit_code == 1
    assert "a terminal is required" in refused.text
    asked = await room.exec("./ask.py", tty=True, yield_ms=500)
    await sees(room, asked, "password for you:")
    answer = await finished(room, await room.type(asked.terminal, "open\n"))
    assert body(answer.text).strip() == "root", "the password is not echoed"


async def test_a_curses_program(room: Room) -> None:
    script(room, "menu.py", MENU)
    await sees(room, await room.exec("python3 menu.py", tty=True, yield_ms=800), "choose: y/n")
    await sees(room, await room.type("t1", "y"), "you chose y")
    await sees(room, await room.type("t1", "x"), "left")


@pytest.mark.parametrize("client", ["curl", "python3"])
async def test_a_server_is_reached_by_a_later_call(room: Room, client: str) -> None:
    needs(client)
    if not room.probe.shared_network:
        pytest.skip("; ".join(room.probe.lost))
    room.write("page.txt", "served")
    server = await room.exec("python3 -u -m http.server 8124 --bind 127.0.0.1 & echo started", yield_ms=250)
    assert server.terminal == "t1"
    await sees(room, server, "Serving")
    fetch = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8124/page.txt').read().decode())"
    command = "curl -s http://127.0.0.1:8124/page.txt" if client == "curl" else f'python3 -c "{fetch}"'
    assert body((await room.exec(command)).text) == "served"
    await room.type("t1", signal="KILL", yield_ms=250)


async def test_a_server_and_its_client_share_a_terminal(room: Room) -> None:
    room.write("index.html", "it works")
    await room.exec("bash --norc", tty=True, yield_ms=300)
    await room.type("t1", "python3 -m http.server 8123 >/dev/null 2>&1 &\n")
    fetch = "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8123/').read())\"\n"
    seen = ""
    for _ in range(20):
        seen += (await room.type("t1", fetch)).text
        if "it works" in seen:
            break
    assert "b'it works'" in seen
    await room.type("t1", signal="KILL")
