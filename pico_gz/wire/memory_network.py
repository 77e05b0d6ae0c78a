"""An in-process network with a virtual clock.

Datagrams arrive in order after ``latency_s``, unless a ``disturb`` function decides otherwise.
Waiting moves the clock to the next arrival, and calls the simulated peers that asked for it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from pico_gz.errors import PortClashError
from pico_gz.wire.datagrams import (
    RECEIVE_BYTES,
    SOON_S,
    Address,
    DatagramTransport,
    Poller,
    SenderCheck,
)

_FIRST_EPHEMERAL_PORT = 49152

# From, to, data, send time [s] -> the copies that arrive, each with its delay [s].
Disturb = Callable[[Address, Address, bytes, float], Iterable[tuple[float, bytes]]]


class MemoryTransport:
    """One endpoint of a ``MemoryNetwork``."""

    def __init__(
        self,
        network: MemoryNetwork,
        address: Address,
        peer: Address | None,
        accept_from: SenderCheck | None = None,
    ) -> None:
        self._network = network
        self._address = address
        self._peer = peer
        self._accept_from = accept_from
        self._inbox: deque[tuple[bytes, Address]] = deque()
        # Called on arrival, so that a simulated peer can answer without a thread.
        self.on_arrival: Callable[[], None] | None = None
        self.watchers: list[Callable[[], None]] = []

    @property
    def address(self) -> Address:
        return self._address

    def send(self, data: bytes) -> bool:
        return self._peer is not None and self.send_to(data, self._peer)

    def send_to(self, data: bytes, address: Address) -> bool:
        self._network.carry(self._address, address, data)
        return True

    def receive(self) -> tuple[bytes, Address] | None:
        if not self._inbox:
            return None
        data, sender = self._inbox.popleft()
        if self._accept_from is not None and not self._accept_from(sender):
            return None
        return data[:RECEIVE_BYTES], sender

    def receive_soon(self, spin_s: float = 0.0) -> tuple[bytes, Address] | None:
        return self.receive() if self._inbox or self.wait(SOON_S) else None

    def wait(self, timeout_s: float) -> bool:
        """Move the clock until a datagram is here, at most by ``timeout_s``."""
        until_s = self._network.now_s() + max(0.0, timeout_s)
        while not self._inbox and self._network.advance_to(until_s):
            pass
        return bool(self._inbox)

    def has_datagram(self) -> bool:
        return bool(self._inbox)

    def deliver(self, data: bytes, sender: Address) -> None:
        """Take a datagram from the network; a connected endpoint hears its peer only."""
        if self._peer is None or sender == self._peer:
            self._inbox.append((data, sender))
            for notify in self.watchers:
                notify()
            if self.on_arrival is not None:
                self.on_arrival()

    def close(self) -> None:
        self._network.release(self._address)


class MemoryNetwork:
    """A network of one process, with its own clock [s]."""

    def __init__(self, latency_s: float = 20e-6, disturb: Disturb | None = None) -> None:
        self._latency_s = latency_s
        self._disturb = disturb
        self._now_s = 0.0
        self._order = 0
        self._next_port = _FIRST_EPHEMERAL_PORT
        self._endpoints: dict[Address, MemoryTransport] = {}
        self._in_flight: list[tuple[float, int, Address, Address, bytes]] = []

    def now_s(self) -> float:
        """The virtual time [s]."""
        return self._now_s

    def bind(
        self,
        host: str,
        port: int,
        *,
        peer: Address | None = None,
        accept_from: SenderCheck | None = None,
    ) -> MemoryTransport:
        """Bind exclusively; port 0 takes a free one."""
        if port == 0:
            port, self._next_port = self._next_port, self._next_port + 1
        address = (host, port)
        if address in self._endpoints:
            raise PortClashError(f"UDP port {port} on {host} is in use.")
        self._endpoints[address] = MemoryTransport(self, address, peer, accept_from)
        return self._endpoints[address]

    def poller(self) -> Poller:
        return MemoryPoller(self)

    def release(self, address: Address) -> None:
        """Forget an endpoint; what is on its way to it is lost."""
        self._endpoints.pop(address, None)

    def carry(self, sender: Address, receiver: Address, data: bytes) -> None:
        """Put a datagram on its way."""
        copies: Iterable[tuple[float, bytes]] = ((0.0, data),)
        if self._disturb is not None:
            copies = self._disturb(sender, receiver, data, self._now_s)
        for delay_s, copy in copies:
            arrival_s = self._now_s + self._latency_s + delay_s
            heapq.heappush(self._in_flight, (arrival_s, self._order, sender, receiver, copy))
            self._order += 1

    def advance_to(self, time_s: float) -> bool:
        """Move the clock to the next arrival, at most to ``time_s``; True if one arrived."""
        if not self._in_flight or self._in_flight[0][0] > time_s:
            self._now_s = max(self._now_s, time_s)
            return False
        arrival_s, _, sender, receiver, data = heapq.heappop(self._in_flight)
        self._now_s = max(self._now_s, arrival_s)
        endpoint = self._endpoints.get(receiver)
        if endpoint is not None:
            endpoint.deliver(data, sender)
        return True


class MemoryPoller:
    """Waits in virtual time."""

    def __init__(self, network: MemoryNetwork) -> None:
        self._network = network
        self._watched: dict[int, MemoryTransport] = {}
        # Keys that may have a datagram; looking at all of them would cost a large fleet dearly.
        self._touched: set[int] = set()

    def now_s(self) -> float:
        return self._network.now_s()

    def add(self, transport: DatagramTransport, key: int) -> None:
        if not isinstance(transport, MemoryTransport):
            raise TypeError(f"A memory poller cannot watch a {type(transport).__name__}.")
        self._watched[key] = transport
        self._touched.add(key)
        transport.watchers.append(lambda: self._touched.add(key))

    def remove(self, transport: DatagramTransport) -> None:
        self._watched = {k: t for k, t in self._watched.items() if t is not transport}

    def wait(self, timeout_s: float) -> Sequence[int]:
        """Move the clock until a datagram is there, at most by ``timeout_s``."""
        until_s = self._network.now_s() + max(0.0, timeout_s)
        while True:
            watched = self._watched
            ready = sorted(k for k in self._touched if k in watched and watched[k].has_datagram())
            self._touched = set(ready)
            if ready or not self._network.advance_to(until_s):
                return ready

    def close(self) -> None:
        self._watched = {}
