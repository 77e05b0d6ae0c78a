"""Vehicles that join or leave a run under way."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pico_gz.core.ground_control import GcsVehicle
from pico_gz.core.rover_spec import PRESETS
from pico_gz.core.vehicle_config import (
    MAX_VEHICLE_ID,
    NoiseProfile,
    Pose,
    VehicleConfig,
    is_ardurover,
)
from pico_gz.errors import ConfigError, DuplicateVehicleError, did_you_mean
from pico_gz.run.commands import integer, report_event
from pico_gz.run.config.checks import check_autopilot, check_text_name
from pico_gz.run.config.fleet import FleetConfig, VehiclePlan
from pico_gz.run.config.problems import Findings
from pico_gz.run.control_socket import Command
from pico_gz.run.external_setup import external_vehicle
from pico_gz.run.vehicle_setup import give_mission, spawn_vehicle
from pico_gz.run.view_access import FLEET_CHANGES

if TYPE_CHECKING:
    from pico_gz.run.fleet_run import FleetRun

KEYS = (
    "id", "name", "adapter", "autopilot", "preset", "noise",
    "north_m", "east_m", "yaw_deg", "mission", "params",
)  # fmt: skip


def join(run: FleetRun, keys: Mapping[str, Any]) -> int:
    """Put another vehicle into the run between two steps; returns its id.

    Args:
        run: an open run.
        keys: as in a ``[[vehicle]]`` table; without ``id``, the lowest free one.

    Raises:
        ConfigError: it cannot be; the run is as it was.
        AutopilotError: its autopilot raised before the first step.
    """
    return run.bridge.at_step_boundary(lambda: _join(run, plan_vehicle(run, keys)))


def leave(run: FleetRun, vehicle_id: int) -> None:
    """Take a vehicle out of the run between two steps; its id can be used again.

    Raises:
        UnknownVehicleError: there is none.
    """
    run.bridge.at_step_boundary(lambda: _leave(run, vehicle_id))


def join_commands(run: FleetRun) -> dict[str, Command]:
    """What ``pico-gz ctl`` may ask for; a browser may not, because an autopilot is a program."""

    def spawn(request: Mapping[str, Any]) -> dict[str, str]:
        keys = {key: request[key] for key in KEYS if request.get(key) is not None}
        vehicle_id = join(run, keys)
        return {"message": f"{run.bridge.get_vehicle(vehicle_id).config.label} joins."}

    def remove(request: Mapping[str, Any]) -> dict[str, str]:
        vehicle_id = integer(request, "id", 1, MAX_VEHICLE_ID)
        label = run.bridge.get_vehicle(vehicle_id).config.label
        leave(run, vehicle_id)
        return {"message": f"{label} leaves."}

    return {"spawn": spawn, "remove": remove}


def plan_vehicle(run: FleetRun, keys: Mapping[str, Any]) -> VehiclePlan:
    """The plan of a vehicle with the fleet's rover, adapter and autopilot where none is given.

    Raises:
        ConfigError: a key is unknown, or has a value that cannot be.
    """
    fleet, first = run.fleet, run.fleet.vehicles[0]
    for key in keys:
        if key not in KEYS:
            raise ConfigError(f"A vehicle that joins has no {key!r}.", hint=did_you_mean(key, KEYS))
    taken = set(run.bridge.list_vehicles())
    free = next(i for i in range(1, MAX_VEHICLE_ID + 1) if i not in taken)
    number = int(keys.get("id", free))
    if number in taken:
        raise DuplicateVehicleError(number)
    preset = keys.get("preset")
    if preset is not None and preset not in PRESETS:
        raise ConfigError(f"There is no preset {preset!r}.", hint=did_you_mean(preset, PRESETS))
    rover = fleet.rover if preset in (None, fleet.rover.preset) else PRESETS[preset]
    adapter = str(keys.get("adapter", first.config.adapter))
    if adapter not in run.bridge.list_adapters():
        raise ConfigError(
            f"No simulator of this run is called {adapter!r}.",
            hint=did_you_mean(adapter, run.bridge.list_adapters()),
        )
    autopilot, name = _words(fleet, keys, number)
    config = VehicleConfig(
        id=number,
        name=name,
        adapter=adapter,
        autopilot=autopilot,
        mavlink_port=fleet.rules.mavlink_port(number),
        fdm_port=fleet.rules.fdm_port(number),
        pose=Pose(**{k: float(keys[k]) for k in ("north_m", "east_m", "yaw_deg") if k in keys}),
        preset=rover.preset,
        channels=rover.channels,
        noise=NoiseProfile(keys.get("noise", fleet.noise)),
    )
    return VehiclePlan(
        config=config,
        rover=rover,
        board=first.board,
        mission=Path(keys["mission"]) if keys.get("mission") else None,
        params=Path(keys["params"]) if keys.get("params") else None,
    )


def _words(fleet: FleetConfig, keys: Mapping[str, Any], number: int) -> tuple[str, str]:
    """Autopilot and name, checked as in a fleet file."""
    from pico_gz.vehicle.own_autopilots import name_for

    wanted = keys.get("autopilot", fleet.vehicles[0].config.autopilot)
    autopilot = name_for(wanted) if callable(wanted) else str(wanted)
    name = str(keys.get("name", f"rover_{number}"))
    findings = Findings()
    own = [plan.name for plan in fleet.autopilots]
    check_autopilot(autopilot, own, ("autopilot",), findings)
    check_text_name(name, ("name",), findings)
    if any(plan.config.name == name and plan.id != number for plan in fleet.vehicles):
        findings.add(("name",), "another vehicle has that name.", value=name)
    if is_ardurover(autopilot):
        message = "a run starts ArduRovers when it begins; this one can be external."
        findings.add(("autopilot",), message, value=autopilot)
    findings.raise_if_any(None)
    return autopilot, name


def _join(run: FleetRun, plan: VehiclePlan) -> int:
    before = run.fleet
    others = [other for other in before.vehicles if other.id != plan.id]
    vehicles = tuple(sorted([*others, plan], key=lambda other: other.id))
    run.set_fleet(dataclasses.replace(before, vehicles=vehicles))
    try:
        pilot = spawn_vehicle(run.bridge, run.fleet, plan)
        try:
            if plan.config.is_external:
                _serve_external(run, plan)
            if pilot is not None:
                if plan.mission is not None:
                    give_mission(pilot, plan.mission, plan.config, run.frame, None)
                _take_pilot(run, plan, pilot)
            elif not plan.config.is_external and plan.config.autopilot != "none":
                run.listen_to(plan.id)
        except BaseException:
            run.pilots.remove(plan.id)
            run.bridge.despawn_vehicle(plan.id)
            raise
    except BaseException:
        run.set_fleet(before)
        raise
    report_event(run.bridge, FLEET_CHANGES[0], f"{plan.config.label} joins.", plan.id, severity=6)
    return plan.id


def _take_pilot(run: FleetRun, plan: VehiclePlan, pilot: GcsVehicle) -> None:
    """Give a new autopilot its ground link; observers see it from now on."""
    run.pilots.add(plan.id, pilot)
    run.closing.callback(pilot.params.flush)
    if run.mavlink is not None:
        from pico_gz.run.mavlink_setup import TruthReader, link_plan

        truth = TruthReader(lambda: run.bridge.view, run.frame)
        run.mavlink.add_vehicle(link_plan(plan, run.fleet, run.ports, pilot, truth))
    elif run.options.mavlink:
        run.open_mavlink(run.closing)


def _serve_external(run: FleetRun, plan: VehiclePlan) -> None:
    if run.fail.external is None:
        raise ConfigError(
            "An external vehicle joins only a run that began with one.",
            hint="Begin with one, or let it use another autopilot.",
        )
    run.fail.external.add_vehicle(external_vehicle(plan, run.fleet, run.ports))


def _leave(run: FleetRun, vehicle_id: int) -> None:
    label = run.bridge.get_vehicle(vehicle_id).config.label
    is_external = run.bridge.get_vehicle(vehicle_id).platform is None
    run.bridge.despawn_vehicle(vehicle_id)
    if is_external and run.fail.external is not None:
        run.fail.external.remove_vehicle(vehicle_id)
    if vehicle_id in run.pilots.commanded:
        run.pilots.remove(vehicle_id)
        if run.mavlink is not None:
            run.mavlink.remove_vehicle(vehicle_id)
    report_event(run.bridge, FLEET_CHANGES[1], f"{label} leaves.", vehicle_id, severity=6)
