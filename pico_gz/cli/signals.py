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
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave_at_once)


def usual_signals() -> None:
    """Undo ``leave_on_signal``: SIGINT raises KeyboardInterrupt again, SIGTERM ends the process."""
    usual: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    for number, handler in usual.items():
        if signal.getsignal(number) is _leave_at_once:
            signal.signal(number, handler)


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

    Attributes:
        exit_code: what the shell should see; 0 while no signal came.
    """

    def __init__(
        self,
        stop: Callable[[], None] = lambda: None,
        last_words: Callable[[], None] = lambda: None,
    ) -> None:
        self._stop = stop
        self._last_words = last_words
        self._before: dict[int, Any] = {}
        self._patience = _daemon_timer(_PATIENCE_S, self._leave)
        self._ending = threading.Lock()
        self._settled = False
        self.exit_code = 0

    def __enter__(self) -> StopOnSignal:
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

    def watch(self, stop: Callable[[], None], last_words: Callable[[], None]) -> None:
        """What to stop from now on; a signal that came before stops it at once."""
        self._stop, self._last_words = stop, last_words
        if self.exit_code:
            stop()

    def settle(self) -> None:
        """All is closed: the process ends by itself from here."""
        with self._ending:
            self._settled = True
        self._patience.cancel()

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.exit_code:
            os._exit(self.exit_code)
        self.exit_code = exit_code_of_signal(number)
        if not self._settled:
            self._patience.start()
        self._stop()

    def _leave(self) -> None:
        with self._ending:
            if self._settled:
                return
            _daemon_timer(_LAST_WORDS_S, lambda: os._exit(self.exit_code)).start()
            try:
                _write(2, "What is under way does not end: left without it.\n")
                self._last_words()
                sys.stdout.flush()
            except Exception as exc:  # the process ends, whatever they run into
                _write(2, f"There is no summary: {type(exc).__name__}: {exc}\n")
            finally:
                os._exit(self.exit_code)


def _daemon_timer(delay_s: float, call: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(delay_s, call)
    timer.daemon = True
    return timer
