"""Ctrl-C and SIGTERM: stop cleanly the first time, at once the second."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from pico_gz.cli.exits import ExitCode

_EXIT_CODES = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}


class StopOnSignal:
    """Calls ``stop`` on the first signal and ends the process on the second.

    Attributes:
        exit_code: what the shell should see; 0 while no signal came.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._before: dict[int, Any] = {}
        self.exit_code = 0

    def __enter__(self) -> StopOnSignal:
        for number in _EXIT_CODES:
            self._before[number] = signal.signal(number, self._received)
        # A terminal that closes must not end a run in the middle of a step.
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self.exit_code:
            os._exit(self.exit_code)
        self.exit_code = _EXIT_CODES[signal.Signals(number)]
        self._stop()
