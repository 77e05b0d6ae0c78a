"""The statements on what a vehicle does and feels, tried on a live simulator."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from pico_gz.codecs.ardupilot_state import StateRecord
from pico_gz.testing.conformance_probe import NEUTRAL, Probe
from pico_gz.testing.conformance_result import SkipCheckError, require

# Simulated time [s].
_MOVE_S = 0.5
_SETTLE_S = 2.5
_WINDOW = 50

_STANDS_MPS = 0.05
_STANDS_RADPS = 0.05
# Wheels slip and contacts jitter; a pulse that is not limited is worth 20 %.
_SAME_SHARE = 0.08


class Motion(NamedTuple):
    """How a vehicle moves: speed over ground [m/s] and yaw rate, right turn positive [rad/s]."""

    speed_mps: float
    yaw_rate_radps: float

    def stands(self) -> bool:
        """Whether it is as good as at rest."""
        return self.speed_mps < _STANDS_MPS and abs(self.yaw_rate_radps) < _STANDS_RADPS


def rests(probe: Probe) -> str:
    """Statement 23."""
    _come_to_rest(probe)
    records = [probe.record() for _ in range(_WINDOW)]
    x, y, z = _mean_accel(records)
    require(abs(z + 9.8) < 0.05, f"accel_body z is {z:.3f}, not -9.8")
    require(
        math.hypot(x, y) < 0.5, f"accel_body x, y is {x:.2f}, {y:.2f}: not level or not at rest"
    )
    spin_radps = _motion(records).yaw_rate_radps
    require(abs(spin_radps) < _STANDS_RADPS, f"turns at {spin_radps:.3f} rad/s with neutral PWM")
    return f"accel z {z:.3f} m/s^2"


def turns_left(probe: Probe) -> str:
    """Statement 28."""
    _come_to_rest(probe)
    motion = _drive(probe, _turn(1400, 1600))
    if abs(motion.yaw_rate_radps) < 0.01:
        raise SkipCheckError("SERVO1 below and SERVO3 above neutral do not turn this vehicle")
    require(motion.yaw_rate_radps < 0.0, f"left turn has gyro z {motion.yaw_rate_radps:.3f}")
    return f"gyro z {motion.yaw_rate_radps:.2f} rad/s"


def stands_without_output(probe: Probe) -> str:
    """Statement 12."""
    _come_to_rest(probe)
    if _drive(probe, _turn(1700, 1700)).stands():
        raise SkipCheckError("nothing moves this vehicle")
    _come_to_rest(probe)
    motion = _drive(probe, (0,) * 16)
    require(
        motion.stands(),
        f"PWM 0 drives it: {motion.speed_mps:.2f} m/s, {motion.yaw_rate_radps:.2f} rad/s",
    )
    return "stands"


def limits_pulses(probe: Probe) -> str:
    """Statement 14."""
    _come_to_rest(probe)
    full = _drive(probe, _turn(1000, 2000))
    _come_to_rest(probe)
    beyond = _drive(probe, _turn(900, 2100))
    if full.stands():
        raise SkipCheckError("nothing moves this vehicle")
    speeds = f"{full.speed_mps:.2f} and {beyond.speed_mps:.2f} m/s"
    rates = f"{full.yaw_rate_radps:.2f} and {beyond.yaw_rate_radps:.2f} rad/s"
    same_speed = _are_same(full.speed_mps, beyond.speed_mps)
    same_rate = _are_same(full.yaw_rate_radps, beyond.yaw_rate_radps)
    require(same_speed and same_rate, f"1000/2000 and 900/2100 differ: {speeds}, {rates}")
    return rates


def steps_evenly(probe: Probe) -> str:
    """Statement 29."""
    if not probe.waits_for_frames:
        raise SkipCheckError("its time does not wait for frames")
    times_s = [probe.time_s() for _ in range(_WINDOW)]
    steps_s = [b - a for a, b in itertools.pairwise(times_s)]
    low_s, high_s = min(steps_s), max(steps_s)
    require(high_s - low_s < 1e-6, f"steps from {low_s:.6f} to {high_s:.6f} s")
    require(0.0 < low_s < 0.1, f"a step of {low_s:.3f} s")
    return f"{low_s * 1e3:.3f} ms"


def _turn(left_us: int, right_us: int) -> tuple[int, ...]:
    """Skid steering on SERVO1 and SERVO3 or SERVO2; on a car the left one steers."""
    return (left_us, right_us, right_us, *NEUTRAL[3:])


def _drive(probe: Probe, pwm_us: tuple[int, ...]) -> Motion:
    """How it moves at the end of a while of these pulses."""
    records = [probe.record(pwm_us) for _ in range(probe.steps_in(_MOVE_S))]
    return _motion(records[-10:])


def _come_to_rest(probe: Probe) -> None:
    """Keep neutral until it stands; whether it does is for the checks to say."""
    for _ in range(probe.steps_in(_SETTLE_S) // 20):
        if _motion([probe.record() for _ in range(20)]).stands():
            break
    for _ in range(20):
        probe.step()


def _motion(records: list[StateRecord]) -> Motion:
    count = len(records)
    return Motion(
        sum(math.hypot(*r.velocity_ned_mps[:2]) for r in records) / count,
        sum(r.imu.gyro_frd_radps[2] for r in records) / count,
    )


def _mean_accel(records: list[StateRecord]) -> tuple[float, float, float]:
    sums = [sum(axis) for axis in zip(*(r.imu.accel_frd_mps2 for r in records), strict=True)]
    return sums[0] / len(records), sums[1] / len(records), sums[2] / len(records)


def _are_same(a: float, b: float) -> bool:
    return abs(a - b) <= _SAME_SHARE * max(abs(a), abs(b)) + 0.02
