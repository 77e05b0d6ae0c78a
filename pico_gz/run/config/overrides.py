"""What the command line and the environment change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pico_gz.core.ports import MAX_PORT, GcsMode
from pico_gz.errors import did_you_mean
from pico_gz.run.config.outside import Outside
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.settings import (
    FleetFile,
    FleetSection,
    GazeboSection,
    LayoutKind,
    NetSection,
    PortsSection,
    TimeSection,
)

_NET_VARIABLES = {
    "bind": "PICO_GZ_BIND",
    "gcs_host": "PICO_GZ_GCS_HOST",
    "dashboard": "PICO_GZ_DASHBOARD",
}
# Where the ports of the ground station start, instead of [ports] mavlink_base.
GCS_PORT_VARIABLE = "PICO_GZ_GCS_PORT"
# Set to 1 where Gazebo runs in another container: never start one.
ATTACH_VARIABLE = "PICO_GZ_GAZEBO_ATTACH"


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOverrides:
    """Options that win over the file; None leaves it as it is.

    Attributes:
        rovers: number of rovers, ids 1..rovers; tables of further vehicles are left out.
        adapter: simulator of every vehicle.
        autopilot: who drives every vehicle.
        seed: start of all random numbers.
        speed: simulated seconds per second, or ``max``.
        gcs: ``per_vehicle`` or ``shared``.
        mission: mission file of every vehicle, relative to the working folder.
        layout: how rovers are put down.
        dashboard: HOST:PORT of the browser view.
        port_offset: added to every port.
        allow_gcs_sysid: allow vehicle id 255.
        keep_params: keep parameters that a ground station sets.
        contacts: False: rovers and obstacles do not collide, so they may overlap.
    """

    rovers: int | None = None
    adapter: str | None = None
    autopilot: str | None = None
    seed: int | None = None
    speed: float | Literal["max"] | None = None
    gcs: str | None = None
    mission: Path | None = None
    layout: str | None = None
    dashboard: str | None = None
    port_offset: int = 0
    allow_gcs_sysid: bool = False
    keep_params: bool = False
    contacts: bool = True


def apply_overrides(
    file: FleetFile, overrides: FleetOverrides, environ: Mapping[str, str], findings: Findings
) -> FleetFile:
    """The file as the options and the environment want it; bad options are noted, not used."""
    _check_numbers(overrides, findings)
    return dataclasses.replace(
        file,
        fleet=_fleet(file, overrides, findings),
        time=_time(file, overrides, findings),
        net=_net(file, overrides, environ),
        gazebo=_gazebo(file, environ),
        ports=_ports(file, environ, findings),
        mavlink=dataclasses.replace(file.mavlink, gcs=_gcs(file, overrides, findings)),
        layout=dataclasses.replace(file.layout, kind=_layout(file, overrides, findings)),
    )


def _check_numbers(overrides: FleetOverrides, findings: Findings) -> None:
    rovers, seed, speed = overrides.rovers, overrides.seed, overrides.speed
    if rovers is not None and not 1 <= rovers <= 255:
        findings.add(("--rovers",), "expected a whole number, 1..255.", value=rovers)
    if seed is not None and not 0 <= seed < 2**63:
        findings.add(("--seed",), f"expected a whole number, 0..{2**63 - 1}.", value=seed)
    if isinstance(speed, float | int) and not 0 < speed <= 1000:
        message = "expected a number, above 0 and at most 1000, or max."
        findings.add(("--speed",), message, value=speed)
    if not -65535 <= overrides.port_offset <= 65535:
        message = "expected a whole number, -65535..65535."
        findings.add(("--port-offset",), message, value=overrides.port_offset)


def _fleet(file: FleetFile, overrides: FleetOverrides, findings: Findings) -> FleetSection:
    fleet = file.fleet
    if overrides.rovers is not None and not findings.has("--rovers"):
        fleet = dataclasses.replace(fleet, count=overrides.rovers)
    if overrides.seed is not None and not findings.has("--seed"):
        fleet = dataclasses.replace(fleet, seed=overrides.seed)
    if overrides.allow_gcs_sysid:
        fleet = dataclasses.replace(fleet, allow_gcs_sysid=True)
    return fleet


def _time(file: FleetFile, overrides: FleetOverrides, findings: Findings) -> TimeSection:
    if overrides.speed is None or findings.has("--speed"):
        return file.time
    return dataclasses.replace(file.time, speed=overrides.speed)


def _net(file: FleetFile, overrides: FleetOverrides, environ: Mapping[str, str]) -> NetSection:
    changes = {
        key: environ[variable] for key, variable in _NET_VARIABLES.items() if environ.get(variable)
    }
    if overrides.dashboard is not None:
        changes["dashboard"] = overrides.dashboard
    return dataclasses.replace(file.net, **changes)


def _gazebo(file: FleetFile, environ: Mapping[str, str]) -> GazeboSection:
    if environ.get(ATTACH_VARIABLE) != "1":
        return file.gazebo
    return dataclasses.replace(file.gazebo, attach=True)


def _ports(file: FleetFile, environ: Mapping[str, str], findings: Findings) -> PortsSection:
    text = environ.get(GCS_PORT_VARIABLE, "")
    if not text:
        outside = Outside.read(environ)
        moved = file.ports.mavlink_base + (outside.moved_by if outside else 0)
        # The last port is that of vehicle 255; what cannot move stays.
        in_range = 1 <= moved <= MAX_PORT - 254
        return dataclasses.replace(file.ports, mavlink_base=moved) if in_range else file.ports
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_PORT):
        findings.add((GCS_PORT_VARIABLE,), f"expected a port, 1..{MAX_PORT}.", value=text)
        return file.ports
    return dataclasses.replace(file.ports, mavlink_base=int(text))


def net_source(key: str, overrides: FleetOverrides, environ: Mapping[str, str]) -> KeyPath:
    """Where a value of ``[net]`` comes from, so that a bad one is looked for at the right place."""
    if key == "dashboard" and overrides.dashboard is not None:
        return ("--dashboard-bind",)
    variable = _NET_VARIABLES[key]
    return (variable,) if environ.get(variable) else ("net", key)


def _gcs(file: FleetFile, overrides: FleetOverrides, findings: Findings) -> GcsMode:
    if overrides.gcs is None:
        return file.mavlink.gcs
    if overrides.gcs in GcsMode.__members__.values():
        return GcsMode(overrides.gcs)
    _unknown_word("--gcs", overrides.gcs, [mode.value for mode in GcsMode], findings)
    return file.mavlink.gcs


def _layout(file: FleetFile, overrides: FleetOverrides, findings: Findings) -> LayoutKind:
    if overrides.layout is None:
        return file.layout.kind
    if overrides.layout in LayoutKind.__members__.values():
        return LayoutKind(overrides.layout)
    _unknown_word("--layout", overrides.layout, [kind.value for kind in LayoutKind], findings)
    return file.layout.kind


def _unknown_word(option: str, word: str, known: list[str], findings: Findings) -> None:
    expected = ", ".join(known[:-1]) + f" or {known[-1]}"
    hint = did_you_mean(word, known)
    hint = "" if hint.startswith("Known") else hint
    findings.add((option,), f"expected {expected}.", value=word, hint=hint)
