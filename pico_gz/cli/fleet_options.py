"""Options of every command that takes a fleet."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from pico_gz.core.port_owner import OFFSET_STEP, free_offset
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides

AUTO = "auto"


def open_fleet(
    path: Path | None, overrides: FleetOverrides, *, port_offset: str = "0"
) -> FleetConfig:
    """Read the fleet file, or take the default fleet; print its warnings on stderr.

    Args:
        path: the fleet file; None for the default fleet.
        overrides: options that win over it.
        port_offset: a number, or ``auto`` for the first at which all ports are free.
    """
    fleet = load_fleet(path, overrides) if path else default_fleet(overrides=overrides)
    for warning in fleet.warnings:
        where = f"{path}: " if path and warning.startswith("line ") else ""
        print(f"Warning: {where}{warning}", file=sys.stderr)
    return move_ports(fleet, port_offset)


def move_ports(fleet: FleetConfig, port_offset: str) -> FleetConfig:
    """The fleet with all its ports moved as ``--port-offset`` says."""
    if port_offset == AUTO:
        offset = free_offset(lambda offset: fleet.with_port_offset(offset).port_plan())
    else:
        offset = _whole_number(port_offset)
    return fleet.with_port_offset(offset) if offset else fleet


def move_on(fleet: FleetConfig) -> FleetConfig:
    """The fleet at the next offset that is free; this one was taken meanwhile."""
    start = fleet.rules.offset + OFFSET_STEP
    further = free_offset(lambda offset: fleet.with_port_offset(start + offset).port_plan())
    return fleet.with_port_offset(start + further)


def parse_speed(text: str | None) -> float | str | None:
    """Read ``--speed``: a number, ``max``, or None when it was not given."""
    if text is None or text == "max":
        return text
    try:
        return float(text)
    except ValueError:
        raise ConfigError(
            f"--speed {shlex.quote(text)}: expected a number, or max.",
        ) from None


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(
            f"--port-offset {shlex.quote(text)}: expected a whole number, or auto."
        ) from None
