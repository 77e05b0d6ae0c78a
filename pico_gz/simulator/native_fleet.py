"""A fleet in the memory of the native core.

Every vehicle has a place in one buffer. The core moves those that it covers (``covers``); the
others are moved by the Python model in the same step, and the core sees where they are. The
Python objects of a vehicle are the same in both cases: ``pull`` brings them up to date.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from array import array
from collections.abc import Iterator, KeysView, Mapping
from typing import Any, Protocol

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import SensorData, VehicleTruth
from pico_gz.simulator.contacts import ContactChecker, find_candidates, look
from pico_gz.simulator.models import SensorModel
from pico_gz.simulator.native_layout import CANDIDATES, MOTION, OUT, Section
from pico_gz.simulator.native_sensors import (
    covers_sensors,
    has_battery_or_range,
    pack_sensors,
    read_record,
    unpack_sensors,
)
from pico_gz.simulator.native_world import CoreWorld
from pico_gz.simulator.rover import Rover, WindVector
from pico_gz.simulator.scene import Scene
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.steering import AckermannDrive, SkidDrive
from pico_gz.simulator.terrain import Terrain

_SECTIONS = {section.name: section for section in MOTION}
_COMMANDS = struct.Struct("=2d")
_COMMANDS_AT = _SECTIONS["rover"].offset_of("commands")
_CENTRE = struct.Struct("=d8xd8x2d")  # of the pose: north, east, cos, sin
_CENTRE_AT = _SECTIONS["pose"].offset_of("north_m")
_TRUTH, _TRUTH_AT = struct.Struct("=21d"), OUT.offset_of("truth")


class FleetMember(Protocol):
    """A vehicle: its motion and its sensors."""

    rover: Rover
    sensors: SensorModel


def covers(member: FleetMember) -> bool:
    """Whether the core knows how this vehicle drives and measures."""
    is_known = type(member.rover.drive) in (SkidDrive, AckermannDrive)
    return is_known and covers_sensors(member.sensors)


class Records(Mapping[int, SensorData]):
    """What all vehicles measured in one step, in id order; each message is built when read."""

    __slots__ = ("__weakref__", "_buffer", "_built", "_now_us", "_places")

    def __init__(
        self,
        built: dict[int, SensorData],
        buffer: bytearray,
        places: Mapping[int, tuple[int, SensorModel]],
        now_us: int,
    ) -> None:
        self._built = built
        self._buffer = buffer
        self._places = places
        self._now_us = now_us

    def __getitem__(self, vehicle_id: int) -> SensorData:
        found = self._built.get(vehicle_id)
        if found is None:
            start, suite = self._places[vehicle_id]
            found = read_record(self._buffer, start, suite, self._now_us)
            self._built[vehicle_id] = found
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def keys(self) -> KeysView[int]:
        """The vehicles, as they are: a dict is made of this with every step."""
        return self._places.keys()

    def has_battery_or_range(self, vehicle_id: int) -> bool:
        """Whether a battery or rangefinder may have a sample, without building it."""
        if vehicle_id in self._built:
            return True
        return has_battery_or_range(self._buffer, self._places[vehicle_id][0])

    def complete(self) -> None:
        """Build what was not read; the core is about to overwrite it."""
        for vehicle_id in self._places:
            self[vehicle_id]


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
        self._last: weakref.ref[Records] | None = None
        self._now_us = 0
        self._world = CoreWorld(library, frame, terrain, scene.outlines)
        self._found = array("q", bytes(16 * CANDIDATES))
        self._buffer = bytearray(0)

    # --- the fleet ------------------------------------------------------------------------

    def set_members(self, members: Mapping[int, FleetMember], *, see_vehicles: bool) -> None:
        """Take all vehicles, by id in order; the core gets them with the next step."""
        for vehicle_id in self._ranks:
            self.pull(vehicle_id)
        self._finish_records()
        self._members = dict(members)
        self._ranks = {vehicle_id: rank for rank, vehicle_id in enumerate(members)}
        self._sees_vehicles = see_vehicles
        self._fresh = set(members)
        self._is_packed = False

    def _pack(self) -> None:
        """Put all vehicles into the core's memory."""
        self._is_packed = True
        self._buffer = self._world.hold(
            len(self._members),
            candidates=self._found.buffer_info()[0],
            contacts=self._contacts is not None and not self._contacts.alone,
            sees_vehicles=self._sees_vehicles,
        )
        self._passive = []
        self._places = {
            vehicle_id: (rank * self._world.stride, self._members[vehicle_id].sensors)
            for vehicle_id, rank in self._ranks.items()
        }
        for vehicle_id in self._members:
            self.push(vehicle_id)

    def command(self, vehicle_id: int, commands: tuple[float, float]) -> None:
        """Set a vehicle's commands, which its Python objects have already."""
        if self._is_packed:
            start = self._ranks[vehicle_id] * self._world.stride
            _COMMANDS.pack_into(self._buffer, start + _COMMANDS_AT, *commands)

    def push(self, vehicle_id: int) -> None:
        """Take over what was changed on a vehicle's Python objects."""
        if not self._is_packed:
            return
        self._finish_records()
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
        if self._last is not None:
            self._finish_records()
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
        self._now_us = now_us
        self._fresh.clear()
        records = Records(built, self._buffer, self._places, now_us)
        self._last = weakref.ref(records)
        return records

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

    def _finish_records(self) -> None:
        records = None if self._last is None else self._last()
        if records is not None:
            records.complete()
        self._last = None

    # --- what a step gave ------------------------------------------------------------------

    def truth(self, vehicle_id: int) -> VehicleTruth | None:
        """Where a vehicle was at the end of the last step; ``None``: its Python object knows."""
        if vehicle_id in self._fresh or vehicle_id in self._passive:
            return None
        start = self._ranks[vehicle_id] * self._world.stride
        t = _TRUTH.unpack_from(self._buffer, start + _TRUTH_AT)
        return VehicleTruth(
            self._now_us,
            vehicle_id,
            t[0],
            t[1],
            t[2],
            t[3:7],
            t[7:10],
            t[10:13],
            t[13:16],
            t[16:19],
            (t[19], t[20], 0.0),
        )


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
