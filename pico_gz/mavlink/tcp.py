"""A TCP server for ground stations, on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable

from pico_gz.errors import MavlinkError
from pico_gz.mavlink import limits
from pico_gz.mavlink.link_host import LinkHost
from pico_gz.mavlink.peers import Peer
from pico_gz.mavlink.sockets import open_tcp_listener
from pico_gz.mavlink.tcp_client import TcpPeer, TcpProtocol
from pico_gz.ports import Link

_log = logging.getLogger(__name__)

_START_S = 5.0
_STOP_S = 2.0


class TcpServer:
    """One TCP port of a vehicle, or of the whole fleet.

    The network thread cuts the streams into frames and writes what is queued; frames are
    handled on the simulation thread, in ``poll``, through the same callbacks as UDP's.
    """

    def __init__(
        self,
        spec: Link,
        who: str,
        *,
        link_id: int,
        host: LinkHost,
        clock_us: Callable[[], int],
        stall_us: int = limits.TCP_STALL_US,
    ) -> None:
        """Take the plan; nothing is opened before ``open``.

        Args:
            spec: what to open.
            who: whose link it is, for messages to people.
            link_id: number of the link, for signatures.
            host: where frames and news go.
            clock_us: wall clock, monotonic [us]; called on the network thread.
            stall_us: cut a client that takes nothing for this long [us].
        """
        self.spec = spec
        self.who = who
        self.link_id = link_id
        self.counters = host.counters
        self.frames_per_s = float(limits.FRAMES_PER_S)
        self.rate_limited = 0
        self.refused = 0
        self.cut = 0
        self._host = host
        self._clock_us = clock_us
        self._stall_us = stall_us
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._wake_pending = False
        # Network thread only, except for len().
        self._protocols: set[TcpProtocol] = set()
        # From the network thread to the simulation thread.
        self._newcomers: deque[TcpPeer] = deque()
        # Simulation thread only.
        self._clients: list[TcpPeer] = []
        self._lost_split = {"bad_crc": 0, "unknown_id": 0, "bad_flags": 0, "truncated": 0}

    @property
    def peers(self) -> tuple[Peer, ...]:
        """The clients the simulation thread knows."""
        return tuple(self._clients)

    def local_port(self) -> int:
        """Return the port we listen on; 0 while closed."""
        return 0 if self._socket is None else int(self._socket.getsockname()[1])

    # --- simulation thread --------------------------------------------------------------------

    def open(self) -> None:
        """Bind and start listening.

        Raises:
            PortClashError: the port is in use.
            MavlinkError: the network thread did not start.
        """
        self._socket = open_tcp_listener(self.spec.host, self.spec.port, self.who)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name=f"mavlink-{self.spec}", daemon=True
        )
        self._thread.start()
        if not self._ready.wait(_START_S):
            self.close()
            raise MavlinkError(f"{self.who}: the TCP server did not start.")

    def close(self) -> None:
        """Cut all clients and stop the thread; closing twice is fine."""
        if self._loop is not None and self._stop is not None and self._thread is not None:
            try:
                self._loop.call_soon_threadsafe(self._stop.set)
            except RuntimeError:
                _log.debug("%s: the network thread has ended already", self.who)
            self._thread.join(_STOP_S)
        if self._socket is not None:
            self._socket.close()
        self._socket = self._thread = self._loop = None
        for peer in self._clients:
            peer.closed = True
            self._host.left(peer)
        self._clients.clear()

    def poll(self, now_us: int, budget: int) -> int:
        """Take newcomers, at most ``budget`` frames, and leave-takings."""
        while self._newcomers:
            peer = self._newcomers.popleft()
            self._clients.append(peer)
            self._host.joined(peer)
        taken = 0
        for peer in tuple(self._clients):
            taken += self._drain(peer, now_us, budget - taken)
            if peer.closed:
                self._clients.remove(peer)
                self._host.left(peer)
        return taken

    def _drain(self, peer: TcpPeer, now_us: int, budget: int) -> int:
        taken = 0
        while taken < budget and peer.inbox:
            raw = peer.inbox.popleft()
            taken += 1
            if self._host.admit(raw):
                peer.heard(raw, now_us)
                self._host.deliver(raw, peer)
        return taken

    def note_dirty(self, peer: Peer) -> None:
        """Remember that a client has something to send at the end of the turn."""
        self._host.dirty.append(peer)

    def wake(self) -> None:
        """Let the network thread write what is queued."""
        if self._loop is None or self._wake_pending:
            return
        self._wake_pending = True
        try:
            self._loop.call_soon_threadsafe(self._pump)
        except RuntimeError:
            _log.debug("%s: the network thread has ended", self.who)

    def split_totals(self) -> dict[str, int]:
        """Return what was found between the good frames of all clients so far."""
        totals = dict(self._lost_split)
        for protocol in tuple(self._protocols):
            for name in totals:
                totals[name] += getattr(protocol.split, name)
        return totals

    # --- network thread -----------------------------------------------------------------------

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        assert self._socket is not None
        server = await self._loop.create_server(
            lambda: TcpProtocol(self, self._clock_us), sock=self._socket
        )
        self._ready.set()
        try:
            period_s = min(1.0, self._stall_us * 1e-6 / 4)
            while not self._stop.is_set():
                await self._pause(period_s)
                self._cut_stalled()
        finally:
            server.close()
            for protocol in tuple(self._protocols):
                protocol.abort()
            # One turn of the loop lets the transports close their sockets.
            await asyncio.sleep(0)

    async def _pause(self, period_s: float) -> None:
        assert self._stop is not None
        try:
            await asyncio.wait_for(self._stop.wait(), period_s)
        except TimeoutError:
            return

    def _cut_stalled(self) -> None:
        now_us = self._clock_us()
        for protocol in tuple(self._protocols):
            if protocol.is_stalled(now_us, self._stall_us):
                self.cut += 1
                protocol.abort()

    def _pump(self) -> None:
        self._wake_pending = False
        for protocol in tuple(self._protocols):
            protocol.pump()

    def admit_client(self, protocol: TcpProtocol, label: str) -> TcpPeer | None:
        """Make a connection a client, or return None when there are too many."""
        if len(self._protocols) >= limits.TCP_CLIENTS:
            self.refused += 1
            return None
        self._protocols.add(protocol)
        peer = TcpPeer(self, label)
        self._newcomers.append(peer)
        return peer

    def drop_client(self, protocol: TcpProtocol) -> None:
        """Forget a connection that is gone, but not what it did."""
        if protocol in self._protocols:
            self._protocols.remove(protocol)
            for name in self._lost_split:
                self._lost_split[name] += getattr(protocol.split, name)
