"""A fleet of vehicles stepping together, in groups of identical rovers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pico_gz.core.messages import SensorData, VehicleTruth
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import Pose
from pico_gz.errors import ConfigError, DuplicateVehicleError, UnknownVehicleError, did_you_mean
from pico_gz.simulator.contacts import Contact, ContactChecker
from pico_gz.simulator.drive_model import DriveModel
from pico_gz.simulator.faults import ACTUATOR_UNITS, ActuatorFaults, find_units
from pico_gz.simulator.faults import UNITS as SENSOR_UNITS
from pico_gz.simulator.kinematics import start_values, truth_of
from pico_gz.simulator.models import ModelTable, SensorModel
from pico_gz.simulator.ops import ARRAY, SCALAR
from pico_gz.simulator.rover_group import RoverGroup
from pico_gz.simulator.scene import Scene
from pico_gz.simulator.sensor_setup import SensorSetup
from pico_gz.simulator.world import Wind, World

# From this many on, arrays beat the same vehicles one by one on floats (measured).
ARRAY_FROM = 12

GroupKey = tuple[RoverSpec, tuple[object, ...]]


class ComputeGroup(msgspec.Struct, frozen=True):
    """Vehicles that are computed together, and their sensors."""

    ids: tuple[int, ...]
    lane: RoverGroup
    sensors: SensorModel


class Member:
    """One vehicle: what it is, what it was told, what is broken, and where it is computed."""

    __slots__ = ("commands", "faults", "key", "place", "sensors", "spec", "state", "unit")

    def __init__(self, spec: RoverSpec, sensors: SensorSetup, state: dict[str, Any]) -> None:
        self.spec = spec
        self.sensors = sensors
        self.key: GroupKey = (spec, sensors.group_key)
        self.commands = (0.0, 0.0)
        self.faults: ActuatorFaults | None = None  # None: none fails
        self.unit: ComputeGroup | None = None  # None until the first refresh
        self.place = 0
        self.state = state  # meaningful while it is in no unit


class Groups:
    """All vehicles, in groups of identical ones; small groups on floats, large on arrays."""

    def __init__(self, world: World, scene: Scene, seed: int, models: ModelTable) -> None:
        self._world = world
        self._scene = scene
        self._seed = seed
        self._models = models
        self._magnetic = world.magnetic()
        self._drives: dict[RoverSpec, DriveModel] = {}
        self._by_key: dict[GroupKey, list[ComputeGroup]] = {}
        self._stale: set[GroupKey] = set()
        self.members: dict[int, Member] = {}
        self.units: list[ComputeGroup] = []
        self.order: list[int] = []  # places in id order, of the units' vehicles one after another
        self.ids: list[int] = []  # as of the last refresh
        self.in_order = True
        self.sees_vehicles = False
        self.generation = 0

    def add(self, spec: RoverSpec, sensors: SensorSetup, pose: Pose) -> None:
        """Take a new vehicle."""
        self._models.sensors(spec)  # an unknown model is told now, not in the next step
        state = standing(self.drive(spec), pose.north_m, pose.east_m, pose.yaw_deg)
        member = Member(spec, sensors, state)
        self.members[sensors.vehicle_id] = member
        self._stale.add(member.key)

    def remove(self, vehicle_id: int) -> None:
        """Let a vehicle go."""
        self._stale.add(self.members.pop(vehicle_id).key)

    def drive(self, spec: RoverSpec) -> DriveModel:
        """The drive model of these rovers."""
        if spec not in self._drives:
            self._drives[spec] = self._models.drive(spec)
        return self._drives[spec]

    def refresh(self) -> None:
        """Form the groups anew that have changed; a vehicle's state goes with it."""
        if not self._stale:
            return
        for key in self._stale:
            ids = sorted(i for i, member in self.members.items() if member.key == key)
            self._by_key[key] = self._build(ids)
        self._stale = set()
        self._by_key = {key: units for key, units in self._by_key.items() if units}
        self.units = sorted(
            (unit for units in self._by_key.values() for unit in units), key=lambda unit: unit.ids
        )
        flat = [vehicle_id for unit in self.units for vehicle_id in unit.ids]
        self.ids = sorted(flat)
        self.order = sorted(range(len(flat)), key=flat.__getitem__)
        self.in_order = self.order == list(range(len(flat)))
        self.sees_vehicles = self._scene.vehicles_visible and any(
            member.sensors.rangefinders for member in self.members.values()
        )
        self.generation += 1

    def _build(self, ids: Sequence[int]) -> list[ComputeGroup]:
        states = {i: self.save(i) for i in ids}
        slices = [tuple(ids)] if len(ids) >= ARRAY_FROM else [(i,) for i in ids]
        return [self._build_unit(part, states) for part in slices]

    def _build_unit(
        self, ids: tuple[int, ...], states: Mapping[int, dict[str, Any]]
    ) -> ComputeGroup:
        members = [self.members[i] for i in ids]
        spec = members[0].spec
        ops = SCALAR if len(ids) < ARRAY_FROM else ARRAY
        lane = RoverGroup(
            ops, spec, self.drive(spec), self._world.terrain, [states[i]["vehicle"] for i in ids]
        )
        sensors = self._models.sensors(spec)(
            ops,
            [member.sensors for member in members],
            self._world.origin,
            self._magnetic,
            self._seed,
            self._scene,
        )
        unit = ComputeGroup(ids, lane, sensors)
        for place, (vehicle_id, member) in enumerate(zip(ids, members, strict=True)):
            member.unit, member.place = unit, place
            lane.command(place, *member.commands)
            if states[vehicle_id]["sensors"]:
                sensors.load_vehicle(vehicle_id, states[vehicle_id]["sensors"])
        return unit

    def save(self, vehicle_id: int) -> dict[str, Any]:
        """One vehicle's motion and sensors as plain values."""
        member = self.members[vehicle_id]
        if member.unit is None:
            return {"vehicle": member.state, "sensors": {}}
        return {
            "vehicle": member.unit.lane.read(member.place),
            "sensors": member.unit.sensors.save_vehicle(vehicle_id),
        }

    def load(self, vehicle_id: int, state: Mapping[str, Any]) -> None:
        """Put one vehicle into the state that ``save`` gave."""
        self.refresh()
        member = self.members[vehicle_id]
        assert member.unit is not None
        member.unit.lane.write(member.place, state["vehicle"])
        if state["sensors"]:
            member.unit.sensors.load_vehicle(vehicle_id, dict(state["sensors"]))

    def truth(self, time_us: int) -> dict[int, VehicleTruth]:
        """Where everybody is, in id order."""
        truths: list[VehicleTruth] = []
        for unit in self.units:
            truths += truth_of(unit.lane.ops, unit.ids, time_us, unit.lane.motion)
        if not self.in_order:
            truths = [truths[place] for place in self.order]
        return dict(zip(self.ids, truths, strict=True))

    def discs(self) -> list[tuple[int, float, float, float]]:
        """Every vehicle as (id, north, east, radius) of its disc."""
        found = []
        for unit in self.units:
            spec, pose = unit.lane.spec, unit.lane.pose
            north = pose.north_m + spec.center_ahead_m * pose.cos_yaw
            east = pose.east_m + spec.center_ahead_m * pose.sin_yaw
            norths = [north] if unit.lane.ops is SCALAR else north.tolist()
            easts = [east] if unit.lane.ops is SCALAR else east.tolist()
            found += [
                (vehicle_id, n, e, spec.radius_m)
                for vehicle_id, n, e in zip(unit.ids, norths, easts, strict=True)
            ]
        return sorted(found)


def standing(
    drive: DriveModel, north_m: float, east_m: float, yaw_deg: float, speed_mps: float = 0.0
) -> dict[str, Any]:
    """The state of a vehicle that was just put down, going straight at ``speed_mps``."""
    state: dict[str, Any] = dict(start_values(north_m, east_m, yaw_deg))
    state["speed_mps"] = speed_mps
    state["memory"] = drive.moving(speed_mps)
    state["motion"] = {}
    return state


class FleetEngine:
    """Vehicles of any kind in one world, advanced step by step.

    Vehicles can come and go between steps. What one of them does depends on the seed, its id
    and its commands alone, unless it touches or sees another one (``World.contacts``).
    """

    def __init__(self, world: World, seed: int, models: ModelTable | None = None) -> None:
        self._scene = Scene(world.obstacles, vehicles_visible=world.contacts)
        self._contacts = ContactChecker(self._scene) if world.contacts else None
        self._wind = Wind(world.wind, seed)
        self._seed = seed
        self._groups = Groups(world, self._scene, seed, models or ModelTable())
        self._watched = 0
        self._failing: list[Member] = []
        self.time_us = 0

    # --- fleet ----------------------------------------------------------------------------

    @property
    def vehicle_ids(self) -> tuple[int, ...]:
        """Everybody, in id order."""
        return tuple(sorted(self._groups.members))

    def add(self, spec: RoverSpec, sensors: SensorSetup, pose: Pose) -> None:
        """Put a vehicle into the world, standing still; its id is that of its sensors."""
        if sensors.vehicle_id in self._groups.members:
            raise DuplicateVehicleError(sensors.vehicle_id)
        self._groups.add(spec, sensors, pose)

    def remove(self, vehicle_id: int) -> None:
        """Take a vehicle out of the world."""
        self._member(vehicle_id)
        self._groups.remove(vehicle_id)
        self._list_failing()

    def _member(self, vehicle_id: int) -> Member:
        try:
            return self._groups.members[vehicle_id]
        except KeyError:
            raise UnknownVehicleError(vehicle_id, self.vehicle_ids) from None

    # --- a step ---------------------------------------------------------------------------

    def command(self, vehicle_id: int, first: float, second: float) -> None:
        """Tell a vehicle what to do: (left, right) or (throttle, steering), -1..1."""
        member = self._groups.members[vehicle_id]
        member.commands = (first, second)
        if member.unit is not None and member.faults is None:
            member.unit.lane.command(member.place, first, second)

    def step(self, dt_us: int) -> list[SensorData]:
        """Advance time by ``dt_us`` and return what everybody measures, in id order."""
        groups = self._groups
        groups.refresh()
        wind = None if self._wind.calm else self._wind.at(self.time_us)
        if self._failing:
            self._fail_actuators(dt_us)
        for unit in groups.units:
            lane = unit.lane
            lane.battery_ratio = unit.sensors.battery_ratio
            lane.advance(dt_us, wind)
        self.time_us = now_us = self.time_us + dt_us
        if self._watched != groups.generation:
            self._watch_contacts()
        if self._contacts is not None and not self._contacts.alone:
            self._contacts.check(now_us)
        for unit in groups.units:
            unit.lane.observe(dt_us, wind)
        if groups.sees_vehicles:
            self._scene.place(groups.discs())
        records: list[SensorData] = []
        for unit in groups.units:
            records += unit.sensors.sample(now_us, dt_us, unit.lane.motion)
        return records if groups.in_order else [records[place] for place in groups.order]

    def _watch_contacts(self) -> None:
        self._watched = self._groups.generation
        if self._contacts is not None:
            self._contacts.watch([(unit.lane, unit.ids) for unit in self._groups.units])

    def _fail_actuators(self, dt_us: int) -> None:
        for member in self._failing:
            if member.unit is not None and member.faults is not None:
                outputs = member.faults.apply(member.commands, self.time_us, dt_us)
                member.unit.lane.command(member.place, *outputs)

    # --- observers ------------------------------------------------------------------------

    def truth(self) -> dict[int, VehicleTruth]:
        """Where everybody is, in id order."""
        self._groups.refresh()
        return self._groups.truth(self.time_us)

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
        spec = self._member(vehicle_id).spec
        if abs(speed_mps) > spec.max_speed:
            raise ConfigError(
                f"Vehicle {vehicle_id} reaches {spec.max_speed} m/s, not {speed_mps}."
            )
        self._groups.refresh()
        saved = self._groups.save(vehicle_id)
        drive = self._groups.drive(spec)
        state = standing(drive, north_m, east_m, yaw_deg, speed_mps)
        for wheel in ("wheel_left_rad", "wheel_right_rad"):
            state[wheel] = state["motion"][wheel] = saved["vehicle"][wheel]
        self._groups.load(vehicle_id, {"vehicle": state, "sensors": {}})
        if self._contacts is not None:
            self._contacts.look_again()

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break a sensor or an actuator of a vehicle; ``ok`` mends it.

        Raises:
            ConfigError: no such unit on this vehicle, or no such failure.
        """
        member = self._member(vehicle_id)
        if unit in ACTUATOR_UNITS:
            self._fail_actuator(member, unit, kind)
            return
        try:
            units = find_units(unit)
        except ConfigError:
            hint = did_you_mean(unit, [*SENSOR_UNITS, *ACTUATOR_UNITS])
            raise ConfigError(f"The simulator has no unit {unit!r}.", hint=hint) from None
        if not all(member.sensors.carries(SENSOR_UNITS[name].field) for name in units):
            raise ConfigError(f"Vehicle {vehicle_id} has no unit {unit!r}.")
        self._groups.refresh()
        assert member.unit is not None
        member.unit.sensors.set_failure(vehicle_id, unit, kind)

    def _fail_actuator(self, member: Member, unit: str, kind: str) -> None:
        faults = member.faults or self._new_faults(member)
        faults.set(unit, kind, member.commands)
        member.faults = faults if faults else None
        if member.faults is None and member.unit is not None:
            member.unit.lane.command(member.place, *member.commands)
        self._list_failing()

    def _new_faults(self, member: Member) -> ActuatorFaults:
        return ActuatorFaults(self._seed, member.sensors.vehicle_id, member.spec.drive)

    def _list_failing(self) -> None:
        members = sorted(self._groups.members.items())
        self._failing = [member for _, member in members if member.faults is not None]

    def set_parameter(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a ``SIM_*`` parameter of a vehicle's sensors."""
        member = self._member(vehicle_id)
        self._groups.refresh()
        assert member.unit is not None
        member.unit.sensors.set_parameter(vehicle_id, name, value)

    # --- snapshots ------------------------------------------------------------------------

    def save_state(self) -> dict[str, Any]:
        """Everything needed to go on from here, as plain values."""
        self._groups.refresh()
        vehicles = {}
        for vehicle_id, member in sorted(self._groups.members.items()):
            saved = self._groups.save(vehicle_id)
            saved["commands"] = list(member.commands)
            saved["faults"] = [] if member.faults is None else member.faults.save()
            vehicles[str(vehicle_id)] = saved
        return {
            "time_us": self.time_us,
            "wind": self._wind.save_state(),
            "touching": [] if self._contacts is None else self._contacts.save(),
            "vehicles": vehicles,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave; the same vehicles must be here.

        Raises:
            ConfigError: other vehicles are here than in the snapshot.
        """
        ids = sorted(int(vehicle_id) for vehicle_id in state["vehicles"])
        if ids != list(self.vehicle_ids):
            raise ConfigError(f"The snapshot holds vehicles {ids}, here are {self.vehicle_ids}.")
        for vehicle_id in ids:
            self._load_vehicle(vehicle_id, state["vehicles"][str(vehicle_id)])
        self._list_failing()
        self.time_us = state["time_us"]
        self._wind.load_state(state["wind"])
        if self._contacts is not None:
            self._contacts.load(state["touching"])

    def _load_vehicle(self, vehicle_id: int, saved: Mapping[str, Any]) -> None:
        member = self._groups.members[vehicle_id]
        self._groups.load(vehicle_id, saved)
        first, second = saved["commands"]
        member.faults = None
        self.command(vehicle_id, first, second)
        if saved["faults"]:
            member.faults = self._new_faults(member)
            member.faults.load(saved["faults"])
