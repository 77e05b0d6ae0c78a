"""Signals: exit codes 130 and 143, at any moment of a command.

Only light modules are imported here: ``__main__`` uses it before anything else is loaded.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
# Two seconds after the signal all must be over: this long the step under way and the closing
# may take, and this long the last words.
_PATIENCE_S = 1.5
_LAST_WORDS_S = 0.4


def exit_code_of_signal(number: int) -> int:
    """What a shell shows for a process that ended by this signal."""
    return 128 + number


def leave_on_signal() -> None:
    """While the command is still being loaded, end at once with the signal's exit code."""
    for number in _NUMBERS:
        _usual[number] = signal.signal(number, _leave_at_once)


def usual_signals() -> None:
    """Undo ``leave_on_signal``."""
    for number, handler in _usual.items():
        signal.signal(number, handler)
    _usual.clear()


_usual: dict[int, Any] = {}


def _leave_at_once(number: int, frame: FrameType | None) -> None:
    code = exit_code_of_signal(number)
    if "--json" in sys.argv:
        text = f'{{"error": {{"code": {code}, "message": "Stopped.", "hint": ""}}}}\n'
        _write(1, text)
    else:
        _write(2, "Stopped before the run began.\n")
    os._exit(code)


def _write(fd: int, text: str) -> None:
    try:
        os.write(fd, text.encode())
    except OSError:  # closed; the exit code remains
        return


class StopOnSignal:
    """Calls ``stop`` on the first signal and ends the process on the second.

    What hangs (a step in foreign code, a simulator that does not start, a file that does not
    close) would keep the process from ending: ``last_words`` are said then, and it ends.

    The handler itself only writes a byte: it may interrupt the main thread while that holds a
    lock, so that all that takes one is done on a thread that was started before.

    Attributes:
        exit_code: what the shell should see; 0 while no signal came.
    """

    def __init__(
        self,
        stop: Callable[[], None] = lambda: None,
        last_words: Callable[[], None] = lambda: None,
        *,
        interrupt: bool = False,
    ) -> None:
        """Prepare it.

        Args:
            stop: ends what is under way; called on a thread of its own.
            last_words: said when that does not end in time.
            interrupt: raise KeyboardInterrupt in the main thread as well.
        """
        self._stop = stop
        self._last_words = last_words
        self._interrupt = interrupt
        self._before: dict[int, Any] = {}
        self._ending = threading.Lock()
        self._settled = threading.Event()
        self._leaving = threading.Event()
        self.exit_code = 0

    def __enter__(self) -> StopOnSignal:
        self._reader, self._writer = os.pipe()
        for loop in (self._wait_for_signal, self._wait_for_last_words):
            threading.Thread(target=loop, name="pico-gz-signals", daemon=True).start()
        for number in _NUMBERS:
            self._before[number] = signal.signal(number, self._received)
        # A terminal that closes must not end a run in the middle of a step.
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()
        for number, handler in self._before.items():
            # The command is over: a signal that comes now must not change its exit code.
            over = handler is _leave_at_once
            signal.signal(number, signal.SIG_IGN if over else handler)
        self._leaving.set()
        os.write(self._writer, _OVER)  # the reader closes both ends

    def watch(self, stop: Callable[[], None], last_words: Callable[[], None]) -> None:
        """What to stop from now on; a signal that came before stops it at once."""
        self._stop, self._last_words = stop, last_words
        if self.exit_code:
            stop()

    def settle(self) -> None:
        """All is closed: the process ends by itself from here."""
        with self._ending:
            self._settled.set()

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.exit_code:
            os._exit(self.exit_code)
        self.exit_code = exit_code_of_signal(number)
        os.write(self._writer, _CAME)
        if self._interrupt:
            raise KeyboardInterrupt

    def _wait_for_signal(self) -> None:
        said = os.read(self._reader, 1)
        if said == _CAME:
            self._stop()
            if not self._settled.wait(_PATIENCE_S):
                self._leave()
            said = os.read(self._reader, 1)
        os.close(self._reader)
        os.close(self._writer)

    def _leave(self) -> None:
        with self._ending:
            if self._settled.is_set():
                return
            self._leaving.set()
            try:
                _write(2, "What is under way does not end: left without it.\n")
                self._last_words()
                sys.stdout.flush()
            except Exception as exc:  # the process ends, whatever they run into
                _write(2, f"There is no summary: {type(exc).__name__}: {exc}\n")
            finally:
                os._exit(self.exit_code)

    def _wait_for_last_words(self) -> None:
        self._leaving.wait()
        if not self._settled.wait(_LAST_WORDS_S):
            os._exit(self.exit_code)


_CAME, _OVER = b"s", b"e"
