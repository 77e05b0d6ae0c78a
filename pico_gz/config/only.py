"""A part of a fleet: the other vehicles are run by other processes, from the same file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from pico_gz.config.fleet import FleetConfig
from pico_gz.errors import ConfigError, UnknownVehicleError

ONLY_VARIABLE = "PICO_GZ_ONLY"


def only_wanted(fleet: FleetConfig, environ: Mapping[str, str]) -> FleetConfig:
    """The fleet with only the vehicles that ``PICO_GZ_ONLY`` names (``1,2,7``); all without it.

    Each keeps its id, its place and its ports, so that the parts fit together.

    Raises:
        ConfigError: that is no list of ids of this fleet.
    """
    text = environ.get(ONLY_VARIABLE, "")
    if not text:
        return fleet
    try:
        wanted = {int(word) for word in text.split(",")}
    except ValueError:
        raise ConfigError(f"{ONLY_VARIABLE}={text} is no list of ids, as 1,2,7.") from None
    known = [plan.id for plan in fleet.vehicles]
    for vehicle_id in sorted(wanted - set(known)):
        raise UnknownVehicleError(vehicle_id, known)
    return dataclasses.replace(
        fleet, vehicles=tuple(plan for plan in fleet.vehicles if plan.id in wanted)
    )
