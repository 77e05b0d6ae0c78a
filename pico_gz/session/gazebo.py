"""How a run gets its Gazebo: it starts one with a world of the fleet, or uses one that is there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from pico_gz.adapters.gazebo import GazeboConfig
from pico_gz.adapters.gazebo_sensors import Surroundings
from pico_gz.config import FleetConfig, VehiclePlan
from pico_gz.config.ground import make_terrain
from pico_gz.config.sim_wires import sim_wire
from pico_gz.errors import PortClashError
from pico_gz.launch.gz_control import GzControl, open_control
from pico_gz.launch.gz_sensors import GazeboSensorTopics
from pico_gz.launch.launched_gazebo import LaunchedGazeboAdapter
from pico_gz.launch.running_gazebo import require_gazebo
from pico_gz.launch.steered_gazebo import SteeredGazeboAdapter, Steering
from pico_gz.launch.world_check import require_drivable
from pico_gz.launch.world_files import given_world
from pico_gz.messages import VehicleConfig
from pico_gz.port_owner import find_busy
from pico_gz.ports import PortProblem, PortRole, PortUse
from pico_gz.rover import RoverSpec, rover_spec
from pico_gz.session.gazebo_rules import has_own_world, not_ours_to_start
from pico_gz.session.gazebo_start import GazeboStarter
from pico_gz.session.world import local_frame
from pico_gz.simulator.ops import SCALAR

# A small world is ready after two seconds; each further rover adds to it.
_START_S, _START_PER_ROVER_S = 30.0, 0.5


def make_gazebo(
    name: str,
    fleet: FleetConfig,
    options: Mapping[str, Any],
    tell: Callable[[str], None] = lambda text: None,
) -> SteeredGazeboAdapter:
    """An unconnected adapter: connecting starts Gazebo, or reaches the one that is there.

    Args:
        name: of the adapter.
        fleet: the fleet.
        options: what ``[adapters]`` says of this adapter.
        tell: takes one line for people: what Gazebo it is.

    Raises:
        PortClashError: some of the plugins' ports are in use, but not all, or not by Gazebo.
        MissingProgramError: Gazebo has to be started and is not here.
        ConfigError: the fleet's own world cannot be driven in.
    """
    config = gazebo_config(fleet, options)
    plans = [plan for plan in fleet.vehicles if plan.config.adapter == name]
    rovers = {plan.id: plan.rover for plan in plans}

    def rover_of(vehicle: VehicleConfig) -> RoverSpec:
        return rovers.get(vehicle.id) or rover_spec(vehicle.preset)

    others: dict[str, Any] = {
        "name": name,
        "around": Surroundings(frame=local_frame(fleet), on=fleet.origin.date, seed=fleet.seed),
        "rover_of": rover_of,
    }
    reason = not_ours_to_start(
        fleet, config.server_addr, ardupilot_compat=config.ardupilot_compat
    ) or _attach_to_running(config, plans)
    if reason:
        tell(f"{name}: not started, {reason}")
        steering = _steering(fleet, plans, rover_of, lambda: open_control(fleet.name))
        return SteeredGazeboAdapter(config, steering=steering, **others)
    start = GazeboStarter(fleet, tuple(rovers))
    if (world := given_world(fleet)) is not None:
        require_drivable(world, {p.config.label: config.port_pair(p.config)[0] for p in plans})
    tell(f"{name}: {start.summary()}")
    if config.connect_timeout_s is None:
        deadline_s = _START_S + _START_PER_ROVER_S * len(plans)
        config = msgspec.structs.replace(config, connect_timeout_s=deadline_s)
    steering = _steering(fleet, plans, rover_of, start.control)
    return LaunchedGazeboAdapter(config, start=start, steering=steering, **others)


def gazebo_config(fleet: FleetConfig, options: Mapping[str, Any]) -> GazeboConfig:
    """The wire to the fleet's Gazebo."""
    # The port plan knows the same wire, so the run uses what ``pico-gz ports`` shows.
    wire = sim_wire("gazebo", fleet.gazebo, fleet.rules, options)
    config = GazeboConfig(
        sensor_port=wire.sensor_port,
        actuator_port=wire.actuator_port,
        fdm_stride=wire.stride,
        server_addr=fleet.gazebo.server_addr,
        ardupilot_compat=fleet.gazebo.ardupilot_compat,
        timeout_ms=fleet.gazebo.timeout_ms,
        physics_step_us=fleet.gazebo.physics_step_us,
        own_world=has_own_world(fleet),
    )
    moved = ("sensor_port", "actuator_port")
    given = {k: value for k, value in options.items() if k not in moved and value is not None}
    return msgspec.structs.replace(config, **given)


def _steering(
    fleet: FleetConfig,
    plans: Sequence[VehiclePlan],
    rover_of: Callable[[VehicleConfig], RoverSpec],
    control: Callable[[], GzControl],
) -> Steering:
    terrain = make_terrain(fleet.terrain)

    def sensors(control: GzControl) -> GazeboSensorTopics:
        return GazeboSensorTopics(
            control.world,
            {plan.id: plan.config.label for plan in plans},
            {plan.id: plan.rover.rangefinders_deg for plan in plans},
            control.topics,
            origin_alt_m=fleet.origin.alt_m,
        )

    return Steering(
        open_control=control,
        model_sdf=lambda vehicle: _model_sdf(fleet, vehicle, rover_of(vehicle)),
        height_m=lambda north_m, east_m: float(terrain.height_m(SCALAR, north_m, east_m)),
        sensors=sensors if fleet.gazebo.sensor_topics else None,
    )


def _model_sdf(fleet: FleetConfig, vehicle: VehicleConfig, rover: RoverSpec) -> str:
    """The model of a vehicle that joins a running world, with its plugin on its own port."""
    from pico_gz.worldgen.from_fleet import world_of_fleet
    from pico_gz.worldgen.render import render_model, render_model_file

    # The packets follow the vehicle's channels, so its model must as well.
    rover = msgspec.structs.replace(rover, channels=vehicle.channels)
    alone = dataclasses.replace(fleet, vehicles=(VehiclePlan(config=vehicle, rover=rover),))
    (model,) = world_of_fleet(alone, rovers=(vehicle.id,)).rovers
    return render_model_file(render_model(model))


def _attach_to_running(config: GazeboConfig, plans: Sequence[VehiclePlan]) -> str:
    """Whom the plugins' ports belong to already; empty when they are free."""
    held = _held_plugin_ports(config, plans)
    if len(held) == len(plans):
        require_gazebo(held)
        return f"because {held[0].use} {held[0].reason}: that one is used"
    if held:
        raise PortClashError(
            "\n".join(map(str, held)),
            hint="End that program, or let --port-offset auto move the whole fleet.",
        )
    return ""


def _held_plugin_ports(config: GazeboConfig, plans: Sequence[VehiclePlan]) -> list[PortProblem]:
    return find_busy(
        PortUse(
            protocol="udp",
            port=config.port_pair(plan.config)[0],
            host="127.0.0.1",
            role=PortRole.BIND,
            purpose="Gazebo plugin",
            owner=plan.config.label,
            vehicle_id=plan.id,
        )
        for plan in plans
    )
