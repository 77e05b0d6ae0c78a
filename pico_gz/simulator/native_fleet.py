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
from collections.abc import Collection, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Protocol

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    ImuData,
    RangefinderData,
    SensorData,
    VehicleTruth,
)
from pico_gz.simulator.contacts import ContactChecker, find_candidates, look
from pico_gz.simulator.gps import gps_data
from pico_gz.simulator.models import SensorModel
from pico_gz.simulator.native_layout import (
    CANDIDATES,
    FIX_SLOTS,
    OUT,
    RANGE_SECTIONS,
    RANGES,
    TERRAIN_FLAT,
    TERRAIN_MAP,
    TERRAIN_RAMP,
    VEHICLE,
    WORLD,
    Section,
)
from pico_gz.simulator.random import normal_arrays
from pico_gz.simulator.rover import Rover, WindVector
from pico_gz.simulator.scene import Scene
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.steering import AckermannDrive, SkidDrive
from pico_gz.simulator.terrain import FlatTerrain, HeightmapTerrain, RampTerrain, Terrain

_SECTIONS = {section.name: section for section in VEHICLE}
_COMMANDS = struct.Struct("=2d")
_COMMANDS_AT = _SECTIONS["rover"].offset_of("commands")
_CENTRE = struct.Struct("=d8xd8x2d")  # of the pose: north, east, cos, sin
_CENTRE_AT = _SECTIONS["pose"].offset_of("north_m")
_WIND, _WIND_AT = struct.Struct("=q2d"), WORLD.offset_of("has_wind")
_STEP, _STEP_AT = struct.Struct("=3q"), WORLD.offset_of("now_us")
_FIRST = struct.Struct("=q7d2q")  # flags, IMU, ticks: new in nearly every step
_FIRST_AT = OUT.offset_of("flags")
_FLAGS = struct.Struct("=q")
_FIX, _FIX_AT = struct.Struct("=11d"), OUT.offset_of("fix")
_MAG, _MAG_AT = struct.Struct("=3d"), OUT.offset_of("mag")
_BARO, _BARO_AT = struct.Struct("=2d"), OUT.offset_of("baro")
_BATTERY, _BATTERY_AT = struct.Struct("=3d"), OUT.offset_of("battery")
_RANGES, _RANGES_AT = struct.Struct(f"={RANGES}d"), OUT.offset_of("ranges")
_TRUTH, _TRUTH_AT = struct.Struct("=21d"), OUT.offset_of("truth")
_IMU_NEW, _GPS_NEW, _COMPASS_NEW, _BARO_NEW, _RANGES_NEW, _TICKS_NEW, _BATTERY_NEW = (
    1 << bit for bit in range(7)
)


class FleetMember(Protocol):
    """A vehicle: its motion and its sensors."""

    rover: Rover
    sensors: SensorModel


def covers(member: FleetMember) -> bool:
    """Whether the core knows how this vehicle drives and measures."""
    sensors = member.sensors
    if type(member.rover.drive) not in (SkidDrive, AckermannDrive):
        return False
    if type(sensors) is not SensorSuite or sensors.is_disturbed or len(sensors.ranges) > RANGES:
        return False
    gps = sensors.gps
    if gps is None or gps.latency_us == 0:
        return True
    return gps.latency_us <= (FIX_SLOTS - 3) * gps.period_us and len(gps.waiting) < FIX_SLOTS - 2


def knows_terrain(terrain: Terrain) -> bool:
    """Whether the core knows this kind of ground."""
    return type(terrain) in (FlatTerrain, RampTerrain, HeightmapTerrain)


class Records(Mapping[int, SensorData]):
    """What all vehicles measured in one step, in id order; each message is built when read."""

    __slots__ = ("__weakref__", "_built", "_fleet", "_ids")

    def __init__(self, fleet: NativeFleet, ids: Collection[int]) -> None:
        self._fleet = fleet
        self._ids = ids
        self._built: dict[int, SensorData] = {}

    def __getitem__(self, vehicle_id: int) -> SensorData:
        found = self._built.get(vehicle_id)
        if found is None:
            found = self._built[vehicle_id] = self._fleet.record(vehicle_id)
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def has_battery_or_range(self, vehicle_id: int) -> bool:
        """Whether a battery or rangefinder has a sample, without building it."""
        return vehicle_id in self._built or self._fleet.has_battery_or_range(vehicle_id)

    def complete(self) -> None:
        """Build what was not read; the core is about to overwrite it."""
        for vehicle_id in self._ids:
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
        self._stride: int = library.pico_gz_sizes(0)
        self._scene = scene
        self._contacts = contacts
        self._members: dict[int, FleetMember] = {}
        self._ranks: dict[int, int] = {}
        self._passive: list[int] = []
        self._is_packed = False
        self._fresh: set[int] = set()  # vehicles whose Python objects are up to date
        self._others: dict[int, SensorData] = {}  # of the vehicles that Python moves
        self._last: weakref.ref[Records] | None = None
        self._now_us = 0
        # Of ``step_ahead``: all vehicles, the time, and whose Python objects were up to date.
        self._before: tuple[bytes, int, set[int]] = (b"", 0, set())
        self._kept: list[Any] = []  # what the core points to
        self._world = bytearray(WORLD.whole.size)
        self._world_values = self._world_of(terrain, frame)
        self._found = array("q", bytes(16 * CANDIDATES))
        self._buffer = bytearray(0)
        self._world_at = ctypes.c_void_p(_address(self._world))

    # --- the fleet ------------------------------------------------------------------------

    def set_members(self, members: Mapping[int, FleetMember], *, see_vehicles: bool) -> None:
        """Take all vehicles, by id in order; the core gets them with the next step."""
        for vehicle_id in self._ranks:
            self.pull(vehicle_id)
        self._finish_records()
        self._members = dict(members)
        self._ranks = {vehicle_id: rank for rank, vehicle_id in enumerate(members)}
        self._world_values.sees_vehicles = see_vehicles
        self._fresh = set(members)
        self._is_packed = False

    def _pack(self) -> None:
        """Put all vehicles into the core's memory."""
        self._is_packed = True
        self._buffer = bytearray(self._stride * len(self._members))
        values = self._world_values
        values.rovers, values.count = _address(self._buffer), len(self._members)
        values.candidates = self._found.buffer_info()[0]
        values.contacts = self._contacts is not None and not self._contacts.alone
        WORLD.pack(values, self._world, 0)
        self._passive = []
        for vehicle_id in self._members:
            self.push(vehicle_id)

    def command(self, vehicle_id: int, commands: tuple[float, float]) -> None:
        """Set a vehicle's commands, which its Python objects have already."""
        if self._is_packed:
            start = self._ranks[vehicle_id] * self._stride
            _COMMANDS.pack_into(self._buffer, start + _COMMANDS_AT, *commands)

    def push(self, vehicle_id: int) -> None:
        """Take over what was changed on a vehicle's Python objects."""
        if not self._is_packed:
            return
        member, rank = self._members[vehicle_id], self._ranks[vehicle_id]
        start = rank * self._stride
        is_active = covers(member)
        self._buffer[start : start + self._stride] = bytes(self._stride)
        struct.pack_into("=q", self._buffer, start, is_active)
        for section in VEHICLE if is_active else VEHICLE[:2]:
            section.pack(_part(member, section), self._buffer, start)
        if is_active:
            for index, section in enumerate(RANGE_SECTIONS):
                ranges = member.sensors.ranges  # type: ignore[attr-defined]
                part = ranges[index] if index < len(ranges) else None
                section.pack(part, self._buffer, start)
        self._fresh.add(vehicle_id)
        if is_active == (vehicle_id in self._passive):
            passive = {*self._passive} ^ {vehicle_id}
            self._passive = [i for i in self._members if i in passive]

    def pull(self, vehicle_id: int) -> None:
        """Bring a vehicle's Python objects up to date."""
        if vehicle_id in self._fresh or vehicle_id in self._passive:
            return
        member, start = self._members[vehicle_id], self._ranks[vehicle_id] * self._stride
        for section in VEHICLE:
            if section.state and (part := _part(member, section)) is not None:
                section.unpack(part, self._buffer, start)
        suite = member.sensors
        assert type(suite) is SensorSuite
        for section, sensor in zip(RANGE_SECTIONS, suite.ranges, strict=False):
            section.unpack(sensor, self._buffer, start)
        self._fresh.add(vehicle_id)

    # --- a step ---------------------------------------------------------------------------

    def step(self, now_us: int, dt_us: int, wind: WindVector | None) -> Records:
        """Move and measure; ``now_us`` is the end of the step."""
        if not self._is_packed:
            self._pack()
        if self._last is not None:
            self._finish_records()
        if wind is not None:
            _WIND.pack_into(self._world, _WIND_AT, 1, *wind)
        for vehicle_id in self._passive:
            member = self._members[vehicle_id]
            member.rover.battery_ratio = member.sensors.battery_ratio
            member.rover.advance(dt_us, wind)
            self._push_motion(vehicle_id)
        contacts = self._contacts
        touching = contacts is not None and contacts.is_touching
        pause = bool(self._passive) or touching
        _STEP.pack_into(self._world, _STEP_AT, now_us, dt_us, pause)
        found = self._step_core(self._world_at)
        if found:
            if contacts is not None and not contacts.alone and (found > 0 or touching):
                self._stop(contacts, now_us, max(0, found))
            if self._passive:
                self._sense_passive(now_us, dt_us, wind)
            self._sense_core(self._world_at)
        return self._new_records(now_us)

    def _new_records(self, now_us: int) -> Records:
        self._now_us = now_us
        self._fresh = set()
        records = Records(self, self._ranks)
        self._last = weakref.ref(records)
        return records

    def step_ahead(self, now_us: int, dt_us: int) -> Records | None:
        """A step in still air that ``undo_step`` takes back; ``None``: Python has a part in it."""
        contacts = self._contacts
        if not self._is_packed or self._passive or (contacts is not None and contacts.is_touching):
            return None
        if self._last is not None:
            self._finish_records()
        self._before = bytes(self._buffer), self._now_us, self._fresh
        _STEP.pack_into(self._world, _STEP_AT, now_us, dt_us, False)
        if self._step_core(self._world_at):
            self.undo_step()
            return None
        return self._new_records(now_us)

    def undo_step(self) -> None:
        """Take the step of ``step_ahead`` back; its records must not be read any more."""
        self._buffer[:], self._now_us, self._fresh = self._before
        self._last = None

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
            start = self._ranks[vehicle_id] * self._stride
            rover = self._members[vehicle_id].rover
            _SECTIONS["rover"].unpack(rover, self._buffer, start)
            _SECTIONS["pose"].unpack(rover.pose, self._buffer, start)
            _SECTIONS["travel"].unpack(rover.travel, self._buffer, start)

    def _push_motion(self, vehicle_id: int) -> None:
        start, rover = self._ranks[vehicle_id] * self._stride, self._members[vehicle_id].rover
        _SECTIONS["rover"].pack(rover, self._buffer, start)
        _SECTIONS["pose"].pack(rover.pose, self._buffer, start)

    def _sense_passive(self, now_us: int, dt_us: int, wind: WindVector | None) -> None:
        if self._world_values.sees_vehicles:
            self._scene.place([self._disc(vehicle_id) for vehicle_id in self._ranks])
        for vehicle_id in self._passive:
            member = self._members[vehicle_id]
            motion = member.rover.observe(wind)
            self._others[vehicle_id] = member.sensors.sample(now_us, dt_us, motion)

    def _disc(self, vehicle_id: int) -> tuple[int, float, float, float]:
        start = self._ranks[vehicle_id] * self._stride + _CENTRE_AT
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

    def has_battery_or_range(self, vehicle_id: int) -> bool:
        """Whether a battery or rangefinder may have a sample in the last step."""
        if vehicle_id in self._passive:
            return True
        at = self._ranks[vehicle_id] * self._stride + _FIRST_AT
        return bool(_FLAGS.unpack_from(self._buffer, at)[0] & (_BATTERY_NEW | _RANGES_NEW))

    def record(self, vehicle_id: int) -> SensorData:
        """What a vehicle measured in the last step."""
        if vehicle_id in self._passive:
            return self._others[vehicle_id]
        buffer, start = self._buffer, self._ranks[vehicle_id] * self._stride
        new, ax, ay, az, gx, gy, gz, celsius, left, right = _FIRST.unpack_from(
            buffer, start + _FIRST_AT
        )
        suite: Any = self._members[vehicle_id].sensors
        gps = compass = barometer = ranges = encoders = battery = None
        imu = ImuData((ax, ay, az), (gx, gy, gz), celsius) if new & _IMU_NEW else None
        if new & _TICKS_NEW:
            encoders = EncoderData((left, right), suite.encoder.per_turn)
        if new & _GPS_NEW:
            *floats, fix, satellites = _FIX.unpack_from(buffer, start + _FIX_AT)
            gps = gps_data((*floats, int(fix), int(satellites)))
        if new & _COMPASS_NEW:
            compass = CompassData(_MAG.unpack_from(buffer, start + _MAG_AT))
        if new & _BARO_NEW:
            barometer = BarometerData(*_BARO.unpack_from(buffer, start + _BARO_AT))
        if new & _BATTERY_NEW:
            battery = BatteryData(*_BATTERY.unpack_from(buffer, start + _BATTERY_AT))
        if new & _RANGES_NEW:
            read = _RANGES.unpack_from(buffer, start + _RANGES_AT)
            ranges = tuple(
                RangefinderData(distance, sensor.min_m, sensor.max_m, sensor.bearing_deg)
                for distance, sensor in zip(read, suite.ranges, strict=False)
            )
        return SensorData(
            self._now_us,
            vehicle_id,
            imu,
            gps,
            compass,
            barometer,
            ranges,
            None,
            encoders,
            battery,
        )

    def truth(self, vehicle_id: int) -> VehicleTruth | None:
        """Where a vehicle was at the end of the last step; ``None``: its Python object knows."""
        if vehicle_id in self._fresh or vehicle_id in self._passive:
            return None
        start = self._ranks[vehicle_id] * self._stride
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

    # --- memory ---------------------------------------------------------------------------

    def _keep(self, numbers: array[float]) -> int:
        """Keep some doubles where they are; returns where that is."""
        self._kept.append(numbers)
        return numbers.buffer_info()[0]

    def _world_of(self, terrain: Terrain, frame: LocalFrame) -> SimpleNamespace:
        starts, widths = normal_arrays()
        outlines = [
            number
            for o in self._scene.outlines
            for number in (o.north_m, o.east_m, o.cos, o.sin, o.half_a_m, o.half_b_m, o.round_m)
        ]
        world = SimpleNamespace(
            contacts=False,
            sees_vehicles=False,
            terrain=TERRAIN_FLAT,
            rise=0.0,
            north=0.0,
            east=0.0,
            start_m=0.0,
            length_m=0.0,
            map_north_m=0.0,
            map_east_m=0.0,
            cell_m=1.0,
            rows=0,
            columns=0,
            heights=0,
            outlines=self._keep(array("d", outlines)),
            outline_count=len(self._scene.outlines),
            sin_lat=frame.sin_lat,
            cos_lat=frame.cos_lat,
            sin_lon=frame.sin_lon,
            cos_lon=frame.cos_lon,
            origin_ecef_m=frame.origin_ecef_m,
            starts=self._keep(array("d", starts.tolist())),
            widths=self._keep(array("d", widths.tolist())),
            rovers=0,
            count=0,
            candidates=0,
            has_wind=False,
            wind=(0.0, 0.0),
            now_us=0,
            dt_us=0,
            pause=False,
        )
        if isinstance(terrain, RampTerrain):
            world.terrain, world.rise = TERRAIN_RAMP, terrain.rise
            world.north, world.east = terrain.north, terrain.east
            world.start_m, world.length_m = terrain.start_m, terrain.length_m
        elif isinstance(terrain, HeightmapTerrain):
            heights = terrain.heights_m
            world.terrain, world.cell_m = TERRAIN_MAP, terrain.cell_m
            world.map_north_m, world.map_east_m = terrain.north_m, terrain.east_m
            world.rows, world.columns = heights.shape
            world.heights = self._keep(array("d", heights.ravel().tolist()))
        return world


def _address(buffer: bytearray) -> int:
    """Where a buffer lies; it stays there as long as its length does."""
    return ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer))


def _part(member: FleetMember, section: Section) -> Any:
    """The object that a section is about; ``None`` when the vehicle has none."""
    if section.name in ("skid", "ackermann"):
        kind = SkidDrive if section.name == "skid" else AckermannDrive
        return member.rover.drive if isinstance(member.rover.drive, kind) else None
    part: Any = member
    for name in section.owner.split("."):
        part = getattr(part, name)
    return part
