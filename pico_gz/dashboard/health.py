"""Whether a run is well: steps advance or it is paused, and every vehicle has states."""

from __future__ import annotations

from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import speed_of
from pico_gz.bridge.view import BridgeState

SILENT_AFTER_S = 5.0


class Health:
    """Watches the step counter; ``look`` is called a few times per second."""

    def __init__(self, bridge: SitlBridge) -> None:
        self._bridge = bridge
        self._steps = -1
        self._moved_s = 0.0

    def look(self, now_s: float) -> None:
        """Note whether the run has moved; ``now_s`` is monotonic wall time [s]."""
        steps = self._bridge.stats.steps
        if steps != self._steps or self._bridge.is_paused():
            self._steps, self._moved_s = steps, now_s

    def problems(self, now_s: float) -> list[str]:
        """What is wrong, one sentence each; nothing when all is well."""
        self.look(now_s)
        bridge, found = self._bridge, []
        if bridge.state is BridgeState.FAILED:
            found.append("The run has failed.")
        elif not bridge.stats.steps and not bridge.is_paused():
            found.append("The run has not begun.")
        elif now_s - self._moved_s > self._patience_s():
            found.append(f"No step for {now_s - self._moved_s:.0f} s.")
        view = bridge.view
        silent = [str(i) for i in bridge.list_vehicles() if i not in view.sensors]
        if silent:
            found.append(f"No states of vehicle {', '.join(silent)}.")
        return found

    def _patience_s(self) -> float:
        """A slow-motion run may take seconds for one step."""
        mode = self._bridge.time_mode
        return max(SILENT_AFTER_S, 3.0 * mode.step_size_us / 1e6 / (speed_of(mode) or 1.0))
