"""Pacing, pausing, stopping, calls at step boundaries, and the watchdog."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from pico_gz.bridge.clock import FreeRunning, Lockstep, Pacer, TimeMode, speed_of
from pico_gz.bridge.fleet_stepper import PACING, FleetStepper
from pico_gz.bridge.free_running import FreeFleet
from pico_gz.bridge.observers import HookList
from pico_gz.bridge.published import BridgeState, FleetView
from pico_gz.bridge.registered_adapter import RegisteredAdapter
from pico_gz.errors import ConfigError, LockstepError

log = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_WAIT_S: Final = 30.0


class StepBoundary:
    """Runs calls from other threads between steps, in order.

    A lock would not do: a loop that runs flat out takes it again before another thread gets it.
    """

    def __init__(self) -> None:
        self._owner: int | None = None
        self._free = threading.Event()
        self._free.set()
        self._guard = threading.RLock()
        self._queued: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()

    def claim(self) -> None:
        """The calling thread runs the loop from now on."""
        with self._guard:
            if self._owner is not None:
                raise ConfigError("This bridge is running already.")
            self._owner = threading.get_ident()
            self._free.clear()

    def release(self) -> None:
        """The loop has ended; what is still queued is carried out."""
        with self._guard:
            self.run_queued()
            self._owner = None
            self._free.set()

    def is_foreign_thread(self) -> bool:
        """Whether another thread runs the loop."""
        return self._owner is not None and self._owner != threading.get_ident()

    def wait_until_released(self, timeout_s: float) -> bool:
        """Wait for the loop to end, unless this is its own thread."""
        return True if not self.is_foreign_thread() else self._free.wait(timeout_s)

    def call(self, change: Callable[[], T]) -> T:
        """Carry out ``change`` between two steps and return its result."""
        with self._guard:
            if not self.is_foreign_thread():
                return change()
            result: Future[T] = Future()
            self._queued.put((change, result))
        try:
            return result.result(_MAX_WAIT_S)
        except TimeoutError:
            result.cancel()  # reported as failed, it must not happen later
            raise LockstepError(
                f"The step under way has not ended for {_MAX_WAIT_S:.0f} s."
            ) from None

    def later(self, change: Callable[[], Any]) -> None:
        """Carry out ``change`` between two steps without waiting for it."""
        result: Future[Any] = Future()
        result.add_done_callback(_log_failure)
        self._queued.put((change, result))

    def run_queued(self) -> None:
        """Carry out what is queued; called by the loop between steps."""
        while not self._queued.empty():
            change, result = self._queued.get()
            if not result.set_running_or_notify_cancel():
                continue
            try:
                result.set_result(change())
            except BaseException as exc:  # belongs to the thread that asked
                result.set_exception(exc)


def _log_failure(result: Future[Any]) -> None:
    """Log the failure of a change that no caller waits for."""
    error = result.exception()
    if error is not None:
        log.error("A change between two steps failed: %s", error, exc_info=error)


IDLE_PERIOD_S: Final = 0.02  # while paused or waiting, peers are served this often

_ACTIVE = (BridgeState.RUNNING, BridgeState.PAUSED)


class RunLoop:
    """Steps the fleet at the pace of a clock until it is stopped.

    ``pause``, ``resume``, ``stop`` and ``ask_steps`` may be called from any thread; the rest
    belongs to the thread that runs, or to the moment between two steps.
    """

    def __init__(
        self,
        mode: TimeMode,
        stepper: FleetStepper,
        boundary: StepBoundary,
        *,
        clock: Callable[[], float],
        stop: threading.Event,
        warn_s: float,
    ) -> None:
        self.mode = mode
        self.state = BridgeState.IDLE
        self.while_idle: HookList[int] = HookList("while paused", stepper.hook_failed)
        self._stepper = stepper
        self._boundary = boundary
        self._clock = clock
        self._warn_s = warn_s
        self._pacer = Pacer()
        self._free = FreeFleet(stepper.report)
        self._holding = threading.Lock()  # pause, resume and single steps exclude each other
        self._pause = threading.Event()
        self._stop = stop
        self._wake = threading.Event()
        self._steps_asked = 0
        self._counted_s = 0.0  # wall time is accounted for up to here

    # --- from any thread --------------------------------------------------------------------

    def pause(self) -> None:
        """Hold time after the step under way."""
        with self._holding:
            self._pause.set()
            self._free.pause()
        self._wake.set()

    def resume(self) -> None:
        """Let time pass; single steps that were asked for and not done yet are forgotten."""
        with self._holding:
            self._pause.clear()
            self._steps_asked = 0
            self._free.resume()
        self._wake.set()

    def stop(self) -> None:
        """End the run after the step under way."""
        self._stop.set()
        self._wake.set()

    def is_paused(self) -> bool:
        """Whether time is held."""
        return self._pause.is_set()

    def ask_steps(self, count: int) -> None:
        """Have so many single steps done while paused."""
        with self._holding:
            if self._pause.is_set():
                self._steps_asked += count
        self._wake.set()

    # --- the run ----------------------------------------------------------------------------

    def run(self, end_us: int | None, until: Callable[[FleetView], object] | None) -> None:
        """Step until ``end_us``, ``until(view)`` or ``stop``."""
        self._start()
        try:
            while not self._stop.is_set():
                self._boundary.run_queued()
                if end_us is not None and self._stepper.time_us >= end_us:
                    break
                if self._step_or_wait() and until is not None and until(self._stepper.view):
                    break
        except BaseException:
            self._enter(BridgeState.FAILED)
            raise
        finally:
            # Not at the start: a stop that came before the first step must count.
            self._stop.clear()
            self._free.stop()
        if not self._pause.is_set():
            self._count_wall_time()
        self._enter(BridgeState.STOPPED)

    def step_many(self, count: int) -> None:
        """Do so many steps now, whatever the pace."""
        self._counted_s = self._clock()
        for left in range(count, 0, -1):
            self.step_once(more_follow=left > 1)
            self._boundary.run_queued()

    def step_once(self, *, move_adapters: bool | None = None, more_follow: bool = False) -> None:
        """Do one step now, whatever the pace; ``more_follow`` lets external autopilots go ahead."""
        mode = self.mode
        self._stepper.step(
            mode.step_size_us,
            self.state,
            wait=not isinstance(mode, FreeRunning),
            move_adapters=not self._free if move_adapters is None else move_adapters,
            more_follow=more_follow and isinstance(mode, Lockstep),
        )
        self._count_wall_time()
        if self._free:
            self._free.look(self._warn_s)
            self._stepper.require_any()

    def restart_pace(self) -> None:
        """Keep the pace from here: simulation time has jumped."""
        self._pacer.restart()

    def close(self) -> None:
        """Stop, and end free-running threads."""
        self.stop()
        self._free.stop()

    def _start(self) -> None:
        self._pacer.restart()
        self._counted_s = self._clock()
        self.state = BridgeState.RUNNING
        self.start_free_running()

    def _step_or_wait(self) -> bool:
        """Step, idle or wait for the next turn; returns whether a step was done."""
        if self._take_single_step():
            self._enter(BridgeState.PAUSED)
            self.step_once(move_adapters=True)
            return True
        if self._pause.is_set():
            self._idle()
            return False
        if not self._wait_until_due():
            return False
        self._enter(BridgeState.RUNNING)
        self.step_once(more_follow=True)
        return True

    def _take_single_step(self) -> bool:
        if not self._steps_asked:
            return False
        with self._holding:
            if not self._steps_asked:
                return False
            self._steps_asked -= 1
            return True

    def _idle(self) -> None:
        self._enter(BridgeState.PAUSED)
        for wire in self._stepper.wires:
            wire.service()
        self.while_idle(self._stepper.time_us)
        self._wake.wait(IDLE_PERIOD_S)
        self._wake.clear()
        self._counted_s = self._clock()  # a pause counts for nothing

    def _count_wall_time(self) -> None:
        """All that passes between two steps belongs to a run, but for pauses."""
        now_s = self._clock()
        self._stepper.stats.wall_s += now_s - self._counted_s
        self._counted_s = now_s

    def _enter(self, state: BridgeState) -> None:
        if self.state is state:
            return
        if state is BridgeState.PAUSED:
            self._count_wall_time()
        self.state = state
        self._stepper.publish_state(state)
        if state is BridgeState.RUNNING:
            self._pacer.restart()

    def _wait_until_due(self) -> bool:
        """Wait for the next step's turn; False when there is something else to look at first."""
        if isinstance(self.mode, Lockstep):
            return True
        delay_s = self._pacer.delay_s(self.mode, self._stepper.time_us, self._clock())
        if delay_s <= 0.0:
            return True
        self._stepper.busy_with = PACING
        woken = self._wake.wait(min(delay_s, IDLE_PERIOD_S))
        self._stepper.busy_with = None
        self._wake.clear()
        if not woken and delay_s <= IDLE_PERIOD_S:
            return True
        self.while_idle(self._stepper.time_us)
        return False

    # --- the kind of clock --------------------------------------------------------------------

    def set_mode(self, mode: TimeMode) -> None:
        """Change the clock, between two steps."""
        was_free = isinstance(self.mode, FreeRunning)
        self.mode = mode
        self._pacer.restart()
        if was_free or isinstance(mode, FreeRunning):
            self._free.stop()
        if was_free:
            for slot in self._stepper.adapters.values():
                slot.missed = True  # each went at its own pace
        self.start_free_running()

    def check_lockstep(self, slot: RegisteredAdapter) -> None:
        """Fall back to free-running when this adapter cannot lockstep."""
        if not slot.adapter.supports_lockstep():
            self.fall_back(f"Adapter {slot.name} cannot lockstep.")

    def fall_back(self, why: str) -> None:
        """Continue free-running, and report it."""
        if isinstance(self.mode, FreeRunning):
            return
        factor = speed_of(self.mode) or 1.0
        self._stepper.report("fallback", f"{why} The run continues free-running at {factor:g}x.")
        self.set_mode(FreeRunning(factor, self.mode.step_size_us))

    def start_free_running(self) -> None:
        """Give adapters that have none a thread, in a free-running run."""
        if isinstance(self.mode, FreeRunning) and self.state in _ACTIVE:
            with self._holding:
                self._free.start(self._stepper.adapters, self.mode, held=self._pause.is_set())

    def release_adapter(self, name: str) -> None:
        """End the thread of an adapter that leaves."""
        self._free.stop_one(name)


class Watchdog:
    """A thread that names what a run waits for when a step does not return by itself."""

    def __init__(self, stepper: FleetStepper, *, clock: Callable[[], float], warn_s: float) -> None:
        self._stepper = stepper
        self._clock = clock
        self._warn_s = warn_s
        self._reported_s = 0.0  # the start of the step that was reported last
        self._closed = threading.Event()
        self._own_thread = threading.Thread(target=self._loop, name="pico-gz-watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._own_thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._own_thread.join(timeout=1.0)

    def _loop(self) -> None:
        while not self._closed.wait(self._warn_s / 4.0):
            self.look()

    def look(self) -> None:
        """Report once per step that is late; never blocks."""
        stepper = self._stepper
        started_s = stepper.started_s
        if not started_s or started_s == self._reported_s:
            return
        late_s = self._clock() - started_s
        if late_s < self._warn_s:
            return
        since = f"since {1000.0 * late_s:.0f} ms"
        vehicle_id, slot = stepper.running_id, stepper.waited_for
        if vehicle_id:
            text = f"Waiting for the autopilot of vehicle {vehicle_id} {since}."
            stepper.report("waiting", text, vehicle_id=vehicle_id)
        elif slot is not None:
            stepper.warned.add(slot)
            stepper.report("waiting", f"Waiting for {slot} {since}.", adapter=slot.name)
        else:
            return
        self._reported_s = started_s
