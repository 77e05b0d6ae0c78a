"""Pacing, pausing, single steps, stopping, and calls at step boundaries."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from pico_gz.bridge.adapter_runner import AdapterPhase, RegisteredAdapter
from pico_gz.bridge.autopilots import AutopilotGroup
from pico_gz.bridge.clock import FreeRunning, Lockstep, Pacer, TimeMode, speed_of
from pico_gz.bridge.fleet_stepper import FleetStepper, HookList
from pico_gz.bridge.free_running import FreeFleet, Tell
from pico_gz.bridge.published import BridgeState, FleetView
from pico_gz.errors import ConfigError, LockstepError

log = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_WAIT_S = 30.0


class StepBoundary:
    """Runs calls from other threads between steps, in order.

    A lock would not do: a loop that runs flat out takes it again before anybody else gets it.
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
            result.cancel()  # told to have failed, it must not happen later
            raise LockstepError(
                f"The step under way has not ended for {_MAX_WAIT_S:.0f} s."
            ) from None

    def later(self, change: Callable[[], Any]) -> None:
        """Carry out ``change`` between two steps without waiting for it."""
        result: Future[Any] = Future()
        result.add_done_callback(_tell_failure)
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


def _tell_failure(result: Future[Any]) -> None:
    """Nobody waits for this result, so nobody else would say that there is none."""
    error = result.exception()
    if error is not None:
        log.error("A change between two steps failed: %s", error, exc_info=error)


IDLE_PERIOD_S = 0.02  # while paused or waiting, peers are served this often

_ACTIVE = (BridgeState.RUNNING, BridgeState.PAUSED)


class RunLoop:
    """Runs the step cycle at the pace of a clock until told otherwise.

    ``pause``, ``resume``, ``stop`` and ``ask_steps`` may be called from any thread; the rest
    belongs to the thread that runs, or to the moment between two steps.
    """

    def __init__(
        self,
        mode: TimeMode,
        cycle: FleetStepper,
        adapters: AdapterPhase,
        groups: list[AutopilotGroup],
        boundary: StepBoundary,
        *,
        tell: Tell,
        on_hook_failure: Callable[[str, Exception], None],
        clock: Callable[[], float],
        warn_s: float,
    ) -> None:
        self.mode = mode
        self.state = BridgeState.IDLE
        self.while_idle: HookList[int] = HookList("while paused", on_hook_failure)
        self._cycle = cycle
        self._adapters = adapters
        self._groups = groups
        self._boundary = boundary
        self._tell = tell
        self._clock = clock
        self._warn_s = warn_s
        self._pacer = Pacer()
        self._free = FreeFleet(tell)
        self._holding = threading.Lock()  # pause, resume and single steps exclude each other
        self._pause = threading.Event()
        self._stop = threading.Event()
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
        """Let time go on; single steps that were asked for and not done yet are forgotten."""
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

    def stop_requested(self) -> bool:
        """Whether the run is being stopped."""
        return self._stop.is_set()

    def ask_steps(self, count: int) -> None:
        """Have so many single steps done while paused."""
        with self._holding:
            if self._pause.is_set():
                self._steps_asked += count
        self._wake.set()

    # --- the run ----------------------------------------------------------------------------

    def run(self, end_us: int | None, until: Callable[[FleetView], bool] | None) -> None:
        """Step until ``end_us``, ``until(view)`` or ``stop``."""
        self._start()
        try:
            while not self._stop.is_set():
                self._boundary.run_queued()
                if end_us is not None and self._cycle.time_us >= end_us:
                    break
                if self._do_something() and until is not None and until(self._cycle.view):
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
        """Do one step now, whatever the pace; ``more_follow`` lets external pilots go ahead."""
        mode = self.mode
        self._cycle.run(
            mode.step_size_us,
            self.state,
            lockstep=not isinstance(mode, FreeRunning),
            move_adapters=not self._free if move_adapters is None else move_adapters,
            flat_out=more_follow and isinstance(mode, Lockstep),
        )
        self._count_wall_time()
        if self._free:
            self._free.look(self._warn_s)
            self._adapters.require_any()

    def restart_pace(self) -> None:
        """Go on at the pace from here: simulation time has jumped."""
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

    def _do_something(self) -> bool:
        """Step, idle or wait; returns whether a step was done."""
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
        for group in self._groups:
            group.service()
        self.while_idle(self._cycle.time_us)
        self._wake.wait(IDLE_PERIOD_S)
        self._wake.clear()
        self._counted_s = self._clock()  # a pause counts for nothing

    def _count_wall_time(self) -> None:
        """All that passes between two steps belongs to a run, but for pauses."""
        now_s = self._clock()
        self._cycle.stats.wall_s += now_s - self._counted_s
        self._counted_s = now_s

    def _enter(self, state: BridgeState) -> None:
        if self.state is state:
            return
        if state is BridgeState.PAUSED:
            self._count_wall_time()
        self.state = state
        self._cycle.publish_state(state)
        if state is BridgeState.RUNNING:
            self._pacer.restart()

    def _wait_until_due(self) -> bool:
        """Wait for the next step's turn; False when there is something else to look at first."""
        if isinstance(self.mode, Lockstep):
            return True
        delay_s = self._pacer.delay_s(self.mode, self._cycle.time_us, self._clock())
        if delay_s <= 0.0:
            return True
        woken = self._wake.wait(min(delay_s, IDLE_PERIOD_S))
        self._wake.clear()
        if not woken and delay_s <= IDLE_PERIOD_S:
            return True
        self.while_idle(self._cycle.time_us)
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
            for slot in self._adapters.slots.values():
                slot.missed = True  # each went at its own pace
        self.start_free_running()

    def check_lockstep(self, slot: RegisteredAdapter) -> None:
        """Fall back to free-running when this adapter cannot lockstep."""
        if not slot.adapter.supports_lockstep():
            self.fall_back(f"Adapter {slot.name} cannot lockstep.")

    def fall_back(self, why: str) -> None:
        """Go on free-running, and say so."""
        if isinstance(self.mode, FreeRunning):
            return
        factor = speed_of(self.mode) or 1.0
        self._tell("fallback", f"{why} The run goes on free-running at {factor:g}x.")
        self.set_mode(FreeRunning(factor, self.mode.step_size_us))

    def start_free_running(self) -> None:
        """Give adapters that have none a thread, in a free-running run."""
        if isinstance(self.mode, FreeRunning) and self.state in _ACTIVE:
            with self._holding:
                self._free.start(self._adapters.slots, self.mode, held=self._pause.is_set())

    def release_adapter(self, name: str) -> None:
        """End the thread of an adapter that leaves."""
        self._free.stop_one(name)
