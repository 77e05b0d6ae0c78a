"""How ArduPilot reads a state record: by substring search, with all that follows from it.

Faithful to what releases up to 4.6 and from 4.7 on do with well- and ill-formed text, so that
a writer can be judged without an autopilot. Keys are looked for in a fixed order; a malformed
vector ends the search there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

BUFFER_BYTES = 65000

_NUMBER_C = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?nan|[+-]?inf)", re.I)
_NUMBER_47 = re.compile(r"-?\d+\.?\d*(?:[eE][+-]?\d+)?")


class _Kind(Enum):
    NUMBER = 1
    VECTOR3 = 3
    VECTOR4 = 4
    FLAG = 0


@dataclass(frozen=True, slots=True)
class _Key:
    section: str
    name: str
    kind: _Kind
    since_47: bool = False

    @property
    def label(self) -> str:
        return f"{self.section}.{self.name}" if self.section else self.name


_N, _V3, _V4, _F = _Kind.NUMBER, _Kind.VECTOR3, _Kind.VECTOR4, _Kind.FLAG
_KEYS = (
    _Key("", "timestamp", _N),
    _Key("", "latitude", _N, since_47=True),
    _Key("", "longitude", _N, since_47=True),
    _Key("", "altitude", _N, since_47=True),
    _Key("imu", "gyro", _V3),
    _Key("imu", "accel_body", _V3),
    _Key("", "position", _V3),
    _Key("", "attitude", _V3),
    _Key("", "quaternion", _V4),
    _Key("", "velocity", _V3),
    *(_Key("", f"rng_{i}", _N) for i in range(1, 7)),
    _Key("", "velocity_wind", _V3),
    _Key("windvane", "direction", _N),
    _Key("windvane", "speed", _N),
    _Key("", "airspeed", _N),
    *(_Key("rc", f"rc_{i}", _N) for i in range(1, 13)),
    _Key("battery", "voltage", _N),
    _Key("battery", "current", _N),
    _Key("", "no_time_sync", _F),
    _Key("", "no_lockstep", _F, since_47=True),
)
_REQUIRED = ("timestamp", "imu.gyro", "imu.accel_body", "velocity")

Value = float | tuple[float, ...] | bool


@dataclass(slots=True)
class ParsedState:
    """What the autopilot holds after a record; values persist from one to the next."""

    values: dict[str, Value] = field(default_factory=dict)
    seen: frozenset[str] = frozenset()
    complaint: str = ""


class SubstringParser:
    """Reads records like the autopilot; ``release_47`` selects the newer rules."""

    def __init__(self, *, release_47: bool = False) -> None:
        self._release_47 = release_47
        self._buffer = bytearray()
        self.state = ParsedState()

    def feed(self, data: bytes) -> bool:
        """Take a datagram; True when a record was accepted."""
        if not data:
            return False
        if len(self._buffer) + len(data) > BUFFER_BYTES:
            self.state.complaint = "receive buffer is full"
            return False
        self._buffer += data.replace(b"\n", b"\0")
        end = self._buffer.rfind(b"\0")
        begin = self._buffer.rfind(b"\0", 0, end) if end > 0 else -1
        if begin < 0:
            return False
        accepted = self.parse(self._buffer[begin + 1 : end].decode("utf-8", "replace"))
        if accepted:
            # The closing mark stays: it opens the next record.
            del self._buffer[:end]
        return accepted

    def parse(self, text: str) -> bool:
        """Scan one record; True when it is accepted."""
        self.state.complaint = ""
        seen = self._scan(text)
        self.state.seen = frozenset(seen)
        required = _REQUIRED if self._release_47 else (*_REQUIRED, "position")
        # Parsing that broke off after an attitude key is accepted with stale values.
        broke_off = bool(self.state.complaint)
        has_attitude = "attitude" in seen or "quaternion" in seen
        if broke_off and has_attitude:
            return True
        if any(name not in seen for name in required):
            self.state.complaint = "Did not contain all mandatory fields"
            return False
        if not has_attitude:
            self.state.complaint = "Did not receive attitude or quaternion"
            return False
        return True

    def _scan(self, text: str) -> set[str]:
        seen: set[str] = set()
        for key in _KEYS:
            if key.since_47 and not self._release_47:
                continue
            start = text.find(key.section)
            position = text.find(key.name, start + len(key.section) + 1 if key.section else 0)
            if start < 0 or position < 0:
                continue
            # Past the name, the closing quote and the colon, wherever those really are.
            value = self._value(text[position + len(key.name) + 2 :], key.kind)
            if value is None:
                self.state.complaint = f"Failed to parse {key.label}"
                return seen
            self.state.values[key.label] = value
            seen.add(key.label)
        return seen

    def _value(self, text: str, kind: _Kind) -> Value | None:
        if kind is _Kind.FLAG:
            return text[:4].lower() == "true"
        if kind is _Kind.NUMBER:
            match = _NUMBER_C.match(text)
            return float(match.group(1)) if match else 0.0
        numbers = (
            self._vector_47(text, kind.value) if self._release_47 else _vector_c(text, kind.value)
        )
        return tuple(numbers) if len(numbers) == kind.value else None

    @staticmethod
    def _vector_47(text: str, size: int) -> list[float]:
        inside = re.match(r"\s*\[([^\]]*)\]?", text)
        if inside is None:
            # It looks for the next bracket: the reversed wind is taken for the velocity.
            inside = re.search(r"\[([^\]]*)\]", text)
        if inside is None:
            return []
        numbers = []
        for part in inside.group(1).split(",")[:size]:
            match = _NUMBER_47.search(part)
            if match is None:
                break
            numbers.append(float(match.group()))
        return numbers


def _vector_c(text: str, size: int) -> list[float]:
    """``sscanf`` with a literal bracket: nothing may stand before it."""
    if not text.startswith("["):
        return []
    position, numbers = 1, []
    for _ in range(size):
        match = _NUMBER_C.match(text, position)
        if match is None:
            break
        numbers.append(float(match.group(1)))
        position = match.end()
        if text[position : position + 1] != ",":
            break
        position += 1
    return numbers
