"""A UDP proxy between a client and a simulator that does to datagrams what ``Chaos`` says."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Sequence

from pico_gz.testing.chaos import Chaos, Direction
from pico_gz.transports.base import Address
from pico_gz.transports.udp import UdpPoller, UdpTransport

_IDLE_S = 0.05


class _Route:
    """One vehicle: where its client speaks to, and the simulator's port behind."""

    def __init__(self, front: UdpTransport, back: UdpTransport, chaos: Chaos) -> None:
        self.front = front
        self.back = back
        self.chaos = chaos
        self.client: Address | None = None


class ChaosProxy:
    """Carries datagrams of several vehicles, each with chaos of its own seed.

    Args:
        simulator_ports: where the simulator listens, one per vehicle.
        chaos: one per vehicle, or one for all of them.
        listen_ports: where clients speak to; 0 takes free ones.
    """

    def __init__(
        self,
        simulator_ports: Sequence[int],
        chaos: Sequence[Chaos] | Chaos,
        *,
        listen_ports: Sequence[int] = (),
        host: str = "127.0.0.1",
    ) -> None:
        self._poller = UdpPoller()
        self._stop = threading.Event()
        self._late: list[tuple[float, int, Direction, int, bytes]] = []
        self._order = 0
        self._routes: list[_Route] = []
        self._thread: threading.Thread | None = None
        for i, port in enumerate(simulator_ports):
            front = UdpTransport(host, listen_ports[i] if listen_ports else 0)
            back = UdpTransport(host, 0, peer=(host, port))
            own = chaos if isinstance(chaos, Chaos) else chaos[i]
            self._poller.add(front, 2 * i)
            self._poller.add(back, 2 * i + 1)
            self._routes.append(_Route(front, back, own))

    @property
    def ports(self) -> tuple[int, ...]:
        """Where clients speak to."""
        return tuple(route.front.address[1] for route in self._routes)

    def run(self) -> None:
        """Carry datagrams until ``stop``."""
        while not self._stop.is_set():
            now_s = self._poller.now_s()
            timeout_s = min(_IDLE_S, self._late[0][0] - now_s) if self._late else _IDLE_S
            for key in self._poller.wait(timeout_s):
                self._take(self._routes[key // 2], key)
            self._release(self._poller.now_s())

    def _take(self, route: _Route, key: int) -> None:
        direction = Direction.TO_CLIENT if key % 2 else Direction.TO_SIMULATOR
        source = route.back if key % 2 else route.front
        while (item := source.receive()) is not None:
            data, sender = item
            if direction is Direction.TO_SIMULATOR:
                route.client = sender
            for delay_s, copy in route.chaos.copies(direction, data):
                if delay_s <= 0.0:
                    self._send(route, direction, copy)
                else:
                    entry = (self._poller.now_s() + delay_s, self._order, direction, key // 2, copy)
                    self._order += 1
                    # Enum members do not compare; the order number before them always decides.
                    heapq.heappush(self._late, entry)

    def _release(self, now_s: float) -> None:
        while self._late and self._late[0][0] <= now_s:
            _, _, direction, index, data = heapq.heappop(self._late)
            self._send(self._routes[index], direction, data)

    def _send(self, route: _Route, direction: Direction, data: bytes) -> None:
        if direction is Direction.TO_SIMULATOR:
            route.back.send(data)
        elif route.client is not None:
            route.front.send_to(data, route.client)

    def __enter__(self) -> ChaosProxy:
        """Run on a thread until the end of the block."""
        self._thread = threading.Thread(target=self.run, name="chaos-proxy", daemon=True)
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
        for route in self._routes:
            for transport in (route.front, route.back):
                self._poller.remove(transport)
                transport.close()
        self._routes = []
        self._poller.close()
