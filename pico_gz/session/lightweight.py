"""The Lightweight adapter of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.config import FleetConfig
from pico_gz.session.world import make_world


def make_lightweight(
    name: str, fleet: FleetConfig, options: Mapping[str, Any], *, contacts: bool
) -> LightweightAdapter:
    """An unconnected Lightweight simulator with the fleet's world and rovers."""
    rovers = {plan.id: plan.rover for plan in fleet.vehicles}
    given = {key: value for key, value in options.items() if value is not None}
    return LightweightAdapter(
        name=name,
        world=make_world(fleet, contacts=contacts),
        rover_of=lambda vehicle: rovers[vehicle.id],
        **{"seed": fleet.seed, **fleet.sensor_noise, **given},
    )
