"""What both wire checklists share, and the probe that plays an autopilot."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import deque
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cached_property
from socket import AF_INET, SOCK_DGRAM, getaddrinfo

import msgspec

from pico_gz.core.ports import MAX_PORT
from pico_gz.errors import ConfigError, DecodeError, PicoGzError
from pico_gz.wire.datagrams import Address, DatagramTransport, Network
from pico_gz.wire.servo import FRAME_COUNT_MODULUS, encode_servo
from pico_gz.wire.state import decode_state
from pico_gz.wire.state_record import StateRecord

NEUTRAL = (1500,) * 16
# Longer than the plugin's pause before it repeats its last record (111 ms).
QUIET_S = 0.35
# How long one wait for datagrams lasts at most, so that progress is reported.
SLICE_S = 0.5
# A peer that floods us must not keep us reading without end.
MAX_DATAGRAMS = 5000

_FIRST_FRAME = 1000
_SEND_AGAIN_S = 0.5
_STALE_S = 0.15
_STANDS_AFTER = 3
_KEPT_RECORDS = 200
_PROGRESS_EVERY_S = 3.0

# Takes one line of progress for people.
Report = Callable[[str], None]


class Outcome(StrEnum):
    """How a check ended."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


class CheckResult(msgspec.Struct, frozen=True):
    """One line of the table.

    Attributes:
        number: of the protocol's statement.
        title: the statement in short.
        outcome: how it ended.
        detail: what was seen, or why it was skipped.
    """

    number: int
    title: str
    outcome: Outcome
    detail: str = ""


class CheckFailedError(PicoGzError):
    """The peer did not do what the statement says."""


class SilentPeerError(CheckFailedError):
    """The peer did not answer in time."""


class SkipCheckError(PicoGzError):
    """This peer cannot be put through a check."""


def require(condition: bool, text: str) -> None:
    """Fail a check with ``text`` unless the condition holds."""
    if not condition:
        raise CheckFailedError(text)


def run_check(number: int, title: str, check: Callable[[], str]) -> CheckResult:
    """Run one check; what it returns is the detail."""
    try:
        return CheckResult(number, title, Outcome.PASS, check())
    except SkipCheckError as exc:
        return CheckResult(number, title, Outcome.SKIP, exc.message)
    except (CheckFailedError, DecodeError) as exc:
        return CheckResult(number, title, Outcome.FAIL, exc.message)


def require_timeout(timeout_s: float) -> None:
    """Raise ``ConfigError`` unless it is a positive, finite number of seconds."""
    if not (math.isfinite(timeout_s) and timeout_s > 0.0):
        raise ConfigError(
            f"A timeout of {timeout_s:g} s cannot work.", hint="Say a number of seconds above 0."
        )


def require_port(port: int) -> None:
    """Raise ``ConfigError`` unless it is 1..65535."""
    if not 1 <= port <= MAX_PORT:
        raise ConfigError(
            f"Port {port} cannot be used.",
            hint=f"Ports go from 1 to {MAX_PORT}; the first vehicle's wire is on 9002.",
        )


def resolve(host: str, port: int) -> Address:
    """Return the IPv4 address of a host.

    Raises:
        ConfigError: there is no such host, it has no IPv4 address, or the port is impossible.
    """
    require_port(port)
    try:
        found = getaddrinfo(host, port, AF_INET, SOCK_DGRAM)
    except (OSError, ValueError) as exc:  # ValueError: text that no name server would be asked for
        raise ConfigError(
            f"There is no host {host!r} with an IPv4 address.",
            hint="The wire is UDP on IPv4: write a name that is known here, or as 127.0.0.1:9002.",
        ) from exc
    address = str(found[0][4][0])
    if address == "0.0.0.0":
        raise ConfigError(
            "0.0.0.0 is no address to send to.", hint="Write 127.0.0.1 for this machine."
        )
    return address, port


class Progress:
    """Reports every few seconds what is being waited for, so that a wait does not look hung."""

    def __init__(self, report: Report | None, now_s: float) -> None:
        self._report = report
        self._next_s = now_s + _PROGRESS_EVERY_S

    def note(self, now_s: float, text: str) -> None:
        """Report ``text`` unless something was reported a moment ago."""
        if self._report is not None and now_s >= self._next_s:
            self._next_s = now_s + _PROGRESS_EVERY_S
            self._report(text)


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
        self, target: Address, network: Network, *, answer_s: float, report: Report | None = None
    ) -> None:
        self.target = target
        self.answer_s = answer_s
        self.frame = self.answered_frame = _FIRST_FRAME
        self.empty_replies = 0
        self.records = 0
        self.kept: deque[bytes] = deque(maxlen=_KEPT_RECORDS)
        self.senders: set[Address] = set()
        self._network = network
        self._poller = network.poller()
        self._progress = Progress(report, self._poller.now_s())
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
        for socket in self._sockets:
            self._poller.remove(socket)
            socket.close()
        self._poller.close()

    def now_s(self) -> float:
        return self._poller.now_s()

    def note(self, text: str) -> None:
        """Report what is being done, unless something was reported a moment ago."""
        self._progress.note(self.now_s(), text)

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
        while (left_s := until_s - self.now_s()) > 0.0 and len(found) < MAX_DATAGRAMS:
            self._poller.wait(min(left_s, SLICE_S))
            found += self._read(socket or self.socket)
        return found

    def drain(self) -> None:
        """Read what has arrived, without waiting."""
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
            for _ in range(MAX_DATAGRAMS):
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
            empty = f", {self.empty_replies} empty replies" if self.empty_replies else ""
            waited_s = self.now_s() - until_s + timeout_s
            self.note(
                f"Waiting for {self.target[0]}:{self.target[1]},"
                f" {waited_s:.0f} of {timeout_s:g} s{empty} ..."
            )
        raise SilentPeerError(self._silence(timeout_s, self.empty_replies - empty_before))

    def _answer(self, timeout_s: float) -> bytes | None:
        """The reply to the frame just sent.

        The simulator may have repeated its last record just before it read the frame, so a known
        record is the answer only if no other follows.
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
        """Whether it still answers, from the last answered frame on."""
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
