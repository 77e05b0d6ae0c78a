"""A behavioural twin of ArduPilot's end of the wire: boots, waits, repeats, counts like it.

It sends one packet and waits; ``frame_count`` rises per accepted record; without one for about
a second the same packet goes out again. It runs step by step, on a thread, or many per thread
(``AutopilotFleet``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from pico_gz.codecs.ardupilot_servo import encode_servo
from pico_gz.testing.substring_parser import SubstringParser, Value
from pico_gz.transports.base import Address, DatagramTransport, Network
from pico_gz.transports.udp import UdpNetwork

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
        """Stop and close."""
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
