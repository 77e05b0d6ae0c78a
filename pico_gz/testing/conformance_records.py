"""The statements on the text of a record. Pure: bytes in, words out."""

from __future__ import annotations

import math
import re

from pico_gz.codecs.ardupilot_state import MAX_REPLY_BYTES, decode_state
from pico_gz.testing.conformance_result import SkipCheckError, require
from pico_gz.testing.substring_parser import SubstringParser, Value

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
