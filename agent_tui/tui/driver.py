"""The terminal's modes: set in one place, and put back in one place on every way out.

The toolkit's driver does most of it; this adds what it forgets (pixel mouse reports), the title,
modifyOtherKeys for terminals without the kitty protocol, and the keys its table lacks.
"""

import codecs
import contextlib
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import _ansi_sequences, events
from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys
from textual.message import Message

if TYPE_CHECKING:
    from agent_tui.guardian import Guardian

# Everything that may be on, off; mouse first, so that no report lands on a prompt that echoes.
RESET = (
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?2026l\x1b[?7h"  # focus, paste, size reports, sync, wrap
    "\x1b[>4m\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m"  # keyboard protocols, alternate screen, cursor
)


@contextlib.contextmanager
def guarded(descriptor: int) -> Iterator["Guardian"]:
    """A guardian of the terminal, to be told to `watch` once our modes are set, until they are put back."""
    from agent_tui.guardian import Guardian

    guardian = Guardian(descriptor, RESET)
    try:
        yield guardian
    finally:
        guardian.dismiss()


_PUSH_TITLE, _POP_TITLE = "\x1b[22;0t", "\x1b[23;0t"
_MODIFY_KEYS, _PLAIN_KEYS = "\x1b[>4;1m", "\x1b[>4m"
_NO_PIXELS = "\x1b[?1016l"


class _MoreKeys(Enum):
    ALT_ENTER = "alt+enter"
    ALT_BACKSPACE = "alt+backspace"
    ALT_B = "alt+b"
    ALT_F = "alt+f"


_SEQUENCES = {
    "\x1b\r": _MoreKeys.ALT_ENTER,  # the table reads it as Enter, which would send the message
    "\x1b\n": _MoreKeys.ALT_ENTER,
    "\x1b\x7f": _MoreKeys.ALT_BACKSPACE,  # these as other keys of the same meaning, of which a program in a
    "\x1bb": _MoreKeys.ALT_B,  # terminal of ours would know nothing
    "\x1bf": _MoreKeys.ALT_F,
}
_OF_ONE_MACHINE = [f"\x1b{character}" for character in "1234567890-="]  # which are Alt everywhere else


def add_keys() -> None:
    """Teach the toolkit's table the sequences that it lacks; harmless when done twice."""
    table: dict[str, Any] = _ansi_sequences.ANSI_SEQUENCES_KEYS  # type: ignore[assignment]  # a dict at run time
    table.update({sequence: (key,) for sequence, key in _SEQUENCES.items()})
    for sequence in _OF_ONE_MACHINE:
        table.pop(sequence, None)


# A key as xterm's modifyOtherKeys sends it, of which the toolkit forgets Alt and misnames control characters.
_OTHER_KEY = re.compile(r"\x1b\[27;(\d+);(\d{1,6})~")
_SHIFT_ONLY = 2


def _as_kitty(found: re.Match[str]) -> str:
    """The same key in the kitty protocol; with Shift alone a character is what was typed."""
    modifiers, code = int(found[1]), int(found[2])
    if modifiers == _SHIFT_ONLY and chr(code).isprintable():
        return found[0]
    return f"\x1b[{ord(chr(code).lower())};{modifiers}u"


# What a terminal says of itself, which no key sends: attributes and status (ECMA-48, xterm's control
# sequences), colours and other OSC replies with either end.
_ANSWER = re.compile(r"\x1b\[[?>=][\d;]*[cnu]|\x1b\]\d+;[^\x07\x1b]*(?:\x07|\x1b\\)")
_ANSWER_BEGUN = re.compile(r"\x1b(?:\[[?>=][\d;]*|\]\d+;[^\x07\x1b]*\x1b?)\Z")
MAX_ANSWER_CHARS = 512  # what grows longer without an end is no answer


_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
PASTE_IDLE_S = 2.0  # a paste that stands still for so long has lost its end; no key would act before it came


class InputParser(XTermParser):
    """Takes pastes out before keys are looked for, so that no byte of a paste can be a key.

    Also takes out answers to the probe that come after it gave up, as over a slow line, in one piece or
    in several. A paste without an end is given up after `PASTE_IDLE_S` without input; what came of it is
    a paste still, and so is what then comes in one piece with its late end.
    """

    def __init__(self, debug: bool = False, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._fed_at = 0.0
        self._is_given_up = False  # a paste whose end may still come
        self._paste: list[str] | None = None  # pieces of the paste that is coming in
        self._held = ""  # what may be the beginning of a marker
        self._answer = ""  # what came of an answer so far

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            yield from super().feed(data)
            return
        self._fed_at = self._clock()
        rest, self._held = self._held + data, ""
        if self._is_given_up and _ends_a_paste(rest):
            self._paste, self._is_given_up = [], False
        while rest:
            marker = _PASTE_START if self._paste is None else _PASTE_END
            before, found, after = rest.partition(marker)
            if not found:
                before, self._held = _split_marker(rest, marker)
            if self._paste is not None:
                self._paste.append(before)
            elif before:
                yield from self._keys(before)
            rest = after
            if found and self._paste is None:
                self._paste = []
            elif found:
                yield self._end_paste()

    def _end_paste(self) -> events.Paste:
        pieces, self._paste = self._paste or (), None
        return events.Paste("".join(pieces).replace("\x00", ""))

    def tick(self) -> Iterable[Message]:
        if self._paste is not None and self._clock() - self._fed_at >= PASTE_IDLE_S:
            self._held, self._is_given_up = "", True
            yield self._end_paste()
        if self._held and self._paste is None:
            held, self._held = self._held, ""
            yield from self._keys(held)
        yield from super().tick()

    def _keys(self, data: str) -> Iterable[Message]:
        """Keys, mouse and reports, without the answers among them."""
        rest, self._answer = _ANSWER.sub("", self._answer + data), ""
        begun = _ANSWER_BEGUN.search(rest)
        if begun is not None and len(begun[0]) <= MAX_ANSWER_CHARS:
            rest, self._answer = rest[: begun.start()], begun[0]
        if rest:
            yield from super().feed(rest)

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if _ANSWER.fullmatch(sequence):  # one that was cut right after its Esc
            return [events.Key(Keys.Ignore, sequence)]
        try:
            found = list(super()._sequence_to_key_events(_OTHER_KEY.sub(_as_kitty, sequence), alt))
        except (ValueError, OverflowError):  # a number that is no character, as noise or a broken paste has
            return [events.Key(Keys.Ignore, sequence)]
        return [_with_alt(key) for key in found] if alt else found


def _with_alt(key: events.Key) -> events.Key:
    """The toolkit names Alt with a letter only; what is typed stays typed, as Esc may have been before it."""
    if not key.is_printable or key.key.startswith("alt+"):
        return key
    return events.Key(f"alt+{key.key}", key.character)


def _ends_a_paste(text: str) -> bool:
    """Whether the end of a paste comes before any beginning."""
    end = text.find(_PASTE_END)
    return end >= 0 and _PASTE_START not in text[:end]


def _split_marker(text: str, marker: str) -> tuple[str, str]:
    """`text` without the beginning of a marker at its end; a lone Esc is a key, not a beginning."""
    for size in range(len(marker) - 1, 2, -1):
        if text.endswith(marker[:size]):
            return text[:-size], text[-size:]
    return text, ""


def _take_stop(whom: int) -> None:
    """A stop by the system's own rules: none where no shell could continue it. The toolkit's own has none."""
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(whom, signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, handler)


def _is_in_front(descriptor: int) -> bool:
    """Whether the terminal is ours to use, and not that of whoever put us into the background."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False


def _lenient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """Bytes that are no text, as of a terminal in Latin-1 or with old mouse reports, must not end the
    interface."""
    return partial(codecs.getincrementaldecoder(encoding), errors="replace")


class OutputThread(WriterThread):
    """The toolkit's writer, which stays alive when the terminal is gone.

    The toolkit's own dies of the first failed write, and whoever writes after it waits for ever once its
    queue is full: the session would neither end nor be free for another process.
    """

    @property
    def is_behind(self) -> bool:
        """Whether something waits that the terminal has not taken."""
        return not self._queue.empty()

    def run(self) -> None:
        is_there = True
        while (text := self._queue.get()) is not None:
            is_there = is_there and self._written(text)
        if is_there:
            self._written("")

    def _written(self, text: str) -> bool:
        try:
            self._file.write(text)
            if not text or self._queue.qsize() == 0:
                self._file.flush()
        except (OSError, ValueError):  # ValueError: the stream was closed
            return False
        return True


class AgentDriver(LinuxDriver):
    """The toolkit's driver with our modes."""

    _is_on = False  # the terminal has our modes
    _was_continued = False  # by a signal that nothing was done about yet

    def run_input_thread(self) -> None:
        linux_driver.XTermParser = InputParser  # type: ignore[attr-defined]  # the only way in: it is named there
        linux_driver.getincrementaldecoder = _lenient_decoder  # type: ignore[assignment, attr-defined]  # as above
        super().run_input_thread()

    def start_application_mode(self) -> None:
        linux_driver.WriterThread = OutputThread  # type: ignore[attr-defined]  # the only way in, as above
        self._was_continued = True
        while self._was_continued and not self._is_on:  # it stops in here as long as it is in the background
            self._was_continued = False
            super().start_application_mode()  # type: ignore[no-untyped-call]  # the toolkit's
            self._is_on = self._writer_thread is not None and self._writer_thread.is_alive()
        self.write(_PUSH_TITLE + _MODIFY_KEYS)
        self.flush()

    def stop_application_mode(self) -> None:
        self._is_on = False
        self.write(_PLAIN_KEYS + _POP_TITLE)
        with contextlib.suppress(OSError):  # the terminal may be gone (SIGHUP)
            super().stop_application_mode()

    # --- stopped and continued: at a signal itself next to nothing, since a lock may be held ------

    def _sigtstp_application(self, *_: object) -> None:
        if self._is_on:
            self._loop.call_soon_threadsafe(self.stop)
        else:  # another program has the terminal
            _take_stop(os.getpid())

    def _sigcont_application(self, *_: object) -> None:
        self._was_continued = True
        if self._is_on:
            self._loop.call_soon_threadsafe(self._continued)

    def stop(self, *, group: bool = False) -> None:
        """Stop with the terminal as it was, with `group` also whatever waits for us in our process group,
        such as a script that started us. Where nobody could continue us it goes on at once."""
        if self._is_on:
            self.suspend_application_mode()
            _take_stop(0 if group else os.getpid())
            self._go_on()

    def _continued(self) -> None:
        """After a stop that nobody could catch (SIGSTOP), or none: the terminal may have other modes by now,
        and what it had before ours is known already."""
        if not (self._was_continued and self._is_on and _is_in_front(self.fileno)):
            return
        before = self.attrs_before
        self._is_on = False
        self.exit_event.set()
        if self._key_thread is not None:
            self._key_thread.join()
        self.exit_event.clear()
        self.write("\x1b[<u" + _PLAIN_KEYS + _POP_TITLE)  # what a start begins anew
        self.close()
        self._go_on()
        self.attrs_before = before

    def _go_on(self) -> None:
        """Whoever shows what a key decides is told that the screen was away, before any is read."""
        self.resume_application_mode()
        with self._app._context():  # which a signal has none of
            self._app.app_resume_signal.publish(self._app)

    @property
    def is_behind(self) -> bool:
        """Whether the terminal does not take what is written as fast as it comes."""
        return isinstance(self._writer_thread, OutputThread) and self._writer_thread.is_behind

    def set_mouse(self, on: bool) -> None:
        """Switch mouse reports at once."""
        if on:
            self._mouse = True
            self._enable_mouse_support()
        else:
            self._disable_mouse_support()
            self._mouse = False

    def _disable_mouse_support(self) -> None:
        if self._mouse:
            self.write(_NO_PIXELS)
        super()._disable_mouse_support()

    def _enable_mouse_pixels(self) -> None:
        """Cells are what we use."""
