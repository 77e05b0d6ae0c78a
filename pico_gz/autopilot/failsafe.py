"""What the rover does by itself when something goes wrong."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from pico_gz.autopilot.angles import RAD_PER_DEG, sincos
from pico_gz.autopilot.api import Mode, Result
from pico_gz.autopilot.battery import BatteryMonitor
from pico_gz.autopilot.sensor_news import SensorNews
from pico_gz.state import Stateful

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext

_CONTINUE_IN_AUTO = 2
_CRASH_DISARM = 2
_EKF_CHECKS = 10
_CRASH_US = 2_000_000
_CRASH_THROTTLE = 0.05
_CRASH_MPS = 0.08
_CRASH_RADPS = 0.08
_FENCE_FAR_M = 100.0
_FENCE_AGAIN_M = 20.0
_BATTERY_CRITICAL = "Battery critical"


class Action(IntEnum):
    """What FS_ACTION, FENCE_ACTION and BATT_FS_* mean, in ArduPilot's numbers."""

    NONE = 0
    RTL = 1
    HOLD = 2
    SMART_RTL_OR_RTL = 3
    SMART_RTL_OR_HOLD = 4
    TERMINATE = 5


_FALLBACKS: dict[Action, tuple[Mode, ...]] = {
    Action.RTL: (Mode.RTL, Mode.HOLD),
    Action.HOLD: (Mode.HOLD,),
    Action.SMART_RTL_OR_RTL: (Mode.SMART_RTL, Mode.RTL, Mode.HOLD),
    Action.SMART_RTL_OR_HOLD: (Mode.SMART_RTL, Mode.HOLD),
}


def act(rover: RoverContext, action: int, cause: str) -> None:
    """Carry out a failsafe action; a mode that refuses falls back to the next."""
    rover.rc.release()
    if action == Action.TERMINATE:
        rover.disarm(cause)
        return
    for mode in _FALLBACKS.get(Action(action), ()):
        if rover.modes.change(mode, cause) is Result.ACCEPTED:
            return


class Failsafe(Stateful):
    """Watches radio, ground station, estimator, battery, fence and crashes; 10 times a second.

    Attributes:
        gcs_us: time of the last heartbeat of SYSID_MYGCS, -1 before any.
        since_us: per cause, since when it lasts; absent when it does not.
        fired: causes whose action has been taken and that still last.
        armed: what the rover was when last looked at.
    """

    __slots__ = _state_fields = ("armed", "crash_since_us", "ekf_count", "ekf_fired",
                                 "fence_fired_m", "fired", "gcs_us", "news",
                                 "since_us")  # fmt: skip

    def __init__(self) -> None:
        self.gcs_us = -1
        self.since_us: dict[str, int] = {}
        self.fired: list[str] = []
        self.ekf_count = 0
        self.ekf_fired = False
        self.crash_since_us = -1
        self.fence_fired_m = 0.0
        self.armed = False
        self.news = SensorNews()

    def check(self, rover: RoverContext, battery: BatteryMonitor) -> None:
        """Look at everything once."""
        if rover.armed and not self.armed:
            # What went wrong while nothing could move has to be acted on now.
            self.fired.clear()
        self.armed = rover.armed
        self._check_links(rover)
        self.news.check(rover)
        self._check_estimator(rover)
        self._check_battery(rover, battery)
        self._check_fence(rover)
        self._check_crash(rover)

    # --- radio and ground station ---------------------------------------------------------

    def gcs_lost(self, rover: RoverContext) -> bool:
        """Whether a ground station was there, is gone, and should not be."""
        values = rover.values
        silent_us = rover.now_us - self.gcs_us
        silent = self.gcs_us >= 0 and silent_us > values["FS_GCS_TIMEOUT"] * 1e6
        return silent and values["FS_GCS_ENABLE"] > 0

    def _check_links(self, rover: RoverContext) -> None:
        radio = int(rover.values["FS_THR_ENABLE"])
        if not rover.rc.seen and "Radio" in self.fired:
            # Its action gave the overrides back: nothing returned, there is none any more.
            self.fired.remove("Radio")
        self._link(rover, "Radio", radio, radio > 0 and rover.rc.lost())
        self._link(rover, "GCS", int(rover.values["FS_GCS_ENABLE"]), self.gcs_lost(rover))

    def _link(self, rover: RoverContext, cause: str, enable: int, bad: bool) -> None:
        if not self._lasts(rover, cause, bad, rover.values["FS_TIMEOUT"]):
            return
        mode = rover.modes.current.number
        stays = mode is Mode.AUTO and enable == _CONTINUE_IN_AUTO
        held = mode is Mode.HOLD and not int(rover.values["FS_OPTIONS"]) & 1
        if rover.armed and not stays and not held and mode not in (Mode.RTL, Mode.SMART_RTL):
            act(rover, int(rover.values["FS_ACTION"]), f"{cause} failsafe")

    def _lasts(self, rover: RoverContext, cause: str, bad: bool, seconds: float) -> bool:
        """True once, when a cause has lasted long enough; tells when it comes and goes."""
        if not bad:
            self.since_us.pop(cause, None)
            if cause in self.fired:
                self.fired.remove(cause)
                rover.say(6, f"{cause} failsafe cleared")
            return False
        since_us = self.since_us.setdefault(cause, rover.now_us)
        if cause in self.fired or rover.now_us - since_us < seconds * 1e6:
            return False
        self.fired.append(cause)
        rover.say(4, f"{cause} failsafe")
        return True

    # --- estimator ------------------------------------------------------------------------

    def _check_estimator(self, rover: RoverContext) -> None:
        estimator = rover.estimator
        limit = rover.values["FS_EKF_THRESH"]
        ratios = (
            estimator.heading.compass_ratio,
            estimator.position.velocity_ratio,
            estimator.position.position_ratio,
        )
        lost = rover.home.valid and not rover.position_valid()
        broken = not estimator.imu_healthy(rover.now_us)
        bad = lost or broken or sum(ratio > limit for ratio in ratios) >= 2
        self.ekf_count = min(_EKF_CHECKS, self.ekf_count + 1) if bad else 0
        if self.ekf_count < _EKF_CHECKS:
            if self.ekf_fired and not bad:
                self.ekf_fired = False
                rover.say(6, "EKF failsafe cleared")
            return
        action = int(rover.values["FS_EKF_ACTION"])
        if self.ekf_fired or action == 0 or not rover.armed:
            return
        self.ekf_fired = True
        why = "position lost" if lost else "IMU failed" if broken else "variances too large"
        rover.say(2, f"EKF failsafe: {why}")
        if action == 1 and rover.modes.current.needs_position:
            act(rover, Action.HOLD, "EKF failsafe")

    # --- battery --------------------------------------------------------------------------

    def _check_battery(self, rover: RoverContext, battery: BatteryMonitor) -> None:
        if not battery.enabled:
            return
        values = rover.values
        for level, cause in (("CRT", _BATTERY_CRITICAL), ("LOW", "Battery low")):
            if level == "LOW" and _BATTERY_CRITICAL in self.fired and values["BATT_FS_CRT_ACT"]:
                # The graver failsafe has acted; the lesser one must not undo that.
                continue
            bad = battery.below(level) or cause in self.fired
            if self._lasts(rover, cause, bad, values["BATT_LOW_TIMER"]) and rover.armed:
                act(rover, int(values[f"BATT_FS_{level}_ACT"]), cause)

    # --- fence ----------------------------------------------------------------------------

    def _check_fence(self, rover: RoverContext) -> None:
        values, fence = rover.values, rover.fence
        if not values["FENCE_ENABLE"] or not rover.home.valid or not rover.position_valid():
            fence.note(-1.0)
            return
        home = (rover.home.north_m, rover.home.east_m)
        excess_m = fence.excess_m(
            rover.here(), home, int(values["FENCE_TYPE"]), values["FENCE_RADIUS"]
        )
        began = fence.note(excess_m)
        if not fence.breached:
            self.fence_fired_m = 0.0
            return
        if not began and excess_m < self.fence_fired_m + _FENCE_AGAIN_M:
            return
        self.fence_fired_m = excess_m
        rover.say(4, "Fence breached")
        action = int(values["FENCE_ACTION"])
        if rover.armed and action:
            act(rover, Action.HOLD if excess_m > _FENCE_FAR_M else action, "fence breach")

    # --- crash ----------------------------------------------------------------------------

    def _check_crash(self, rover: RoverContext) -> None:
        values, estimator = rover.values, rover.estimator
        enable = int(values["FS_CRASH_CHECK"])
        if not rover.armed or enable == 0:
            self.crash_since_us = -1
            return
        angle = values["CRASH_ANGLE"]
        tipped = angle > 0.0 and estimator.tilt.down_z < sincos(angle * RAD_PER_DEG)[1]
        stuck = (
            rover.modes.current.autonomous
            and abs(rover.outputs.throttle) > _CRASH_THROTTLE
            and abs(estimator.position.speed_mps) < _CRASH_MPS
            and abs(estimator.turn_rate_radps) < _CRASH_RADPS
        )
        if not stuck and not tipped:
            self.crash_since_us = -1
            return
        if self.crash_since_us < 0:
            self.crash_since_us = rover.now_us
        if tipped or rover.now_us - self.crash_since_us >= _CRASH_US:
            self.crash_since_us = -1
            rover.say(2, "Crash: going to HOLD")
            rover.modes.change(Mode.HOLD, "crash")
            if enable == _CRASH_DISARM:
                rover.disarm("crash")
