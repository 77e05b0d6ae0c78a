"""One vehicle's exchange: exactly one step per frame on a lossy wire.

A frame is sent with a new ``frame_count`` and repeated, *with the same count*, until a record
arrives: the plugin steps once per new count and only re-sends on a repeated one. Time is read
from the records, so nothing that is doubled, late or out of order can move it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import msgspec

from pico_gz.core.messages import GpsData, SensorData
from pico_gz.core.units import US_PER_S, us_from_seconds
from pico_gz.errors import DecodeError
from pico_gz.gazebo.records import OptionalKeys
from pico_gz.wire.pico_json import decode_sensors, encode_actuators
from pico_gz.wire.servo import FRAME_COUNT_MODULUS, ServoTemplate
from pico_gz.wire.state import read_state
from pico_gz.wire.state_record import ImuRecord, StateRecord


@dataclass
class WireStats:
    """What happened on one vehicle's wire since it was opened.

    Attributes:
        sent: first transmissions of a frame.
        retries: repeated transmissions.
        accepted: records that moved time.
        empty: replies without a record; the simulator has no IMU sample yet.
        duplicate: records of a time that was known already.
        old: records older than the newest one.
        broken: datagrams that could not be read.
        foreign: datagrams of a sender or vehicle that does not belong here; in the plugin's
            dialect the system drops those of other senders unseen.
        gaps: times at which simulation time jumped.
        restarts: times at which the simulator started over.
        nudges: frames sent ahead to free a world that waited for this vehicle.
        stalls: times at which the simulator kept this vehicle waiting.
    """

    sent: int = 0
    retries: int = 0
    accepted: int = 0
    empty: int = 0
    duplicate: int = 0
    old: int = 0
    broken: int = 0
    foreign: int = 0
    gaps: int = 0
    restarts: int = 0
    nudges: int = 0
    stalls: int = 0


# Lower times for this long, with no newer one between, are a restart and not a late datagram.
RESTART_AFTER_S: Final = 0.2
GAP_US = US_PER_S


class Verdict(Enum):
    """What a datagram was."""

    NEW = "new"
    GAP = "gap"
    RESTART = "restart"
    EMPTY = "empty"
    DUPLICATE = "duplicate"
    OLD = "old"
    BROKEN = "broken"
    FOREIGN = "foreign"


# A tuple: membership is a test of identity here, and runs for every record.
ACCEPTED = (Verdict.NEW, Verdict.GAP, Verdict.RESTART)


class WireClock:
    """Turns the times of records into time that passes and never goes back.

    Attributes:
        time_us: time that has passed since the first record [us].
        wire_us: time of the newest record, as the simulator counts; -1 before the first.
        epoch: rises when the simulator starts over.
        odd_steps: accepted records in a row that rose by the same step, but not by the physics
            step; times that jump about are no other step.
        last_delta_us: what the newest record added, as the simulator counts [us].
    """

    __slots__ = (
        "_lower_since_s",
        "_physics_step_us",
        "_restart_below_us",
        "epoch",
        "last_delta_us",
        "odd_steps",
        "time_us",
        "wire_us",
    )

    def __init__(self, physics_step_us: int) -> None:
        self.time_us = 0
        self.wire_us = -1
        self.epoch = 0
        self.odd_steps = 0
        self.last_delta_us = 0
        self._physics_step_us = physics_step_us
        self._lower_since_s: float | None = None
        self._restart_below_us = -1

    def expect_restart(self, below_us: int) -> None:
        """Another vehicle of the same simulator has seen it start over: believe it at once."""
        if self.wire_us > below_us:
            self._restart_below_us = below_us

    def judge(self, wire_us: int, now_s: float) -> Verdict:
        """Take the time of a record that arrived at ``now_s``."""
        if wire_us > self.wire_us:
            return self._advance(wire_us)
        if wire_us == self.wire_us:
            self._lower_since_s = None
            return Verdict.DUPLICATE
        if self._lower_since_s is None:
            self._lower_since_s = now_s
        waited_long = now_s - self._lower_since_s >= RESTART_AFTER_S
        if not waited_long and wire_us > self._restart_below_us:
            return Verdict.OLD
        self.epoch += 1
        self.wire_us = wire_us
        self._lower_since_s = None
        self._restart_below_us = -1
        return Verdict.RESTART

    def _advance(self, wire_us: int) -> Verdict:
        self._lower_since_s = None
        verdict = Verdict.NEW
        if self.wire_us >= 0:
            delta_us = wire_us - self.wire_us
            if delta_us == self._physics_step_us:
                self.odd_steps = 0
            else:
                is_steady = abs(delta_us - self.last_delta_us) <= 1
                self.odd_steps = self.odd_steps + 1 if is_steady else 1
            self.last_delta_us = delta_us
            if delta_us > GAP_US:
                # The simulator was moved on by hand; for the vehicle one step has passed.
                verdict = Verdict.GAP
                delta_us = self._physics_step_us
            self.time_us += delta_us
        self.wire_us = wire_us
        return verdict


MIN_RETRY_S: Final = 0.002
MAX_RETRY_S: Final = 0.010
STALLED_RETRY_S: Final = 0.050
STALLED_AFTER_S: Final = 0.1
MAX_PATIENCE = STALLED_RETRY_S / MAX_RETRY_S

_JSON_STARTS = b"{ \t\r\n"


class RetryTimer:
    """When to repeat a frame: four times the usual round trip, within limits.

    A record that comes twice shows that a repeat was not needed: a simulator that is slow, not
    deaf, is asked less often.
    """

    __slots__ = ("_asked_s", "_first_s", "_patience", "_rtt_s", "_sends")

    def __init__(self) -> None:
        self._rtt_s = MAX_RETRY_S / 4
        self._patience = 1.0
        self._first_s = 0.0
        self._asked_s = 0.0
        self._sends = 0

    def start(self, now_s: float) -> None:
        """A frame was sent for the first time."""
        self._first_s = now_s
        self._asked_s = now_s
        self._sends = 1

    def repeat(self, now_s: float) -> None:
        """A frame was repeated."""
        self._asked_s = now_s
        self._sends += 1

    def stop(self, now_s: float, asked_s: float) -> None:
        """The answer came.

        In lockstep no vehicle is answered before the last of the fleet has sent, so the round
        trip counts from ``asked_s``, when the last packet of the fleet was sent. That may be a
        repeat that was not needed, and the time too short: then records come twice.
        """
        first_s = self._first_s
        self._rtt_s += 0.125 * (now_s - (asked_s if asked_s > first_s else first_s) - self._rtt_s)
        if self._sends == 1 and self._patience > 1.0:
            self._patience = max(1.0, 0.98 * self._patience)

    def note_duplicate(self) -> None:
        """A record came twice."""
        self._patience = min(MAX_PATIENCE, 1.25 * self._patience)

    @property
    def due_s(self) -> float:
        """When it is time to repeat."""
        if self._asked_s - self._first_s > STALLED_AFTER_S:
            return self._asked_s + STALLED_RETRY_S
        usual_s = min(max(4.0 * self._rtt_s, MIN_RETRY_S), MAX_RETRY_S)
        return self._asked_s + self._patience * usual_s

    def is_due(self, now_s: float) -> bool:
        """Whether it is time to repeat."""
        return now_s >= self.due_s

    def waited_s(self, now_s: float) -> float:
        """How long the answer has been waited for."""
        return now_s - self._first_s


class Exchange(ABC):
    """The client's half of one vehicle's wire; subclasses know the dialect.

    Attributes:
        waiting: a frame is out and its record is not here yet.
        clock: time as the records carry it.
        stats: what happened on this wire.
        invalid_in_a_row: unreadable datagrams since the last good one.
        refusal: why the last datagram that was not taken was refused.
        refused_field: the field that it was refused for, where there is one.
    """

    def __init__(self, vehicle_id: int, physics_step_us: int) -> None:
        self.vehicle_id = vehicle_id
        self.stats = WireStats()
        self.clock = WireClock(physics_step_us)
        self.waiting = False
        self.invalid_in_a_row = 0
        self.refusal = ""
        self.refused_field = ""
        self._packet = b""
        self._timer = RetryTimer()

    @abstractmethod
    def set_pwm(self, pwm_us: Sequence[int]) -> None:
        """Set what the next frames carry; a frame that is out is not changed any more."""

    def start(self, now_s: float) -> bytes:
        """Return the packet of a new frame."""
        self._packet = self._encode()
        self.waiting = True
        self.stats.sent += 1
        self._timer.start(now_s)
        return self._packet

    def retry(self, now_s: float) -> bytes | None:
        """Return the same packet again when its answer is overdue."""
        if not self.waiting or not self._timer.is_due(now_s):
            return None
        self._timer.repeat(now_s)
        self.stats.retries += 1
        return self._packet

    def wait_anew(self, now_s: float) -> None:
        """Count the wait for the frame that is out from now."""
        self._timer.start(now_s)

    @property
    def retry_due_s(self) -> float:
        """When ``retry`` would give a packet, as long as the record is waited for."""
        return self._timer.due_s

    def waited_s(self, now_s: float) -> float:
        """How long the record has been waited for; 0 when none is."""
        return self._timer.waited_s(now_s) if self.waiting else 0.0

    def feed(self, data: bytes, now_s: float, asked_s: float = 0.0) -> Verdict:
        """Take a datagram of the simulator; never raises.

        Args:
            data: what arrived.
            now_s: when.
            asked_s: when the last packet of the whole fleet was sent.
        """
        if not data:
            # No IMU sample yet: the step was made, so the next frame needs a new count.
            self.stats.empty += 1
            self.waiting = False
            return Verdict.EMPTY
        # In a flood of garbage most of it need not even be parsed.
        if data[0] not in _JSON_STARTS:
            return self._refuse("This is no JSON.", "")
        try:
            verdict = self._take(data, now_s)
        except DecodeError as exc:
            return self._refuse(exc.message, exc.field)
        self.invalid_in_a_row = 0
        if verdict in ACCEPTED:
            self.stats.accepted += 1
            if self.waiting:
                self.waiting = False
                self._timer.stop(now_s, asked_s)
        if verdict is not Verdict.NEW:
            self._count(verdict)
        return verdict

    def _refuse(self, reason: str, field: str) -> Verdict:
        self.refusal, self.refused_field = reason, field
        self.stats.broken += 1
        self.invalid_in_a_row += 1
        return Verdict.BROKEN

    def _count(self, verdict: Verdict) -> None:
        if verdict is Verdict.DUPLICATE:
            self.stats.duplicate += 1
            self._timer.note_duplicate()
        elif verdict is Verdict.OLD:
            self.stats.old += 1
        elif verdict is Verdict.GAP:
            self.stats.gaps += 1
        elif verdict is Verdict.RESTART:
            self.stats.restarts += 1
        elif verdict is Verdict.FOREIGN:
            self.stats.foreign += 1

    @property
    def has_record(self) -> bool:
        """Whether the simulator has spoken."""
        return self.clock.wire_us >= 0

    @abstractmethod
    def _encode(self) -> bytes:
        """The packet of the next frame."""

    @abstractmethod
    def _take(self, data: bytes, now_s: float) -> Verdict:
        """Read a datagram and keep its record if it is newer.

        Raises:
            DecodeError: it cannot be read.
        """


class ServoExchange(Exchange):
    """The plugin's dialect: servo packets out, state records in."""

    def __init__(self, vehicle_id: int, physics_step_us: int, *, first_frame: int = 1) -> None:
        super().__init__(vehicle_id, physics_step_us)
        self.record: StateRecord | None = None
        self.optional = OptionalKeys()
        self._imus: list[ImuRecord] = []  # since the last ``take_record``
        self._frame_count = (first_frame - 1) % FRAME_COUNT_MODULUS
        self._frame_rate_hz = min(65535, max(1, US_PER_S // physics_step_us))
        self._pwm_us: Sequence[int] = (0,) * 16
        self._template = ServoTemplate(self._frame_rate_hz, self._pwm_us)

    def set_pwm(self, pwm_us: Sequence[int]) -> None:
        if pwm_us != self._pwm_us:
            self._pwm_us = pwm_us
            self._template = ServoTemplate(self._frame_rate_hz, pwm_us)

    def _encode(self) -> bytes:
        self._frame_count = (self._frame_count + 1) % FRAME_COUNT_MODULUS
        return self._template.packet(self._frame_count)

    def _take(self, data: bytes, now_s: float) -> Verdict:
        record, has_more = read_state(data)
        verdict = self.clock.judge(us_from_seconds(record.timestamp_s), now_s)
        if verdict in ACCEPTED:
            self.record = record
            self._imus.append(record.imu)
            if has_more:
                self.optional.keep(record)
        return verdict

    def take_record(self, steps: int) -> StateRecord | None:
        """The newest record, its IMU as the mean over the last ``steps`` physics steps.

        A jolt lasts one physics step. A reader of only the last of several would miss most of
        them, and those that come by luck would not add up to the change of speed. Distances and
        wind are the newest since the last call, whichever record they came with.
        """
        record, imus = self.record, self._imus[-steps:]
        self._imus = []
        if record is None:
            return None
        if self.optional.seen:
            record = self.optional.put_into(record)
        if len(imus) < 2:
            return record
        return msgspec.structs.replace(record, imu=_mean_imu(imus))


def _mean_imu(imus: Sequence[ImuRecord]) -> ImuRecord:
    share = 1.0 / len(imus)
    gx = gy = gz = ax = ay = az = 0.0
    for imu in imus:
        x, y, z = imu.gyro_frd_radps
        gx, gy, gz = gx + x, gy + y, gz + z
        x, y, z = imu.accel_frd_mps2
        ax, ay, az = ax + x, ay + y, az + z
    return ImuRecord((gx * share, gy * share, gz * share), (ax * share, ay * share, az * share))


class PicoExchange(Exchange):
    """The kit's own dialect: JSON both ways."""

    def __init__(self, vehicle_id: int, physics_step_us: int) -> None:
        super().__init__(vehicle_id, physics_step_us)
        self.record: SensorData | None = None
        self.sends_gps = False
        self._gps: GpsData | None = None  # since the last ``take_record``
        self._pwm_us: tuple[int, ...] = ()

    def set_pwm(self, pwm_us: Sequence[int]) -> None:
        self._pwm_us = tuple(pwm_us)

    def _encode(self) -> bytes:
        time_us = max(0, self.clock.wire_us)
        return encode_actuators(time_us, self.vehicle_id, self._pwm_us)

    def _take(self, data: bytes, now_s: float) -> Verdict:
        record = decode_sensors(data)
        if record.vehicle_id != self.vehicle_id:
            self.refusal = f"a record of vehicle {record.vehicle_id}"
            return Verdict.FOREIGN
        verdict = self.clock.judge(record.timestamp_us, now_s)
        if verdict in ACCEPTED:
            self.record = record
            if record.gps is not None:
                self._gps = record.gps
                self.sends_gps = True
        return verdict

    def take_record(self, time_us: int) -> SensorData | None:
        """The newest record as of ``time_us``, with the newest fix since the last call.

        A receiver sends a few fixes per second: most of them come with a record that is not
        the last one of its step.
        """
        record, fix = self.record, self._gps
        self._gps = None
        if record is None:
            return None
        return msgspec.structs.replace(record, timestamp_us=time_us, gps=fix)
