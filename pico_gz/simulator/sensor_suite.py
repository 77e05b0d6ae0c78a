"""All sensors of a group of vehicles: motion in, SensorData out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from math import isfinite
from typing import Any

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import RangefinderData, SensorData
from pico_gz.errors import ConfigError, UnknownVehicleError
from pico_gz.simulator.ambient_sensors import Barometer, Compass, Rangefinder, Scene
from pico_gz.simulator.faults import VehicleFailures, find_kind, find_units
from pico_gz.simulator.gps import Gps
from pico_gz.simulator.imu import Imu
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor, column
from pico_gz.simulator.onboard_sensors import Battery, Encoder
from pico_gz.simulator.ops import SCALAR, Column, Ops
from pico_gz.simulator.sensor_setup import SensorSetup
from pico_gz.simulator.sim_parameters import MODEL_PARAMETERS, SampleParameters, find_parameter
from pico_gz.simulator.world import MagneticField

# One entry per vehicle; a sensor that has nothing new says so once for all of them.
Samples = Sequence[Any]
_NONE_NEW: Samples = (None,)
_FIELDS = ("imu", "gps", "compass", "barometer", "rangefinders", "encoders", "battery")


class SensorSuite:
    """The sensors of vehicles that carry the same kinds at the same rates.

    A vehicle's samples depend on its set-up, the seed, its motion and its own history, never on
    its neighbours: alone on floats and as one of 255 in arrays it reads the same bits.

    Args:
        ops: ``SCALAR`` for exactly one vehicle, ``ARRAY`` for a group.
        vehicles: one set-up each; ``group_key`` must be the same for all.
        frame: where on earth the local frame lies.
        magnetic: the earth's field there.
        seed: of the run.
        scene: what rangefinders look at; ``None`` = an empty world.

    Attributes:
        battery_ratio: battery voltage over rated voltage, which the motors' speed follows.

    Raises:
        ConfigError: the vehicles do not go together.
    """

    def __init__(
        self,
        ops: Ops,
        vehicles: Sequence[SensorSetup],
        frame: LocalFrame,
        magnetic: MagneticField,
        seed: int,
        scene: Scene | None = None,
    ) -> None:
        _check_group(ops, vehicles)
        first = vehicles[0]
        self._ids = [v.vehicle_id for v in vehicles]
        self._places = {vehicle_id: place for place, vehicle_id in enumerate(self._ids)}
        self._battery = Battery(ops, vehicles) if first.battery else None
        self._imu = Imu(ops, vehicles, seed) if first.imu else None
        self._gps = Gps(ops, vehicles, frame, seed) if first.gps else None
        self._compass = Compass(ops, vehicles, magnetic, seed) if first.compass else None
        self._barometer = Barometer(ops, vehicles, frame.alt_m, seed) if first.barometer else None
        self._encoder = Encoder(ops, vehicles, seed) if first.encoder_ticks else None
        self._ranges = [
            Rangefinder(ops, vehicles, index, seed, scene)
            for index in range(len(first.rangefinders))
        ]
        self._sensors = self._named_sensors()
        # Battery voltage over rated voltage, which the motors' speed follows.
        self.battery_ratio: Column = column(ops, [1.0] * len(vehicles))
        self._failures = [VehicleFailures(seed, vehicle_id) for vehicle_id in self._ids]
        self._parameters = [SampleParameters(seed, vehicle_id) for vehicle_id in self._ids]
        self._disturbed: tuple[int, ...] = ()
        self._alone = len(self._ids) == 1
        self._last_us = -1

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> list[SensorData]:
        """Return what is new at ``now_us``, one entry per vehicle in the given order.

        Call it once per step of length ``dt_us``, after the motion to ``now_us``.
        """
        if now_us - dt_us != self._last_us:
            self._align(now_us - dt_us)
        self._last_us = now_us
        imu = gps = compass = barometer = ranges = encoders = battery = _NONE_NEW
        current_a: Column = 0.0
        if (power := self._battery) is not None:
            power.draw(dt_us, motion)
            current_a = power.current_a
            self.battery_ratio = power.ratio
            if now_us >= power.clock.next_us:
                battery = power.sample(now_us, dt_us)
        if (sensor := self._imu) is not None and now_us >= sensor.clock.next_us:
            imu = sensor.sample(now_us, dt_us, motion)
        if (receiver := self._gps) is not None:
            if now_us >= receiver.clock.next_us:
                receiver.measure(now_us, dt_us, motion)
            if now_us >= receiver.release_us:
                gps = receiver.release(now_us)
        if (needle := self._compass) is not None and now_us >= needle.clock.next_us:
            compass = needle.sample(now_us, dt_us, motion, current_a)
        if (gauge := self._barometer) is not None and now_us >= gauge.clock.next_us:
            barometer = gauge.sample(now_us, dt_us, motion)
        if (wheels := self._encoder) is not None and now_us >= wheels.clock.next_us:
            encoders = wheels.sample(now_us, dt_us, motion)
        if self._ranges and now_us >= self._ranges[0].clock.next_us:
            ranges = self._sample_ranges(now_us, dt_us, motion)
        if self._alone and not self._disturbed:
            return [
                SensorData(
                    now_us,
                    self._ids[0],
                    imu[0],
                    gps[0],
                    compass[0],
                    barometer[0],
                    ranges[0],
                    None,
                    encoders[0],
                    battery[0],
                )
            ]
        return self._pack(now_us, (imu, gps, compass, barometer, ranges, encoders, battery))

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Let a sensor fail, or work again with kind ``ok``.

        Args:
            vehicle_id: of this group.
            unit: ``gyro, accel, imu, mag, baro, gps, range, encoder`` or ``battery``.
            kind: one of ``FailureKind``.

        Raises:
            ConfigError: the vehicle, unit or kind is unknown.
        """
        failures = self._failures[self._place(vehicle_id)]
        for name in find_units(unit):
            failures.set(name, find_kind(kind))
        self._find_disturbed()

    def set_parameter(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a ``SIM_*`` fault parameter; the prefix may be left out.

        Raises:
            ConfigError: the vehicle or parameter is unknown, or the value impossible.
        """
        place, plain = self._place(vehicle_id), find_parameter(name)
        if not isfinite(value):
            raise ConfigError(f"Parameter {plain} = {value} is not a number.")
        if plain in MODEL_PARAMETERS:
            model = self._battery if plain.startswith("BATT_") else self._gps
            if model is None:
                raise ConfigError(f"Vehicle {vehicle_id} does not carry what {plain} is about.")
            model.set_parameter(place, plain, value)
        else:
            self._parameters[place].set(plain, value, max(0, self._last_us))
        self._find_disturbed()

    def save_vehicle(self, vehicle_id: int) -> dict[str, Any]:
        """Return one vehicle's state as plain values, the same for floats and arrays."""
        place = self._place(vehicle_id)
        return {
            "sensors": {name: sensor.save(place) for name, sensor in self._sensors.items()},
            "failures": self._failures[place].save(),
            "parameters": self._parameters[place].save(),
        }

    def load_vehicle(self, vehicle_id: int, state: dict[str, Any]) -> None:
        """Set one vehicle's state from what ``save_vehicle`` gave, here or in another group.

        Raises:
            ConfigError: the state belongs to a vehicle with other sensors.
        """
        place = self._place(vehicle_id)
        if set(state.get("sensors", ())) != set(self._sensors):
            raise ConfigError(
                f"The snapshot of vehicle {vehicle_id} belongs to other sensors.",
                hint=f"Fitted here: {', '.join(self._sensors) or 'none'}.",
            )
        for name, sensor in self._sensors.items():
            sensor.load(place, state["sensors"][name])
        self._failures[place].load(state["failures"])
        self._parameters[place].load(state["parameters"])
        self._find_disturbed()
        if self._battery is not None:
            self.battery_ratio = self._battery.ratio

    def _named_sensors(self) -> dict[str, Sensor]:
        named: dict[str, Sensor | None] = {
            "battery": self._battery,
            "imu": self._imu,
            "gps": self._gps,
            "compass": self._compass,
            "barometer": self._barometer,
            "encoder": self._encoder,
        }
        named.update({f"range_{index}": sensor for index, sensor in enumerate(self._ranges)})
        return {name: sensor for name, sensor in named.items() if sensor is not None}

    def _place(self, vehicle_id: int) -> int:
        try:
            return self._places[vehicle_id]
        except KeyError:
            raise UnknownVehicleError(vehicle_id, self._ids) from None

    def _align(self, last_us: int) -> None:
        """Find the next samples of all sensors after a jump in time."""
        for sensor in self._sensors.values():
            sensor.align(last_us)

    def _find_disturbed(self) -> None:
        """Note which vehicles need a second look each step."""
        pairs = zip(self._failures, self._parameters, strict=True)
        self._disturbed = tuple(place for place, pair in enumerate(pairs) if any(pair))

    def _sample_ranges(
        self, now_us: int, dt_us: int, motion: Motion
    ) -> list[tuple[RangefinderData, ...]]:
        told = [sensor.sample(now_us, dt_us, motion) for sensor in self._ranges]
        return list(zip(*told, strict=True))

    def _pack(self, now_us: int, columns: tuple[Samples, ...]) -> list[SensorData]:
        """Make one message per vehicle of one list per sensor."""
        if self._disturbed:
            columns = self._disturb(now_us, columns)
        filled = [repeat(None) if column is _NONE_NEW else column for column in columns]
        imu, gps, compass, barometer, ranges, encoders, battery = filled
        # ``map`` makes a fleet's records without a Python frame per vehicle.
        return list(
            map(
                SensorData,
                repeat(now_us),
                self._ids,
                imu,
                gps,
                compass,
                barometer,
                ranges,
                repeat(None),
                encoders,
                battery,
            )
        )

    def _disturb(self, now_us: int, columns: tuple[Samples, ...]) -> tuple[Samples, ...]:
        """Let parameters, then failures, change the samples of the vehicles concerned."""
        lists = [[None] * len(self._ids) if c is _NONE_NEW else list(c) for c in columns]
        for place in self._disturbed:
            samples = {field: c[place] for field, c in zip(_FIELDS, lists, strict=True)}
            self._parameters[place].apply(now_us, samples)
            self._failures[place].apply(now_us, samples)
            for field, changed in zip(_FIELDS, lists, strict=True):
                changed[place] = samples[field]
        return tuple(lists)


def _check_group(ops: Ops, vehicles: Sequence[SensorSetup]) -> None:
    if not vehicles:
        raise ConfigError("A sensor suite needs at least one vehicle.")
    if ops is SCALAR and len(vehicles) != 1:
        raise ConfigError(f"Floats serve one vehicle, not {len(vehicles)}; use arrays.")
    ids = [v.vehicle_id for v in vehicles]
    if len(set(ids)) != len(ids):
        raise ConfigError(f"Two vehicles of one group share an id: {ids}.")
    odd = [v.vehicle_id for v in vehicles if v.group_key != vehicles[0].group_key]
    if odd:
        raise ConfigError(
            f"Vehicles {odd} carry other sensors or rates than vehicle {ids[0]}.",
            hint="Group vehicles by SensorSetup.group_key.",
        )
