"""A fleet of vehicles in one world, stepping together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pico_gz.core.messages import SensorData, VehicleTruth
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import ConfigError, DuplicateVehicleError, UnknownVehicleError, did_you_mean
from pico_gz.simulator import native_build as build
from pico_gz.simulator.contacts import Contact, ContactChecker
from pico_gz.simulator.faults import ACTUATOR_UNITS, ActuatorFaults, find_units
from pico_gz.simulator.faults import UNITS as SENSOR_UNITS
from pico_gz.simulator.kinematics import truth_of
from pico_gz.simulator.models import ModelTable, SensorModel
from pico_gz.simulator.native_fleet import NativeFleet
from pico_gz.simulator.native_world import knows_terrain
from pico_gz.simulator.rover import Rover
from pico_gz.simulator.scene import Scene
from pico_gz.simulator.sensor_setup import SensorSetup
from pico_gz.simulator.world import Wind, World


class Vehicle:
    """One vehicle: its motion, its sensors, its commands and what is broken."""

    __slots__ = ("commands", "faults", "rover", "sensors", "setup")

    def __init__(self, rover: Rover, sensors: SensorModel, setup: SensorSetup) -> None:
        self.rover = rover
        self.sensors = sensors
        self.setup = setup
        self.commands = (0.0, 0.0)
        self.faults: ActuatorFaults | None = None  # None: none fails


class FleetEngine:
    """Vehicles of any kind in one world, advanced step by step.

    Vehicles can come and go between steps. What one of them does depends on the seed, its id
    and its commands alone, unless it touches or sees another one (``World.contacts``).
    """

    def __init__(self, world: World, seed: int, models: ModelTable | None = None) -> None:
        self._world = world
        self._scene = Scene(world.obstacles, vehicles_visible=world.contacts)
        self._contacts = ContactChecker(self._scene) if world.contacts else None
        self._wind = Wind(world.wind, seed)
        self._seed = seed
        self._models = models or ModelTable()
        self._magnetic = world.magnetic()
        self._vehicles: dict[int, Vehicle] = {}  # in id order
        self._failing: dict[int, Vehicle] = {}
        self._sees_vehicles = False
        self._native = self._find_core()
        self.time_us = 0

    def _find_core(self) -> NativeFleet | None:
        world, library = self._world, build.load()
        if library is None or not knows_terrain(world.terrain):
            return None
        return NativeFleet(library, world.terrain, world.origin, self._scene, self._contacts)

    @property
    def is_native(self) -> bool:
        """Whether the compiled core computes the vehicles that it covers."""
        return self._native is not None

    # --- fleet ----------------------------------------------------------------------------

    @property
    def vehicle_ids(self) -> tuple[int, ...]:
        """All vehicles, in id order."""
        return tuple(self._vehicles)

    def add(self, spec: RoverSpec, sensors: SensorSetup, pose: Pose) -> None:
        """Put a vehicle into the world, standing still; its id is that of its sensors."""
        if sensors.vehicle_id in self._vehicles:
            raise DuplicateVehicleError(sensors.vehicle_id)
        world = self._world
        model = self._models.sensors(spec)
        rover = Rover(spec, self._models.drive(spec), world.terrain, pose)
        fitted = model(sensors, world.origin, self._magnetic, self._seed, self._scene)
        vehicles = {**self._vehicles, sensors.vehicle_id: Vehicle(rover, fitted, sensors)}
        self._vehicles = dict(sorted(vehicles.items()))
        self._fleet_changed()

    def remove(self, vehicle_id: int) -> None:
        """Take a vehicle out of the world."""
        self._vehicle(vehicle_id)
        self._vehicles = {i: v for i, v in self._vehicles.items() if i != vehicle_id}
        self._fleet_changed()

    def _fleet_changed(self) -> None:
        vehicles = self._vehicles.values()
        self._failing = {i: v for i, v in self._vehicles.items() if v.faults is not None}
        if self._contacts is not None:
            self._contacts.watch({i: v.rover for i, v in self._vehicles.items()})
        self._sees_vehicles = self._scene.vehicles_visible and any(
            vehicle.setup.rangefinders for vehicle in vehicles
        )
        if self._native is not None:
            self._native.set_members(self._vehicles, see_vehicles=self._sees_vehicles)

    def _vehicle(self, vehicle_id: int) -> Vehicle:
        try:
            return self._vehicles[vehicle_id]
        except KeyError:
            raise UnknownVehicleError(vehicle_id, self.vehicle_ids) from None

    # --- a step ---------------------------------------------------------------------------

    def command(self, vehicle_id: int, first: float, second: float) -> None:
        """Set a vehicle's commands: (left, right) or (throttle, steering), -1..1."""
        vehicle = self._vehicles[vehicle_id]
        vehicle.commands = (first, second)
        if vehicle.faults is None:
            self._drive_by(vehicle_id, vehicle, (first, second))

    def _drive_by(self, vehicle_id: int, vehicle: Vehicle, commands: tuple[float, float]) -> None:
        vehicle.rover.commands = commands
        if self._native is not None:
            self._native.command(vehicle_id, commands)

    def step(self, dt_us: int) -> list[SensorData]:
        """Advance time by ``dt_us`` and return what all vehicles measure, in id order."""
        return list(self.advance(dt_us).values())

    def advance(self, dt_us: int) -> Mapping[int, SensorData]:
        """Advance time by ``dt_us``; messages about what vehicles measure are built when read."""
        wind = None if self._wind.calm else self._wind.at(self.time_us)
        for vehicle_id, vehicle in self._failing.items():
            if vehicle.faults is not None:
                outputs = vehicle.faults.apply(vehicle.commands, self.time_us, dt_us)
                self._drive_by(vehicle_id, vehicle, outputs)
        self.time_us = now_us = self.time_us + dt_us
        if self._native is not None:
            return self._native.step(now_us, dt_us, wind)
        vehicles = self._vehicles.values()
        for vehicle in vehicles:
            rover = vehicle.rover
            rover.battery_ratio = vehicle.sensors.battery_ratio
            rover.advance(dt_us, wind)
        if self._contacts is not None and not self._contacts.alone:
            self._contacts.check(now_us)
        for vehicle in vehicles:
            vehicle.rover.observe(wind)
        if self._sees_vehicles:
            self._scene.place(
                [(i, *v.rover.centre_m, v.rover.spec.radius_m) for i, v in self._vehicles.items()]
            )
        return {
            i: v.sensors.sample(now_us, dt_us, v.rover.motion) for i, v in self._vehicles.items()
        }

    # --- observers ------------------------------------------------------------------------

    def truth(self) -> Mapping[int, VehicleTruth]:
        """Where all vehicles are, in id order; may build them when they are read."""
        if self._native is not None and (found := self._native.truths()) is not None:
            return found
        return {i: self._truth(i, vehicle) for i, vehicle in self._vehicles.items()}

    def _truth(self, vehicle_id: int, vehicle: Vehicle) -> VehicleTruth:
        found = None if self._native is None else self._native.truth(vehicle_id)
        return found or truth_of(vehicle_id, self.time_us, vehicle.rover.motion)

    def drain_contacts(self) -> list[Contact]:
        """Take the contacts that began since the last call."""
        return [] if self._contacts is None else self._contacts.drain()

    def touching(self) -> list[tuple[int, int | str]]:
        """The contacts that last: (vehicle id, the other's id or an obstacle's name)."""
        return [] if self._contacts is None else self._contacts.touching()

    # --- interventions --------------------------------------------------------------------

    def set_pose(
        self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float, speed_mps: float = 0.0
    ) -> None:
        """Put a vehicle elsewhere, going straight at ``speed_mps``; wheels keep their angles."""
        if not math.isfinite(north_m + east_m + yaw_deg + speed_mps):
            raise ConfigError("A pose has finite numbers only.")
        rover = self._vehicle(vehicle_id).rover
        if abs(speed_mps) > rover.spec.max_speed:
            raise ConfigError(
                f"Vehicle {vehicle_id} reaches {rover.spec.max_speed} m/s, not {speed_mps}."
            )
        self._pull(vehicle_id)
        rover.put(north_m, east_m, yaw_deg, speed_mps)
        rover.free_sq = -1.0
        self._push(vehicle_id)

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break a sensor or an actuator of a vehicle; ``ok`` mends it.

        Raises:
            ConfigError: no such unit on this vehicle, or no such failure.
        """
        vehicle = self._vehicle(vehicle_id)
        if unit in ACTUATOR_UNITS:
            self._fail_actuator(vehicle, unit, kind)
            return
        try:
            units = find_units(unit)
        except ConfigError:
            hint = did_you_mean(unit, [*SENSOR_UNITS, *ACTUATOR_UNITS])
            raise ConfigError(f"The simulator has no unit {unit!r}.", hint=hint) from None
        if not all(vehicle.setup.carries(SENSOR_UNITS[name].field) for name in units):
            raise ConfigError(f"Vehicle {vehicle_id} has no unit {unit!r}.")
        self._pull(vehicle_id)
        vehicle.sensors.set_failure(unit, kind)
        self._push(vehicle_id)

    def _pull(self, vehicle_id: int) -> None:
        """Bring a vehicle's objects up to date with the core."""
        if self._native is not None:
            self._native.pull(vehicle_id)

    def _push(self, vehicle_id: int) -> None:
        """Let the core know what was changed on a vehicle's objects."""
        if self._native is not None:
            self._native.push(vehicle_id)

    def _fail_actuator(self, vehicle: Vehicle, unit: str, kind: str) -> None:
        faults = vehicle.faults or self._new_faults(vehicle)
        faults.set(unit, kind, vehicle.commands)
        vehicle.faults = faults if faults else None
        vehicle_id = vehicle.setup.vehicle_id
        self._drive_by(vehicle_id, vehicle, vehicle.commands)
        self._failing = {i: v for i, v in self._vehicles.items() if v.faults is not None}

    def _new_faults(self, vehicle: Vehicle) -> ActuatorFaults:
        return ActuatorFaults(self._seed, vehicle.setup.vehicle_id, vehicle.rover.spec.drive)

    def set_parameter(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a ``SIM_*`` parameter of a vehicle's sensors."""
        vehicle = self._vehicle(vehicle_id)
        self._pull(vehicle_id)
        vehicle.sensors.set_parameter(name, value)
        self._push(vehicle_id)

    # --- snapshots ------------------------------------------------------------------------

    def save_state(self) -> dict[str, Any]:
        """Everything needed to go on from here, as plain values."""
        for vehicle_id in self._vehicles:
            self._pull(vehicle_id)
        return {
            "time_us": self.time_us,
            "wind": self._wind.save_state(),
            "touching": [] if self._contacts is None else self._contacts.save(),
            "vehicles": {
                str(vehicle_id): {
                    "vehicle": vehicle.rover.save(),
                    "sensors": vehicle.sensors.save(),
                    "commands": list(vehicle.commands),
                    "faults": [] if vehicle.faults is None else vehicle.faults.save(),
                }
                for vehicle_id, vehicle in self._vehicles.items()
            },
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave; the same vehicles must be here.

        Raises:
            ConfigError: other vehicles are here than in the snapshot.
        """
        ids = sorted(int(vehicle_id) for vehicle_id in state["vehicles"])
        if ids != list(self._vehicles):
            raise ConfigError(f"The snapshot holds vehicles {ids}, here are {self.vehicle_ids}.")
        for vehicle_id, vehicle in self._vehicles.items():
            self._pull(vehicle_id)  # what a snapshot does not hold goes on, such as clocks
            self._load_vehicle(vehicle, state["vehicles"][str(vehicle_id)])
        self.time_us = state["time_us"]
        self._wind.load_state(state["wind"])
        if self._contacts is not None:
            self._contacts.load(state["touching"])
        self._fleet_changed()

    def _load_vehicle(self, vehicle: Vehicle, saved: Mapping[str, Any]) -> None:
        vehicle.rover.load(saved["vehicle"])
        vehicle.sensors.load(saved["sensors"])
        first, second = saved["commands"]
        vehicle.commands = vehicle.rover.commands = (first, second)
        vehicle.faults = None
        if saved["faults"]:
            vehicle.faults = self._new_faults(vehicle)
            vehicle.faults.load(saved["faults"])
