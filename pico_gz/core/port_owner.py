"""Whether ports are free, and which process holds a busy one."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

from pico_gz.core.ports import PortPlan, PortProblem, PortRole, PortUse
from pico_gz.errors import ConfigError, PortClashError

OFFSET_STEP = 100  # keeps the last digits, so no offset can reach Gazebo's 10317 and 10318
MAX_OFFSET = 20_000


def find_busy(uses: Iterable[PortUse]) -> list[PortProblem]:
    """Try every port that the kit itself will open; nothing stays open."""
    busy = []
    for use in uses:
        if use.role is PortRole.BIND:
            error = _try_bind(use)
            if error is not None:
                busy.append(PortProblem(use, _reason(use, error)))
    return busy


def require_free(plan: PortPlan) -> None:
    """Refuse to start while another program holds one of our ports.

    Raises:
        PortClashError: names every such port, its vehicle, and (on Linux) its owner.
    """
    busy = find_busy(plan.uses)
    if busy:
        raise PortClashError(
            "\n".join(str(port) for port in busy),
            hint="End that program, or let --port-offset auto move the whole fleet.",
        )


def free_offset(plan_at: Callable[[int], PortPlan]) -> int:
    """The smallest offset at which the whole plan is possible and free.

    Args:
        plan_at: gives the fleet's plan for an offset.

    Raises:
        PortClashError: there is none up to ``MAX_OFFSET``.
    """
    for offset in range(0, MAX_OFFSET + 1, OFFSET_STEP):
        plan = plan_at(offset)
        if not plan.impossible() and not find_busy(plan.uses):
            return offset
    raise PortClashError(
        f"No offset up to {MAX_OFFSET} has all ports of this fleet free.",
        hint="Use fewer rovers, or set [ports] by hand.",
    )


def owner_of(protocol: str, port: int) -> str:
    """``"NAME (pid N)"`` of the process that holds a port; empty when that cannot be seen."""
    inodes = _inodes_of(protocol, port)
    if not inodes:
        return ""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and _holds(process, wanted):
            return f"{_command_of(process)} (pid {process.name})"
    return ""


def _try_bind(use: PortUse) -> OSError | None:
    kind = socket.SOCK_DGRAM if use.protocol == "udp" else socket.SOCK_STREAM
    try:
        family, _, _, _, address = socket.getaddrinfo(use.host, use.port, type=kind)[0]
        with socket.socket(family, kind) as probe:
            if use.protocol == "tcp":
                # As servers do: a connection that lingers after a restart is no obstacle.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            if use.protocol == "tcp":
                probe.listen(1)
    except OSError as error:
        return error
    return None


def _reason(use: PortUse, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        owner = owner_of(use.protocol, use.port)
        return f"is in use by {owner}" if owner else "is in use by another program"
    if isinstance(error, PermissionError):
        return "may not be opened: ports below 1024 need privileges"
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        raise ConfigError(
            f"{use}: {use.host!r} is no address of this machine.",
            hint="Change [net] bind, or PICO_GZ_BIND.",
        ) from error
    return f"cannot be opened: {error.strerror or error}"


def _inodes_of(protocol: str, port: int) -> set[str]:
    """Socket inodes bound to a port, from the kernel's tables (Linux only)."""
    inodes = set()
    for table in (protocol, f"{protocol}6"):
        try:
            lines = Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            # Columns: slot, local address:port in hexadecimal, ..., inode.
            if len(fields) > 9 and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes - {"0"}


def _holds(process: Path, sockets: set[str]) -> bool:
    try:
        return any(str(entry.readlink()) in sockets for entry in (process / "fd").iterdir())
    except OSError:  # another user's process, or one that has just ended
        return False


def _command_of(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip() or "?"
    except OSError:
        return "?"
