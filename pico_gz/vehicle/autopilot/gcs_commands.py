"""Item lists and guided targets from the ground, and the arming checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pico_gz.core.ground_control import (
    GcsGuided,
    GcsMissions,
    MissionItem,
    MissionResult,
    MissionType,
    Mode,
    Result,
)
from pico_gz.vehicle.autopilot.context import RoverContext
from pico_gz.vehicle.autopilot.estimator import usable
from pico_gz.vehicle.autopilot.failsafe import BatteryMonitor, Failsafe
from pico_gz.vehicle.autopilot.mission import MAX_LAT_E7, MAX_LON_E7, MAX_SPEED_MPS, check_item

# ARMING_CHECK bits; bit 0 means all.
_ALL, _COMPASS, _GPS, _INS, _RC, _BATTERY = 1, 4, 8, 16, 64, 256
_CALIBRATED_SAMPLES: Final = 40


def arming_problems(rover: RoverContext, battery: BatteryMonitor, failsafe: Failsafe) -> list[str]:
    """Everything that speaks against arming now; empty when nothing does."""
    mode = rover.modes.current
    if not mode.arms:
        known = mode.number is not Mode.INITIALISING
        return [f"{mode.number.name} mode not armable" if known else "still initialising"]
    problems: list[str] = []
    if mode.needs_position and not rover.position_valid():
        problems.append(f"{mode.number.name} requires position")
    checks = int(rover.values["ARMING_CHECK"])
    if checks & _ALL:
        checks = ~0
    if checks & _INS:
        problems += _inertial(rover)
    if checks & _COMPASS and rover.values["COMPASS_USE"]:
        problems += _compass(rover)
    if checks & _GPS:
        problems += _gps(rover)
    if checks & _RC:
        problems += _radio(rover)
    if checks & _BATTERY:
        problems += _battery(rover, battery)
    if rover.fence_excess_m() > 0.0:
        problems.append("vehicle is outside the fence")
    if failsafe.gcs_lost(rover):
        problems.append("GCS failsafe on")
    return problems


def _inertial(rover: RoverContext) -> list[str]:
    estimator = rover.estimator
    if not estimator.imu_fresh(rover.now_us):
        return ["IMU not healthy"]
    if not estimator.imu_watch.gyro_credible:
        return ["gyros not healthy"]
    if not estimator.imu_watch.accel_credible:
        return ["accelerometers not healthy"]
    if estimator.tilt.samples < _CALIBRATED_SAMPLES:
        return ["gyros still settling"]
    return []


def _compass(rover: RoverContext) -> list[str]:
    estimator = rover.estimator
    if estimator.compass_us < 0:
        return ["no compass"]
    return [] if estimator.compass_healthy(rover.now_us) else ["compass not healthy"]


def _gps(rover: RoverContext) -> list[str]:
    estimator = rover.estimator
    if estimator.gps is None:
        return ["no GPS"]
    if not usable(estimator.gps) or not estimator.gps_healthy(rover.now_us):
        return ["GPS: need 3D fix"]
    return [] if rover.home.valid else ["waiting for home"]


def _radio(rover: RoverContext) -> list[str]:
    rc = rover.rc
    if not rc.seen or not rover.values["FS_THR_ENABLE"]:
        return []
    if rc.lost():
        return ["radio failsafe on"]
    return ["throttle is not neutral"] if rc.throttle() != 0.0 else []


def _battery(rover: RoverContext, battery: BatteryMonitor) -> list[str]:
    if not battery.enabled:
        return []
    needed_v = rover.values["BATT_ARM_VOLT"]
    if 0.0 < battery.voltage_v < needed_v:
        return [f"battery {battery.voltage_v:.1f} V is below {needed_v:.1f} V"]
    if battery.below("CRT"):
        return ["battery critical"]
    return ["battery low"] if battery.below("LOW") else []


_MAX_DISTANCE_M: Final = 1e6
_COUNT_PARAMETERS = {
    MissionType.MISSION: "MIS_TOTAL",
    MissionType.FENCE: "FENCE_TOTAL",
    MissionType.RALLY: "RALLY_TOTAL",
}


class MissionCommands(GcsMissions):
    """The item lists of a rover, and what a new list means for its driving."""

    def __init__(self, rover: RoverContext) -> None:
        self._rover = rover

    def items(self, kind: MissionType) -> Sequence[MissionItem]:
        return self._rover.store.items(kind)

    def check(self, kind: MissionType, item: MissionItem) -> MissionResult:
        if kind is MissionType.MISSION and item.seq == 0:
            return MissionResult.ACCEPTED
        return check_item(kind, item)

    def replace(self, kind: MissionType, items: Sequence[MissionItem]) -> MissionResult:
        rover = self._rover
        result = rover.store.replace(kind, items)
        if result is not MissionResult.ACCEPTED:
            return result
        rover.params.note(_COUNT_PARAMETERS[kind], len(items))
        if kind is MissionType.FENCE:
            rover.refresh_fence()
        elif kind is MissionType.MISSION:
            self._new_mission()
        return result

    def _new_mission(self) -> None:
        rover = self._rover
        home = rover.home
        if home.valid:
            rover.store.set_home_item(home.lat_e7, home.lon_e7, home.alt_m)
        rover.runner.reset()
        if rover.modes.current.number is Mode.AUTO:
            # The mission it was driving is gone.
            rover.modes.change(Mode.HOLD, "new mission")

    def clear(self, kind: MissionType) -> MissionResult:
        return self.replace(kind, ())

    def set_current(self, seq: int) -> Result:
        rover = self._rover
        items = rover.store.items(MissionType.MISSION)
        if not 0 <= seq < len(items):
            return Result.DENIED
        rover.runner.reset()
        if rover.modes.current.number is Mode.AUTO:
            rover.modes.auto.start_from(rover, seq)
        else:
            rover.runner.current = seq
        return Result.ACCEPTED


class GuidedCommands(GcsGuided):
    """Hands targets to GUIDED while that mode is in charge and knows where it is."""

    def __init__(self, rover: RoverContext) -> None:
        self._rover = rover

    def to_global(
        self, lat_e7: int, lon_e7: int, *, speed_mps: float | None = None, change_mode: bool = False
    ) -> Result:
        rover = self._rover
        if abs(lat_e7) > MAX_LAT_E7 or abs(lon_e7) > MAX_LON_E7:
            return Result.DENIED
        ready = self._guided_ready(change_mode)
        if ready is not Result.ACCEPTED:
            return ready
        if speed_mps is not None and not 0.0 < speed_mps <= MAX_SPEED_MPS:
            speed_mps = None
        rover.modes.guided.go_to(rover, rover.local_from_e7(lat_e7, lon_e7), speed_mps)
        return Result.ACCEPTED

    def to_local(self, north_m: float, east_m: float, *, yaw_rad: float | None = None) -> Result:
        if not (abs(north_m) <= _MAX_DISTANCE_M and abs(east_m) <= _MAX_DISTANCE_M):
            return Result.DENIED
        ready = self._guided_ready(False)
        if ready is Result.ACCEPTED:
            self._rover.modes.guided.go_to(self._rover, (north_m, east_m))
        return ready

    def velocity(
        self,
        velocity_ne_mps: tuple[float, float] | None,
        *,
        speed_mps: float | None = None,
        yaw_rate_radps: float | None = None,
        yaw_rad: float | None = None,
    ) -> Result:
        numbers = [*(velocity_ne_mps or ()), speed_mps, yaw_rate_radps, yaw_rad]
        if not all(abs(number) <= MAX_SPEED_MPS for number in numbers if number is not None):
            return Result.DENIED
        ready = self._guided_ready(False)
        if ready is not Result.ACCEPTED:
            return ready
        rover, guided = self._rover, self._rover.modes.guided
        if velocity_ne_mps is not None:
            guided.go_velocity(rover, *velocity_ne_mps)
        elif yaw_rad is not None:
            guided.go_heading(rover, yaw_rad, speed_mps or 0.0)
        else:
            guided.go_turning(rover, yaw_rate_radps or 0.0, speed_mps or 0.0)
        return Result.ACCEPTED

    def heading(self, yaw_rad: float | None, yaw_rate_radps: float | None, thrust: float) -> Result:
        numbers = (yaw_rad, yaw_rate_radps, thrust)
        if not all(abs(n) <= MAX_SPEED_MPS for n in numbers if n is not None):
            return Result.DENIED
        ready = self._guided_ready(False)
        if ready is not Result.ACCEPTED:
            return ready
        rover, guided = self._rover, self._rover.modes.guided
        if yaw_rad is not None:
            guided.go_heading(rover, yaw_rad, 0.0)
        else:
            guided.go_turning(rover, yaw_rate_radps or 0.0, 0.0)
        guided.set_throttle(min(1.0, max(-1.0, thrust)))
        return Result.ACCEPTED

    def _guided_ready(self, change_mode: bool) -> Result:
        modes = self._rover.modes
        if change_mode:
            changed = modes.change(Mode.GUIDED, "GCS")
            if changed is not Result.ACCEPTED:
                return changed
        in_auto = modes.current.number is Mode.AUTO and modes.auto.takes_targets
        if modes.current.number is not Mode.GUIDED and not in_auto:
            return Result.TEMPORARILY_REJECTED
        return Result.ACCEPTED if self._rover.position_valid() else Result.FAILED
