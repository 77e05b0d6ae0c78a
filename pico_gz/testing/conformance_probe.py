"""The client that tests a simulator: sends frames, keeps replies."""

from __future__ import annotations

import itertools
import statistics
from collections import deque
from collections.abc import Sequence
from functools import cached_property

from pico_gz.testing.conformance_result import Patience, SilentPeerError, Tell
from pico_gz.wire.datagrams import Address, DatagramTransport, Network
from pico_gz.wire.servo import FRAME_COUNT_MODULUS, encode_servo
from pico_gz.wire.state import StateRecord, decode_state

NEUTRAL = (1500,) * 16
# Longer than the plugin's pause before it says its last record again (111 ms).
QUIET_S = 0.35

_FIRST_FRAME = 1000
_SEND_AGAIN_S = 0.5
_STALE_S = 0.15
_STANDS_AFTER = 3
_SLICE_S = 0.5
_KEPT = 200
# A peer that floods us must not keep us reading for ever.
_MANY = 5000


class Probe:
    """Plays the autopilot.

    Attributes:
        target: where the simulator listens.
        socket: which of its sockets it speaks from.
        frame: the newest frame it sent.
        answered_frame: the newest that got a record of its own.
        empty_replies: datagrams of 0 bytes so far.
        records: different records so far.
        kept: the newest records.
        senders: where replies came from.
    """

    def __init__(
        self, target: Address, network: Network, *, answer_s: float, tell: Tell | None = None
    ) -> None:
        self.target = target
        self.answer_s = answer_s
        self.frame = self.answered_frame = _FIRST_FRAME
        self.empty_replies = 0
        self.records = 0
        self.kept: deque[bytes] = deque(maxlen=_KEPT)
        self.senders: set[Address] = set()
        self._network = network
        self._poller = network.poller()
        self._patience = Patience(tell, self._poller.now_s())
        self._sockets: list[DatagramTransport] = []
        self._last = b""
        self._unsent = 0
        self._standing = 0
        try:
            self.socket = self.open()
        except BaseException:
            self._poller.close()
            raise

    def open(self) -> DatagramTransport:
        """Another socket, as if another autopilot had started."""
        host = "127.0.0.1" if self.target[0].startswith("127.") else "0.0.0.0"
        socket = self._network.bind(host, 0)
        self._poller.add(socket, len(self._sockets))
        self._sockets.append(socket)
        return socket

    def close(self) -> None:
        """Close all sockets."""
        for socket in self._sockets:
            self._poller.remove(socket)
            socket.close()
        self._poller.close()

    def now_s(self) -> float:
        """Monotonic time [s]."""
        return self._poller.now_s()

    def note(self, text: str) -> None:
        """Tell what is going on, if nothing was told for a while."""
        self._patience.note(self.now_s(), text)

    # --- datagrams ------------------------------------------------------------------------

    def send(self, data: bytes, socket: DatagramTransport | None = None) -> None:
        """Send a datagram to the simulator."""
        if not (socket or self.socket).send_to(data, self.target):
            self._unsent += 1

    def send_frame(self, pwm_us: Sequence[int] = NEUTRAL) -> None:
        """Send the current frame; again, if it was sent before."""
        self.send(encode_servo(1000, self.frame % FRAME_COUNT_MODULUS, pwm_us))

    def listen(self, seconds: float, socket: DatagramTransport | None = None) -> list[bytes]:
        """Everything that reaches a socket within a time."""
        found: list[bytes] = []
        until_s = self.now_s() + seconds
        while (left_s := until_s - self.now_s()) > 0.0 and len(found) < _MANY:
            self._poller.wait(min(left_s, _SLICE_S))
            found += self._read(socket or self.socket)
        return found

    def drain(self) -> None:
        """Look at what has arrived; waits for nothing."""
        self._read(self.socket)

    def listen_for_any(self) -> list[bytes]:
        """Everything within a while, and at least one datagram if any comes in time."""
        found = self.listen(QUIET_S)
        until_s = self.now_s() + self.answer_s
        while not found and self.now_s() < until_s:
            found = self.listen(QUIET_S)
        return found

    def _read(self, wanted: DatagramTransport) -> list[bytes]:
        """What has arrived at a socket; what has arrived at the others is only looked at."""
        found = []
        for socket in self._sockets:
            for _ in range(_MANY):
                item = socket.receive()
                if item is None:
                    break
                self._look_at(*item)
                if socket is wanted:
                    found.append(item[0])
        return found

    def _look_at(self, data: bytes, sender: Address) -> None:
        self.senders.add(sender)
        if not data:
            self.empty_replies += 1
        elif data != self._last:
            self._last = data
            self.records += 1
            self.kept.append(data)

    # --- steps ----------------------------------------------------------------------------

    def step(self, pwm_us: Sequence[int] = NEUTRAL, *, timeout_s: float | None = None) -> bytes:
        """Send a new frame and return its record.

        A frame without an answer is sent again. An empty reply is a finished step that has no
        record, so the next frame follows.

        Raises:
            SilentPeerError: no record in time.
        """
        timeout_s = timeout_s or self.answer_s
        until_s = self.now_s() + timeout_s
        empty_before = self.empty_replies
        self.frame += 1
        while (left_s := until_s - self.now_s()) > 0.0:
            self.drain()
            self.send_frame(pwm_us)
            reply = self._answer(min(_SEND_AGAIN_S, left_s))
            if reply:
                if not self._standing:
                    self.answered_frame = self.frame
                return reply
            if reply is not None:
                self.frame += 1
            self._note_wait(self.now_s() - until_s + timeout_s, timeout_s)
        raise SilentPeerError(self._silence(timeout_s, self.empty_replies - empty_before))

    def _answer(self, timeout_s: float) -> bytes | None:
        """The reply to the frame just sent.

        The simulator may have said its last record again just before it read the frame, so a
        record that we know is the answer only if no other follows.
        """
        before = self._last
        known: bytes | None = None
        until_s = self.now_s() + timeout_s
        while (left_s := until_s - self.now_s()) > 0.0:
            self._poller.wait(left_s)
            for reply in self._read(self.socket):
                if reply != before or not reply:
                    self._standing = 0
                    return reply
                if known is None:
                    known = reply
                    until_s = min(until_s, self.now_s() + _STALE_S)
            if known is not None and self._standing >= _STANDS_AFTER:
                break
        self._standing += known is not None
        return known

    def _note_wait(self, waited_s: float, timeout_s: float) -> None:
        host, port = self.target
        empty = f", {self.empty_replies} empty replies" if self.empty_replies else ""
        self.note(f"Waiting for {host}:{port}, {waited_s:.0f} of {timeout_s:g} s{empty} ...")

    def _silence(self, timeout_s: float, empty: int) -> str:
        if empty:
            return (
                f"{empty} empty replies and no record within {timeout_s:g} s: "
                "no IMU sample reaches the plugin"
            )
        if self._unsent:
            return f"no packet could be sent to {self.target[0]}:{self.target[1]}"
        return f"no record within {timeout_s:g} s"

    def record(self, pwm_us: Sequence[int] = NEUTRAL) -> StateRecord:
        """Step and return what the record says."""
        return decode_state(self.step(pwm_us))

    def time_s(self) -> float:
        """Step and return the record's time [s]."""
        return self.record().timestamp_s

    def answers(self) -> bool:
        """Whether it goes on where it last answered."""
        self.frame = self.answered_frame
        try:
            self.step()
        except SilentPeerError:
            return False
        return True

    # --- what it turns out to be ----------------------------------------------------------

    @cached_property
    def _steps_s(self) -> list[float]:
        times_s = [self.time_s() for _ in range(12)]
        return [b - a for a, b in itertools.pairwise(times_s)]

    @property
    def step_s(self) -> float:
        """The time between two records, as a rule [s]."""
        return statistics.median(self._steps_s)

    @property
    def longest_step_s(self) -> float:
        """The most that one frame has moved time [s]; whether steps are even is another check."""
        return max(self._steps_s)

    @cached_property
    def waits_for_frames(self) -> bool:
        """Whether its time stands still between two frames."""
        longest_s = self.longest_step_s
        before_s = self.time_s()
        self.listen(QUIET_S)
        return self.time_s() - before_s <= 3.0 * longest_s

    def steps_in(self, seconds: float) -> int:
        """How many frames make a time of the simulation."""
        step_s = self.step_s
        return min(max(round(seconds / step_s), 20), 2000) if step_s > 0.0 else 20
