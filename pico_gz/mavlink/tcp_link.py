"""The TCP server for ground stations and its clients."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable

from pico_gz.core.port_owner import owner_of
from pico_gz.core.ports import Link
from pico_gz.errors import MavlinkError, PortClashError
from pico_gz.mavlink.codec import StreamSplitter
from pico_gz.mavlink.links import (
    FRAMES_BURST,
    FRAMES_PER_S,
    LinkCallbacks,
    MavlinkCounters,
    OpenLink,
    Peer,
    TokenBucket,
)

_log = logging.getLogger(__name__)

STALL_US = 30_000_000
_MAX_CLIENTS = 8
_QUEUE_BYTES = 256 * 1024
_INBOX_FRAMES = 1024
_FALSE_STARTS_PER_S = 5_000
_WRITE_BYTES = 32 * 1024
_BACKLOG = 16
_START_S = 5.0
_STOP_S = 2.0


class FrameQueue:
    """Frames on their way from the simulation thread to the network thread.

    Order is kept among the frames that survive. When it is full the oldest telemetry is
    dropped; answers are dropped only by one another.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._number = 0
        self._telemetry: deque[tuple[int, bytes]] = deque()
        self._answers: deque[tuple[int, bytes]] = deque()
        self._size_bytes = 0
        self._answer_bytes = 0

    @property
    def answer_bytes(self) -> int:
        """Return how much of what waits are answers."""
        return self._answer_bytes

    @property
    def size_bytes(self) -> int:
        """Return how much waits."""
        return self._size_bytes

    def put(self, raw: bytes, *, keep: bool) -> int:
        """Queue a frame and return how many frames were lost by that."""
        with self._lock:
            dropped = 0
            # Room is made first, so that no reader ever sees more than the limit.
            while self._size_bytes + len(raw) > self._limit_bytes and self._size_bytes:
                if not self._telemetry and not keep:
                    return dropped + 1  # telemetry makes no answer go: it stays out itself
                oldest = self._telemetry or self._answers
                lost = len(oldest.popleft()[1])
                self._size_bytes -= lost
                self._answer_bytes -= lost if oldest is self._answers else 0
                dropped += 1
            self._number += 1
            (self._answers if keep else self._telemetry).append((self._number, raw))
            self._size_bytes += len(raw)
            self._answer_bytes += len(raw) if keep else 0
            return dropped

    def take(self, max_bytes: int) -> bytes:
        """Take the oldest frames, whole ones, about ``max_bytes``."""
        chunks: list[bytes] = []
        size = 0
        with self._lock:
            while size < max_bytes and (self._telemetry or self._answers):
                older = self._older()
                raw = older.popleft()[1]
                chunks.append(raw)
                size += len(raw)
                self._answer_bytes -= len(raw) if older is self._answers else 0
            self._size_bytes -= size
        return b"".join(chunks)

    def _older(self) -> deque[tuple[int, bytes]]:
        if not self._answers:
            return self._telemetry
        if not self._telemetry:
            return self._answers
        return self._answers if self._answers[0][0] < self._telemetry[0][0] else self._telemetry


class TcpPeer(Peer):
    """The simulation thread's side of a connection."""

    def __init__(self, server: TcpServer, label: str) -> None:
        super().__init__(label, near=True, permanent=True, link_id=server.link_id)
        self.inbox: deque[bytes] = deque()
        self.queue = FrameQueue(_QUEUE_BYTES)
        self._server = server
        self._noted = False

    @property
    def is_congested(self) -> bool:
        return self.queue.answer_bytes > _QUEUE_BYTES // 2

    def write(self, raw: bytes, *, keep: bool) -> None:
        """Queue one frame; when the client is slow the oldest telemetry is dropped."""
        callbacks = self._server.callbacks
        callbacks.counters.tcp_dropped += self.queue.put(raw, keep=keep)
        if not self._noted:
            self._noted = True
            callbacks.dirty.append(self)

    def flush(self) -> None:
        self._noted = False
        self._server.wake()


class TcpProtocol(asyncio.Protocol):
    """The network thread's side of a connection."""

    def __init__(self, server: TcpServer, clock_us: Callable[[], int]) -> None:
        self.peer: TcpPeer | None = None
        self._server = server
        self._clock_us = clock_us
        self._transport: asyncio.Transport | None = None
        self._counters = server.network_counters
        self._splitter = StreamSplitter(self._counters.split)
        self._bucket = TokenBucket(FRAMES_PER_S, FRAMES_BURST, clock_us())
        self._garbage = TokenBucket(_FALSE_STARTS_PER_S, _FALSE_STARTS_PER_S, clock_us())
        self._paused = False
        self._stalled_since_us: int | None = None
        self._unsent_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a new client, unless there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host, port = transport.get_extra_info("peername")[:2]
        self.peer = self._server.admit_client(self, f"tcp {host}:{port}")
        if self.peer is None:
            transport.abort()

    def connection_lost(self, _error: Exception | None) -> None:
        """Report to the simulation thread that the client is gone."""
        if self.peer is not None:
            self.peer.closed = True
        self._server.drop_client(self)

    def data_received(self, data: bytes) -> None:
        """Cut frames out of the stream and queue them for the simulation thread."""
        if self.peer is None:
            return
        now_us = self._clock_us()
        # All clients count in one place, but only this one does until we return.
        split = self._counters.split
        false_starts = split.total
        self._bucket.rate_per_s = self._server.frames_per_s
        self._bucket.burst = FRAMES_BURST * self._server.frames_per_s / FRAMES_PER_S
        for raw in self._splitter.feed(data, now_us):
            if self._bucket.take(now_us) and len(self.peer.inbox) < _INBOX_FRAMES:
                self.peer.inbox.append(raw)
            else:
                self._counters.rate_limited += 1
        if not self._garbage.take(now_us, split.total - false_starts):
            self.abort()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self.pump()

    def pump(self) -> None:
        """Write what waits, as long as the client takes it."""
        peer, transport = self.peer, self._transport
        if peer is None or transport is None or transport.is_closing():
            return
        while not self._paused and (data := peer.queue.take(_WRITE_BYTES)):
            transport.write(data)

    def is_stalled(self, now_us: int, limit_us: int) -> bool:
        """Return whether the client has taken nothing for ``limit_us`` though something waits."""
        unsent = 0 if self._transport is None else self._transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent_bytes or self._stalled_since_us is None:
            self._stalled_since_us = now_us
        self._unsent_bytes = unsent
        return unsent > 0 and now_us - self._stalled_since_us >= limit_us

    def abort(self) -> None:
        """Cut the connection at once."""
        if self._transport is not None:
            self._transport.abort()


class TcpServer(OpenLink):
    """One TCP port.

    The network thread cuts the streams into frames and writes what is queued; frames are
    handled on the simulation thread, in ``poll``, through the same callbacks as UDP's. The
    network thread calls ``clock_us``, and cuts a client that takes nothing for ``stall_us``.
    """

    def __init__(
        self,
        spec: Link,
        who: str,
        link_id: int,
        callbacks: LinkCallbacks,
        *,
        clock_us: Callable[[], int],
        stall_us: int,
    ) -> None:
        super().__init__(spec, who, link_id, callbacks)
        self.frames_per_s = float(FRAMES_PER_S)
        # Written on the network thread only; ``callbacks.counters`` is the simulation thread's.
        self.network_counters = MavlinkCounters()
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

    @property
    def peers(self) -> tuple[Peer, ...]:
        return tuple(self._clients)

    def local_port(self) -> int:
        return 0 if self._socket is None else int(self._socket.getsockname()[1])

    # --- simulation thread --------------------------------------------------------------------

    def open(self) -> None:
        """Bind and start listening.

        Raises:
            PortClashError: the port is in use.
            MavlinkError: the network thread did not start.
        """
        self._socket = _listener(self.spec.host, self.spec.port, self.who)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name=f"mavlink-{self.spec}", daemon=True
        )
        self._thread.start()
        if not self._ready.wait(_START_S):
            self.close()
            raise MavlinkError(f"{self.who}: the TCP server did not start.")

    def close(self) -> None:
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
            self.callbacks.left(peer)
        self._clients.clear()

    def poll(self, now_us: int, budget: int) -> int:
        while self._newcomers:
            peer = self._newcomers.popleft()
            self._clients.append(peer)
            self.callbacks.joined(peer)
        taken = 0
        for peer in tuple(self._clients):
            taken += self._drain(peer, now_us, budget - taken)
            if peer.closed:
                self._clients.remove(peer)
                self.callbacks.left(peer)
        return taken

    def _drain(self, peer: TcpPeer, now_us: int, budget: int) -> int:
        taken = 0
        while taken < budget and peer.inbox:
            raw = peer.inbox.popleft()
            taken += 1
            if self.callbacks.admit(raw):
                peer.heard(raw, now_us)
                self.callbacks.deliver(raw, peer)
        return taken

    def wake(self) -> None:
        """Let the network thread write what is queued."""
        if self._loop is None or self._wake_pending:
            return
        self._wake_pending = True
        try:
            self._loop.call_soon_threadsafe(self._pump)
        except RuntimeError:
            _log.debug("%s: the network thread has ended", self.who)

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
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), period_s)
                self._cut_stalled()
        finally:
            server.close()
            for protocol in tuple(self._protocols):
                protocol.abort()
            # One turn of the loop lets the transports close their sockets.
            await asyncio.sleep(0)

    def _cut_stalled(self) -> None:
        now_us = self._clock_us()
        for protocol in tuple(self._protocols):
            if protocol.is_stalled(now_us, self._stall_us):
                self.network_counters.tcp_cut += 1
                protocol.abort()

    def _pump(self) -> None:
        self._wake_pending = False
        for protocol in tuple(self._protocols):
            protocol.pump()

    def admit_client(self, protocol: TcpProtocol, label: str) -> TcpPeer | None:
        """Make a connection a client, or return None when there are too many."""
        if len(self._protocols) >= _MAX_CLIENTS:
            self.network_counters.tcp_refused += 1
            return None
        self._protocols.add(protocol)
        peer = TcpPeer(self, label)
        self._newcomers.append(peer)
        return peer

    def drop_client(self, protocol: TcpProtocol) -> None:
        """Forget a connection that is gone."""
        self._protocols.discard(protocol)


def _listener(host: str, port: int, who: str) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        # Lets a port be taken again right after a run; two listeners still clash.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno != errno.EADDRINUSE:
            reason = error.strerror or str(error)
            raise MavlinkError(f"{who}: Cannot bind TCP {host}:{port}: {reason}.") from error
        owner = owner_of("tcp", port)
        raise PortClashError(
            f"{who}: TCP port {port} on {host} is in use{f' by {owner}' if owner else ''}.",
            hint="Choose other ports, or run with --port-offset auto.",
        ) from error
    return sock
