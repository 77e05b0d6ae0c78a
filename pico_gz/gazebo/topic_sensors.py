"""Gazebo's own GPS, compass, barometer and lidar topics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from pico_gz.core.messages import BarometerData, CompassData, GpsData, RangefinderData, SensorData
from pico_gz.errors import DecodeError, MessageError
from pico_gz.gazebo import gz_messages as messages
from pico_gz.gazebo.gz_messages import GzNavSat, GzScan
from pico_gz.gazebo.worker_client import GzTransport
from pico_gz.simulator.ambient_sensors import EXPONENT, LAPSE_PER_M, SEA_LEVEL_PA

# Rays this near to a rangefinder's bearing count as its beam.
_BEAM_HALF_DEG = 7.5
_STANDING_MPS = 1e-3


class GazeboSensorTopics:
    """Reads the sensors of a generated world and puts them into the records of a run.

    A part is replaced only once Gazebo has sent it: a world without that sensor keeps the
    model's. Samples arrive when Gazebo sends them, so runs with them do not repeat exactly.

    Args:
        world: name of the world.
        models: of the rovers, by vehicle id.
        bearings_deg: of each vehicle's rangefinders, read off its lidar; clockwise from the bow.
        topics: where they are read.
        origin_alt_m: of the world's origin.
    """

    def __init__(
        self,
        world: str,
        models: Mapping[int, str],
        bearings_deg: Mapping[int, tuple[float, ...]],
        topics: GzTransport,
        *,
        origin_alt_m: float = 0.0,
    ) -> None:
        self._topics = topics
        self._bearings_deg = bearings_deg
        self._readers: dict[int, list[_Reader]] = {}
        for vehicle_id, model in models.items():
            base = f"/world/{world}/model/{model}/link/base_link/sensor"
            self._readers[vehicle_id] = [
                _Reader(f"{base}/navsat/navsat", messages.NAV_SAT, "gps", _gps),
                _Reader(
                    f"{base}/magnetometer/magnetometer", messages.MAGNETOMETER, "compass", _compass
                ),
                _Reader(
                    f"{base}/air_pressure/air_pressure",
                    messages.FLUID_PRESSURE,
                    "barometer",
                    lambda data: barometer_at(messages.read_pressure_pa(data), origin_alt_m),
                ),
                _Reader(
                    lidar_topic(model),
                    messages.LASER_SCAN,
                    "rangefinders",
                    self._scan_reader(vehicle_id),
                ),
            ]

    def subscribe(self) -> None:
        """Subscribe to the topics."""
        for readers in self._readers.values():
            for reader in readers:
                self._topics.subscribe(reader.topic, reader.kind)

    def replace(self, records: Mapping[int, SensorData]) -> dict[int, SensorData]:
        """The records with Gazebo's samples: new ones, or ``None`` until the next is there."""
        return {
            vehicle_id: self._replaced(record, self._readers.get(vehicle_id, []))
            for vehicle_id, record in records.items()
        }

    def _replaced(self, record: SensorData, readers: list[_Reader]) -> SensorData:
        changes = {}
        for reader in readers:
            count, data = self._topics.newest(reader.topic)
            if count:
                changes[reader.part] = reader.sample(count, data)
        return msgspec.structs.replace(record, **changes) if changes else record

    def _scan_reader(self, vehicle_id: int) -> Callable[[bytes], object]:
        bearings = self._bearings_deg.get(vehicle_id) or (0.0,)
        return lambda data: rangefinders_from_scan(messages.read_scan(data), bearings)


class _Reader:
    """One topic of one rover, and what it becomes."""

    def __init__(
        self, topic: str, kind: str, part: str, convert: Callable[[bytes], object]
    ) -> None:
        self.topic = topic
        self.kind = kind
        self.part = part
        self._convert = convert
        self._seen = 0

    def sample(self, count: int, data: bytes) -> object | None:
        """The sample if it is new and makes sense, else ``None``."""
        if count == self._seen:
            return None
        self._seen = count
        try:
            return self._convert(data)
        except (DecodeError, MessageError):
            return None


def lidar_topic(model: str) -> str:
    """Where a generated rover's lidar publishes."""
    return f"/model/{model}/lidar"


def gps_from_nav_sat(fix: GzNavSat) -> GpsData:
    """A fix of Gazebo's receiver, which always has one."""
    east, north, up = fix.velocity_enu_mps
    speed = math.hypot(north, east)
    course = math.degrees(math.atan2(east, north)) % 360.0 if speed > _STANDING_MPS else 0.0
    return GpsData(
        lat_deg=fix.lat_deg,
        lon_deg=fix.lon_deg,
        alt_m=fix.alt_m,
        speed_ms=speed,
        course_deg=course,
        velocity_ned_mps=(north, east, -up),
    )


def barometer_at(pressure_pa: float, origin_alt_m: float) -> BarometerData:
    """A pressure of Gazebo's sensor, brought to the height of the world's origin.

    Gazebo takes its world's ground for sea level; it does not read ``<reference_altitude>``.
    """
    if not 0.0 < pressure_pa < math.inf:
        raise MessageError(f"A pressure of {pressure_pa} Pa is impossible.")
    root = (pressure_pa / SEA_LEVEL_PA) ** (1.0 / EXPONENT)
    return BarometerData(SEA_LEVEL_PA * (root - LAPSE_PER_M * origin_alt_m) ** EXPONENT)


def rangefinders_from_scan(
    scan: GzScan, bearings_deg: tuple[float, ...]
) -> tuple[RangefinderData, ...]:
    """The nearest echo near each bearing; ``range_max_m`` when there is none.

    Args:
        scan: angles counter-clockwise.
        bearings_deg: clockwise from the bow.
    """
    found = []
    for bearing in bearings_deg:
        nearest = scan.range_max_m
        for index, distance in enumerate(scan.ranges_m):
            angle_deg = -math.degrees(scan.angle_min_rad + index * scan.angle_step_rad)
            apart = abs(math.remainder(angle_deg - bearing, 360.0))
            if apart <= _BEAM_HALF_DEG and scan.range_min_m <= distance < nearest:
                nearest = distance
        found.append(RangefinderData(nearest, scan.range_min_m, scan.range_max_m, bearing))
    return tuple(found)


def _gps(data: bytes) -> GpsData:
    return gps_from_nav_sat(messages.read_nav_sat(data))


def _compass(data: bytes) -> CompassData:
    # Generated worlds mount it rolled and set Gazebo to leave the body frame alone: FRD, gauss.
    return CompassData(messages.read_magnetometer(data))
