"""One vehicle's half of the wire: sender, frames, commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from pico_gz.core.messages import ActuatorCommands
from pico_gz.errors import DecodeError
from pico_gz.vehicle.external.external_vehicle import ExternalVehicle, FdmWire
from pico_gz.wire.datagrams import Address
from pico_gz.wire.servo import (
    HEADER,
    MAGIC_16,
    BootGuard,
    ServoPacket,
    aircraft_commands,
    commands_from_pwm,
    decode_servo,
    encode_servo,
    neutral_commands,
)
from pico_gz.wire.webots import decode_webots_servo

# A lower count this soon after a newer one was overtaken on its way: no autopilot starts over so
# quickly.
LATE_S: Final = 0.2


class Arrival(Enum):
    """What a datagram meant."""

    CONNECTED = "connected"
    NEW = "new"
    RESTARTED = "restarted"
    REPEATED = "repeated"
    LATE = "late"
    REFUSED = "refused"


@dataclass
class FdmStats:
    """What happened on one vehicle's wire since it was opened.

    Attributes:
        packets: servo packets that carried a new frame.
        repeated: packets whose frame was known already.
        late: packets that newer ones had overtaken.
        missed: frames that never arrived, or too late.
        restarts: times at which the autopilot started over.
        refused: datagrams that are no servo packet, or not of this connection.
        replies: records sent, repeats included.
    """

    packets: int = 0
    repeated: int = 0
    late: int = 0
    missed: int = 0
    restarts: int = 0
    refused: int = 0
    replies: int = 0


class FdmConnection:
    """One vehicle's connection.

    Attributes:
        peer: where records go; None until the first valid packet.
        owed: a new frame has arrived and its record has not been sent.
        last_reply: what a repeated frame is answered with; None before the first record.
        pwm_us: pulse widths of the newest packet.
        refusal: why the newest refused datagram was refused.
    """

    def __init__(self, vehicle: ExternalVehicle) -> None:
        self.vehicle = vehicle
        self.stats = FdmStats()
        self.peer: Address | None = None
        self.owed = False
        self.last_reply: bytes | None = None
        self.pwm_us: tuple[int, ...] = ()
        self.last_heard_s = 0.0
        self.refusal: DecodeError | None = None
        self._first_frame = 0
        self._frame_count = -1
        self._guard = BootGuard(vehicle.drive, vehicle.channels, vehicle.aircraft_channels)
        self._is_webots = vehicle.wire is FdmWire.WEBOTS
        self._webots_data = b""
        self._webots_pulses = b""
        self._live = False
        self._magic = 0
        self._pulses = b""  # of the newest packet, as they came
        self._wanted: ActuatorCommands | None = None  # what they mean, at any time

    @property
    def is_connected(self) -> bool:
        """Whether an autopilot speaks here."""
        return self.peer is not None

    def forget_peer(self) -> None:
        """The autopilot has fallen silent: its next packet is a new connection."""
        self.peer = None
        self.owed = False
        self._frame_count = -1

    def take(self, data: bytes, sender: Address, now_s: float) -> Arrival:
        """Take a datagram; what is refused changes nothing."""
        if self._is_webots:
            try:
                data = self._as_servo(data)
            except DecodeError as exc:
                self.stats.refused += 1
                self.refusal = exc
                return Arrival.REFUSED
        # Mostly it is the next frame with the pulses of the one before.
        if self._live and data[HEADER.size :] == self._pulses and sender == self.peer:
            magic, _, frame_count = HEADER.unpack_from(data)
            if magic == self._magic and frame_count == self._frame_count + 1:
                self._frame_count = frame_count
                self.last_heard_s = now_s
                self.owed = True
                self.stats.packets += 1
                return Arrival.NEW
        return self._take_any(data, sender, now_s)

    def _as_servo(self, data: bytes) -> bytes:
        """A packet of the webots wire as one of the other, with the frame count that it lacks."""
        count = self._frame_count + 1 if self.peer is not None else 0
        if data != self._webots_data:
            self._webots_data = data
            self._webots_pulses = encode_servo(0, 0, decode_webots_servo(data))[HEADER.size :]
        return HEADER.pack(MAGIC_16, 0, count) + self._webots_pulses

    def _take_any(self, data: bytes, sender: Address, now_s: float) -> Arrival:
        try:
            packet = decode_servo(data)
            arrival = self._classify(packet, sender, now_s)
        except DecodeError as exc:
            self.stats.refused += 1
            self.refusal = exc
            return Arrival.REFUSED
        if arrival is Arrival.LATE:
            self.stats.late += 1
            return arrival
        self.peer = sender
        self.last_heard_s = now_s
        if arrival is Arrival.REPEATED:
            self.stats.repeated += 1
            return arrival
        if arrival is not Arrival.NEW:
            self._first_frame = packet.frame_count
        self._frame_count = packet.frame_count
        self.pwm_us = packet.pwm_us
        self._magic = HEADER.unpack_from(data)[0]
        self._pulses = data[HEADER.size :]
        self._wanted = None
        self.owed = True
        self.stats.packets += 1
        # A new autopilot starts in neutral, whatever its first packet says.
        self._live = arrival is Arrival.NEW and self._guard.is_ready(packet.pwm_us)
        return arrival

    def _classify(self, packet: ServoPacket, sender: Address, now_s: float) -> Arrival:
        if self.peer is None:
            self._guard.reset()
            return Arrival.CONNECTED
        moved = sender != self.peer
        if not moved and self._is_late(packet.frame_count, now_s):
            return Arrival.LATE
        if packet.frame_count < self._frame_count or (moved and packet.frame_count == 0):
            self.stats.restarts += 1
            self._guard.reset()
            return Arrival.RESTARTED
        if len(packet.pwm_us) != len(self.pwm_us) and not moved:
            raise DecodeError(
                f"{len(packet.pwm_us)} channels in a connection of {len(self.pwm_us)}.",
                field="magic",
                hint="One autopilot sends magic 18458 (16 channels) or 29569 (32), never both.",
            )
        if packet.frame_count == self._frame_count:
            return Arrival.REPEATED
        self.stats.missed += packet.frame_count - self._frame_count - 1
        return Arrival.NEW

    def _is_late(self, frame_count: int, now_s: float) -> bool:
        """Whether a packet of this connection was overtaken by a newer one.

        It can only be a frame that this connection has had. An autopilot that has started over
        at the same address is taken for late for ``LATE_S`` at most, and asks again.
        """
        had = self._first_frame <= frame_count < self._frame_count
        return had and now_s - self.last_heard_s < LATE_S

    def commands(self, timestamp_us: int) -> ActuatorCommands:
        """What the newest packet wants; neutral while the autopilot boots."""
        if not self._live:
            return self.neutral(timestamp_us)
        wanted, vehicle = self._wanted, self.vehicle
        if wanted is None:
            self._wanted = wanted = self._read(vehicle, timestamp_us)
        return ActuatorCommands(timestamp_us, vehicle.vehicle_id, wanted.motors, wanted.servos)

    def _read(self, vehicle: ExternalVehicle, timestamp_us: int) -> ActuatorCommands:
        vehicle_id, aircraft = vehicle.vehicle_id, vehicle.aircraft_channels
        if aircraft is not None:
            return aircraft_commands(
                self.pwm_us, aircraft, vehicle_id=vehicle_id, timestamp_us=timestamp_us
            )
        return commands_from_pwm(
            self.pwm_us,
            vehicle.drive,
            vehicle.channels,
            vehicle_id=vehicle_id,
            timestamp_us=timestamp_us,
        )

    def neutral(self, timestamp_us: int) -> ActuatorCommands:
        """Commands that make the vehicle stand still."""
        vehicle = self.vehicle
        return neutral_commands(
            vehicle.drive, vehicle_id=vehicle.vehicle_id, timestamp_us=timestamp_us
        )
