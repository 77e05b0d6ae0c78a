"""A fleet in the memory of the native core.

Every vehicle has a place in one buffer. The core moves those that it covers (``covers``); the
others are moved by the Python model in the same step, and the core sees where they are. The
Python objects of a vehicle are the same in both cases: ``pull`` brings them up to date.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Iterator, KeysView, Mapping
from typing import Any, Final, Protocol

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import SensorData, VehicleTruth
from pico_gz.core.step_records import StepRecords
from pico_gz.simulator.contacts import ContactChecker, find_candidates, look
from pico_gz.simulator.models import SensorModel
from pico_gz.simulator.native_layout import CANDIDATES, MOTION, OUT, Section
from pico_gz.simulator.native_sensors import (
    covers_sensors,
    has_battery_or_range,
    pack_sensors,
    read_record,
    read_truth,
    unpack_sensors,
)
from pico_gz.simulator.native_world import CoreWorld
from pico_gz.simulator.rover import Rover, WindVector
from pico_gz.simulator.scene import Scene
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.steering import AckermannDrive, SkidDrive
from pico_gz.simulator.terrain import Terrain

_SECTIONS = {section.name: section for section in MOTION}
_COMMANDS: Final = struct.Struct("=2d")
_COMMANDS_AT = _SECTIONS["rover"].offset_of("commands")
_CENTRE: Final = struct.Struct("=d8xd8x2d")  # of the pose: north, east, cos, sin
_CENTRE_AT = _SECTIONS["pose"].offset_of("north_m")


class FleetMember(Protocol):
    """A vehicle: its motion and its sensors."""

    rover: Rover
    sensors: SensorModel


def covers(member: FleetMember) -> bool:
    """Whether the core knows how this vehicle drives and measures."""
    is_known = type(member.rover.drive) in (SkidDrive, AckermannDrive)
    return is_known and covers_sensors(member.sensors)


class StepOutput:
    """What the core gave in one step: samples and truth of all vehicles, built when read."""

    __slots__ = ("data", "now_us", "places", "records", "trace", "truths")

    def __init__(
        self,
        data: bytes,
        places: dict[int, tuple[int, SensorModel]],
        now_us: int,
        trace: StepTrace | None,
    ) -> None:
        self.data = data
        self.places = places
        self.now_us = now_us
        self.trace = trace
        self.records: dict[int, SensorData] = {}
        self.truths: dict[int, VehicleTruth] = {}

    def record(self, vehicle_id: int) -> SensorData:
        """What a vehicle measured."""
        found = self.records.get(vehicle_id)
        if found is None:
            start, suite = self.places[vehicle_id]
            found = read_record(self.data, start, suite, self.now_us)
            self.records[vehicle_id] = found
        return found

    def truth(self, vehicle_id: int) -> VehicleTruth:
        """Where a vehicle was."""
        found = self.truths.get(vehicle_id)
        if found is None:
            found = read_truth(self.data, self.places[vehicle_id][0], vehicle_id, self.now_us)
            self.truths[vehicle_id] = found
        return found


class Records(StepRecords):
    """What all vehicles measured in one step, in id order."""

    def __init__(self, output: StepOutput) -> None:
        super().__init__(output.now_us)
        self.output = output

    def __getitem__(self, vehicle_id: int) -> SensorData:
        return self.output.record(vehicle_id)

    def get(self, vehicle_id: int, default: Any = None) -> Any:
        """What a vehicle measured; the inherited way is interpreted."""
        return self.output.record(vehicle_id) if vehicle_id in self.output.places else default

    def __iter__(self) -> Iterator[int]:
        return iter(self.output.places)

    def __len__(self) -> int:
        return len(self.output.places)

    def __contains__(self, vehicle_id: object) -> bool:
        return vehicle_id in self.output.places

    def keys(self) -> KeysView[int]:
        """The vehicles."""
        return self.output.places.keys()

    def has_battery_or_range(self, vehicle_id: int) -> bool:
        """Whether a battery or rangefinder may have a sample, without building it."""
        output = self.output
        if vehicle_id in output.records:
            return True
        return has_battery_or_range(output.data, output.places[vehicle_id][0])

    def trace(self, truth: Mapping[int, VehicleTruth], commands: bytes) -> memoryview | None:
        """The step as MessagePack, unless a vehicle was not simulated by the core alone."""
        output = self.output
        if output.trace is None or type(truth) is not Truths or truth.output is not output:
            return None
        return output.trace.write(output, commands)


class Truths(Mapping[int, VehicleTruth]):
    """Where all vehicles were at the end of a step, in id order."""

    def __init__(self, output: StepOutput) -> None:
        self.output = output

    def __getitem__(self, vehicle_id: int) -> VehicleTruth:
        return self.output.truth(vehicle_id)

    def __iter__(self) -> Iterator[int]:
        return iter(self.output.places)

    def __len__(self) -> int:
        return len(self.output.places)

    def __contains__(self, vehicle_id: object) -> bool:
        return vehicle_id in self.output.places

    def keys(self) -> KeysView[int]:
        """The vehicles."""
        return self.output.places.keys()


class StepTrace:
    """Lets the core write the steps of a fleet as MessagePack, as long as the fleet stays."""

    def __init__(self, library: ctypes.CDLL, world: CoreWorld, count: int) -> None:
        self._write_core = library.pico_gz_trace
        self._world = world
        buffer = bytearray(8 + count * library.pico_gz_sizes(4))
        self._written = memoryview(buffer)
        self._to = (ctypes.c_char * len(buffer)).from_buffer(buffer)

    def write(self, output: StepOutput, commands: bytes) -> memoryview | None:
        """The bytes, good until the next call; ``None`` when Python must encode the messages."""
        size = self._write_core(self._world.at, output.data, output.now_us, commands, self._to)
        return None if size < 0 else self._written[:size]


class NativeFleet:
    """All vehicles of an engine, in id order."""

    def __init__(
        self,
        library: ctypes.CDLL,
        terrain: Terrain,
        frame: LocalFrame,
        scene: Scene,
        contacts: ContactChecker | None,
    ) -> None:
        self._step_core = library.pico_gz_step
        self._sense_core = library.pico_gz_sense
        self._scene = scene
        self._contacts = contacts
        self._members: dict[int, FleetMember] = {}
        self._ranks: dict[int, int] = {}
        self._places: dict[int, tuple[int, SensorModel]] = {}
        self._passive: list[int] = []
        self._sees_vehicles = False
        self._is_packed = False
        self._fresh: set[int] = set()  # vehicles whose Python objects are up to date
        self._library = library
        self._trace: StepTrace | None = None
        self._output: StepOutput | None = None
        self._world = CoreWorld(library, frame, terrain, scene.outlines)
        self._found = array("q", bytes(16 * CANDIDATES))
        self._buffer = bytearray(0)

    # --- the fleet ------------------------------------------------------------------------

    def set_members(self, members: Mapping[int, FleetMember], *, see_vehicles: bool) -> None:
        """Take all vehicles, by id in order; the core gets them with the next step."""
        for vehicle_id in self._ranks:
            self.pull(vehicle_id)
        self._members = dict(members)
        self._ranks = {vehicle_id: rank for rank, vehicle_id in enumerate(members)}
        self._sees_vehicles = see_vehicles
        self._fresh = set(members)
        self._is_packed = False

    def _pack(self) -> None:
        """Put all vehicles into the core's memory."""
        self._buffer = self._world.hold(
            len(self._members),
            candidates=self._found.buffer_info()[0],
            contacts=self._contacts is not None and not self._contacts.alone,
            sees_vehicles=self._sees_vehicles,
        )
        self._passive = []
        self._trace = StepTrace(self._library, self._world, len(self._members))
        self._places = {
            vehicle_id: (rank * OUT.whole.size, self._members[vehicle_id].sensors)
            for vehicle_id, rank in self._ranks.items()
        }
        self._is_packed = True
        try:
            for vehicle_id in self._members:
                self.push(vehicle_id)
        except BaseException:  # no memory
            self._is_packed = False
            raise

    def command(self, vehicle_id: int, commands: tuple[float, float]) -> None:
        """Set a vehicle's commands, which its Python objects have already."""
        if self._is_packed:
            start = self._ranks[vehicle_id] * self._world.stride
            _COMMANDS.pack_into(self._buffer, start + _COMMANDS_AT, *commands)

    def push(self, vehicle_id: int) -> None:
        """Take over what was changed on a vehicle's Python objects."""
        if not self._is_packed:
            return
        member, rank = self._members[vehicle_id], self._ranks[vehicle_id]
        start = rank * self._world.stride
        is_active = covers(member)
        self._buffer[start : start + self._world.stride] = bytes(self._world.stride)
        struct.pack_into("=q", self._buffer, start, is_active)
        for section in MOTION if is_active else MOTION[:2]:
            section.pack(_part(member, section), self._buffer, start)
        if is_active:
            pack_sensors(_suite(member), self._buffer, start)
        self._fresh.add(vehicle_id)
        if is_active == (vehicle_id in self._passive):
            passive = {*self._passive} ^ {vehicle_id}
            self._passive = [i for i in self._members if i in passive]

    def pull(self, vehicle_id: int) -> None:
        """Bring a vehicle's Python objects up to date."""
        if vehicle_id in self._fresh or vehicle_id in self._passive:
            return
        member, start = self._members[vehicle_id], self._ranks[vehicle_id] * self._world.stride
        for section in MOTION:
            if section.state and (part := _part(member, section)) is not None:
                section.unpack(part, self._buffer, start)
        unpack_sensors(_suite(member), self._buffer, start)
        self._fresh.add(vehicle_id)

    # --- a step ---------------------------------------------------------------------------

    def step(self, now_us: int, dt_us: int, wind: WindVector | None) -> Records:
        """Move and measure; ``now_us`` is the end of the step."""
        if not self._is_packed:
            self._pack()
        if wind is not None:
            self._world.set_wind(wind)
        for vehicle_id in self._passive:
            member = self._members[vehicle_id]
            member.rover.battery_ratio = member.sensors.battery_ratio
            member.rover.advance(dt_us, wind)
            self._push_motion(vehicle_id)
        contacts = self._contacts
        touching = contacts is not None and contacts.is_touching
        pause = bool(self._passive) or touching
        self._world.set_step(now_us, dt_us, pause=pause)
        found = self._step_core(self._world.at)
        built: dict[int, SensorData] = {}
        if found:
            if contacts is not None and not contacts.alone and (found > 0 or touching):
                self._stop(contacts, now_us, max(0, found))
            if self._passive:
                built = self._sense_passive(now_us, dt_us, wind)
            self._sense_core(self._world.at)
        self._fresh.clear()
        trace = None if self._passive else self._trace
        self._output = output = StepOutput(bytes(self._world.outs), self._places, now_us, trace)
        output.records.update(built)
        return Records(output)

    def _stop(self, contacts: ContactChecker, now_us: int, count: int) -> None:
        """Let contacts stop vehicles, on their Python objects."""
        ids = list(self._ranks)
        if count == CANDIDATES:  # more than the core can list
            for vehicle_id in ids:
                self._pull_motion(vehicle_id)
            rovers = [member.rover for member in self._members.values()]
            outlines = self._scene.outlines
            contacts.look_again()
            found = find_candidates(rovers, look(rovers, outlines), outlines)
            involved = set(range(len(ids)))
        else:
            numbers = self._found[: 2 * count]
            found = set(zip(numbers[::2], numbers[1::2], strict=True))
            involved = {rank for pair in found for rank in pair if rank >= 0}
            involved |= contacts.touching_ranks()
            for rank in involved:
                self._pull_motion(ids[rank])
        contacts.stop(now_us, found)
        for rank in involved:
            self._push_motion(ids[rank])

    def _pull_motion(self, vehicle_id: int) -> None:
        if vehicle_id not in self._passive:
            start = self._ranks[vehicle_id] * self._world.stride
            rover = self._members[vehicle_id].rover
            _SECTIONS["rover"].unpack(rover, self._buffer, start)
            _SECTIONS["pose"].unpack(rover.pose, self._buffer, start)
            _SECTIONS["travel"].unpack(rover.travel, self._buffer, start)

    def _push_motion(self, vehicle_id: int) -> None:
        start, rover = self._ranks[vehicle_id] * self._world.stride, self._members[vehicle_id].rover
        _SECTIONS["rover"].pack(rover, self._buffer, start)
        _SECTIONS["pose"].pack(rover.pose, self._buffer, start)

    def _sense_passive(
        self, now_us: int, dt_us: int, wind: WindVector | None
    ) -> dict[int, SensorData]:
        if self._sees_vehicles:
            self._scene.place([self._disc(vehicle_id) for vehicle_id in self._ranks])
        found = {}
        for vehicle_id in self._passive:
            member = self._members[vehicle_id]
            motion = member.rover.observe(wind)
            found[vehicle_id] = member.sensors.sample(now_us, dt_us, motion)
        return found

    def _disc(self, vehicle_id: int) -> tuple[int, float, float, float]:
        start = self._ranks[vehicle_id] * self._world.stride + _CENTRE_AT
        north, east, cosine, sine = _CENTRE.unpack_from(self._buffer, start)
        spec = self._members[vehicle_id].rover.spec
        ahead = spec.center_ahead_m
        if ahead:
            north, east = north + ahead * cosine, east + ahead * sine
        return vehicle_id, north, east, spec.radius_m

    # --- what a step gave ------------------------------------------------------------------

    def truths(self) -> Truths | None:
        """Where all were at the end of the last step; ``None``: their Python objects know."""
        if self._fresh or self._passive or self._output is None:
            return None
        return Truths(self._output)

    def truth(self, vehicle_id: int) -> VehicleTruth | None:
        """Where a vehicle was at the end of the last step; ``None``: its Python object knows."""
        if vehicle_id in self._fresh or vehicle_id in self._passive or self._output is None:
            return None
        return self._output.truth(vehicle_id)


def _suite(member: FleetMember) -> SensorSuite:
    """The sensors of a vehicle that the core covers."""
    assert type(member.sensors) is SensorSuite
    return member.sensors


def _part(member: FleetMember, section: Section) -> Any:
    """The object that a section is about; ``None`` when the vehicle has none."""
    if section.name in ("skid", "ackermann"):
        kind = SkidDrive if section.name == "skid" else AckermannDrive
        return member.rover.drive if isinstance(member.rover.drive, kind) else None
    part: Any = member
    for name in section.owner.split("."):
        part = getattr(part, name)
    return part
