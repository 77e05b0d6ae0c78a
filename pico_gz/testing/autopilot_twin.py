"""A twin of ArduPilot's end of the wire.

Faithful to what releases up to 4.6 and from 4.7 on do with well- and ill-formed text, so that
a writer can be judged without an autopilot. Keys are looked for in a fixed order; a malformed
vector ends the search there.

It sends one packet and waits; ``frame_count`` rises per accepted record; without one for about
a second the same packet goes out again. It runs step by step, on a thread, or many per thread
(``AutopilotFleet``).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from pico_gz.wire.datagrams import Address, DatagramTransport, Network, UdpNetwork
from pico_gz.wire.servo import encode_servo

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


SIM_RATE_HZ = 1200
RESEND_S = 1.1
_NEUTRAL = (1500, 0, 1500) + (0,) * 13
BOOT_PWM_46 = (1500,) * 4 + (1000,) * 12
BOOT_PWM_47 = (0,) * 16

# Time of the newest record [s] and its values -> pulse widths [us] of the next packet.
Pilot = Callable[[float, dict[str, Value]], Sequence[int]]


def stand_still(_: float, __: dict[str, Value]) -> Sequence[int]:
    """Keep neutral."""
    return _NEUTRAL


class AutopilotCore:
    """The wire's state of one autopilot; no I/O.

    Attributes:
        frame_count: rises by one per accepted record.
        frame_rate_hz: what it believes to run at.
        time_s: its own clock: the sum of all steps of the records.
        physics_resets: times at which the records' time went back.
        accepted: and ``rejected``: records.
    """

    def __init__(
        self, pilot: Pilot = stand_still, *, release_47: bool = False, boot_frames: int = 0
    ) -> None:
        self._pilot = pilot
        self._boot_frames = boot_frames
        self._boot_pwm = BOOT_PWM_47 if release_47 else BOOT_PWM_46
        self._last_timestamp_s = 0.0
        self.parser = SubstringParser(release_47=release_47)
        self.frame_count = 0
        self.frame_rate_hz = SIM_RATE_HZ
        self.time_s = 0.0
        self.physics_resets = 0
        self.accepted = 0
        self.rejected = 0

    def packet(self) -> bytes:
        """The servo packet that it sends now."""
        if self.frame_count < self._boot_frames:
            pwm: Sequence[int] = self._boot_pwm
        else:
            pwm = self._pilot(self._last_timestamp_s, self.parser.state.values)
        return encode_servo(self.frame_rate_hz, self.frame_count, pwm)

    def receive(self, data: bytes) -> bool:
        """Take a datagram; True when it was an acceptable record."""
        if not self.parser.feed(data):
            self.rejected += bool(data)
            return False
        self.accepted += 1
        self.frame_count += 1
        timestamp = self.parser.state.values["timestamp"]
        self._advance(timestamp if isinstance(timestamp, float) else 0.0)
        return True

    def _advance(self, timestamp_s: float) -> None:
        dt_s = timestamp_s - self._last_timestamp_s
        self._last_timestamp_s = timestamp_s
        if dt_s < 0.0:
            self.physics_resets += 1
            return
        self.time_s += dt_s
        if 0.0 < dt_s < 0.1 and self.parser.state.values.get("no_time_sync") is not True:
            rate = min(max(SIM_RATE_HZ, 1.0 / dt_s - 1.0), 1.0 / dt_s + 1.0)
            # The sum of milliseconds is not exact; the real one counts in single precision.
            self.frame_rate_hz = int(rate + 1e-6)


class AutopilotTwin:
    """One autopilot with a socket.

    Attributes:
        core: the wire's state.
        sent: packets, repeats included.
    """

    def __init__(
        self,
        server: Address,
        pilot: Pilot = stand_still,
        *,
        release_47: bool = False,
        boot_frames: int = 0,
        resend_s: float = RESEND_S,
        host: str = "127.0.0.1",
        network: Network | None = None,
    ) -> None:
        self.core = AutopilotCore(pilot, release_47=release_47, boot_frames=boot_frames)
        self.sent = 0
        self.socket: DatagramTransport = (network or UdpNetwork()).bind(host, 0)
        self._server = server
        self._resend_s = resend_s
        self._resend_at_s = 0.0
        self.stopped = False

    def send(self, now_s: float) -> None:
        """Send the packet of the current frame."""
        self.socket.send_to(self.core.packet(), self._server)
        self.sent += 1
        self._resend_at_s = now_s + self._resend_s

    def read(self, now_s: float) -> bool:
        """Take what has arrived; answers an accepted record and says whether there was one."""
        accepted = False
        while (item := self.socket.receive()) is not None:
            accepted = self.core.receive(item[0]) or accepted
        if accepted and not self.stopped:
            self.send(now_s)
        return accepted

    def repeat_if_due(self, now_s: float) -> None:
        """Send again when no record has come for a second."""
        if now_s >= self._resend_at_s and not self.stopped:
            self.send(now_s)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


class AutopilotFleet:
    """Runs many autopilots on one thread."""

    def __init__(self, twins: Sequence[AutopilotTwin], network: Network | None = None) -> None:
        self._twins = dict(enumerate(twins))
        self._poller = (network or UdpNetwork()).poller()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        for key, twin in self._twins.items():
            self._poller.add(twin.socket, key)

    def run(self) -> None:
        """Serve until ``stop``."""
        poller = self._poller
        next_check_s = 0.0
        while not self._stop.is_set():
            keys = poller.wait(0.02)
            now_s = poller.now_s()
            for key in keys:
                if not self._twins[key].stopped:
                    self._twins[key].read(now_s)
            if now_s >= next_check_s:
                next_check_s = now_s + 0.02
                for twin in self._twins.values():
                    twin.repeat_if_due(now_s)
            if keys and any(self._twins[key].stopped for key in keys):
                # A stopped one does not read; do not spin on what waits for it.
                self._stop.wait(0.002)

    def __enter__(self) -> AutopilotFleet:
        """Run on a thread until the end of the block."""
        self._thread = threading.Thread(target=self.run, name="autopilot-twins", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the thread and close the sockets; twice is fine."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)
            self._thread = None
        for twin in self._twins.values():
            self._poller.remove(twin.socket)
            twin.close()
        self._twins = {}
        self._poller.close()
