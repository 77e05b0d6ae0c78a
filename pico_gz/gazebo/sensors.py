"""Sensor models and actuator faults for Gazebo's vehicles.

The wire carries the IMU, and distances where the model has range sensors; everything else is
made by the same sensor models that the Lightweight simulator uses, from the record's truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from msgspec.structs import replace

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import ActuatorCommands, ImuData, RangefinderData, SensorData
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import DriveKind, VehicleConfig
from pico_gz.errors import ConfigError, SimulatorError, UnknownVehicleError, did_you_mean
from pico_gz.gazebo.records import WireMotion
from pico_gz.simulator.faults import ACTUATOR_UNITS, ActuatorFaults, find_units
from pico_gz.simulator.faults import UNITS as SENSOR_UNITS
from pico_gz.simulator.sensor_setup import SensorSetup, fit_sensors
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.world import MagneticField, magnetic_field
from pico_gz.wire.state import StateRecord

_DEFAULT_FRAME = LocalFrame(35.681236, 139.767125, 40.0)
_DEFAULT_DATE = date(2026, 1, 1)
# The wire does not carry the reach of a range sensor. No record may have a larger number than
# this, and recordings know no infinity.
_UNKNOWN_MAX_M = 1e7


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


class _Fitted:
    """One vehicle's sensor models, and the motion that they measure."""

    __slots__ = ("motion", "spec", "suite")

    def __init__(self, spec: RoverSpec, setup: SensorSetup, site: SensorSite) -> None:
        self.spec = spec
        self.motion = WireMotion(spec)
        self.suite = SensorSuite(setup, site.frame, site.magnetic(), site.seed)


class FleetSensors:
    """The sensors of all vehicles of one Gazebo world."""

    def __init__(self, site: SensorSite) -> None:
        self._site = site
        # What each vehicle carries, or carried until it left.
        self.setups: dict[int, SensorSetup] = {}
        self._fitted: dict[int, _Fitted] = {}

    def add(self, config: VehicleConfig, spec: RoverSpec) -> None:
        """Fit the sensors of a vehicle; IMU and distances come from the wire."""
        setup = fit_sensors(spec, config.id, config.noise, {"imu": "", "rangefinders": ()})
        self._fitted[config.id] = _Fitted(spec, setup, self._site)
        self.setups = {**self.setups, config.id: setup}

    def remove(self, vehicle_id: int) -> None:
        """Take a vehicle out; harmless when it is not there."""
        self._fitted.pop(vehicle_id, None)

    def suite(self, vehicle_id: int) -> SensorSuite:
        """The sensor models that a vehicle's readings come from.

        Raises:
            UnknownVehicleError: it has none.
        """
        if vehicle_id not in self._fitted:
            raise UnknownVehicleError(vehicle_id, self._fitted)
        return self._fitted[vehicle_id].suite

    def sample(
        self,
        records: Mapping[int, StateRecord],
        commands: Mapping[int, ActuatorCommands],
        now_us: int,
        dt_us: int,
    ) -> dict[int, SensorData]:
        """Return the samples of the step that ended at ``now_us``, of all that have a record."""
        found: dict[int, SensorData] = {}
        for vehicle_id, record in records.items():
            fitted = self._fitted[vehicle_id]
            motion = fitted.motion.update(record, commands.get(vehicle_id), dt_us)
            sensors = fitted.suite.sample(now_us, dt_us, motion)
            found[vehicle_id] = _with_wire(sensors, record, fitted.spec)
        return found


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
