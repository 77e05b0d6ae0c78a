"""UDP links: one socket, up to eight peers, never blocking."""

from __future__ import annotations

import logging
import socket

from pico_gz.core.ports import Link, LinkKind, is_loopback
from pico_gz.errors import ConfigError, MavlinkError, PortClashError, SimulatorConnectionError
from pico_gz.mavlink.codec import split_datagram
from pico_gz.mavlink.links import (
    FRAMES_BURST,
    FRAMES_PER_S,
    PEER_TIMEOUT_US,
    LinkCallbacks,
    OpenLink,
    Peer,
    TokenBucket,
)
from pico_gz.wire.datagrams import Address, UdpTransport

_log = logging.getLogger(__name__)

MAX_PEERS = 8
# Only a peer that has been silent this long makes room: a ground station sends every second.
_EVICT_SILENCE_US = 3_000_000
_MAX_DATAGRAM_BYTES = 4096
_MAX_SEND_BYTES = 1200
_DATAGRAMS_PER_SOCKET = 32


class UdpPeer(Peer):
    """A remote address; frames of one turn travel in as few datagrams as possible."""

    def __init__(self, link: UdpLink, address: Address, *, permanent: bool, now_us: int) -> None:
        super().__init__(
            f"udp {address[0]}:{address[1]}",
            near=permanent or is_loopback(address[0]),
            permanent=permanent,
            link_id=link.link_id,
        )
        self.address = address
        self.last_heard_us = now_us
        self.bucket = TokenBucket(FRAMES_PER_S, FRAMES_BURST, now_us)
        self._link = link
        self._buffer = bytearray()

    def move_to(self, address: Address) -> None:
        """Send to another address from now on, from which nothing has been heard yet."""
        self.address = address
        self.label = f"udp {address[0]}:{address[1]}"
        self.forget_heard()

    def write(self, raw: bytes, *, keep: bool) -> None:
        if len(self._buffer) + len(raw) > _MAX_SEND_BYTES:
            self.flush()
        if not self._buffer:
            self._link.callbacks.dirty.append(self)
        self._buffer += raw

    def flush(self) -> None:
        """Send the datagram, or drop it when the kernel would not take it at once."""
        if self._buffer:
            self._link.send(bytes(self._buffer), self.address)
            self._buffer.clear()


class UdpLink(OpenLink):
    """One UDP socket; ``bind`` is the address a udpout link to another machine sends from."""

    def __init__(
        self, spec: Link, who: str, link_id: int, callbacks: LinkCallbacks, *, bind: str
    ) -> None:
        super().__init__(spec, who, link_id, callbacks)
        self.transport: UdpTransport | None = None
        self._bind = bind
        self._counters = callbacks.counters
        self._peers: dict[Address, UdpPeer] = {}
        self._only_from: str | None = None
        self._target: UdpPeer | None = None
        self._configured: Address = ("", 0)
        self._strangers = TokenBucket(FRAMES_PER_S, FRAMES_BURST)

    @property
    def peers(self) -> tuple[UdpPeer, ...]:
        return tuple(self._peers.values())

    def local_port(self) -> int:
        return 0 if self.transport is None else self.transport.address[1]

    def open(self, now_us: int) -> UdpTransport:
        """Bind the socket; a udpout link starts with its target as a permanent peer.

        Raises:
            PortClashError: the port is in use.
            ConfigError: the target's name is unknown.
        """
        if self.spec.kind is LinkKind.UDPIN:
            self.transport = self._bound(self.spec.host, self.spec.port)
            return self.transport
        target = _resolve(self.spec.host, self.spec.port)
        host = self._bind
        if is_loopback(target[0]):
            host = "127.0.0.1"
        elif is_loopback(host):
            # A loopback socket cannot send out; listen to the chosen host alone instead.
            host, self._only_from = "", target[0]
        self.transport = self._bound(host, 0)
        self._configured = target
        self._target = self._add(target, permanent=True, now_us=now_us)
        return self.transport

    def _bound(self, host: str, port: int) -> UdpTransport:
        try:
            return UdpTransport(host, port)
        except PortClashError as error:
            raise PortClashError(f"{self.who}: {error.message}", hint=error.hint) from error
        except SimulatorConnectionError as error:
            raise MavlinkError(f"{self.who}: {error.message}") from error

    def close(self) -> None:
        for peer in self.peers:
            self._remove(peer)
        if self.transport is not None:
            self.transport.close()
            self.transport = None

    def poll(self, now_us: int, budget: int) -> int:
        budget = min(budget, _DATAGRAMS_PER_SOCKET)
        for taken in range(budget):
            item = None if self.transport is None else self.transport.receive()
            if item is None:
                return taken
            self._take(*item, now_us)
        return budget

    def expire(self, now_us: int) -> None:
        """Forget learned peers and addresses that have been silent for too long."""
        for peer in self.peers:
            if peer.is_silent(now_us):
                self._remove(peer)
        target = self._target
        if (
            target is not None
            and target.address != self._configured
            and now_us - target.last_heard_us > PEER_TIMEOUT_US
        ):
            self._move_target(target, self._configured)

    def send(self, data: bytes, address: Address) -> None:
        """Send one datagram; what the kernel does not take at once is dropped and counted."""
        if self.transport is not None and not self.transport.send_to(data, address):
            self._counters.send_dropped += 1

    def _take(self, data: bytes, address: Address, now_us: int) -> None:
        """Handle one datagram; the order of the checks keeps the cheap refusals first."""
        peer = self._peers.get(address)
        if self._only_from is not None and address[0] != self._only_from:
            self._counters.peers_refused += 1
            return
        # Strangers share one bucket, so a crowd of forged senders costs no more than one.
        bucket = self._strangers if peer is None else peer.bucket
        if not bucket.take(now_us):
            self._counters.rate_limited += 1
            return
        if len(data) > _MAX_DATAGRAM_BYTES:
            self._counters.oversized += 1
            return
        for number, raw in enumerate(split_datagram(data, self._counters.split)):
            if number and not bucket.take(now_us):
                self._counters.rate_limited += 1
                continue
            if not self.callbacks.admit(raw):
                continue
            if peer is None:
                peer = self._moved_target(address) or self._learn(address, now_us)
            if peer is None:
                return
            peer.heard(raw, now_us)
            self.callbacks.deliver(raw, peer)

    def _moved_target(self, address: Address) -> UdpPeer | None:
        """Return the target if this is it, answering from another address of its machine.

        Container and virtual-machine hosts do that. Sent to both addresses, a ground station
        would get every stream twice.
        """
        target = self._target
        if target is None or target.was_heard or address[1] != target.address[1]:
            return None
        self._move_target(target, address)
        return target

    def _move_target(self, target: UdpPeer, address: Address) -> None:
        _log.info("%s: sending to %s:%d instead of %s:%d", self.who, *address, *target.address)
        target.flush()
        del self._peers[target.address]
        self._peers[address] = target
        target.move_to(address)

    def _learn(self, address: Address, now_us: int) -> UdpPeer | None:
        """Make a sender a peer; when all places are taken, the longest silent one goes."""
        if len(self._peers) >= MAX_PEERS:
            oldest = min(
                (peer for peer in self.peers if not peer.permanent),
                key=lambda peer: peer.last_heard_us,
            )
            if now_us - oldest.last_heard_us < _EVICT_SILENCE_US:
                self._counters.peers_refused += 1
                return None
            self._remove(oldest)
        return self._add(address, permanent=False, now_us=now_us)

    def _add(self, address: Address, *, permanent: bool, now_us: int) -> UdpPeer:
        peer = UdpPeer(self, address, permanent=permanent, now_us=now_us)
        self._peers[address] = peer
        self.callbacks.joined(peer)
        return peer

    def _remove(self, peer: UdpPeer) -> None:
        peer.closed = True
        del self._peers[peer.address]
        self.callbacks.left(peer)


def _resolve(host: str, port: int) -> Address:
    """Return the IPv4 address of a host name."""
    try:
        found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)
    except OSError as error:
        raise ConfigError(
            f"The ground station's host {host!r} is not known here: {error}.",
            hint="Set [net] gcs_host to an address.",
        ) from error
    address = found[0][4]
    return str(address[0]), int(address[1])
