"""Names what a run waits for when a step does not return by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pico_gz.bridge.adapter_phase import AdapterPhase
from pico_gz.bridge.cycle import StepCycle
from pico_gz.bridge.free_running import Tell
from pico_gz.bridge.in_process import InProcessPilots


class Watchdog:
    """A thread that looks every now and then whether the step under way is late."""

    def __init__(
        self,
        cycle: StepCycle,
        pilots: InProcessPilots,
        adapters: AdapterPhase,
        *,
        tell: Tell,
        clock: Callable[[], float],
        warn_s: float,
    ) -> None:
        self._cycle = cycle
        self._pilots = pilots
        self._adapters = adapters
        self._tell = tell
        self._clock = clock
        self._warn_s = warn_s
        self._told_about_s = 0.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="pico-gz-watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join(timeout=1.0)

    def _loop(self) -> None:
        while not self._closed.wait(self._warn_s / 4.0):
            self.look()

    def look(self) -> None:
        """Tell once per step that is late; never blocks."""
        started_s = self._cycle.started_s
        if not started_s or started_s == self._told_about_s:
            return
        late_s = self._clock() - started_s
        if late_s >= self._warn_s and self._tell_waiting(f"since {1000.0 * late_s:.0f} ms"):
            self._told_about_s = started_s

    def _tell_waiting(self, since: str) -> bool:
        """Tell who holds the step; False when nobody does."""
        vehicle_id, slot = self._pilots.running_id, self._adapters.waited_for
        if vehicle_id:
            text = f"Waiting for the autopilot of vehicle {vehicle_id} {since}."
            self._tell("waiting", text, vehicle_id=vehicle_id)
            return True
        if slot is not None:
            self._adapters.told.add(slot)
            self._tell("waiting", f"Waiting for {slot} {since}.", adapter=slot.name)
            return True
        return False
