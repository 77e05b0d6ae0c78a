"""What a browser needs to know once: the fleet, its ground, and the words of the controls."""

from __future__ import annotations

from typing import Any

from pico_gz import __version__
from pico_gz.config import VehiclePlan
from pico_gz.dashboard.frames import STATES
from pico_gz.dashboard.rows import FIELDS
from pico_gz.dashboard.scenery import obstacles_of, terrain_of
from pico_gz.session.dashboard import RunHandle
from pico_gz.session.vehicle_commands import MODE_NAMES
from pico_gz.simulator.actuator_faults import ACTUATOR_UNITS
from pico_gz.simulator.sensors.fault_values import UNITS
from pico_gz.simulator.sensors.faults import FailureKind


def describe_run(run: RunHandle) -> dict[str, Any]:
    """The parts of the first message that never change."""
    fleet = run.fleet
    return {
        "t": "hello",
        "version": __version__,
        "name": fleet.name,
        "seed": fleet.seed,
        "origin": [fleet.origin.lat_deg, fleet.origin.lon_deg, fleet.origin.alt_m],
        "vehicles": [_vehicle(plan, plan.id in run.pilots) for plan in fleet.vehicles],
        "obstacles": obstacles_of(fleet),
        "terrain": terrain_of(fleet),
        "states": STATES,
        "row_fields": FIELDS,
        "modes": MODE_NAMES,
        "failure_units": [*UNITS, *ACTUATOR_UNITS, "rc"],
        "failure_kinds": [kind.value for kind in FailureKind],
        "commands": sorted(run.commands),
        "timeline": _timeline(run.timeline_s),
        "tracks": run.tracks,
    }


def _timeline(span_s: tuple[float, float] | None) -> dict[str, float] | None:
    return None if span_s is None else {"start_s": span_s[0], "end_s": span_s[1]}


def _vehicle(plan: VehiclePlan, commandable: bool) -> dict[str, Any]:
    config = plan.config
    return {
        "id": plan.id,
        "name": config.label,
        "adapter": config.adapter,
        "autopilot": config.autopilot,
        "preset": plan.rover.preset,
        "length_m": plan.rover.length_m,
        "width_m": plan.rover.width_m,
        "max_speed_mps": plan.rover.max_speed,
        "commandable": commandable,
    }
