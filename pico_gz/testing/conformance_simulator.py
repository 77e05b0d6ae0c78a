"""The checklist for a simulator: the wire's statements, tried live."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import NamedTuple

from pico_gz.errors import DecodeError
from pico_gz.testing.autopilot_twin import SubstringParser, Value
from pico_gz.testing.conformance import (
    NEUTRAL,
    QUIET_S,
    CheckResult,
    Outcome,
    Probe,
    Report,
    SilentPeerError,
    SkipCheckError,
    require,
    require_timeout,
    resolve,
    run_check,
)
from pico_gz.wire.datagrams import Network, UdpNetwork
from pico_gz.wire.servo import encode_servo
from pico_gz.wire.state import MAX_REPLY_BYTES, decode_state
from pico_gz.wire.state_record import StateRecord

# Once a simulator has answered, one that needs longer than this has stopped.
ANSWER_S = 5.0

_BURST = 50
_SILENCE_S = 2.0
_SIXTEEN_BITS = 1 << 16
_WINDOW = 50
# Simulated time [s].
_MOVE_S = 0.5
_SETTLE_S = 2.5
_STANDS_MPS = 0.05
_STANDS_RADPS = 0.05
# Wheels slip and contacts jitter; a pulse that is not limited is worth 20 %.
_SAME_SHARE = 0.08

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORD = re.compile(r"[^\s\[\]{},:\"]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_BLANK = re.compile(rb"\s[:\[]|:\s")

_Check = tuple[int, str, Callable[[Probe], str]]
# Filled by the decorators below: what is tried on the peer, in this order, and what is judged
# afterwards by everything that was received meanwhile.
_TRIED: list[_Check] = []
_JUDGED: list[_Check] = []


def _tried(number: int, title: str) -> Callable[[Callable[[Probe], str]], Callable[[Probe], str]]:
    """Register a check that exchanges datagrams with the peer."""

    def register(check: Callable[[Probe], str]) -> Callable[[Probe], str]:
        _TRIED.append((number, title, check))
        return check

    return register


def _judged(number: int, title: str) -> Callable[[Callable[[bytes], str]], Callable[[bytes], str]]:
    """Register a check of a record's text; it is made of every record that was kept."""

    def register(check: Callable[[bytes], str]) -> Callable[[bytes], str]:
        def check_all(probe: Probe) -> str:
            _require_records(probe)
            return [check(record) for record in probe.kept][-1]

        _JUDGED.append((number, title, check_all))
        return check

    return register


def check_simulator(
    host: str,
    port: int,
    *,
    timeout_s: float = 5.0,
    report: Report | None = None,
    network: Network | None = None,
) -> list[CheckResult]:
    """Run the checklist against a simulator that speaks the plugin's wire.

    Args:
        host: where it is.
        port: of one vehicle's plugin.
        timeout_s: how long to wait for its first record; later ones have ``ANSWER_S`` at most.
        report: takes a line of progress every few seconds.
        network: to reach it by.

    Raises:
        ConfigError: an unknown host, or a port or time that cannot be.
    """
    require_timeout(timeout_s)
    target = resolve(host, port)
    answer_s = min(timeout_s, ANSWER_S)
    probe = Probe(target, network or UdpNetwork(), answer_s=answer_s, report=report)
    try:
        return sorted(_run_all(probe, timeout_s), key=lambda result: result.number)
    finally:
        probe.close()


def _run_all(probe: Probe, timeout_s: float) -> list[CheckResult]:
    title = "a packet of 40 bytes with magic 18458 is answered"
    contact = run_check(1, title, lambda: _connect(probe, timeout_s))
    results = [contact]
    reason = ""
    if contact.outcome is not Outcome.PASS:
        reason = "it gives no record"
    elif not _gives_readable_records(probe):
        reason = "its records cannot be read, see 20"
    for number, title, check in _TRIED:
        probe.note(f"Checking {number}, {title} ...")
        if reason:
            results.append(CheckResult(number, title, Outcome.SKIP, reason))
            continue
        results.append(_run(number, title, check, probe))
        if results[-1].outcome is Outcome.FAIL and not probe.answers():
            reason = f"it gives no records any more, since check {number}"
    return results + [_run(*check, probe) for check in _JUDGED]


def _run(number: int, title: str, check: Callable[[Probe], str], probe: Probe) -> CheckResult:
    return run_check(number, title, lambda: check(probe))


def _connect(probe: Probe, timeout_s: float) -> str:
    """The first contact: the first frame goes out twice (statement 8)."""
    probe.frame += 1
    probe.send_frame()
    probe.frame -= 1
    return f"reply of {len(probe.step(timeout_s=timeout_s))} bytes"


def _gives_readable_records(probe: Probe) -> bool:
    """Whether there is anything in a record to judge; check 20 reports what is wrong with it."""
    try:
        probe.record()
    except DecodeError:
        return False
    except SilentPeerError:
        pass  # the first check will report it
    return True


# --- tried live, in this order: what can leave a simulator in a strange state comes last -------


@_tried(29, "timestamps rise by the physics step")
def _steps_evenly(probe: Probe) -> str:
    if not probe.waits_for_frames:
        raise SkipCheckError("its time does not wait for frames")
    times_s = [probe.time_s() for _ in range(_WINDOW)]
    steps_s = [b - a for a, b in itertools.pairwise(times_s)]
    low_s, high_s = min(steps_s), max(steps_s)
    require(high_s - low_s < 1e-6, f"steps from {low_s:.6f} to {high_s:.6f} s")
    require(0.0 < low_s < 0.1, f"a step of {low_s:.3f} s")
    return f"{low_s * 1e3:.3f} ms"


@_tried(30, "one new record per new frame")
def _makes_one_record_per_frame(probe: Probe) -> str:
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


@_tried(23, "at rest accel_body is [0, 0, -9.8]")
def _rests(probe: Probe) -> str:
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


@_tried(28, "a left turn gives a negative gyro z")
def _turns_left(probe: Probe) -> str:
    _come_to_rest(probe)
    motion = _drive(probe, _turn(1400, 1600))
    if abs(motion.yaw_rate_radps) < 0.01:
        raise SkipCheckError("SERVO1 below and SERVO3 above neutral do not turn this vehicle")
    require(motion.yaw_rate_radps < 0.0, f"left turn has gyro z {motion.yaw_rate_radps:.3f}")
    return f"gyro z {motion.yaw_rate_radps:.2f} rad/s"


@_tried(12, "PWM 0 moves nothing")
def _stands_without_output(probe: Probe) -> str:
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


@_tried(14, "PWM 900 and 2100 count as 1000 and 2000")
def _limits_pulses(probe: Probe) -> str:
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


@_tried(7, "a repeated frame gets the last record again")
def _repeats_its_record(probe: Probe) -> str:
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


@_tried(10, "a jump of the frame count is accepted")
def _accepts_a_gap(probe: Probe) -> str:
    before_s = probe.time_s()
    probe.frame += 50
    times_s = [before_s, probe.time_s(), probe.time_s()]
    require(_rise(times_s), f"times after a gap: {_listed(times_s)} s")
    return "continues"


@_tried(11, "of queued packets the newest counts")
def _takes_the_newest(probe: Probe) -> str:
    """Of packets that queue up only the newest counts.

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


@_tried(3, "any other magic is discarded without a reply")
def _discards_other_magic(probe: Probe) -> str:
    """Who takes over the address of any sender says its record to that one."""
    before_s = probe.time_s()
    stranger = probe.open()
    probe.send(bytes(40), stranger)
    replies = probe.listen(QUIET_S, stranger)
    require(not replies, f"magic 0 from another port got {len(replies)} replies")
    _require_one_step(probe, before_s, "magic 0 moved time")
    return f"no answer in {QUIET_S} s"


@_tried(4, "a size that does not fit the magic is discarded")
def _discards_wrong_sizes(probe: Probe) -> str:
    _require_lockstep(probe)
    for size in (8, 41):
        before_s = probe.time_s()
        probe.frame += 1
        packet = encode_servo(1000, probe.frame, NEUTRAL) + b"\0"
        probe.send(packet[:size])
        probe.listen(QUIET_S)
        _require_one_step(probe, before_s, f"{size} bytes with the right magic moved time")
    return "8 and 41 bytes ignored"


@_tried(5, "frame_count has 32 bits")
def _counts_32_bits(probe: Probe) -> str:
    """Frames that differ in their upper half only are two frames."""
    before_s = probe.time_s()
    first = probe.frame
    probe.frame += _SIXTEEN_BITS - 1
    after_s = probe.time_s()
    require(after_s > before_s, f"frame {probe.frame} after {first} moved no time: 16 bits?")
    return f"{first} and {probe.frame} differ"


@_tried(40, "in lockstep, silence moves no time")
def _waits_for_us(probe: Probe) -> str:
    """Seen from the other side: in lockstep a silent autopilot stops time."""
    before_s = probe.time_s()
    again = len(probe.listen(_SILENCE_S))
    moved_s = probe.time_s() - before_s
    require(
        moved_s <= 3.0 * probe.longest_step_s,
        f"{_SILENCE_S:.0f} s of silence moved time by {moved_s:.3f} s: no lockstep",
    )
    return f"time stood still, record sent {again} times again"


@_tried(9, "a lower frame count is a restart, and accepted")
def _survives_a_restart(probe: Probe) -> str:
    before_s = probe.time_s()
    probe.frame = -1
    times_s = [before_s, *(probe.time_s() for _ in range(3))]
    require(_rise(times_s), f"times after a restart: {_listed(times_s)} s")
    return "continues"


@_tried(17, "an autopilot on another port is followed")
def _follows_the_sender(probe: Probe) -> str:
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


# --- judged by everything that was received meanwhile ---------------------------------------------


@_judged(18, "one line feed at each end, none inside")
def check_framing(reply: bytes) -> str:
    require(reply[:1] == b"\n", "no line feed at the beginning")
    require(len(reply) > 1 and reply[-1:] == b"\n", "no line feed at the end")
    require(b"\n" not in reply[1:-1], "a line feed inside")
    return "one line feed at each end"


@_judged(19, "no blank beside a colon or before a bracket")
def check_compact(reply: bytes) -> str:
    require(_BLANK.search(reply[1:-1]) is None, "a blank beside a colon or before a bracket")
    return "no blanks"


@_judged(20, "all mandatory keys, as ArduPilot reads them")
def check_keys(reply: bytes) -> str:
    """ArduPilot finds all keys, and reads what a JSON parser reads."""
    record = decode_state(reply)
    expected: dict[str, Value] = {
        "timestamp": record.timestamp_s,
        "imu.gyro": record.imu.gyro_frd_radps,
        "imu.accel_body": record.imu.accel_frd_mps2,
        "position": record.position_ned_m,
        "velocity": record.velocity_ned_mps,
    }
    for release, newer in (("4.6", False), ("4.7", True)):
        parser = SubstringParser(release_47=newer)
        accepted = parser.feed(reply)
        # A vector that breaks the search off after the attitude is accepted, with stale values.
        complaint = parser.state.complaint or ("" if accepted else "no record between line feeds")
        require(not complaint, f"ArduPilot {release}: {complaint}")
        for key, value in expected.items():
            seen = parser.state.values.get(key)
            require(seen == value, f"ArduPilot {release} reads {key} as {seen}, not {value}")
    return "read by 4.6 and 4.7"


@_judged(21, "velocity precedes velocity_wind")
def check_wind_order(reply: bytes) -> str:
    wind = reply.find(b'"velocity_wind"')
    if wind < 0:
        raise SkipCheckError("it sends no wind")
    require(0 <= reply.find(b'"velocity"') < wind, "velocity_wind comes first")
    return "velocity first"


@_judged(22, "numbers are finite and plain")
def check_numbers(reply: bytes) -> str:
    text = _STRING.sub('""', reply.decode("utf-8", "replace"))
    for word in _WORD.findall(text):
        if word in ("true", "false"):
            continue
        shown = word[:20]
        require(word[0] in "-0123456789", f"{shown!r} starts with neither digit nor minus")
        require(_NUMBER.fullmatch(word) is not None, f"{shown!r} is no plain number")
        require(math.isfinite(float(word)), f"{shown!r} is not finite")
    return "finite, plain"


@_judged(31, "a reply is below 1400 bytes")
def check_size(reply: bytes) -> str:
    require(len(reply) < MAX_REPLY_BYTES, f"{len(reply)} bytes")
    return f"{len(reply)} bytes"


def _has_no_empty_replies(probe: Probe) -> str:
    count = probe.empty_replies
    require(count == 0, f"{count} replies of 0 bytes, before the first IMU sample")
    _require_records(probe)
    return "none"


def _answers_from_its_port(probe: Probe) -> str:
    _require_records(probe)
    port = probe.target[1]
    others = sorted(f"{host}:{number}" for host, number in probe.senders if number != port)
    require(not others, f"replies come from {', '.join(others[:3])}, not from port {port}")
    return f"port {port}"


_JUDGED += [
    (8, "no reply is empty", _has_no_empty_replies),
    (16, "replies leave from the port that was spoken to", _answers_from_its_port),
]


# --- what the checks use ------------------------------------------------------------------------


def _require_records(probe: Probe) -> None:
    if not probe.kept:
        raise SkipCheckError("it gives no record")


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


class _Motion(NamedTuple):
    """How a vehicle moves: speed over ground [m/s] and yaw rate, right turn positive [rad/s]."""

    speed_mps: float
    yaw_rate_radps: float

    def stands(self) -> bool:
        """Whether it is as good as at rest."""
        return self.speed_mps < _STANDS_MPS and abs(self.yaw_rate_radps) < _STANDS_RADPS


def _turn(left_us: int, right_us: int) -> tuple[int, ...]:
    """Skid steering on SERVO1 and SERVO3 or SERVO2; on a car the left one steers."""
    return (left_us, right_us, right_us, *NEUTRAL[3:])


def _drive(probe: Probe, pwm_us: tuple[int, ...]) -> _Motion:
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


def _motion(records: list[StateRecord]) -> _Motion:
    count = len(records)
    return _Motion(
        sum(math.hypot(*r.velocity_ned_mps[:2]) for r in records) / count,
        sum(r.imu.gyro_frd_radps[2] for r in records) / count,
    )


def _mean_accel(records: list[StateRecord]) -> tuple[float, float, float]:
    sums = [sum(axis) for axis in zip(*(r.imu.accel_frd_mps2 for r in records), strict=True)]
    return sums[0] / len(records), sums[1] / len(records), sums[2] / len(records)


def _are_same(a: float, b: float) -> bool:
    return abs(a - b) <= _SAME_SHARE * max(abs(a), abs(b)) + 0.02
