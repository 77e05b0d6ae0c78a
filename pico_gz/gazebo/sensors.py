"""Sensor models and actuator faults for Gazebo's vehicles.

The wire carries the IMU, and distances where the model has range sensors; everything else is
made by the same sensor models that the Lightweight simulator uses, from the record's truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from msgspec.structs import replace

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import ActuatorCommands, ImuData, RangefinderData, SensorData
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import DriveKind, VehicleConfig
from pico_gz.errors import ConfigError, SimulatorError, UnknownVehicleError, did_you_mean
from pico_gz.gazebo.records import WireMotion
from pico_gz.simulator.faults import ACTUATOR_UNITS, ActuatorFaults, find_units
from pico_gz.simulator.faults import UNITS as SENSOR_UNITS
from pico_gz.simulator.fleet_engine import ARRAY_FROM
from pico_gz.simulator.ops import ARRAY, SCALAR, Ops
from pico_gz.simulator.sensor_setup import SensorSetup, fit_sensors
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.world import MagneticField, magnetic_field
from pico_gz.wire.state import StateRecord

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


class _Member(NamedTuple):
    vehicle_id: int
    spec: RoverSpec
    setup: SensorSetup


class _Group:
    """Vehicles whose sensors are computed together."""

    def __init__(self, ops: Ops, members: Sequence[_Member], site: SensorSite) -> None:
        self.members = tuple(members)
        self.ids = [member.vehicle_id for member in members]
        self.motion = WireMotion(ops, [member.spec for member in members])
        setups = [member.setup for member in members]
        self.suite = SensorSuite(ops, setups, site.frame, site.magnetic(), site.seed)

    def save(self) -> dict[int, tuple[dict[str, Any], tuple[float, float]]]:
        """What the vehicles need to continue in another group."""
        return {
            i: (self.suite.save_vehicle(i), self.motion.wheels_rad(place))
            for place, i in enumerate(self.ids)
        }

    def load(self, states: Mapping[int, tuple[dict[str, Any], tuple[float, float]]]) -> None:
        """Continue from what ``save`` gave; vehicles without a state start fresh."""
        for vehicle_id in self.ids:
            if vehicle_id in states:
                self.suite.load_vehicle(vehicle_id, states[vehicle_id][0])
        self.motion.set_wheels_rad([states[i][1] if i in states else (0.0, 0.0) for i in self.ids])


class FleetSensors:
    """The sensors of all vehicles of one Gazebo world."""

    def __init__(self, site: SensorSite) -> None:
        self._site = site
        # What each vehicle carries, or carried until it left.
        self.setups: dict[int, SensorSetup] = {}
        self._members: dict[int, _Member] = {}
        self._groups: list[_Group] = []
        self._grouped: frozenset[int] = frozenset()

    def add(self, config: VehicleConfig, spec: RoverSpec) -> None:
        """Fit the sensors of a vehicle; IMU and distances come from the wire."""
        setup = fit_sensors(spec, config.id, config.noise, _FITTED)
        self._members[config.id] = _Member(config.id, spec, setup)
        self.setups = {**self.setups, config.id: setup}

    def remove(self, vehicle_id: int) -> None:
        """Take a vehicle out; harmless when it is not there."""
        self._members.pop(vehicle_id, None)

    def suite(self, vehicle_id: int) -> SensorSuite:
        """The sensor models that a vehicle's readings come from.

        Raises:
            UnknownVehicleError: it has none.
        """
        if vehicle_id not in self._members:
            raise UnknownVehicleError(vehicle_id, self._members)
        for group in self._groups:
            if vehicle_id in group.ids:
                return group.suite
        self._regroup([*(i for group in self._groups for i in group.ids), vehicle_id])
        return self.suite(vehicle_id)

    def sample(
        self,
        records: Mapping[int, StateRecord],
        commands: Mapping[int, ActuatorCommands],
        now_us: int,
        dt_us: int,
    ) -> dict[int, SensorData]:
        """Return the samples of the step that ended at ``now_us``, of all that have a record."""
        if records.keys() != self._grouped:
            self._regroup(list(records))
        found: dict[int, SensorData] = {}
        for group in self._groups:
            motion = group.motion.update(
                [records[i] for i in group.ids], [commands.get(i) for i in group.ids], dt_us
            )
            modelled = group.suite.sample(now_us, dt_us, motion)
            for member, sensors in zip(group.members, modelled, strict=True):
                record = records[member.vehicle_id]
                found[member.vehicle_id] = _with_wire(sensors, record, member.spec)
        return {i: found[i] for i in records}

    def _regroup(self, vehicle_ids: Sequence[int]) -> None:
        """Form the groups again; each vehicle keeps the state of its sensors."""
        states = {i: state for group in self._groups for i, state in group.save().items()}
        alike: dict[tuple[object, ...], list[_Member]] = {}
        for vehicle_id in sorted(vehicle_ids):
            member = self._members[vehicle_id]
            alike.setdefault(member.setup.group_key, []).append(member)
        self._groups = []
        for members in alike.values():
            if len(members) >= ARRAY_FROM:
                self._groups.append(_Group(ARRAY, members, self._site))
            else:
                self._groups += [_Group(SCALAR, [member], self._site) for member in members]
        for group in self._groups:
            group.load(states)
        self._grouped = frozenset(vehicle_ids)


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


class FleetActuatorFaults:
    """The failing motors and steerings of a fleet.

    Attributes:
        commands: what the failing vehicles do in this step.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._faults: dict[int, tuple[ActuatorFaults, bool]] = {}  # with: whether it is skid
        self.commands: dict[int, ActuatorCommands] = {}

    def __bool__(self) -> bool:
        return bool(self._faults)

    def set(
        self,
        vehicle_id: int,
        unit: str,
        kind: str,
        drive: DriveKind,
        wanted: ActuatorCommands | None,
    ) -> None:
        """Let an actuator fail, or work again; ``wanted`` is the vehicle's last command.

        Raises:
            ConfigError: the vehicle has no such unit, or there is no such failure.
        """
        faults, is_skid = self._faults.get(vehicle_id) or (
            ActuatorFaults(self._seed, vehicle_id, drive),
            drive is DriveKind.SKID,
        )
        faults.set(unit, kind, _values(wanted, is_skid))
        self.remove(vehicle_id)
        if faults:
            self._faults[vehicle_id] = faults, is_skid

    def remove(self, vehicle_id: int) -> None:
        """Forget a vehicle; harmless when it is not there."""
        self._faults.pop(vehicle_id, None)
        self.commands.pop(vehicle_id, None)

    def apply(
        self, wanted: Mapping[int, ActuatorCommands], now_us: int, dt_us: int
    ) -> Mapping[int, ActuatorCommands]:
        """Return what the failing vehicles do instead in the step that begins at ``now_us``."""
        self.commands = {}
        for vehicle_id, (faults, is_skid) in self._faults.items():
            values = _values(wanted.get(vehicle_id), is_skid)
            first, second = faults.apply(values, now_us, dt_us)
            motors, servos = ((first, second), ()) if is_skid else ((first,), (second,))
            self.commands[vehicle_id] = ActuatorCommands(now_us, vehicle_id, motors, servos)
        return self.commands


def _values(wanted: ActuatorCommands | None, is_skid: bool) -> list[float]:
    """Left and right, or throttle and steering; what is not given is neutral."""
    if wanted is None:
        return [0.0, 0.0]
    second = wanted.motors[1:2] if is_skid else wanted.servos[:1]
    return [*(wanted.motors[:1] or (0.0,)), *(second or (0.0,))]
