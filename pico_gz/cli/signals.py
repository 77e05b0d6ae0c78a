"""Ctrl-C and SIGTERM: stop cleanly the first time, at once the second."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from pico_gz.cli.exits import ExitCode

_EXIT_CODES = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}

# Two seconds after the signal all must be over: this long a step may still take, and this
# long the last words.
_PATIENCE_S = 1.5
_LAST_WORDS_S = 0.4


class StopOnSignal:
    """Calls ``stop`` on the first signal and ends the process on the second.

    A step that hangs in foreign code would keep the run from stopping: ``last_words`` are said
    without it then, and the process ends.

    Attributes:
        exit_code: what the shell should see; 0 while no signal came.
    """

    def __init__(
        self, stop: Callable[[], None], last_words: Callable[[], None] = lambda: None
    ) -> None:
        self._stop = stop
        self._last_words = last_words
        self._before: dict[int, Any] = {}
        self._patience = _daemon_timer(_PATIENCE_S, self._leave)
        self.exit_code = 0

    def __enter__(self) -> StopOnSignal:
        for number in _EXIT_CODES:
            self._before[number] = signal.signal(number, self._received)
        # A terminal that closes must not end a run in the middle of a step.
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        self._patience.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.exit_code:
            os._exit(self.exit_code)
        self.exit_code = _EXIT_CODES[signal.Signals(number)]
        self._patience.start()
        self._stop()

    def _leave(self) -> None:
        _daemon_timer(_LAST_WORDS_S, lambda: os._exit(self.exit_code)).start()
        try:
            _tell("The step under way does not end: left without it.")
            self._last_words()
            sys.stdout.flush()
        except Exception as exc:  # the process ends, whatever they run into
            _tell(f"There is no summary: {type(exc).__name__}: {exc}")
        finally:
            os._exit(self.exit_code)


def _daemon_timer(delay_s: float, call: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(delay_s, call)
    timer.daemon = True
    return timer


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
