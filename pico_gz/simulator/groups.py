"""Which vehicles are computed together, and moving them between lanes when the fleet changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pico_gz.messages import Pose, VehicleTruth
from pico_gz.rover import RoverSpec
from pico_gz.simulator.actuator_faults import ActuatorFault
from pico_gz.simulator.drive import DriveModel
from pico_gz.simulator.lane import Lane
from pico_gz.simulator.models import ModelTable, SensorModel
from pico_gz.simulator.ops import ARRAY, SCALAR
from pico_gz.simulator.pose import start_values
from pico_gz.simulator.scene import Scene
from pico_gz.simulator.sensors.setup import SensorSetup
from pico_gz.simulator.truth import truth_of
from pico_gz.simulator.world import World

# From this many on, arrays beat the same vehicles one by one on floats (measured).
ARRAY_FROM = 12

GroupKey = tuple[RoverSpec, tuple[object, ...]]


class Unit(msgspec.Struct, frozen=True):
    """Vehicles that are computed together, and their sensors."""

    ids: tuple[int, ...]
    lane: Lane
    sensors: SensorModel


class Member:
    """One vehicle: what it is, what it was told, what is broken, and where it is computed."""

    __slots__ = ("commands", "faults", "key", "place", "sensors", "spec", "state", "unit")

    def __init__(self, spec: RoverSpec, sensors: SensorSetup, state: dict[str, Any]) -> None:
        self.spec = spec
        self.sensors = sensors
        self.key: GroupKey = (spec, sensors.group_key)
        self.commands = (0.0, 0.0)
        self.faults: dict[tuple[str, int], ActuatorFault] = {}
        self.unit: Unit | None = None  # None until the first refresh
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
        self._by_key: dict[GroupKey, list[Unit]] = {}
        self._stale: set[GroupKey] = set()
        self.members: dict[int, Member] = {}
        self.units: list[Unit] = []
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

    def _build(self, ids: Sequence[int]) -> list[Unit]:
        states = {i: self.save(i) for i in ids}
        slices = [tuple(ids)] if len(ids) >= ARRAY_FROM else [(i,) for i in ids]
        return [self._build_unit(part, states) for part in slices]

    def _build_unit(self, ids: tuple[int, ...], states: Mapping[int, dict[str, Any]]) -> Unit:
        members = [self.members[i] for i in ids]
        spec = members[0].spec
        ops = SCALAR if len(ids) < ARRAY_FROM else ARRAY
        lane = Lane(
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
        unit = Unit(ids, lane, sensors)
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
