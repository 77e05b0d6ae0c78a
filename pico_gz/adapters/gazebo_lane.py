"""One vehicle's exchange and where its packets go."""

from __future__ import annotations

from collections.abc import Callable

from pico_gz.adapters.gazebo_exchange import Exchange
from pico_gz.transports.base import DatagramTransport


class Lane:
    """One vehicle's exchange with where its packets go.

    Attributes:
        exchange: the state of the exchange.
        send: hands a packet to the network.
        socket: where its records come in, if nobody else's do.
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
