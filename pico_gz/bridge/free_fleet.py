"""All free-running adapters of a run, started, held and ended together."""

from __future__ import annotations

from collections.abc import Mapping

from pico_gz.bridge.adapter_slot import AdapterSlot
from pico_gz.bridge.clock import FreeRunning
from pico_gz.bridge.free_running import FreeRunner, Tell


class FreeFleet:
    """One ``FreeRunner`` per adapter; empty while the fleet is in lockstep."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        # Replaced, never changed: other threads may be going through it.
        self._runners: dict[str, FreeRunner] = {}

    def __bool__(self) -> bool:
        return bool(self._runners)

    def start(self, slots: Mapping[str, AdapterSlot], mode: FreeRunning, *, held: bool) -> None:
        """Give every working adapter a thread; ``held`` leaves time standing."""
        for name, slot in slots.items():
            if name not in self._runners and not slot.failed:
                slot.stalled = False
                runner = FreeRunner(
                    slot, step_us=mode.step_size_us, factor=mode.factor, tell=self._tell
                )
                self._runners = {**self._runners, name: runner}
        if not held:
            self.resume()

    def resume(self) -> None:
        """Let time go on in all of them."""
        for runner in self._runners.values():
            runner.resume()

    def pause(self) -> None:
        """Hold time in all of them."""
        for runner in self._runners.values():
            runner.pause()

    def look(self, warn_s: float) -> None:
        """Tell of steps that last too long."""
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
