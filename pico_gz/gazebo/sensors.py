"""Sensor samples of Gazebo's vehicles: wire, models, Gazebo's own topics.

The wire carries the IMU, and distances where the model has range sensors. Everything else is
made by the same sensor models that the Lightweight simulator uses, from the record's truth, or
read from the sensor topics of the world.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from msgspec.structs import replace

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import (
    ActuatorCommands,
    BarometerData,
    CompassData,
    GpsData,
    ImuData,
    RangefinderData,
    SensorData,
)
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import (
    ConfigError,
    DecodeError,
    MessageError,
    SimulatorError,
    did_you_mean,
)
from pico_gz.gazebo import gz_messages as messages
from pico_gz.gazebo.gz_messages import GzNavSat, GzScan
from pico_gz.gazebo.records import seen_of
from pico_gz.gazebo.worker_client import GzTransport
from pico_gz.simulator.ambient_sensors import EXPONENT, LAPSE_PER_M, SEA_LEVEL_PA
from pico_gz.simulator.faults import ACTUATOR_UNITS, find_units
from pico_gz.simulator.faults import UNITS as SENSOR_UNITS
from pico_gz.simulator.followed_fleet import FollowedFleet
from pico_gz.simulator.followed_motion import FollowedMotion
from pico_gz.simulator.sensor_setup import SensorSetup, fit_sensors
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.world import MagneticField, magnetic_field
from pico_gz.wire.state_record import StateRecord

_DEFAULT_FRAME = LocalFrame(35.681236, 139.767125, 40.0)
_DEFAULT_DATE = date(2026, 1, 1)
# The wire does not carry the reach of a range sensor. No record may have a larger number than
# this, and recordings know no infinity.
_UNKNOWN_MAX_M = 1e7
# IMU and distances come from the wire; the figures of [rover] are for Lightweight.
_FITTED = {
    "imu": "",
    "rangefinders": (),
    "gps_noise_m": None,
    "gps_rate_hz": 5.0,
    "compass_noise_rad": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorSite:
    """What the sensor models need to know beside the vehicle.

    Attributes:
        frame: the fleet's origin.
        on: the date of the magnetic field.
        seed: of all random draws.
    """

    frame: LocalFrame = _DEFAULT_FRAME
    on: date = _DEFAULT_DATE
    seed: int = 42

    def magnetic(self) -> MagneticField:
        """The magnetic field at the origin."""
        return magnetic_field(self.frame.lat_deg, self.frame.lon_deg, self.frame.alt_m, self.on)


class FleetSensors:
    """The sensors of all vehicles of one Gazebo world."""

    def __init__(self, site: SensorSite) -> None:
        self._site = site
        # What each vehicle carries, or carried until it left.
        self.setups: dict[int, SensorSetup] = {}
        self._specs: dict[int, RoverSpec] = {}
        self._fleet = FollowedFleet(site.frame)

    def add(self, config: VehicleConfig, spec: RoverSpec) -> None:
        """Fit the sensors of a vehicle; IMU and distances come from the wire."""
        site = self._site
        setup = fit_sensors(spec, config.id, config.noise, _FITTED)
        suite = SensorSuite(setup, site.frame, site.magnetic(), site.seed)
        self._fleet.add(FollowedMotion(spec), suite)
        self._specs[config.id] = spec
        self.setups = {**self.setups, config.id: setup}

    def remove(self, vehicle_id: int) -> None:
        """Take a vehicle out; harmless when it is not there."""
        self._fleet.remove(vehicle_id)

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Let a modelled sensor fail, or work again with kind ``ok``."""
        with self._fleet.changing(vehicle_id) as suite:
            suite.set_failure(unit, kind)

    def set_parameter(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a ``SIM_*`` parameter of a modelled sensor."""
        with self._fleet.changing(vehicle_id) as suite:
            suite.set_parameter(name, value)

    def sample(
        self,
        records: Mapping[int, StateRecord],
        commands: Mapping[int, ActuatorCommands],
        now_us: int,
        dt_us: int,
    ) -> dict[int, SensorData]:
        """Return the samples of the step that ended at ``now_us``, of all that have a record."""
        specs = self._specs
        seen = {
            vehicle_id: seen_of(record, commands.get(vehicle_id), specs[vehicle_id].drive)
            for vehicle_id, record in records.items()
        }
        found = self._fleet.sample(seen, now_us, dt_us)
        return {
            vehicle_id: _with_wire(found[vehicle_id], record, specs[vehicle_id])
            for vehicle_id, record in records.items()
        }


def _with_wire(sensors: SensorData, record: StateRecord, spec: RoverSpec) -> SensorData:
    """Add what the wire carries."""
    imu = ImuData(record.imu.accel_frd_mps2, record.imu.gyro_frd_radps)
    if record.rng_1 is None:
        return replace(sensors, imu=imu)
    ranges = _rangefinders(record, spec.rangefinders_deg)
    return replace(sensors, imu=imu, rangefinders=ranges)


def _rangefinders(
    record: StateRecord, bearings_deg: tuple[float, ...]
) -> tuple[RangefinderData | None, ...] | None:
    distances = record.rangefinders_m()
    bearings = bearings_deg + (0.0,) * len(distances)
    found = tuple(
        None if distance is None else RangefinderData(distance, 0.0, _UNKNOWN_MAX_M, bearing)
        for distance, bearing in zip(distances, bearings, strict=False)
    )
    return found or None


# These come over the wire as they are; the kit has no model of them that could fail.
_WIRE_UNITS = frozenset({"gyro", "accel", "range"})


def check_sensor_unit(unit: str, adapter: str, *, modelled: bool) -> None:
    """Refuse the failure of a sensor that is not one of the kit's models.

    Args:
        unit: as the user named it.
        adapter: name of the adapter, for the message.
        modelled: whether there are models at all; in the JSON dialect there are none.

    Raises:
        ConfigError: there is no such unit.
        SimulatorError: the simulator delivers it, so it cannot be broken here.
    """
    try:
        names = find_units(unit)
    except ConfigError:
        hint = did_you_mean(unit, [*SENSOR_UNITS, *ACTUATOR_UNITS])
        raise ConfigError(f"{adapter} has no unit {unit!r}.", hint=hint) from None
    if not modelled or not _WIRE_UNITS.isdisjoint(names):
        sensors = sorted(SENSOR_UNITS.keys() - _WIRE_UNITS) if modelled else []
        breakable = [*sensors, *ACTUATOR_UNITS]
        raise SimulatorError(
            f"{adapter} cannot break {unit}: its readings come from the simulator, over the wire.",
            adapter=adapter,
            hint=f"It can break {', '.join(breakable)}.",
        )


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
        return replace(record, **changes) if changes else record

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
