"""Failsafes: battery, sensors, links, fence."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from pico_gz.core.ground_control import Mode, Result
from pico_gz.core.portable_math import RAD_PER_DEG, sincos
from pico_gz.core.snapshot import Snapshot

if TYPE_CHECKING:
    from pico_gz.vehicle.autopilot.context import RoverContext
    from pico_gz.vehicle.platform.platform import SitlPlatform


_ADC_FULL_V: Final = 3.3
_ADC_MAX: Final = 4095.0
_LIMITS = {level: (f"BATT_{level}_VOLT", f"BATT_{level}_MAH") for level in ("LOW", "CRT")}
_MAH_PER_AS: Final = 1000.0 / 3600.0


class BatteryMonitor(Snapshot):
    """Voltage through the ADC, current, and the charge that has been drawn."""

    __slots__ = ("_params", "consumed_mah", "current_a", "last_us", "voltage_v")
    _state_fields = ("consumed_mah", "current_a", "last_us", "voltage_v")

    def __init__(self, params: Mapping[str, float]) -> None:
        self._params = params
        self.voltage_v = 0.0
        self.current_a = 0.0
        self.consumed_mah = 0.0
        self.last_us = -1

    @property
    def enabled(self) -> bool:
        """Whether BATT_MONITOR asks for it."""
        return self._params["BATT_MONITOR"] > 0

    def update(self, platform: SitlPlatform, now_us: int) -> None:
        """Read voltage and current; a few times a second is enough."""
        scale = _ADC_FULL_V * self._params["BATT_VOLT_MULT"] / _ADC_MAX
        self.voltage_v = platform.read_battery_adc() * scale
        self.current_a = platform.read_battery_current_a()
        if self.last_us >= 0:
            self.consumed_mah += self.current_a * (now_us - self.last_us) * 1e-6 * _MAH_PER_AS
        self.last_us = now_us

    def remaining_percent(self) -> int:
        """What is left of BATT_CAPACITY, 0..100; -1 when unknown."""
        capacity = self._params["BATT_CAPACITY"]
        if not self.enabled or capacity <= 0.0:
            return -1
        return int(min(100.0, max(0.0, 100.0 * (1.0 - self.consumed_mah / capacity))))

    def below(self, level: str) -> bool:
        """Whether voltage or charge is under the ``LOW`` or ``CRT`` limit."""
        params = self._params
        if params["BATT_MONITOR"] <= 0 or self.voltage_v <= 0.0:
            return False
        volt_name, charge_name = _LIMITS[level]
        if self.voltage_v < params[volt_name]:
            return True
        reserve = params[charge_name]
        return reserve > 0.0 and params["BATT_CAPACITY"] - self.consumed_mah < reserve


_JUMP_US: Final = 1_000_000
_COMPASS_US: Final = 2_000_000


class SensorNews(Snapshot):
    """Looks at the estimator ten times a second; says everything once.

    Attributes:
        gps_lost: no believable fix for a while.
        gps_jumped: fixes come and agree with each other, but not with dead reckoning.
        compass_since_us: since when the compass is not believed, -1 when it is.
        compass_reported: people know that.
        resets: how many new headings people know of.
    """

    _state_fields = ("compass_since_us", "compass_reported", "gps_jumped", "gps_lost", "resets")
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.gps_lost = False
        self.gps_jumped = False
        self.compass_since_us = -1
        self.compass_reported = False
        self.resets = 0

    def check(self, rover: RoverContext) -> None:
        """Report what changed since the last call."""
        self._check_gps(rover)
        self._check_jump(rover)
        self._check_compass(rover)
        resets = rover.estimator.heading.resets
        if resets != self.resets:
            self.resets = resets
            rover.say(4, "Heading was wrong and is reset")

    def _check_gps(self, rover: RoverContext) -> None:
        estimator = rover.estimator
        lost = estimator.frame is not None and not estimator.gps_healthy(rover.now_us)
        if lost and not self.gps_lost:
            rover.say(4, "GPS lost, dead reckoning")
        elif self.gps_lost and not lost:
            rover.say(6, "GPS is back")
        self.gps_lost = lost

    def _check_jump(self, rover: RoverContext) -> None:
        since_us = rover.estimator.position.rejected_since_us
        jumped = 0 <= since_us <= rover.now_us - _JUMP_US and not self.gps_lost
        if jumped and not self.gps_jumped:
            rover.say(4, "GPS contradicts dead reckoning")
        elif self.gps_jumped and since_us < 0:
            rover.say(6, "GPS is believed again")
        self.gps_jumped = jumped or (self.gps_jumped and since_us >= 0)

    def _check_compass(self, rover: RoverContext) -> None:
        now_us = rover.now_us
        if not rover.estimator.compass_contradicts(now_us):
            if self.compass_reported:
                rover.say(6, "Compass is believed again")
            self.compass_since_us, self.compass_reported = -1, False
            return
        if self.compass_since_us < 0:
            self.compass_since_us = now_us
        if not self.compass_reported and now_us - self.compass_since_us >= _COMPASS_US:
            self.compass_reported = True
            rover.say(4, "Compass contradicts the heading")


_CONTINUE_IN_AUTO: Final = 2
_CRASH_DISARM: Final = 2
_EKF_CHECKS: Final = 10
_CRASH_US: Final = 2_000_000
_CRASH_THROTTLE: Final = 0.05
_CRASH_MPS: Final = 0.08
_CRASH_RADPS: Final = 0.08
_FENCE_FAR_M: Final = 100.0
_FENCE_AGAIN_M: Final = 20.0
_BATTERY_CRITICAL = "Battery critical"
_BATTERY_LOW = "Battery low"
_LOW_PERCENT: Final = 15
_FIX_SAMPLES: Final = 2000  # of the IMU: about 20 s, in which a receiver has its first fix


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


class Failsafe(Snapshot):
    """Watches radio, ground station, estimator, battery, fence and crashes; 10 times a second.

    Attributes:
        gcs_us: time of the last heartbeat of SYSID_MYGCS, -1 before any.
        since_us: per cause, since when it lasts; absent when it does not.
        fired: causes whose action has been taken and that still last.
        armed: what the rover was when last looked at.
        crashed: it stopped after a crash and is still in HOLD.
    """

    _state_fields = (
        "armed", "crash_since_us", "crashed", "ekf_count", "ekf_fired", "fence_fired_m", "fired",
        "gcs_us", "news", "since_us",
    )  # fmt: skip
    __slots__ = _state_fields

    def __init__(self) -> None:
        self.gcs_us = -1
        self.since_us: dict[str, int] = {}
        self.fired: list[str] = []
        self.ekf_count = 0
        self.ekf_fired = False
        self.crash_since_us = -1
        self.crashed = False
        self.fence_fired_m = 0.0
        self.armed = False
        self.news = SensorNews()

    def check(self, rover: RoverContext, battery: BatteryMonitor) -> None:
        """Run all checks once."""
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

    def in_force(self, rover: RoverContext) -> bool:
        """Whether any failsafe has acted and its cause still lasts."""
        return bool(self.fired) or self.ekf_fired or self.crashed or rover.fence.breached

    def alarms(self, rover: RoverContext, battery: BatteryMonitor) -> list[tuple[str, str]]:
        """What is wrong now: ``failsafe``, ``no_fix`` or ``low_battery``, each with the reason."""
        found = [
            ("failsafe", f"{cause} failsafe")
            for cause in self.fired
            if cause not in (_BATTERY_CRITICAL, _BATTERY_LOW)
        ]
        if self.ekf_fired:
            found.append(("failsafe", f"EKF failsafe: {self._estimator_fault(rover)}"))
        if self.crashed:
            found.append(("failsafe", "Crash: stopped in HOLD"))
        if rover.fence.breached:
            found.append(("failsafe", "Fence breached"))
        if self.news.gps_lost:
            found.append(("no_fix", "GPS lost, dead reckoning"))
        elif self.news.gps_jumped:
            found.append(("no_fix", "GPS contradicts dead reckoning"))
        elif rover.estimator.frame is None and rover.estimator.tilt.samples > _FIX_SAMPLES:
            found.append(("no_fix", "No GPS fix since power-on"))
        if battery.below("CRT") or _BATTERY_CRITICAL in self.fired:
            found.append(("low_battery", _BATTERY_CRITICAL))
        elif battery.below("LOW") or _BATTERY_LOW in self.fired:
            found.append(("low_battery", _BATTERY_LOW))
        elif 0 <= battery.remaining_percent() <= _LOW_PERCENT:
            found.append(("low_battery", f"{_LOW_PERCENT} % or less are left"))
        return found

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
        """True once, when a cause has lasted long enough; reports when it comes and goes."""
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
        position, limit = estimator.position, rover.values["FS_EKF_THRESH"]
        too_large = (
            (estimator.heading.compass_ratio > limit)
            + (position.velocity_ratio > limit)
            + (position.position_ratio > limit)
        )
        lost = rover.home.valid and not rover.position_valid()
        broken = not estimator.imu_healthy(rover.now_us)
        bad = lost or broken or too_large >= 2
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
        rover.say(2, f"EKF failsafe: {self._estimator_fault(rover)}")
        if action == 1 and rover.modes.current.needs_position:
            act(rover, Action.HOLD, "EKF failsafe")

    @staticmethod
    def _estimator_fault(rover: RoverContext) -> str:
        if rover.home.valid and not rover.position_valid():
            return "position lost"
        broken = not rover.estimator.imu_healthy(rover.now_us)
        return "IMU failed" if broken else "variances too large"

    # --- battery --------------------------------------------------------------------------

    def _check_battery(self, rover: RoverContext, battery: BatteryMonitor) -> None:
        if not battery.enabled:
            return
        values = rover.values
        for level, cause in (("CRT", _BATTERY_CRITICAL), ("LOW", _BATTERY_LOW)):
            if level == "LOW" and _BATTERY_CRITICAL in self.fired and values["BATT_FS_CRT_ACT"]:
                # The graver failsafe has acted; the lesser one must not undo that.
                continue
            bad = battery.below(level) or cause in self.fired
            if self._lasts(rover, cause, bad, values["BATT_LOW_TIMER"]) and rover.armed:
                act(rover, int(values[f"BATT_FS_{level}_ACT"]), cause)

    # --- fence ----------------------------------------------------------------------------

    def _check_fence(self, rover: RoverContext) -> None:
        fence, excess_m = rover.fence, rover.fence_excess_m()
        began = fence.note(excess_m)
        if not fence.breached:
            self.fence_fired_m = 0.0
            return
        if not began and excess_m < self.fence_fired_m + _FENCE_AGAIN_M:
            return
        self.fence_fired_m = excess_m
        rover.say(4, "Fence breached")
        action = int(rover.values["FENCE_ACTION"])
        if rover.armed and action:
            act(rover, Action.HOLD if excess_m > _FENCE_FAR_M else action, "fence breach")

    # --- crash ----------------------------------------------------------------------------

    def _check_crash(self, rover: RoverContext) -> None:
        values, estimator = rover.values, rover.estimator
        enable = int(values["FS_CRASH_CHECK"])
        self.crashed = self.crashed and rover.modes.current.number is Mode.HOLD
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
            self.crashed = True
            if enable == _CRASH_DISARM:
                rover.disarm("crash")
