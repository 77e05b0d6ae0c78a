"""What the vehicles' sensors say, from the plugin's records.

The wire carries the IMU, and distances where the model has range sensors; everything else is
made by the same sensor models that the Lightweight simulator uses, from the record's truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from msgspec.structs import replace

from pico_gz.adapters.gazebo_motion import WireMotion
from pico_gz.codecs.ardupilot_state import StateRecord
from pico_gz.errors import UnknownVehicleError
from pico_gz.frames import LocalFrame
from pico_gz.messages import (
    ActuatorCommands,
    ImuData,
    RangefinderData,
    SensorData,
    VehicleConfig,
)
from pico_gz.rover import RoverSpec
from pico_gz.simulator.fitting import fit_sensors
from pico_gz.simulator.magnetic_field import MagneticField, magnetic_field
from pico_gz.simulator.ops import ARRAY, SCALAR, Ops
from pico_gz.simulator.sensors.setup import SensorSetup
from pico_gz.simulator.sensors.suite import SensorSuite

_DEFAULT_FRAME = LocalFrame(35.681236, 139.767125, 40.0)
_DEFAULT_DATE = date(2026, 1, 1)
# The wire does not say how far a range sensor can see. No record may have a larger number than
# this, and recordings know no infinity.
_UNKNOWN_MAX_M = 1e7
# Fewer vehicles are cheaper one by one, on floats.
_ARRAY_FROM = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
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


@dataclass(frozen=True, slots=True)
class _Member:
    """One vehicle and what it carries."""

    vehicle_id: int
    spec: RoverSpec
    setup: SensorSetup


class _Group:
    """Vehicles whose sensors are computed together."""

    def __init__(self, ops: Ops, members: Sequence[_Member], around: Surroundings) -> None:
        self.members = tuple(members)
        self.ids = [member.vehicle_id for member in members]
        self.motion = WireMotion(ops, [member.spec for member in members])
        setups = [member.setup for member in members]
        self.suite = SensorSuite(ops, setups, around.frame, around.magnetic(), around.seed)

    def save(self) -> dict[int, tuple[dict[str, Any], tuple[float, float]]]:
        """What the vehicles need to go on in another group."""
        return {
            i: (self.suite.save_vehicle(i), self.motion.wheels_rad(place))
            for place, i in enumerate(self.ids)
        }

    def load(self, states: Mapping[int, tuple[dict[str, Any], tuple[float, float]]]) -> None:
        """Go on from what ``save`` gave; vehicles without a state start anew."""
        for vehicle_id in self.ids:
            if vehicle_id in states:
                self.suite.load_vehicle(vehicle_id, states[vehicle_id][0])
        self.motion.set_wheels_rad([states[i][1] if i in states else (0.0, 0.0) for i in self.ids])


class FleetSensors:
    """The sensors of all vehicles of one Gazebo world."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        # What each vehicle carries, or carried until it left.
        self.setups: dict[int, SensorSetup] = {}
        self._members: dict[int, _Member] = {}
        self._groups: list[_Group] = []
        self._grouped: frozenset[int] = frozenset()

    def add(self, config: VehicleConfig, spec: RoverSpec) -> None:
        """Fit the sensors of a vehicle; IMU and distances come from the wire."""
        setup = fit_sensors(spec, config.id, config.noise, {"imu": "", "rangefinders": ()})
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
        """Put the vehicles together anew; each goes on with the sensors that it has."""
        states = {i: state for group in self._groups for i, state in group.save().items()}
        alike: dict[tuple[object, ...], list[_Member]] = {}
        for vehicle_id in sorted(vehicle_ids):
            member = self._members[vehicle_id]
            alike.setdefault(member.setup.group_key, []).append(member)
        self._groups = []
        for members in alike.values():
            if len(members) >= _ARRAY_FROM:
                self._groups.append(_Group(ARRAY, members, self._around))
            else:
                self._groups += [_Group(SCALAR, [member], self._around) for member in members]
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
