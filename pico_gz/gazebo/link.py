"""One vehicle's link to the simulator, and sockets that several share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from pico_gz.core.log_limit import RateLimitedLog
from pico_gz.errors import DecodeError
from pico_gz.gazebo.exchange import Exchange, WireStats
from pico_gz.wire.datagrams import Address, DatagramTransport
from pico_gz.wire.pico_json import decode_sensors, peek_vehicle_id

log = logging.getLogger(__name__)


class VehicleLink:
    """One vehicle's exchange with where its packets go.

    Attributes:
        exchange: the state of the exchange.
        send: hands a packet to the network.
        socket: where only its own records come in; ``None`` for a shared one.
        awaited: a step is not finished without its record.
        joining: it has not spoken yet.
        patient: while joining, a step waits a moment for it.
    """

    __slots__ = ("awaited", "exchange", "joining", "patient", "send", "socket")

    def __init__(
        self,
        exchange: Exchange,
        send: Callable[[bytes], bool],
        socket: DatagramTransport | None = None,
    ) -> None:
        self.exchange = exchange
        self.send = send
        self.socket = socket
        self.awaited = True
        self.joining = True
        self.patient = True

    def is_behind(self, target_us: int) -> bool:
        """Whether a step to ``target_us`` has to wait for it."""
        if self.joining:
            return self.awaited and self.patient
        return self.awaited and self.exchange.clock.time_us < target_us


class SenderFilter:
    """Accepts the simulator's datagrams and counts all others.

    A simple simulator may send from another port than the one it listens on. So its whole host
    is accepted, until the port that our packets go to has sent: from then on only that one.
    """

    def __init__(
        self, simulator: Address, stats: WireStats, name: str, now_s: Callable[[], float]
    ) -> None:
        self._simulator = simulator
        self._stats = stats
        self._name = name
        self._now_s = now_s
        self._is_known = False
        self._log_limit = RateLimitedLog(log)

    def __call__(self, sender: Address) -> bool:
        """Whether a datagram of ``sender`` is accepted."""
        if sender == self._simulator:
            self._is_known = True
            return True
        if not self._is_known and sender[0] == self._simulator[0]:
            return True
        self._stats.foreign += 1
        self._log_limit.warn("foreign", self._now_s(), lambda: self._text(sender))
        return False

    def _text(self, sender: Address) -> str:
        return (
            f"{self._name}: foreign datagram of {sender[0]}:{sender[1]} dropped; "
            f"the simulator is {self._simulator[0]}:{self._simulator[1]}."
        )


class SharedPort:
    """Finds the lane of what arrives on a socket that a whole fleet shares.

    Attributes:
        stats: of what belongs to no vehicle.
    """

    def __init__(self, name: str, now_s: Callable[[], float]) -> None:
        self.stats = WireStats()
        self._name = name
        self._now_s = now_s
        self._log_limit = RateLimitedLog(log)

    def lane_of(self, data: bytes, lanes: Mapping[int, VehicleLink]) -> VehicleLink | None:
        """Return whose datagram it is; ``None`` when it belongs to no vehicle."""
        vehicle_id = peek_vehicle_id(data)
        lane = lanes.get(vehicle_id)
        if lane is None:
            self._drop(vehicle_id, data)
        return lane

    def _drop(self, vehicle_id: int, data: bytes) -> None:
        if 1 <= vehicle_id <= 255:
            self.stats.foreign += 1
            text = f"foreign datagram dropped: vehicle {vehicle_id} is not in the fleet."
            self._log_limit.warn("foreign", self._now_s(), f"{self._name}: {text}")
        else:
            self.stats.broken += 1
            self._log_limit.warn("broken", self._now_s(), lambda: self._broken_text(data))

    def _broken_text(self, data: bytes) -> str:
        what = f"{self._name}: unreadable datagram of {len(data)} bytes dropped."
        try:
            decode_sensors(data)
        except DecodeError as exc:
            return f"{what} {exc.message}"
        return what
