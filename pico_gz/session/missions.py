"""Missions of built-in vehicles: loaded before the run, started as soon as they may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pico_gz.autopilot.api import GroundControlled, MissionItem, MissionType, Result
from pico_gz.errors import ConfigError
from pico_gz.local_frame import LocalFrame
from pico_gz.messages import Pose
from pico_gz.simulator.ops import SCALAR

NAV_WAYPOINT = 16
DEMO_SIDE_M = 8.0
_RETRY_US = 500_000
# So many tries are made in silence between two that say what is missing.
_QUIET_TRIES = 20
_PREARM_CHECK = 1 << 28  # MAV_SYS_STATUS_PREARM_CHECK


class MissionStarter:
    """Arms vehicles and starts their missions; asks again until the arming checks pass."""

    def __init__(self, vehicles: Sequence[GroundControlled]) -> None:
        self._vehicles = tuple(vehicles)
        self._waiting = list(vehicles)
        self._next_try_us = 0
        self._tries = 0

    def restart(self) -> None:
        """Start all missions again, as at the beginning."""
        self._waiting = list(self._vehicles)
        self._tries = 0

    def save_state(self) -> dict[str, Any]:
        """Who still waits, as plain values."""
        waiting = [number for number, v in enumerate(self._vehicles) if v in self._waiting]
        return {"waiting": waiting, "next_try_us": self._next_try_us, "tries": self._tries}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        self._waiting = [self._vehicles[number] for number in state["waiting"]]
        self._next_try_us, self._tries = state["next_try_us"], state["tries"]

    def __call__(self, now_us: int) -> None:
        """Try whoever has not started yet; at most twice per simulated second."""
        if not self._waiting or now_us < self._next_try_us:
            return
        self._next_try_us = now_us + _RETRY_US
        self._tries += 1
        aloud = self._tries % _QUIET_TRIES == 0
        self._waiting = [vehicle for vehicle in self._waiting if not _start(vehicle, aloud=aloud)]


def _start(vehicle: GroundControlled, *, aloud: bool) -> bool:
    """Whether its mission runs; refusals are said to everybody, so mostly none is provoked."""
    if not aloud:
        told = vehicle.telemetry()
        if not told.armed and not told.sensors_healthy & _PREARM_CHECK:
            return False
    return vehicle.arm() is Result.ACCEPTED and vehicle.start_mission() is Result.ACCEPTED


def load_items(
    vehicle: GroundControlled, kind: MissionType, items: Sequence[MissionItem], label: str
) -> None:
    """Give a vehicle its mission, fence or rally points; nothing for an empty list.

    Raises:
        ConfigError: the autopilot does not take them.
    """
    if not items:
        return
    result = vehicle.replace_items(kind, items)
    if result != 0:
        raise ConfigError(f"{label} does not take its {kind.name.lower()}: {result.name.lower()}.")


def demo_square(pose: Pose, frame: LocalFrame, side_m: float = DEMO_SIDE_M) -> list[MissionItem]:
    """A square north and east of where a vehicle starts, ending there; item 0 is home."""
    corners = ((0.0, 0.0), (side_m, 0.0), (side_m, side_m), (0.0, side_m), (0.0, 0.0))
    items = []
    for seq, (north_m, east_m) in enumerate(corners):
        lat_deg, lon_deg, alt_m = frame.geodetic_from_ned(
            SCALAR, pose.north_m + north_m, pose.east_m + east_m, 0.0
        )
        items.append(
            MissionItem(
                seq=seq,
                command=NAV_WAYPOINT,
                frame=0 if seq == 0 else 3,
                lat_e7=round(lat_deg * 1e7),
                lon_e7=round(lon_deg * 1e7),
                alt_m=alt_m if seq == 0 else 0.0,
            )
        )
    return items
