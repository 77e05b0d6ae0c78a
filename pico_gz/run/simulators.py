"""The simulators of a run and their world, from its fleet."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.adapters.registry import load_adapter
from pico_gz.core.frames import LocalFrame
from pico_gz.core.rover_spec import PRESETS, RoverSpec
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import ConfigError, PicoGzError
from pico_gz.run.config.adapter_choice import resolve_adapter
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.settings import TerrainKind, TerrainSection
from pico_gz.run.gazebo_rules import gazebo_problem
from pico_gz.run.options import RunOptions
from pico_gz.simulator.terrain import FlatTerrain, HeightmapTerrain, RampTerrain, Terrain
from pico_gz.simulator.world import WindConfig, World


def local_frame(fleet: FleetConfig) -> LocalFrame:
    """The fleet's geodetic origin."""
    return LocalFrame(fleet.origin.lat_deg, fleet.origin.lon_deg, fleet.origin.alt_m)


def make_world(fleet: FleetConfig, *, contacts: bool = True) -> World:
    """Everything around the vehicles."""
    wind = fleet.wind
    return World(
        origin=local_frame(fleet),
        date=fleet.origin.date,
        terrain=make_terrain(fleet.terrain),
        obstacles=fleet.obstacles,
        wind=WindConfig(
            north_mps=wind.north_mps,
            east_mps=wind.east_mps,
            gust_mps=wind.gust_mps,
            tau_s=wind.tau_s,
        ),
        contacts=contacts,
    )


def rover_choice(fleet: FleetConfig) -> Callable[[VehicleConfig], RoverSpec]:
    """What finds the rover of a vehicle; one that joins later has its preset's."""
    rovers = {plan.id: plan.rover for plan in fleet.vehicles}

    def choose(vehicle: VehicleConfig) -> RoverSpec:
        known = rovers.get(vehicle.id)
        if known is not None and known.preset == vehicle.preset:
            return known
        is_fleets = vehicle.preset == fleet.rover.preset
        return fleet.rover if is_fleets else PRESETS.get(vehicle.preset, known or fleet.rover)

    return choose


def make_lightweight(
    name: str, fleet: FleetConfig, options: Mapping[str, Any], *, contacts: bool
) -> LightweightAdapter:
    """An unconnected Lightweight simulator with the fleet's world and rovers."""
    given = {key: value for key, value in options.items() if value is not None}
    return LightweightAdapter(
        name=name,
        world=make_world(fleet, contacts=contacts),
        rover_of=rover_choice(fleet),
        **{"seed": fleet.seed, **given},
    )


AUTO = "auto"

Report = Callable[[str], None]


def choose_adapters(
    fleet: FleetConfig, environ: Mapping[str, str] | None = None
) -> tuple[FleetConfig, list[str]]:
    """Decide every vehicle's ``auto``; returns the fleet and one line per decision for people.

    Raises:
        MissingProgramError: Gazebo was asked for by name and cannot be used.
    """
    environment = os.environ if environ is None else environ
    wanted = {plan.id: plan.config.adapter or AUTO for plan in fleet.vehicles}
    choices = {
        name: resolve_adapter(fleet.adapter_type(name), environment, lambda: gazebo_problem(fleet))
        for name in sorted(set(wanted.values()))
    }
    names = {i: choices[name].name if name == AUTO else name for i, name in wanted.items()}
    reasons = [choice.reason for choice in choices.values() if choice.reason]
    return fleet.with_adapters(names), reasons


def make_adapters(
    fleet: FleetConfig, options: RunOptions, report: Report = lambda text: None
) -> list[SimulatorAdapter]:
    """One unconnected adapter per name that some vehicle uses, in order of first use.

    ``report`` takes a line for people where there is something to know about one.
    """
    names = dict.fromkeys(plan.config.adapter for plan in fleet.vehicles)
    return [_make(name, fleet, options, report) for name in names]


def _make(name: str, fleet: FleetConfig, options: RunOptions, report: Report) -> SimulatorAdapter:
    kind = fleet.adapter_type(name)
    builder = _BUILDERS.get(kind)
    if builder is not None:
        return builder(name, fleet, options, report)
    given, make = fleet.adapter_options(name), load_adapter(kind)
    try:
        adapter: SimulatorAdapter = make(name=name, **given)
    except (TypeError, ValueError) as error:
        if isinstance(error, PicoGzError) or not given:
            raise
        raise ConfigError(
            f"The adapter {kind!r} does not take the options of [adapters.{name}]: {error}",
            hint="Options become keywords of the adapter's class.",
        ) from error
    return adapter


def _make_lightweight(
    name: str, fleet: FleetConfig, options: RunOptions, report: Report
) -> SimulatorAdapter:

    return make_lightweight(name, fleet, fleet.adapter_options(name), contacts=options.contacts)


def _make_jsbsim(
    name: str, fleet: FleetConfig, options: RunOptions, report: Report
) -> SimulatorAdapter:
    from pico_gz.adapters.jsbsim.adapter import JsbsimAdapter
    from pico_gz.adapters.jsbsim.aircraft import AircraftSpec

    plans = {plan.id: plan for plan in fleet.vehicles}
    seed = fleet.adapter_options(name).get("seed")
    return JsbsimAdapter(
        name=name,
        world=make_world(fleet),
        aircraft_of=lambda vehicle: plans[vehicle.id].aircraft or AircraftSpec(),
        sensors_of=lambda vehicle: plans[vehicle.id].rover,
        seed=fleet.seed if seed is None else seed,
    )


def _make_gazebo(
    name: str, fleet: FleetConfig, options: RunOptions, report: Report
) -> SimulatorAdapter:
    from pico_gz.run.gazebo_setup import make_gazebo

    return make_gazebo(name, fleet, fleet.adapter_options(name), report)


def _make_mujoco(
    name: str, fleet: FleetConfig, options: RunOptions, report: Report
) -> SimulatorAdapter:
    from pico_gz.adapters.mujoco.adapter import MujocoAdapter
    from pico_gz.adapters.mujoco.physics import load_mujoco

    load_mujoco()  # named here, before anything of the run is open
    given = {key: value for key, value in fleet.adapter_options(name).items() if value is not None}
    return MujocoAdapter(
        name=name,
        world=make_world(fleet, contacts=options.contacts),
        rover_of=rover_choice(fleet),
        **{"seed": fleet.seed, **given},
    )


_BUILDERS: dict[str, Callable[[str, FleetConfig, RunOptions, Report], SimulatorAdapter]] = {
    "lightweight": _make_lightweight,
    "gazebo": _make_gazebo,
    "mujoco": _make_mujoco,
    "jsbsim": _make_jsbsim,
}


def make_terrain(ground: TerrainSection) -> Terrain:
    """Build the terrain of ``[terrain]``; its file, if any, is already an absolute path."""
    if ground.kind is TerrainKind.RAMP:
        return RampTerrain(
            _given(ground.slope_deg, 10.0),
            _given(ground.direction_deg, 0.0),
            _given(ground.start_m, 0.0),
            _given(ground.length_m, 0.0),
        )
    if ground.kind is TerrainKind.HEIGHTMAP:
        if ground.file is None:
            raise ConfigError("A heightmap needs a file.", hint="[terrain] file = 'heights.csv'")
        heights_m = HeightmapTerrain.read(ground.file)
        cell_m = _given(ground.cell_m, 1.0)
        return HeightmapTerrain(heights_m, cell_m, ground.north_m, ground.east_m)
    return FlatTerrain()


def _given(value: float | None, default: float) -> float:
    return default if value is None else value
