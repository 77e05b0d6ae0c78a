"""A checked fleet: what a run is made from."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.adapters.jsbsim.aircraft import AircraftSpec
from pico_gz.core.board_options import PlatformOptions
from pico_gz.core.ports import Link, PortPlan, PortRules, parse_address
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import NoiseProfile, VehicleConfig
from pico_gz.errors import ConfigError, UnknownVehicleError
from pico_gz.run.config.adapter_choice import NO_TRUTH, NO_TRUTH_HINT
from pico_gz.run.config.outside import Outside
from pico_gz.run.config.port_plan import SimWire, plan_ports, sim_wire
from pico_gz.run.config.settings import (
    ArduRoverSection,
    GazeboSection,
    LayoutSection,
    NetSection,
    OriginSection,
    TerrainSection,
    TimeSection,
    WindSection,
)
from pico_gz.simulator.obstacles import Obstacle


class VehiclePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One vehicle of a fleet.

    Attributes:
        config: what travels with the vehicle; its ports and adapter name are filled in.
        rover: how it is built, preset and changes together.
        board: how its sensors are mounted and read; unused for an external autopilot.
        mission: mission file to load, if any.
        params: parameter file to load, if any.
        links: MAVLink links of this vehicle alone.
        aircraft: what it flies; ``rover`` then describes its sensors and how it is drawn.
    """

    config: VehicleConfig
    rover: RoverSpec
    board: PlatformOptions = PlatformOptions()
    mission: Path | None = None
    params: Path | None = None
    links: tuple[Link, ...] = ()
    aircraft: AircraftSpec | None = None

    @property
    def id(self) -> int:
        """Vehicle id."""
        return self.config.id


class AdapterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A simulator of ``[adapters]``: its name, its type and that type's own options."""

    name: str
    type: str
    options: dict[str, Any] = {}


class AutopilotPlan(msgspec.Struct, frozen=True, kw_only=True):
    """An autopilot of ``[autopilots]``: its name, what it is, and the keywords of its class."""

    name: str
    type: str
    options: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetConfig:
    """Everything a run needs to know, checked and in id order.

    Attributes:
        name: of the fleet.
        source: the file it came from; None without one.
        seed: start of all random numbers.
        ardupilot: the release of external ArduPilots, ``4.6`` or ``4.7``.
        allow_gcs_sysid: whether id 255 may be a vehicle.
        origin: and ``time, layout, net, ardurover, gazebo, terrain, wind``: those tables.
        rules: where ports start, with the offset.
        links: MAVLink links of the whole fleet.
        signing_key_file: holds the key that MAVLink is signed with; None signs nothing.
        failure_injection: whether ground stations may break things with a command.
        dashboard_is_fixed: the browser view's port was named by an option, so it does not move.
        keep_params: whether parameters that a ground station sets are kept for the next run.
        rover: the fleet's rover; a vehicle may have its own.
        noise: the fleet's sensor quality; a vehicle may have its own.
        adapters: further simulators.
        autopilots: autopilots of one's own with options.
        module_folder: where modules of autopilots are looked for, beside the Python path.
        obstacles: what stands in the way.
        vehicles: in id order.
        warnings: what people should know, one sentence each.
        outside: names and addresses outside of the container, if the run is in one.
    """

    name: str
    source: Path | None
    seed: int
    ardupilot: str
    allow_gcs_sysid: bool
    origin: OriginSection
    time: TimeSection
    layout: LayoutSection
    rules: PortRules
    net: NetSection
    links: tuple[Link, ...]
    rover: RoverSpec
    noise: NoiseProfile
    gazebo: GazeboSection
    adapters: tuple[AdapterPlan, ...]
    terrain: TerrainSection
    wind: WindSection
    obstacles: tuple[Obstacle, ...]
    vehicles: tuple[VehiclePlan, ...]
    warnings: tuple[str, ...] = ()
    signing_key_file: Path | None = None
    failure_injection: bool = False
    keep_params: bool = False
    dashboard_is_fixed: bool = False
    autopilots: tuple[AutopilotPlan, ...] = ()
    module_folder: Path | None = None
    outside: Outside | None = None
    ardurover: ArduRoverSection = field(default_factory=ArduRoverSection)

    @property
    def speed(self) -> float | None:
        """Simulated seconds per second; None is as fast as possible."""
        return None if self.time.speed == "max" else float(self.time.speed)

    @property
    def dashboard(self) -> tuple[str, int]:
        """Host and port of the browser view, with the offset."""
        host, port = parse_address(self.net.dashboard)
        return host, port if self.dashboard_is_fixed else port + self.rules.offset

    def vehicle_configs(self) -> list[VehicleConfig]:
        """Every vehicle, in id order."""
        return [vehicle.config for vehicle in self.vehicles]

    def vehicle(self, vehicle_id: int) -> VehiclePlan:
        """One vehicle."""
        for vehicle in self.vehicles:
            if vehicle.id == vehicle_id:
                return vehicle
        raise UnknownVehicleError(vehicle_id, (vehicle.id for vehicle in self.vehicles))

    def adapter_type(self, name: str) -> str:
        """The type behind an adapter's name."""
        return next((plan.type for plan in self.adapters if plan.name == name), name)

    def adapter_options(self, name: str) -> Mapping[str, Any]:
        """What ``[adapters]`` says of an adapter."""
        return next((plan.options for plan in self.adapters if plan.name == name), {})

    def autopilot_plan(self, name: str) -> AutopilotPlan:
        """What ``[autopilots]`` says of an autopilot; by default its name is its type."""
        found = (plan for plan in self.autopilots if plan.name == name)
        return next(found, AutopilotPlan(name=name, type=name))

    def sim_wire(self, name: str) -> SimWire:
        """How the Gazebo adapter ``name`` reaches its simulator."""
        return sim_wire(name, self.gazebo, self.rules, self.adapter_options(name))

    def without_truth(self) -> list[VehiclePlan]:
        """External vehicles on a wire without the truth that their autopilots need."""
        ids = self.on_gazebo()
        return [
            plan
            for plan in self.vehicles
            if plan.id in ids
            and plan.config.is_external
            and not self.sim_wire(plan.config.adapter).ardupilot_compat
        ]

    def on_gazebo(self) -> frozenset[int]:
        """Ids of the vehicles whose adapter is Gazebo; ``auto`` is not decided yet."""
        return frozenset(
            vehicle.id
            for vehicle in self.vehicles
            if self.adapter_type(vehicle.config.adapter) == "gazebo"
        )

    def port_plan(
        self,
        *,
        on_gazebo: Collection[int] | None = None,
        own_world: bool = True,
        dashboard: bool = True,
        radio: bool = False,
    ) -> PortPlan:
        """All ports of this fleet.

        Args:
            on_gazebo: ids that Gazebo simulates; default: those whose adapter says so.
            own_world: whether the kit generated Gazebo's world.
            dashboard: whether the browser view is on.
            radio: whether to name the ports of ``--rc udp``.
        """
        links = [(link, None) for link in self.links]
        ids = self.on_gazebo() if on_gazebo is None else on_gazebo
        return plan_ports(
            self.vehicle_configs(),
            self.rules,
            wires=self._wires(ids, own_world=own_world),
            net=self.net,
            dashboard=dashboard,
            dashboard_is_fixed=self.dashboard_is_fixed,
            links=[*links, *((link, plan.id) for plan in self.vehicles for link in plan.links)],
            radio=radio,
        )

    def _wires(self, on_gazebo: Collection[int], *, own_world: bool) -> dict[int, SimWire]:
        wires: dict[str, SimWire] = {}
        found = {}
        for plan in self.vehicles:
            if plan.id in on_gazebo:
                name = plan.config.adapter
                name = name if self.adapter_type(name) == "gazebo" else "gazebo"
                if name not in wires:
                    wire = self.sim_wire(name)
                    own = own_world if wire.own_world is None else wire.own_world
                    wires[name] = msgspec.structs.replace(wire, own_world=own)
                found[plan.id] = wires[name]
        return found

    def with_port_offset(self, offset: int) -> FleetConfig:
        """The same fleet with all its ports moved to ``offset``."""
        moved = offset - self.rules.offset
        vehicles = tuple(_moved(vehicle, moved) for vehicle in self.vehicles)
        rules = msgspec.structs.replace(self.rules, offset=offset)
        fleet = dataclasses.replace(self, vehicles=vehicles, rules=rules)
        fleet.port_plan().check()
        return fleet

    def with_adapters(self, names: Mapping[int, str]) -> FleetConfig:
        """The same fleet with the adapters of some vehicles decided.

        Raises:
            ConfigError: an aircraft would have to drive, or a rover to fly.
        """
        for plan in self.vehicles:
            flies = self.adapter_type(names.get(plan.id, plan.config.adapter)) == "jsbsim"
            if flies != (plan.aircraft is not None):
                what = "a rover, which jsbsim cannot simulate" if flies else "an aircraft of jsbsim"
                raise ConfigError(f"{plan.config.label} is {what}.")
        vehicles = tuple(
            msgspec.structs.replace(
                plan, config=msgspec.structs.replace(plan.config, adapter=names[plan.id])
            )
            if plan.id in names
            else plan
            for plan in self.vehicles
        )
        fleet = dataclasses.replace(self, vehicles=vehicles)
        if fleet.on_gazebo():
            fleet.require_gazebo_step()
            fleet.require_truth()
        return fleet

    def require_truth(self) -> None:
        """Refuse external autopilots that could not be answered."""
        for plan in self.without_truth():
            raise ConfigError(f"{plan.config.label}: {NO_TRUTH}", hint=NO_TRUTH_HINT)

    def require_gazebo_step(self) -> None:
        """Refuse a step that is no whole number of Gazebo's own steps."""
        if self.time.step_us % self.gazebo.physics_step_us:
            raise ConfigError(
                f"A step of {self.time.step_us} us is no whole number of Gazebo steps of"
                f" {self.gazebo.physics_step_us} us.",
                hint="Change [time] step_us or [gazebo] physics_step_us.",
            )


def _moved(plan: VehiclePlan, by: int) -> VehiclePlan:
    config = plan.config
    fdm_port, mavlink_port = config.fdm_port + by, config.mavlink_port + by
    if not (0 < fdm_port <= 65535 and 0 < mavlink_port <= 65535):
        raise ConfigError(
            f"A port offset of {by} moves {config.label} out of 1..65535.",
            hint="Use a smaller --port-offset.",
        )
    config = msgspec.structs.replace(config, fdm_port=fdm_port, mavlink_port=mavlink_port)
    return msgspec.structs.replace(plan, config=config)
