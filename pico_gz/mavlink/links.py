"""Receivers of frames, callbacks of a link, and opening sockets."""

from __future__ import annotations

import errno
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from pico_gz.core.port_owner import owner_of
from pico_gz.core.ports import Link, LinkKind
from pico_gz.errors import ConfigError, MavlinkError, PortClashError
from pico_gz.mavlink import codec, limits
from pico_gz.mavlink.framing import MavlinkCounters


class Peer(ABC):
    """Somebody our frames go to.

    Attributes:
        label: for people, e.g. ``udp 127.0.0.1:14550``.
        near: on this machine, or chosen by configuration: streams start at once.
        permanent: chosen by configuration: never timed out or evicted.
        link_id: which link it is on, for signatures (0..255).
        v1: it has only ever spoken MAVLink 1, so we answer in kind.
        closed: it is gone; nothing is sent any more.
    """

    def __init__(self, label: str, *, near: bool, permanent: bool, link_id: int) -> None:
        self.label = label
        self.near = near
        self.permanent = permanent
        self.link_id = link_id
        self.v1 = False
        self.closed = False
        self.first_heard_us = -1
        self.last_heard_us = -1
        self._frames_heard = 0
        self._spoke_v2 = False

    @abstractmethod
    def write(self, raw: bytes, *, keep: bool) -> None:
        """Queue one frame; never blocks. ``keep``: telemetry is dropped before this one."""

    @abstractmethod
    def flush(self) -> None:
        """Hand what is queued to the operating system; never blocks."""

    @property
    def was_heard(self) -> bool:
        """Whether a good frame ever came from it."""
        return self._frames_heard > 0

    def forget_heard(self) -> None:
        """Take it for somebody who has not spoken yet."""
        self._frames_heard = 0
        self._spoke_v2 = self.v1 = False

    def heard(self, raw: bytes, now_us: int) -> None:
        """Note a good frame from it at wall time ``now_us``."""
        if self._frames_heard == 0:
            self.first_heard_us = now_us
        self._frames_heard += 1
        self.last_heard_us = now_us
        if not self._spoke_v2:
            self._spoke_v2 = not codec.is_v1(raw)
            self.v1 = not self._spoke_v2

    def may_stream(self, now_us: int) -> bool:
        """Return whether it may have streams: near, or it kept talking for a while."""
        return self.near or (
            self._frames_heard >= limits.FAR_PEER_MIN_FRAMES
            and now_us - self.first_heard_us >= limits.FAR_PEER_MIN_AGE_US
        )

    def is_silent(self, now_us: int) -> bool:
        """Return whether it has been silent for so long that it is taken for gone."""
        return not self.permanent and now_us - self.last_heard_us > limits.PEER_TIMEOUT_US


@dataclass(frozen=True, slots=True)
class LinkCallbacks:
    """The other side of a link.

    Attributes:
        counters: where to count.
        dirty: peers that have something to send at the end of the turn.
        admit: whether a good frame may be looked at (signatures).
        deliver: takes an admitted frame and its sender.
        joined: a peer is there; start sending to it.
        left: a peer is gone.
    """

    counters: MavlinkCounters
    dirty: list[Peer]
    admit: Callable[[bytes], bool]
    deliver: Callable[[bytes, Peer], None]
    joined: Callable[[Peer], None]
    left: Callable[[Peer], None]


_RECEIVE_BUFFER_BYTES = 1 << 20
_BACKLOG = 16


def resolve(host: str, port: int) -> tuple[str, int]:
    """Return the IPv4 address of a host name.

    Raises:
        ConfigError: there is no such host.
    """
    try:
        found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)
    except OSError as error:
        raise ConfigError(
            f"The ground station's host {host!r} is not known here: {error}.",
            hint="Set [net] gcs_host to an address.",
        ) from error
    address = found[0][4]
    return str(address[0]), int(address[1])


def open_udp(host: str, port: int, who: str) -> socket.socket:
    """Return a bound non-blocking UDP socket; port 0 takes any free one.

    Raises:
        PortClashError: the port is in use; names ``who`` wanted it, and who has it.
    """
    return _bound(socket.SOCK_DGRAM, host, port, who)


def open_tcp_listener(host: str, port: int, who: str) -> socket.socket:
    """Return a listening non-blocking TCP socket.

    Raises:
        PortClashError: the port is in use; names ``who`` wanted it, and who has it.
    """
    sock = _bound(socket.SOCK_STREAM, host, port, who)
    try:
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise _clash("tcp", host, port, who, error) from error
    return sock


def _bound(kind: socket.SocketKind, host: str, port: int, who: str) -> socket.socket:
    sock = socket.socket(socket.AF_INET, kind)
    try:
        sock.setblocking(False)
        if kind == socket.SOCK_STREAM:
            # Lets a port be taken again right after a run; two listeners still clash.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise _clash(
            "tcp" if kind == socket.SOCK_STREAM else "udp", host, port, who, error
        ) from error
    return sock


def _clash(protocol: str, host: str, port: int, who: str, error: OSError) -> Exception:
    if error.errno != errno.EADDRINUSE:
        reason = error.strerror or str(error)
        return MavlinkError(f"{who}: cannot bind {protocol.upper()} {host}:{port}: {reason}.")
    owner = owner_of(protocol, port)
    by_whom = f" by {owner}" if owner else ""
    return PortClashError(
        f"{who}: {protocol.upper()} port {port} on {host} is in use{by_whom}.",
        hint="Choose other ports, or run with --port-offset auto.",
    )


def check_plan(claims: list[tuple[str, Link]]) -> None:
    """Refuse a plan in which two links listen on one port.

    Raises:
        PortClashError: names both claimants.
    """
    taken: dict[tuple[bool, int], str] = {}
    for who, spec in claims:
        if not spec.listens:
            continue
        key = (spec.kind is LinkKind.TCPIN, spec.port)
        if key in taken:
            raise PortClashError(
                f"{taken[key]} and {who.lower()} both want {spec}.",
                hint="Give each its own port, or make it one link of the fleet.",
            )
        taken[key] = who
