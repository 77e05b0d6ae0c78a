"""Ground station commands and the arming checks behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite

from pico_gz.core.ground_control import (
    MissionItem,
    MissionResult,
    MissionType,
    Mode,
    ParamInfo,
    Result,
    StatusText,
)
from pico_gz.vehicle.autopilot.context import RoverContext
from pico_gz.vehicle.autopilot.estimator import usable
from pico_gz.vehicle.autopilot.failsafe import BatteryMonitor, Failsafe
from pico_gz.vehicle.autopilot.mission import MissionState, check_item
from pico_gz.vehicle.autopilot.parameter_table import READ_ONLY

# ARMING_CHECK bits; bit 0 means all.
_ALL, _COMPASS, _GPS, _INS, _RC, _BATTERY = 1, 4, 8, 16, 64, 256
_CALIBRATED_SAMPLES = 40


def arming_problems(rover: RoverContext, battery: BatteryMonitor, failsafe: Failsafe) -> list[str]:
    """Everything that speaks against arming now; empty when nothing does."""
    mode = rover.modes.current
    if not mode.arms:
        return ["still initialising"]
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
    if rover.values["FENCE_ENABLE"] and rover.fence.breached:
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


_MAX_LAT_E7, _MAX_LON_E7 = 900_000_000, 1_800_000_000
_MAX_ALT_M = 1e5
_MAX_DISTANCE_M = 1e6
_MAX_SPEED_MPS = 100.0
_COUNT_PARAMETERS = {MissionType.MISSION: "MIS_TOTAL", MissionType.FENCE: "FENCE_TOTAL"}


class GcsCommands:
    """Mixin with the ground's commands; everything runs on the simulation thread.

    Attributes:
        _rover: the parts of the rover.
        _battery: and ``_failsafe``: watched beside the modes.
    """

    _rover: RoverContext
    _battery: BatteryMonitor
    _failsafe: Failsafe

    # --- reading --------------------------------------------------------------------------

    def drain_texts(self) -> list[StatusText]:
        """Take what it has to say since the last call."""
        texts = list(self._rover.texts)
        self._rover.texts.clear()
        return texts

    def listen(self, listener: Callable[[StatusText], None]) -> None:
        """Hear what it says as it says it, and now what nobody has taken yet.

        It takes nothing away from ``drain_texts``. There is one listener, called on the thread
        that runs the autopilot.
        """
        for text in tuple(self._rover.texts):
            listener(text)
        self._rover.on_text = listener

    def drain_reached(self) -> list[int]:
        """Take the mission items reached since the last call."""
        reached = list(self._rover.reached)
        self._rover.reached.clear()
        return reached

    # --- parameters -----------------------------------------------------------------------

    def param_count(self) -> int:
        """How many parameters there are."""
        return len(self._rover.params)

    def param_by_name(self, name: str) -> ParamInfo | None:
        """One parameter, ``None`` when there is none of that name."""
        return self._rover.params.info(name)

    def param_by_index(self, index: int) -> ParamInfo | None:
        """One parameter, ``None`` outside 0..count-1."""
        return self._rover.params.info_at(index)

    def set_param(self, name: str, value: float) -> ParamInfo | None:
        """Set it and return what holds now; a refused value leaves the old one."""
        if not self._rover.params.set(name, value) and self._rover.params.info(name):
            reason = "is read-only" if name in READ_ONLY else "out of range"
            self._rover.say(4, f"{name} refused: {reason}")
        return self._rover.params.info(name)

    def drain_sim_changes(self) -> dict[str, float]:
        """Take the ``SIM_*`` parameters set since the last call; the autopilot ignores them."""
        return self._rover.params.drain_sim_changes()

    def drain_param_changes(self) -> list[ParamInfo]:
        """Take the parameters set since the last call, by whomever."""
        return self._rover.params.drain_changes()

    def reset_params(self) -> Result:
        """Go back to the values of preset and fleet file."""
        self._rover.params.reset()
        self._rover.say(5, "Parameters reset to defaults")
        return Result.ACCEPTED

    # --- item lists -----------------------------------------------------------------------

    def items(self, kind: MissionType) -> Sequence[MissionItem]:
        """The stored list; item 0 of a mission is home."""
        return self._rover.store.items(kind)

    def check_item(self, kind: MissionType, item: MissionItem) -> MissionResult:
        """Whether this item could be stored."""
        if kind is MissionType.MISSION and item.seq == 0:
            return MissionResult.ACCEPTED
        return check_item(kind, item)

    def replace_items(self, kind: MissionType, items: Sequence[MissionItem]) -> MissionResult:
        """Store a whole list, or nothing of it."""
        rover = self._rover
        result = rover.store.replace(kind, items)
        if result is not MissionResult.ACCEPTED:
            return result
        if kind in _COUNT_PARAMETERS:
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

    def clear_items(self, kind: MissionType) -> MissionResult:
        """Empty a list."""
        return self.replace_items(kind, ())

    def set_current_item(self, seq: int) -> Result:
        """Make an item the next one to drive; at once when in AUTO."""
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

    # --- commands -------------------------------------------------------------------------

    def arm(self, *, force: bool = False) -> Result:
        """Arm, or say why not in a status text."""
        rover = self._rover
        if rover.armed:
            return Result.ACCEPTED
        problems = [] if force else arming_problems(rover, self._battery, self._failsafe)
        for problem in problems:
            rover.say(2, f"Arm: {problem}")
        if problems or not rover.modes.current.arms:
            return Result.FAILED
        rover.arm()
        return Result.ACCEPTED

    def disarm(self, *, force: bool = False) -> Result:
        """Stop the motors."""
        self._rover.disarm("forced" if force else "GCS")
        return Result.ACCEPTED

    def set_mode(self, mode: int, reason: str = "GCS") -> Result:
        """Change the mode, or say why not in a status text."""
        return self._rover.modes.change(mode, reason)

    def start_mission(self, first_seq: int = 0) -> Result:
        """Enter AUTO, at an item when one is named."""
        if first_seq and self.set_current_item(first_seq) is not Result.ACCEPTED:
            return Result.DENIED
        rover = self._rover
        finished = rover.runner.state is MissionState.COMPLETE
        if rover.modes.current.number is Mode.AUTO and finished:
            return self.set_current_item(1)
        return self.set_mode(Mode.AUTO)

    def set_home(self, lat_e7: int, lon_e7: int, alt_m: float) -> Result:
        """Make a place home."""
        placed = abs(lat_e7) <= _MAX_LAT_E7 and abs(lon_e7) <= _MAX_LON_E7
        if not placed or (lat_e7 == 0 and lon_e7 == 0) or not abs(alt_m) <= _MAX_ALT_M:
            return Result.DENIED
        if self._rover.estimator.frame is None:
            return Result.TEMPORARILY_REJECTED
        self._rover.set_home(lat_e7, lon_e7, alt_m)
        return Result.ACCEPTED

    def set_home_here(self) -> Result:
        """Make the present position home."""
        rover = self._rover
        if not rover.position_valid():
            return Result.FAILED
        lat_e7, lon_e7 = rover.e7_from_local(*rover.here())
        rover.set_home(lat_e7, lon_e7, rover.estimator.altitude.alt_m)
        return Result.ACCEPTED

    def change_speed(self, speed_mps: float) -> Result:
        """Set the speed of missions and guided points [m/s]."""
        if not 0.0 < speed_mps <= _MAX_SPEED_MPS:
            return Result.DENIED
        self._rover.speed_mps = speed_mps
        self._rover.modes.guided.point_speed_mps = speed_mps
        return Result.ACCEPTED

    def set_reverse(self, reverse: bool) -> Result:
        """Drive autonomous modes backwards, or forwards again."""
        self._rover.navigator.reversed = bool(reverse)
        return Result.ACCEPTED

    def set_paused(self, paused: bool) -> Result:
        """Stop where it is, or go on."""
        modes = self._rover.modes
        if not modes.current.autonomous:
            return Result.DENIED
        modes.paused = paused
        return Result.ACCEPTED

    def prearm_checks(self) -> Result:
        """Run the arming checks and tell the outcome in status texts."""
        problems = arming_problems(self._rover, self._battery, self._failsafe)
        for problem in problems:
            self._rover.say(4, f"PreArm: {problem}")
        if not problems:
            self._rover.say(6, "PreArm: ready")
        return Result.FAILED if problems else Result.ACCEPTED

    def calibrate(self, params: Sequence[float]) -> Result:
        """Gyro and barometer calibrate themselves while the rover stands; others are refused."""
        if self._rover.armed:
            return Result.DENIED
        wanted = [isfinite(value) and value != 0.0 for value in params]
        self_made = all(index in (0, 2) for index, want in enumerate(wanted) if want)
        if not self_made:
            return Result.UNSUPPORTED
        self._rover.say(6, "Calibration done")
        return Result.ACCEPTED

    # --- guided targets -------------------------------------------------------------------

    def guide_to_global(
        self, lat_e7: int, lon_e7: int, *, speed_mps: float | None = None, change_mode: bool = False
    ) -> Result:
        """Drive to a place; ``change_mode`` enters GUIDED first."""
        rover = self._rover
        if abs(lat_e7) > _MAX_LAT_E7 or abs(lon_e7) > _MAX_LON_E7:
            return Result.DENIED
        ready = self._guided_ready(change_mode)
        if ready is not Result.ACCEPTED:
            return ready
        if speed_mps is not None and not 0.0 < speed_mps <= _MAX_SPEED_MPS:
            speed_mps = None
        rover.modes.guided.go_to(rover, rover.local_from_e7(lat_e7, lon_e7), speed_mps)
        return Result.ACCEPTED

    def guide_to_local(
        self, north_m: float, east_m: float, *, yaw_rad: float | None = None
    ) -> Result:
        """Drive to a point relative to the EKF origin; the heading there is its own choice."""
        if not (abs(north_m) <= _MAX_DISTANCE_M and abs(east_m) <= _MAX_DISTANCE_M):
            return Result.DENIED
        ready = self._guided_ready(False)
        if ready is Result.ACCEPTED:
            self._rover.modes.guided.go_to(self._rover, (north_m, east_m))
        return ready

    def guide_velocity(
        self,
        velocity_ne_mps: tuple[float, float] | None,
        *,
        speed_mps: float | None = None,
        yaw_rate_radps: float | None = None,
        yaw_rad: float | None = None,
    ) -> Result:
        """Drive by velocity, or by speed and turn rate or heading; stops after 3 s."""
        numbers = [*(velocity_ne_mps or ()), speed_mps, yaw_rate_radps, yaw_rad]
        if not all(abs(number) <= _MAX_SPEED_MPS for number in numbers if number is not None):
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

    def guide_heading(
        self, yaw_rad: float | None, yaw_rate_radps: float | None, thrust: float
    ) -> Result:
        """Drive along a heading or with a turn rate at a throttle -1..1; stops after 3 s."""
        numbers = (yaw_rad, yaw_rate_radps, thrust)
        if not all(abs(n) <= _MAX_SPEED_MPS for n in numbers if n is not None):
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
        if modes.current.number is not Mode.GUIDED:
            return Result.TEMPORARILY_REJECTED
        return Result.ACCEPTED if self._rover.position_valid() else Result.FAILED

    # --- manual input ---------------------------------------------------------------------

    def rc_override(self, channels_us: Mapping[int, int]) -> None:
        """Let the ground move sticks, by 1-based channel [us]."""
        self._rover.rc.override(channels_us, self._rover.now_us)

    def release_rc_override(self, channels: Sequence[int]) -> None:
        """Give channels back to the receiver."""
        self._rover.rc.release(channels)

    def manual_control(self, x: float, y: float, z: float, r: float, buttons: int) -> None:
        """Steer with y and drive with z, both -1..1, as ArduRover reads a joystick."""
        values = self._rover.values
        sticks = ((int(values["RCMAP_ROLL"]), y), (int(values["RCMAP_THROTTLE"]), z))
        self.rc_override(
            {
                channel: round(1500.0 + 500.0 * min(1.0, max(-1.0, value)))
                for channel, value in sticks
                if isfinite(value)
            }
        )

    def gcs_heartbeat(self, system_id: int) -> None:
        """A ground station is alive; only SYSID_MYGCS counts for the failsafe."""
        if system_id == int(self._rover.values["SYSID_MYGCS"]):
            self._failsafe.gcs_us = self._rover.now_us
