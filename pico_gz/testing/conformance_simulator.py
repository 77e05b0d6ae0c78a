"""The checklist for a simulator: plays the autopilot and judges the replies."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence

from pico_gz.codecs.ardupilot_servo import encode_servo
from pico_gz.codecs.ardupilot_state import StateRecord, decode_state
from pico_gz.testing.conformance_result import (
    CheckResult,
    Outcome,
    SkipCheckError,
    require,
    run_check,
)
from pico_gz.testing.substring_parser import SubstringParser
from pico_gz.transports.base import Address, DatagramTransport, Network
from pico_gz.transports.udp import UdpNetwork


class _Probe:
    """A client of the simulator under test: sends frames, keeps the replies."""

    def __init__(self, target: Address, network: Network, timeout_s: float) -> None:
        self._network = network
        self._target = target
        self._poller = network.poller()
        self._sockets: list[DatagramTransport] = []
        self.timeout_s = timeout_s
        self.frame = 1000
        self.socket = self.open()

    def open(self) -> DatagramTransport:
        host = "127.0.0.1" if self._target[0].startswith("127.") else "0.0.0.0"
        socket = self._network.bind(host, 0)
        self._poller.add(socket, len(self._sockets))
        self._sockets.append(socket)
        return socket

    def close(self) -> None:
        for socket in self._sockets:
            self._poller.remove(socket)
            socket.close()
        self._poller.close()

    def send(self, data: bytes, socket: DatagramTransport | None = None) -> None:
        (socket or self.socket).send_to(data, self._target)

    def replies(
        self,
        timeout_s: float,
        socket: DatagramTransport | None = None,
        *,
        all_of_them: bool = False,
    ) -> list[bytes]:
        """What arrives within a time; the first is enough unless all are wanted."""
        wanted = socket or self.socket
        found: list[bytes] = []
        until_s = self._poller.now_s() + timeout_s
        while (left_s := until_s - self._poller.now_s()) > 0.0:
            self._poller.wait(left_s)
            for candidate in self._sockets:
                while (item := candidate.receive()) is not None:
                    if candidate is wanted:
                        found.append(item[0])
            if found and not all_of_them:
                break
        return found

    def drain(self) -> None:
        self.replies(0.02, all_of_them=True)

    def step(self, left: int = 1500, right: int = 1500) -> bytes:
        """Send a new frame and return its record; repeats the frame when it gets lost."""
        self.frame += 1
        packet = encode_servo(1000, self.frame, (left, 0, right) + (0,) * 13)
        until_s = self._poller.now_s() + self.timeout_s
        while self._poller.now_s() < until_s:
            self.send(packet)
            found = [r for r in self.replies(min(0.5, self.timeout_s)) if r]
            if found:
                return found[-1]
        raise AssertionError(f"no record within {self.timeout_s:.0f} s")

    def record(self, left: int = 1500, right: int = 1500) -> StateRecord:
        return decode_state(self.step(left, right))


_SimulatorCheck = tuple[int, str, Callable[[_Probe], str]]


def check_simulator(
    host: str, port: int, *, timeout_s: float = 5.0, network: Network | None = None
) -> list[CheckResult]:
    """Run the checklist against a simulator that speaks the plugin's wire."""
    probe = _Probe((host, port), network or UdpNetwork(), timeout_s)
    try:
        results = [_run(_SIMULATOR_CHECKS[0], probe)]
        answers = results[0].outcome is Outcome.PASS
        for check in _SIMULATOR_CHECKS[1:]:
            results.append(_run(check, probe) if answers else _not_run(check))
        return results
    finally:
        probe.close()


def _run(check: _SimulatorCheck, probe: _Probe) -> CheckResult:
    number, title, function = check
    return run_check(number, title, lambda: function(probe))


def _not_run(check: _SimulatorCheck) -> CheckResult:
    return CheckResult(check[0], check[1], Outcome.SKIP, "it does not answer at all")


def _accepts_16_channels(probe: _Probe) -> str:
    return f"record of {len(probe.step())} bytes"


def _discards_foreign_magic(probe: _Probe) -> str:
    before = probe.record().timestamp_s
    other = probe.open()
    probe.send(bytes(40), other)
    require(not probe.replies(0.05, other), "a packet with magic 0 was answered")
    after = probe.record().timestamp_s
    require(after - before < 0.2, "time went on without a valid packet")
    return "no answer"


def _discards_wrong_size(probe: _Probe) -> str:
    before = probe.record().timestamp_s
    probe.frame += 1
    probe.send(encode_servo(1000, probe.frame, (1500,) * 16)[:8])
    stray = [r for r in probe.replies(0.1, all_of_them=True) if r]
    moved = [r for r in stray if decode_state(r).timestamp_s > before]
    require(not moved, "8 bytes with the right magic advanced the world")
    return "ignored"


def _counts_32_bits(probe: _Probe) -> str:
    probe.frame = max(probe.frame, 65533)
    times = [probe.record().timestamp_s for _ in range(4)]
    require(times == sorted(set(times)), f"times across 65536: {times}")
    return "65536 is a new frame"


def _repeats_its_record(probe: _Probe) -> str:
    first = probe.step()
    probe.drain()
    probe.send(encode_servo(1000, probe.frame, (2000,) * 16))
    again = [r for r in probe.replies(0.5) if r]
    require(bool(again), "a repeated frame was not answered")
    require(
        decode_state(again[0]).timestamp_s == decode_state(first).timestamp_s,
        "a repeated frame moved time",
    )
    return "same record"


def _survives_a_restart(probe: _Probe) -> str:
    probe.step()
    probe.frame = 0
    times = [probe.record().timestamp_s for _ in range(3)]
    require(times == sorted(set(times)), f"times after a restart: {times}")
    return "goes on"


def _accepts_a_gap(probe: _Probe) -> str:
    probe.step()
    probe.frame += 50
    probe.step()
    return "goes on"


def _follows_the_sender(probe: _Probe) -> str:
    probe.step()
    old, probe.socket = probe.socket, probe.open()
    try:
        probe.frame = 0
        probe.step()
    finally:
        probe.socket = old
    probe.frame += 1
    return "answered the new port"


def _frames_its_records(probe: _Probe) -> str:
    for _ in range(5):
        reply = probe.step()
        require(reply[:1] == b"\n" and reply[-1:] == b"\n", "no line feed at an end")
        require(b"\n" not in reply[1:-1], "a line feed inside")
    return "one line feed at each end"


def _writes_compactly(probe: _Probe) -> str:
    reply = probe.step()
    found = re.search(rb"\s[:\[]|:\s", reply[1:-1])
    require(found is None, "a blank beside a colon or before a bracket")
    return "no blanks"


def _has_the_mandatory_keys(probe: _Probe) -> str:
    reply = probe.step()
    for release, newer in (("4.6", False), ("4.7", True)):
        parser = SubstringParser(release_47=newer)
        require(parser.feed(reply), f"ArduPilot {release}: {parser.state.complaint}")
    return "read by 4.6 and 4.7"


def _orders_velocity_and_wind(probe: _Probe) -> str:
    reply = probe.step()
    if b'"velocity_wind":' not in reply:
        raise SkipCheckError("it sends no wind")
    velocity = reply.find(b'"velocity":')
    require(0 <= velocity < reply.index(b'"velocity_wind":'), "velocity_wind comes first")
    return "velocity first"


def _writes_plain_numbers(probe: _Probe) -> str:
    for number in re.findall(rb"[\[,:]([^\[\]{},:\"]+)", probe.step()):
        if number in (b"true", b"false"):
            continue
        require(number[:1] in b"-0123456789", f"a number starts with {number[:1]!r}")
        require(math.isfinite(float(number)), f"{number!r} is not finite")
    return "finite, no leading point"


def _rests(probe: _Probe) -> str:
    # Whatever an earlier check did, let it roll out first.
    records = [probe.record() for _ in range(400)][-50:]
    count = len(records)
    mean = [sum(r.imu.accel_frd_mps2[axis] for r in records) / count for axis in range(3)]
    require(abs(mean[2] + 9.8) < 0.05, f"accel_body z is {mean[2]:.3f}, not -9.8")
    require(math.hypot(mean[0], mean[1]) < 0.5, "not level, or not at rest")
    spin = max(abs(r.imu.gyro_frd_radps[2]) for r in records)
    require(spin < 0.05, f"turns at {spin:.3f} rad/s with neutral PWM")
    return f"accel z {mean[2]:.3f} m/s^2"


def _turns_left(probe: _Probe) -> str:
    rates = [probe.record(1400, 1600).imu.gyro_frd_radps[2] for _ in range(400)]
    slow = [probe.record() for _ in range(200)]
    require(bool(slow), "")
    if max(map(abs, rates)) < 0.01:
        raise SkipCheckError("SERVO1 and SERVO3 do not turn this vehicle; not a skid steer?")
    require(rates[-1] < 0.0, f"left turn has gyro z {rates[-1]:.3f}")
    return f"gyro z {rates[-1]:.2f} rad/s"


def _steps_evenly(probe: _Probe) -> str:
    times = [probe.record().timestamp_s for _ in range(50)]
    steps = [b - a for a, b in itertools.pairwise(times)]
    require(max(steps) - min(steps) < 1e-6, f"steps from {min(steps):.6f} to {max(steps):.6f} s")
    require(0.0 < steps[0] < 0.1, f"a step of {steps[0]:.3f} s")
    return f"{steps[0] * 1e3:.3f} ms"


def _one_record_per_frame(probe: _Probe) -> str:
    probe.drain()
    start = probe.record().timestamp_s
    new = [decode_state(r).timestamp_s for r in probe.replies(0.05, all_of_them=True) if r]
    require(all(t <= start for t in new), "a record without a frame")
    return "one each"


def _is_short(probe: _Probe) -> str:
    size = len(probe.step())
    require(size < 1400, f"{size} bytes")
    return f"{size} bytes"


def _waits_for_us(probe: _Probe) -> str:
    before = probe.record().timestamp_s
    probe.replies(2.0, all_of_them=True)
    after = probe.record().timestamp_s
    require(after - before < 0.2, f"2 s of silence moved time by {after - before:.3f} s")
    return "time stood still"


_SIMULATOR_CHECKS: Sequence[_SimulatorCheck] = (
    (1, "a packet of 40 bytes with magic 18458 is answered", _accepts_16_channels),
    (3, "any other magic is discarded without a reply", _discards_foreign_magic),
    (4, "a size that does not fit the magic is discarded", _discards_wrong_size),
    (7, "a repeated frame gets the last record again", _repeats_its_record),
    (9, "a lower frame count is a restart, and accepted", _survives_a_restart),
    (10, "a jump of the frame count is accepted", _accepts_a_gap),
    (17, "an autopilot on another port is followed", _follows_the_sender),
    (18, "one line feed at each end, none inside", _frames_its_records),
    (19, "no blank beside a colon or before a bracket", _writes_compactly),
    (20, "all mandatory keys, as ArduPilot reads them", _has_the_mandatory_keys),
    (21, "velocity precedes velocity_wind", _orders_velocity_and_wind),
    (22, "numbers are finite and start with a digit or minus", _writes_plain_numbers),
    (23, "at rest accel_body is [0, 0, -9.8]", _rests),
    (28, "a left turn gives a negative gyro z", _turns_left),
    (29, "timestamps rise by the physics step", _steps_evenly),
    (30, "one new record per new frame", _one_record_per_frame),
    (31, "a reply is below 1400 bytes", _is_short),
    (5, "frame_count has 32 bits", _counts_32_bits),
    (40, "in lockstep, silence moves no time", _waits_for_us),
)
