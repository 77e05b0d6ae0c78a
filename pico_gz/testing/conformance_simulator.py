"""The checklist for a simulator."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from pico_gz.testing import conformance_statements as frames
from pico_gz.testing import conformance_statements as motion
from pico_gz.testing.autopilot_twin import SubstringParser, Value
from pico_gz.testing.conformance_probe import Probe
from pico_gz.testing.conformance_result import (
    CheckResult,
    Outcome,
    SkipCheckError,
    Tell,
    require,
    require_timeout,
    resolve,
    run_check,
)
from pico_gz.wire.datagrams import Network, UdpNetwork
from pico_gz.wire.state import MAX_REPLY_BYTES, decode_state

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORD = re.compile(r"[^\s\[\]{},:\"]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_BLANK = re.compile(rb"\s[:\[]|:\s")


def check_framing(reply: bytes) -> str:
    """Statement 18."""
    require(reply[:1] == b"\n", "no line feed at the beginning")
    require(len(reply) > 1 and reply[-1:] == b"\n", "no line feed at the end")
    require(b"\n" not in reply[1:-1], "a line feed inside")
    return "one line feed at each end"


def check_compact(reply: bytes) -> str:
    """Statement 19."""
    require(_BLANK.search(reply[1:-1]) is None, "a blank beside a colon or before a bracket")
    return "no blanks"


def check_keys(reply: bytes) -> str:
    """Statement 20: ArduPilot finds all keys, and reads what a JSON parser reads."""
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


def check_wind_order(reply: bytes) -> str:
    """Statement 21."""
    wind = reply.find(b'"velocity_wind"')
    if wind < 0:
        raise SkipCheckError("it sends no wind")
    require(0 <= reply.find(b'"velocity"') < wind, "velocity_wind comes first")
    return "velocity first"


def check_numbers(reply: bytes) -> str:
    """Statement 22."""
    text = _STRING.sub('""', reply.decode("utf-8", "replace"))
    for word in _WORD.findall(text):
        if word in ("true", "false"):
            continue
        shown = word[:20]
        require(word[0] in "-0123456789", f"{shown!r} starts with neither digit nor minus")
        require(_NUMBER.fullmatch(word) is not None, f"{shown!r} is no plain number")
        require(math.isfinite(float(word)), f"{shown!r} is not finite")
    return "finite, plain"


def check_size(reply: bytes) -> str:
    """Statement 31."""
    require(len(reply) < MAX_REPLY_BYTES, f"{len(reply)} bytes")
    return f"{len(reply)} bytes"


# Once it has spoken, a simulator that needs longer for an answer has stopped.
ANSWER_S = 5.0

_FIRST = (1, "a packet of 40 bytes with magic 18458 is answered")
_Check = tuple[int, str, Callable[[Probe], str]]


def check_simulator(
    host: str,
    port: int,
    *,
    timeout_s: float = 5.0,
    tell: Tell | None = None,
    network: Network | None = None,
) -> list[CheckResult]:
    """Run the checklist against a simulator that speaks the plugin's wire.

    Args:
        host: where it is.
        port: of one vehicle's plugin.
        timeout_s: how long to wait for its first record; later ones have ``ANSWER_S`` at most.
        tell: takes a line every few seconds while there is nothing else to see.
        network: to reach it by.

    Raises:
        ConfigError: an unknown host, or a port or time that cannot be.
    """
    require_timeout(timeout_s)
    target = resolve(host, port)
    answer_s = min(timeout_s, ANSWER_S)
    probe = Probe(target, network or UdpNetwork(), answer_s=answer_s, tell=tell)
    try:
        return sorted(_run_all(probe, timeout_s), key=lambda result: result.number)
    finally:
        probe.close()


def _run_all(probe: Probe, timeout_s: float) -> list[CheckResult]:
    contact = run_check(*_FIRST, lambda: frames.connects(probe, timeout_s))
    results = [contact]
    reason = ""
    if contact.outcome is not Outcome.PASS:
        reason = "it gives no record"
    elif not frames.gives_readable_records(probe):
        reason = "its records cannot be read, see 20"
    for check in _TRIED:
        probe.note(f"Checking {check[0]}, {check[1]} ...")
        result = _skipped(check, reason) if reason else _run(check, probe)
        results.append(result)
        if not reason and result.outcome is Outcome.FAIL and not probe.answers():
            reason = f"it gives no records any more, since check {check[0]}"
    return results + [_run(check, probe) for check in _JUDGED]


def _run(check: _Check, probe: Probe) -> CheckResult:
    number, title, function = check
    return run_check(number, title, lambda: function(probe))


def _skipped(check: _Check, reason: str) -> CheckResult:
    return CheckResult(check[0], check[1], Outcome.SKIP, reason)


def _empty_replies(probe: Probe) -> str:
    detail = frames.has_no_empty_replies(probe)
    _require_records(probe)
    return detail


def _reply_port(probe: Probe) -> str:
    _require_records(probe)
    return frames.answers_from_its_port(probe)


def _of_every_record(check: Callable[[bytes], str]) -> Callable[[Probe], str]:
    """A check of the text of all records that were kept; the detail is the newest one's."""

    def check_all(probe: Probe) -> str:
        _require_records(probe)
        return [check(record) for record in probe.kept][-1]

    return check_all


def _require_records(probe: Probe) -> None:
    if not probe.kept:
        raise SkipCheckError("it gives no record")


# In this order: what can leave a simulator in a strange state comes last.
_TRIED: Sequence[_Check] = (
    (29, "timestamps rise by the physics step", motion.steps_evenly),
    (30, "one new record per new frame", frames.makes_one_record_per_frame),
    (23, "at rest accel_body is [0, 0, -9.8]", motion.rests),
    (28, "a left turn gives a negative gyro z", motion.turns_left),
    (12, "PWM 0 moves nothing", motion.stands_without_output),
    (14, "PWM 900 and 2100 count as 1000 and 2000", motion.limits_pulses),
    (7, "a repeated frame gets the last record again", frames.repeats_its_record),
    (10, "a jump of the frame count is accepted", frames.accepts_a_gap),
    (11, "of queued packets the newest counts", frames.takes_the_newest),
    (3, "any other magic is discarded without a reply", frames.discards_other_magic),
    (4, "a size that does not fit the magic is discarded", frames.discards_wrong_sizes),
    (5, "frame_count has 32 bits", frames.counts_32_bits),
    (40, "in lockstep, silence moves no time", frames.waits_for_us),
    (9, "a lower frame count is a restart, and accepted", frames.survives_a_restart),
    (17, "an autopilot on another port is followed", frames.follows_the_sender),
)
# Of all that was seen meanwhile.
_JUDGED: Sequence[_Check] = (
    (8, "no reply is empty", _empty_replies),
    (16, "replies leave from the port that was spoken to", _reply_port),
    (18, "one line feed at each end, none inside", _of_every_record(check_framing)),
    (19, "no blank beside a colon or before a bracket", _of_every_record(check_compact)),
    (20, "all mandatory keys, as ArduPilot reads them", _of_every_record(check_keys)),
    (21, "velocity precedes velocity_wind", _of_every_record(check_wind_order)),
    (22, "numbers are finite and plain", _of_every_record(check_numbers)),
    (31, "a reply is below 1400 bytes", _of_every_record(check_size)),
)
