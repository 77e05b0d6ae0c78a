"""How the bridge makes an adapter step: in line, or on a thread of its own."""

from __future__ import annotations

import threading
from typing import Protocol

from pico_gz.adapters.base import SimulatorAdapter
from pico_gz.errors import SimulatorTimeoutError


class Stepper(Protocol):
    """Runs one adapter's steps. ``finish`` raises ``SimulatorTimeoutError`` to be asked again."""

    def begin(self, dt_us: int) -> None:
        """Start a step, unless ``finish`` has not returned from the last one yet."""

    def finish(self, timeout_s: float) -> None:
        """Wait for the step; raises what the adapter raised."""

    def close(self) -> None:
        """Stop the thread, if there is one."""


def make_stepper(adapter: SimulatorAdapter) -> Stepper:
    """A thread costs some 50 us per step; adapters that promise to return do without."""
    return InlineStepper(adapter) if adapter.bounded_step else ThreadStepper(adapter)


class InlineStepper:
    """Steps on the calling thread; the adapter's own time-out bounds the wait."""

    def __init__(self, adapter: SimulatorAdapter) -> None:
        self._adapter = adapter
        self._dt_us = 0

    def begin(self, dt_us: int) -> None:
        """Remember what to do."""
        self._dt_us = dt_us

    def finish(self, timeout_s: float) -> None:
        """Do it."""
        self._adapter.step(self._dt_us)

    def close(self) -> None:
        """Nothing to stop."""


class ThreadStepper:
    """Steps on a daemon thread, so that an adapter that hangs holds nobody else."""

    def __init__(self, adapter: SimulatorAdapter) -> None:
        self._adapter = adapter
        self._work = threading.Condition()
        self._dt_us = 0
        self._busy = False
        self._begun = False  # until finish() has told how the step ended
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._loop, name=f"pico-gz-step-{adapter.name}", daemon=True
        )
        self._thread.start()

    def begin(self, dt_us: int) -> None:
        """Wake the thread, unless nobody knows yet how the last step ended.

        A step that ends between two looks would be done twice otherwise.
        """
        with self._work:
            if not self._begun:
                self._dt_us = dt_us
                self._begun = self._busy = True
                self._work.notify_all()

    def finish(self, timeout_s: float) -> None:
        """Wait for the thread."""
        with self._work:
            if not self._work.wait_for(lambda: not self._busy, timeout_s):
                raise SimulatorTimeoutError(
                    f"{self._adapter.name} has not finished its step.",
                    adapter=self._adapter.name,
                    vehicle_ids=self._adapter.vehicle_ids(),
                )
            self._begun = False
            error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """Ask the thread to end; one that hangs in foreign code dies with the process."""
        with self._work:
            self._closed = True
            self._work.notify_all()
        self._thread.join(timeout=0.2)

    def _loop(self) -> None:
        while True:
            with self._work:
                self._work.wait_for(lambda: self._busy or self._closed)
                if self._closed:
                    return
                dt_us = self._dt_us
            error: BaseException | None = None
            try:
                self._adapter.step(dt_us)
            except BaseException as exc:  # handed to the thread that waits in finish()
                error = exc
            with self._work:
                self._error = error
                self._busy = False
                self._work.notify_all()
