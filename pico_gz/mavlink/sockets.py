"""Making the sockets, with errors that name the vehicle and the port."""

from __future__ import annotations

import errno
import socket

from pico_gz.errors import ConfigError, MavlinkError, PortClashError
from pico_gz.port_owner import owner_of
from pico_gz.ports import Link, LinkKind

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
