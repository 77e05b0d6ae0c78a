"""The wire's statements on frames and motion, tried live."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from pico_gz.errors import DecodeError
from pico_gz.testing.conformance_probe import NEUTRAL, QUIET_S, Probe
from pico_gz.testing.conformance_result import SilentPeerError, SkipCheckError, require
from pico_gz.wire.servo import encode_servo
from pico_gz.wire.state import StateRecord, decode_state

_BURST = 50
_SILENCE_S = 2.0
_SIXTEEN_BITS = 1 << 16


def connects(probe: Probe, timeout_s: float) -> str:
    """Statement 1, and the first contact: the first frame goes out twice (statement 8)."""
    probe.frame += 1
    probe.send_frame()
    probe.frame -= 1
    return f"reply of {len(probe.step(timeout_s=timeout_s))} bytes"


def gives_readable_records(probe: Probe) -> bool:
    """Whether there is anything in a record to judge; statement 20 says what is wrong with it."""
    try:
        probe.record()
    except DecodeError:
        return False
    except SilentPeerError:
        pass  # the first check will say so
    return True


def has_no_empty_replies(probe: Probe) -> str:
    """Statement 8; judged over everything that has come so far."""
    count = probe.empty_replies
    require(count == 0, f"{count} replies of 0 bytes, before the first IMU sample")
    return "none"


def discards_other_magic(probe: Probe) -> str:
    """Statement 3. Who takes over the address of any sender says its record to that one."""
    before_s = probe.time_s()
    stranger = probe.open()
    probe.send(bytes(40), stranger)
    replies = probe.listen(QUIET_S, stranger)
    require(not replies, f"magic 0 from another port got {len(replies)} replies")
    _require_one_step(probe, before_s, "magic 0 moved time")
    return f"no answer in {QUIET_S} s"


def discards_wrong_sizes(probe: Probe) -> str:
    """Statement 4."""
    _require_lockstep(probe)
    for size in (8, 41):
        before_s = probe.time_s()
        probe.frame += 1
        packet = encode_servo(1000, probe.frame, NEUTRAL) + b"\0"
        probe.send(packet[:size])
        probe.listen(QUIET_S)
        _require_one_step(probe, before_s, f"{size} bytes with the right magic moved time")
    return "8 and 41 bytes ignored"


def counts_32_bits(probe: Probe) -> str:
    """Statement 5: frames that differ in their upper half only are two frames."""
    before_s = probe.time_s()
    first = probe.frame
    probe.frame += _SIXTEEN_BITS - 1
    after_s = probe.time_s()
    require(after_s > before_s, f"frame {probe.frame} after {first} moved no time: 16 bits?")
    return f"{first} and {probe.frame} differ"


def repeats_its_record(probe: Probe) -> str:
    """Statement 7."""
    _require_lockstep(probe)
    before_s = probe.time_s()
    probe.drain()
    probe.send_frame((2000,) * 16)
    again = [reply for reply in probe.listen_for_any() if reply]
    require(bool(again), "a repeated frame was not answered")
    times_s = {decode_state(reply).timestamp_s for reply in again}
    require(times_s == {before_s}, "a repeated frame moved time")
    _require_one_step(probe, before_s, "a repeated frame moved time")
    return "same record"


def survives_a_restart(probe: Probe) -> str:
    """Statement 9."""
    before_s = probe.time_s()
    probe.frame = -1
    times_s = [before_s, *(probe.time_s() for _ in range(3))]
    require(_rise(times_s), f"times after a restart: {_listed(times_s)} s")
    return "goes on"


def accepts_a_gap(probe: Probe) -> str:
    """Statement 10."""
    before_s = probe.time_s()
    probe.frame += 50
    times_s = [before_s, probe.time_s(), probe.time_s()]
    require(_rise(times_s), f"times after a gap: {_listed(times_s)} s")
    return "goes on"


def takes_the_newest(probe: Probe) -> str:
    """Statement 11: of packets that queue up only the newest counts.

    A simulator that is as quick as the packets come never has a queue; one that still works off
    old packets after the last has left, and makes a step of each, has one.
    """
    _require_lockstep(probe)
    probe.step()
    probe.drain()
    start = probe.records
    for _ in range(_BURST):
        probe.frame += 1
        probe.send_frame()
    probe.drain()
    at_once = probe.records - start
    steps = _steps_until_quiet(probe, start)
    late = steps - at_once
    require(steps > 0, f"{_BURST} packets at once made no step")
    require(
        steps < _BURST or late <= _BURST // 2,
        f"{_BURST} packets at once: each was a step, {late} of them after the last was sent",
    )
    probe.send_frame()
    probe.listen(QUIET_S)
    require(probe.records - start == steps, "the newest of several packets was not taken")
    if steps >= _BURST:
        raise SkipCheckError("it is as quick as packets come; none had to queue")
    return f"{_BURST} packets at once, steps made: {steps}"


def _steps_until_quiet(probe: Probe, start: int) -> int:
    """How many records there are since ``start``, when no new ones come any more."""
    steps = -1
    for _ in range(_BURST):
        if probe.records - start == steps:
            break
        steps = probe.records - start
        probe.listen_for_any()
    return probe.records - start


def answers_from_its_port(probe: Probe) -> str:
    """Statement 16; judged over everything that has come so far."""
    port = probe.target[1]
    others = sorted(f"{host}:{number}" for host, number in probe.senders if number != port)
    require(not others, f"replies come from {', '.join(others[:3])}, not from port {port}")
    return f"port {port}"


def follows_the_sender(probe: Probe) -> str:
    """Statement 17."""
    probe.step()
    old, probe.socket = probe.socket, probe.open()
    try:
        probe.frame = -1
        probe.step()
    except BaseException:
        probe.socket = old
        raise
    stray = [reply for reply in probe.listen(QUIET_S, old) if reply]
    require(not stray, f"{len(stray)} records still go to the old port")
    return "answers the new port"


def makes_one_record_per_frame(probe: Probe) -> str:
    """Statement 30."""
    _require_lockstep(probe)
    probe.step()
    probe.listen(QUIET_S)
    before = probe.records
    count = 20
    for _ in range(count):
        probe.step()
    probe.listen(QUIET_S)
    seen = probe.records - before
    require(seen == count, f"{seen} records for {count} frames")
    return f"{count} for {count}"


def waits_for_us(probe: Probe) -> str:
    """Statement 40, seen from the other side: in lockstep a silent autopilot stops time."""
    before_s = probe.time_s()
    again = len(probe.listen(_SILENCE_S))
    moved_s = probe.time_s() - before_s
    require(
        moved_s <= 3.0 * probe.longest_step_s,
        f"{_SILENCE_S:.0f} s of silence moved time by {moved_s:.3f} s: no lockstep",
    )
    return f"time stood still, record sent {again} times again"


def _require_lockstep(probe: Probe) -> None:
    if not probe.waits_for_frames:
        raise SkipCheckError("its time does not wait for frames")


def _require_one_step(probe: Probe, before_s: float, complaint: str) -> None:
    """The next frame must be the only step since ``before_s``; in lockstep only."""
    if probe.waits_for_frames:
        moved_s = probe.time_s() - before_s
        require(moved_s < 1.5 * probe.longest_step_s, f"{complaint} ({moved_s:.4f} s in one frame)")


def _rise(times_s: list[float]) -> bool:
    return all(a < b for a, b in itertools.pairwise(times_s))


def _listed(times_s: list[float]) -> str:
    return ", ".join(f"{time_s:.4f}" for time_s in times_s)


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
