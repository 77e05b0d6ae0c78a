"""One TCP connection of a ground station, seen from both threads."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from pico_gz.mavlink import limits
from pico_gz.mavlink.limits import TokenBucket
from pico_gz.mavlink.outbox import Outbox
from pico_gz.mavlink.peers import Peer
from pico_gz.mavlink.splitter import SplitCounters, StreamSplitter

if TYPE_CHECKING:
    from pico_gz.mavlink.tcp import TcpServer

_WRITE_BYTES = 32 * 1024


class TcpPeer(Peer):
    """The simulation thread's side of a connection."""

    def __init__(self, server: TcpServer, label: str) -> None:
        super().__init__(label, near=True, permanent=True, link_id=server.link_id)
        self.inbox: deque[bytes] = deque()
        self.outbox = Outbox(limits.TCP_QUEUE_BYTES)
        self._server = server
        self._noted = False

    def write(self, raw: bytes, *, keep: bool) -> None:
        """Queue one frame; when the client is slow the oldest telemetry goes."""
        self._server.counters.tcp_dropped += self.outbox.put(raw, keep=keep)
        if not self._noted:
            self._noted = True
            self._server.note_dirty(self)

    def flush(self) -> None:
        """Wake the network thread."""
        self._noted = False
        self._server.wake()


class TcpProtocol(asyncio.Protocol):
    """The network thread's side of a connection."""

    def __init__(self, server: TcpServer, clock_us: Callable[[], int]) -> None:
        self.peer: TcpPeer | None = None
        self.split = SplitCounters()
        self._server = server
        self._clock_us = clock_us
        self._transport: asyncio.Transport | None = None
        self._splitter = StreamSplitter(self.split)
        self._bucket = TokenBucket(limits.FRAMES_PER_S, limits.FRAMES_BURST, clock_us())
        self._garbage = TokenBucket(
            limits.TCP_FALSE_STARTS_PER_S, limits.TCP_FALSE_STARTS_PER_S, clock_us()
        )
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
        """Tell the simulation thread that the client is gone."""
        if self.peer is not None:
            self.peer.closed = True
        self._server.drop_client(self)

    def data_received(self, data: bytes) -> None:
        """Cut frames out of the stream and queue them for the simulation thread."""
        if self.peer is None:
            return
        now_us = self._clock_us()
        false_starts = self.split.total
        self._bucket.rate_per_s = self._server.frames_per_s
        self._bucket.burst = limits.FRAMES_BURST * self._server.frames_per_s / limits.FRAMES_PER_S
        for raw in self._splitter.feed(data, now_us):
            if self._bucket.take(now_us) and len(self.peer.inbox) < limits.TCP_INBOX_FRAMES:
                self.peer.inbox.append(raw)
            else:
                self._server.rate_limited += 1
        if not self._garbage.take(now_us, self.split.total - false_starts):
            self.abort()

    def pause_writing(self) -> None:
        """Note that the client takes nothing at the moment."""
        self._paused = True

    def resume_writing(self) -> None:
        """Go on after a pause."""
        self._paused = False
        self.pump()

    def pump(self) -> None:
        """Write what waits, as long as the client takes it."""
        peer, transport = self.peer, self._transport
        if peer is None or transport is None or transport.is_closing():
            return
        while not self._paused and (data := peer.outbox.take(_WRITE_BYTES)):
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
