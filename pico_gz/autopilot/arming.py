"""Whether the rover may be armed, with reasons that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pico_gz.autopilot.battery import BatteryMonitor
from pico_gz.autopilot.origin import usable

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext
    from pico_gz.autopilot.failsafe import Failsafe

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
