"""Datagram endpoints, waiting on many of them, and UDP sockets."""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from pico_gz.core.port_owner import owner_of
from pico_gz.core.units import US_PER_S
from pico_gz.errors import PortClashError, SimulatorConnectionError

# IPv4 host and port.
Address = tuple[str, int]

# Whether a datagram of this sender is received.
SenderCheck = Callable[[Address], bool]

# How long ``receive_soon`` waits; kernels round it up to their tick.
SOON_S: Final = 0.002

# One more than any record may have: a datagram that fills the buffer is oversize.
RECEIVE_BYTES: Final = 4097


class DatagramTransport(Protocol):
    """One datagram endpoint that never blocks for long. Closing twice is fine."""

    @property
    def address(self) -> Address:
        """Where it is bound."""
        ...

    def send(self, data: bytes) -> bool:
        """Send to the connected peer; False when it could not be handed over."""
        ...

    def send_to(self, data: bytes, address: Address) -> bool:
        """Send to ``address``; False when it could not be handed over."""
        ...

    def receive(self) -> tuple[bytes, Address] | None:
        """The next datagram and its sender, or None when there is none now."""
        ...

    def receive_soon(self, spin_s: float = 0.0) -> tuple[bytes, Address] | None:
        """The next datagram and its sender; waits about ``SOON_S`` for one to come.

        The cheapest way to get the one datagram that must come next: one call of the kernel.
        To sleep and wake up takes longer than a quick peer, so it looks again and again for
        ``spin_s`` before it sleeps, unless that was in vain a moment ago.
        """
        ...

    def has_datagram(self) -> bool:
        """Whether ``receive`` would look at one now; cheaper than to try in vain."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Wait at most ``timeout_s`` for a datagram here; True when there is one."""
        ...

    def close(self) -> None:
        """Give the port back."""
        ...


class Poller(Protocol):
    """Waits for datagrams on many transports at once, and owns their clock."""

    def now_s(self) -> float:
        """Monotonic time [s]."""
        ...

    def add(self, transport: DatagramTransport, key: int) -> None:
        """Watch a transport; ``key`` stands for it in ``wait``."""
        ...

    def remove(self, transport: DatagramTransport) -> None:
        """Stop watching a transport; harmless when it is not watched."""
        ...

    def wait(self, timeout_s: float) -> Sequence[int]:
        """Wait at most ``timeout_s`` and return the keys that have a datagram."""
        ...

    def close(self) -> None:
        """Release all sockets."""
        ...


class Network(Protocol):
    """Makes transports and pollers of one kind."""

    def bind(
        self,
        host: str,
        port: int,
        *,
        peer: Address | None = None,
        accept_from: SenderCheck | None = None,
    ) -> DatagramTransport:
        """Bind exclusively; with ``peer`` only its datagrams are received.

        Without a peer ``accept_from`` decides about each datagram; one that it refuses is
        dropped, and ``receive`` returns None in its place.

        Raises:
            PortClashError: the port is taken.
        """
        ...

    def poller(self) -> Poller:
        """A new poller for transports of this network."""
        ...


# A fleet's burst must fit while this process is not scheduled.
_BUFFER_BYTES: Final = 1 << 20
# The socket itself blocks, with the kernel's own time-out; this makes one call return at once.
_NOW = socket.MSG_DONTWAIT
# After a spin in vain: the peer is slow, or needs the processor that the spin takes.
_SPIN_PAUSE_S: Final = 0.01
_SOON = struct.pack("@ll", 0, round(SOON_S * US_PER_S))


class UdpTransport:
    """One UDP socket; with a peer it is connected, so that only the peer is heard.

    A peer that is not there answers with ICMP "port unreachable", which the kernel reports on
    a later call: that is no reason to give up, the simulator may start any time.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        peer: Address | None = None,
        accept_from: SenderCheck | None = None,
    ) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _SOON)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            # No SO_REUSEADDR: a second user of the port must fail loudly, not steal packets.
            self._bind(host, port)
            if peer is not None:
                self._connect(peer)
        except BaseException:
            self._socket.close()
            raise
        self._address: Address = self._socket.getsockname()[:2]
        self._peer = peer
        self._accept_from = accept_from
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._spin_from_s = 0.0
        self.refused = 0

    def _bind(self, host: str, port: int) -> None:
        try:
            self._socket.bind((host, port))
        except OSError as exc:
            if exc.errno != errno.EADDRINUSE:
                raise SimulatorConnectionError(
                    f"Cannot bind UDP {host}:{port}: {exc.strerror}."
                ) from exc
            owner = owner_of("udp", port)
            raise PortClashError(
                f"UDP port {port} on {host} is in use{f' by {owner}' if owner else ''}.",
                hint="Stop the other program or shift the ports (--port-offset auto).",
            ) from exc

    def _connect(self, peer: Address) -> None:
        try:
            self._socket.connect(peer)
        except OSError as exc:
            raise SimulatorConnectionError(
                f"Cannot reach {peer[0]}:{peer[1]}: {exc.strerror or exc}."
            ) from exc

    @property
    def address(self) -> Address:
        return self._address

    def fileno(self) -> int:
        """The descriptor that a poller waits for."""
        return self._socket.fileno()

    def send(self, data: bytes) -> bool:
        try:
            self._socket.send(data, _NOW)
        except ConnectionRefusedError:
            # This error belongs to an earlier datagram, and it kept this one from leaving.
            self.refused += 1
            return self._send_again(data)
        except OSError:
            return False
        return True

    def _send_again(self, data: bytes) -> bool:
        try:
            self._socket.send(data, _NOW)
        except OSError:
            return False
        return True

    def send_to(self, data: bytes, address: Address) -> bool:
        try:
            self._socket.sendto(data, _NOW, address)
        except OSError:
            return False
        return True

    def receive(self) -> tuple[bytes, Address] | None:
        return self._receive(_NOW)

    def receive_soon(self, spin_s: float = 0.0) -> tuple[bytes, Address] | None:
        if spin_s > 0.0 and (now_s := time.monotonic()) >= self._spin_from_s:
            has_come, until_s = self._poll.poll, now_s + spin_s
            while not has_come(0):
                if time.monotonic() > until_s:
                    self._spin_from_s = until_s + _SPIN_PAUSE_S
                    break
        return self._receive(0)

    def _receive(self, flags: int) -> tuple[bytes, Address] | None:
        while True:
            try:
                if self._peer is not None:
                    return self._socket.recv(RECEIVE_BYTES, flags), self._peer
                item: tuple[bytes, Address] = self._socket.recvfrom(RECEIVE_BYTES, flags)
                return item if self._accept_from is None or self._accept_from(item[1]) else None
            except BlockingIOError:
                return None
            except ConnectionRefusedError:
                self.refused += 1
            except OSError:
                return None

    def has_datagram(self) -> bool:
        return bool(self._poll.poll(0))

    def wait(self, timeout_s: float) -> bool:
        return bool(self._poll.poll(1e3 * timeout_s if timeout_s > 0.0 else 0))

    def close(self) -> None:
        self._socket.close()


class UdpPoller:
    """Waits on UDP sockets with one epoll; the clock is the monotonic wall clock."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._keys: dict[int, int] = {}

    def now_s(self) -> float:
        return time.monotonic()

    def add(self, transport: DatagramTransport, key: int) -> None:
        descriptor = _descriptor(transport)
        self._epoll.register(descriptor, select.EPOLLIN)
        self._keys[descriptor] = key

    def remove(self, transport: DatagramTransport) -> None:
        descriptor = _descriptor(transport)
        if self._keys.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def wait(self, timeout_s: float) -> Sequence[int]:
        keys = self._keys
        return [keys[fd] for fd, _ in self._epoll.poll(max(0.0, timeout_s), 512)]

    def close(self) -> None:
        self._keys = {}
        self._epoll.close()


def _descriptor(transport: DatagramTransport) -> int:
    if not isinstance(transport, UdpTransport):
        raise TypeError(f"A UDP poller cannot watch a {type(transport).__name__}.")
    return transport.fileno()


class UdpNetwork:
    """The real network."""

    def bind(
        self,
        host: str,
        port: int,
        *,
        peer: Address | None = None,
        accept_from: SenderCheck | None = None,
    ) -> UdpTransport:
        return UdpTransport(host, port, peer=peer, accept_from=accept_from)

    def poller(self) -> Poller:
        return UdpPoller()
