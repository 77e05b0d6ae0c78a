"""Steps adapters at their own wall-clock rate, each on a thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from pico_gz.bridge.clock import FreeRunning
from pico_gz.bridge.registered_adapter import RegisteredAdapter
from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.units import US_PER_S
from pico_gz.errors import SimulatorTimeoutError, UnknownVehicleError

_RETRY_S: Final = 0.05
_REPORT_LATE_EVERY_S: Final = 10.0


class FreeRunner:
    """A thread that keeps an adapter's time at ``factor`` x wall time while it is let run.

    Only this thread calls the adapter: one that hangs in a step holds no other.
    """

    def __init__(
        self,
        slot: RegisteredAdapter,
        *,
        step_us: int,
        factor: float,
        report: Callable[..., None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slot = slot
        self._step_us = step_us
        self._period_s = step_us / US_PER_S / factor
        self._report = report
        self._clock = clock
        self._wanted: deque[Mapping[int, ActuatorCommands]] = deque(maxlen=1)  # the newest wins
        self._running = threading.Event()
        self._closed = threading.Event()
        self._resumed_s = 0.0
        self._due_s: float | None = None
        self._step_started_s = 0.0
        self._reported_s = 0.0
        self._late_reported_s: float | None = None
        self.missed_deadlines = 0
        slot.outbox = self._wanted.append
        self._own_thread = threading.Thread(
            target=self._loop, name=f"pico-gz-free-{slot.name}", daemon=True
        )
        self._own_thread.start()

    def resume(self) -> None:
        """Let time pass, from now on: not from when the thread gets its turn."""
        self._resumed_s = self._clock()
        self._running.set()

    def pause(self) -> None:
        """Hold time after the step under way."""
        self._running.clear()

    def close(self) -> None:
        """End the thread; one that hangs in foreign code dies with the process."""
        self._slot.outbox = None
        self._closed.set()
        self._running.set()
        self._own_thread.join(timeout=0.5)

    def look(self, warn_s: float) -> None:
        """Report once per step that lasts too long."""
        started_s = self._step_started_s
        if started_s and started_s != self._reported_s:
            lasted_s = self._clock() - started_s
            if lasted_s >= warn_s:
                self._reported_s = started_s
                text = f"Waiting for {self._slot} since {1000.0 * lasted_s:.0f} ms."
                self._report("waiting", text, adapter=self._slot.name)

    def _loop(self) -> None:
        slot = self._slot
        while not self._closed.is_set() and not slot.failed:
            if not self._running.wait(timeout=0.5):
                continue
            try:
                self._run_paced()
            except SimulatorTimeoutError:
                pass  # the same step again
            except Exception as exc:  # reported; given up after three in a row
                slot.count_failure()
                what = "gave up on" if slot.failed else "raised in"
                self._report(
                    "failed" if slot.failed else "error",
                    f"{type(exc).__name__} {what} free-running adapter {slot.name}: {exc}",
                    adapter=slot.name,
                    severity=3,
                )
                self._closed.wait(_RETRY_S)
            finally:
                self._step_started_s = 0.0

    def _run_paced(self) -> None:
        """Step until held or closed."""
        if self._due_s is None:
            self._due_s = self._resumed_s
        while self._running.is_set() and not self._closed.is_set():
            self._step_started_s = self._clock()
            self._step()
            self._step_started_s = 0.0
            self._due_s += self._period_s
            wait_s = self._due_s - self._clock()
            if wait_s > 0.0:
                self._closed.wait(wait_s)
            elif wait_s < -5.0 * self._period_s:
                # Too far behind to catch up: let whole periods slip and report it.
                missed = int(-wait_s / self._period_s)
                self._slip(missed)
                self._due_s += missed * self._period_s
        self._due_s = None  # time that it was held is not made up for

    def _step(self) -> None:
        adapter = self._slot.adapter
        if self._wanted:
            here = adapter.vehicle_ids()
            commands = self._wanted.popleft()
            with contextlib.suppress(UnknownVehicleError):  # one left this very moment
                adapter.send_actuators({i: c for i, c in commands.items() if i in here})
        adapter.step(self._step_us)
        self._slot.failures = 0
        self._slot.remove_leaving()

    def _slip(self, steps: int) -> None:
        slot, now_s = self._slot, self._clock()
        self.missed_deadlines += steps
        # The fleet's time has passed meanwhile; so must the time stamps.
        slot.offset_us = (slot.offset_us or 0) + steps * self._step_us
        if self._late_reported_s is None or now_s - self._late_reported_s >= _REPORT_LATE_EVERY_S:
            self._late_reported_s = now_s
            text = f"Adapter {slot.name} is too slow: {self.missed_deadlines} deadlines missed."
            self._report("late", text, adapter=slot.name)


class FreeFleet:
    """One ``FreeRunner`` per adapter; empty while the fleet is in lockstep."""

    def __init__(self, report: Callable[..., None]) -> None:
        self._report = report
        # Replaced, never changed: other threads may be going through it.
        self._runners: dict[str, FreeRunner] = {}

    def __bool__(self) -> bool:
        return bool(self._runners)

    def start(
        self, slots: Mapping[str, RegisteredAdapter], mode: FreeRunning, *, held: bool
    ) -> None:
        """Give every working adapter a thread; ``held`` leaves time standing."""
        for name, slot in slots.items():
            if name not in self._runners and not slot.failed:
                slot.stalled = False
                runner = FreeRunner(
                    slot, step_us=mode.step_size_us, factor=mode.factor, report=self._report
                )
                self._runners = {**self._runners, name: runner}
        if not held:
            self.resume()

    def resume(self) -> None:
        """Let time pass in all of them."""
        for runner in self._runners.values():
            runner.resume()

    def pause(self) -> None:
        """Hold time in all of them."""
        for runner in self._runners.values():
            runner.pause()

    def look(self, warn_s: float) -> None:
        """Report steps that last too long."""
        for runner in self._runners.values():
            runner.look(warn_s)

    def stop_one(self, name: str) -> None:
        """End one adapter's thread, if it has one."""
        runner = self._runners.get(name)
        if runner is not None:
            self._runners = {n: r for n, r in self._runners.items() if n != name}
            runner.close()

    def stop(self) -> None:
        """End all threads."""
        runners, self._runners = self._runners, {}
        for runner in runners.values():
            runner.close()
