"""Ports, buffers and clock: what decides whether a run starts and keeps its pace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pico_gz.config import default_fleet
from pico_gz.doctor.finding import Finding, State
from pico_gz.gazebo_install import is_gazebo_program
from pico_gz.port_owner import find_busy, owner_of
from pico_gz.ports import PortProblem, PortRole, PortUse

# One datagram of the wire is half a kilobyte; a burst of 255 rovers must fit.
MIN_UDP_BUFFER = 200_000
PLUGIN_PURPOSE = "Gazebo plugin"  # as the port plan calls it
_SLEEP_S, _SLEEPS, _GOOD_OVERSHOOT_S = 0.001, 20, 0.002
_CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def check_ports() -> list[Finding]:
    """The ports of the default fleet: which are in use, and by whom."""
    fleet = default_fleet(environ={})
    plan = fleet.port_plan(on_gazebo=[vehicle.id for vehicle in fleet.vehicles])
    findings = [
        Finding(
            name=f"{problem.use.protocol.upper()} {problem.use.port}",
            state=State.TROUBLE,
            detail=str(problem),
            remedy="End that program, or use --port-offset auto.",
        )
        for problem in find_busy(plan.uses)
    ]
    if not findings:
        text = "all ports of the default fleet are free"
        findings.append(Finding(name="ports", state=State.FOUND, detail=text))
    return findings + _check_peers(plan.uses)


def _check_peers(uses: Sequence[PortUse]) -> list[Finding]:
    """Programs that the kit would talk to and that are there: a Gazebo, a ground station."""
    peers = [
        msgspec.structs.replace(use, role=PortRole.BIND)
        for use in uses
        if use.role is PortRole.PEER and use.protocol == "udp"
    ]
    return [_judge_peer(problem) for problem in find_busy(peers)]


def _judge_peer(there: PortProblem) -> Finding:
    use = there.use
    name = f"{use.protocol.upper()} {use.port}"
    owner = owner_of(use.protocol, use.port) if use.purpose == PLUGIN_PURPOSE else ""
    if owner and not is_gazebo_program(owner):
        return Finding(
            name=name,
            state=State.TROUBLE,
            detail=f"{there} That does not look like Gazebo.",
            remedy="End that program, or use --port-offset auto.",
        )
    return Finding(name=name, state=State.FOUND, detail=f"{there} A run would talk to it.")


def check_udp_buffers() -> list[Finding]:
    """The kernel's receive buffers."""
    sizes = {name: _kernel_number(f"net/core/{name}") for name in ("rmem_default", "rmem_max")}
    known = {name: size for name, size in sizes.items() if size is not None}
    if not known:
        return []
    small = [name for name, size in known.items() if size < MIN_UDP_BUFFER]
    changes = " ".join(f"net.core.{name}={MIN_UDP_BUFFER}" for name in small)
    return [
        Finding(
            name="UDP buffers",
            state=State.TROUBLE if small else State.FOUND,
            version=", ".join(f"{name} {size}" for name, size in known.items()),
            remedy=f"sudo sysctl -w {changes}" if small else "",
        )
    ]


def check_clock() -> list[Finding]:
    """How precisely this machine sleeps; a paced run cannot be steadier than that."""
    worst_s = 0.0
    for _ in range(_SLEEPS):
        started_s = time.perf_counter()
        time.sleep(_SLEEP_S)
        worst_s = max(worst_s, time.perf_counter() - started_s - _SLEEP_S)
    source = _text(Path(_CLOCK_SOURCE))
    good = worst_s <= _GOOD_OVERSHOOT_S
    return [
        Finding(
            name="clock",
            state=State.FOUND if good else State.TROUBLE,
            version=f"{source or 'unknown source'}, sleeps {1e3 * worst_s:.1f} ms too long at most",
            remedy=""
            if good
            else "The machine is busy or virtual: use lockstep, or a lower speed.",
        )
    ]


def _kernel_number(name: str) -> int | None:
    text = _text(Path("/proc/sys") / name)
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
