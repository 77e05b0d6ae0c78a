"""Ground stations that are alive, told to the autopilot in its own time.

An autopilot counts the silence of its ground station in simulation time. At fifty times real
time a heartbeat per second is one per fifty simulated seconds, and the failsafe would trip
with the ground station in perfect health. So while a run is fast, heartbeats are repeated to
the autopilot until the ground station has really been silent for ``FS_GCS_TIMEOUT``.
"""

from __future__ import annotations

from pico_gz.autopilot.api import GroundControlled

REPEAT_US = 1_000_000
_DEFAULT_TIMEOUT_US = 5_000_000
# A run at real time jitters; only one that is clearly faster needs repetitions.
_FAST = 1.5
_FORGET_US = 60_000_000
# After such a silence a ground station is taken for one that has started anew.
_ABSENT_US = 10_000_000


class GcsPresence:
    """The ground stations one vehicle has heard."""

    def __init__(self, vehicle: GroundControlled) -> None:
        self._vehicle = vehicle
        self._heard: dict[int, tuple[int, int]] = {}

    def heartbeat(self, system_id: int, sim_us: int, wall_us: int) -> bool:
        """Take a heartbeat of ground station ``system_id``; return whether it has just come."""
        before = self._heard.get(system_id)
        self._heard[system_id] = (sim_us, wall_us)
        self._vehicle.gcs_heartbeat(system_id)
        return before is None or wall_us - before[1] > _ABSENT_US

    def repeat(self, sim_us: int, wall_us: int) -> None:
        """Repeat the heartbeats that are late only because the run is fast."""
        for system_id, (heard_sim_us, heard_wall_us) in list(self._heard.items()):
            silent_sim_us = sim_us - heard_sim_us
            silent_wall_us = wall_us - heard_wall_us
            if silent_wall_us > _FORGET_US:
                del self._heard[system_id]
            elif silent_sim_us > _FAST * silent_wall_us + REPEAT_US // 2 and (
                silent_wall_us < self._timeout_us()
            ):
                self._vehicle.gcs_heartbeat(system_id)

    def _timeout_us(self) -> int:
        info = self._vehicle.param_by_name("FS_GCS_TIMEOUT")
        return _DEFAULT_TIMEOUT_US if info is None else int(info.value * 1e6)
