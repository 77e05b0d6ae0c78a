"""All sensors of a vehicle: motion in, SensorData out."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import RangefinderData, SensorData
from pico_gz.errors import ConfigError
from pico_gz.simulator.ambient_sensors import Barometer, Compass, Rangefinder, Scene
from pico_gz.simulator.faults import VehicleFailures, find_kind, find_units
from pico_gz.simulator.gps import Gps
from pico_gz.simulator.imu import Imu
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.noise import Sensor
from pico_gz.simulator.onboard_sensors import Battery, Encoder
from pico_gz.simulator.sensor_setup import SensorSetup
from pico_gz.simulator.sim_parameters import MODEL_PARAMETERS, SampleParameters, find_parameter
from pico_gz.simulator.world import MagneticField


class SensorSuite:
    """The sensors of one vehicle.

    Its samples depend on its set-up, the seed, its motion and its own history alone.

    Args:
        setup: what it carries.
        frame: where on earth the local frame lies.
        magnetic: the earth's field there.
        seed: of the run.
        scene: what rangefinders look at; ``None`` = an empty world.

    Attributes:
        battery_ratio: battery voltage over rated voltage, which the motors' speed follows.
        is_disturbed: whether a failure or a ``SIM_*`` parameter changes finished samples.
        last_us: time of the last sample.
    """

    def __init__(
        self,
        setup: SensorSetup,
        frame: LocalFrame,
        magnetic: MagneticField,
        seed: int,
        scene: Scene | None = None,
    ) -> None:
        vehicle_id = setup.vehicle_id
        self.vehicle_id = vehicle_id
        self.battery = Battery(setup) if setup.battery else None
        self.imu = Imu(setup, seed) if setup.imu else None
        self.gps = Gps(setup, frame, seed) if setup.gps else None
        self.compass = Compass(setup, magnetic, seed) if setup.compass else None
        self.barometer = Barometer(setup, frame.alt_m, seed) if setup.barometer else None
        self.encoder = Encoder(setup, seed) if setup.encoder_ticks else None
        self.ranges = [
            Rangefinder(setup, index, seed, scene) for index in range(len(setup.rangefinders))
        ]
        self._sensors = self._named_sensors()
        self.battery_ratio = 1.0
        self.is_disturbed = False
        self._failures = VehicleFailures(seed, vehicle_id)
        self._parameters = SampleParameters(seed, vehicle_id)
        self.last_us = -1

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> SensorData:
        """Return what is new at ``now_us``.

        Call it once per step of length ``dt_us``, after the motion to ``now_us``.
        """
        if now_us - dt_us != self.last_us:
            self._align(now_us - dt_us)
        self.last_us = now_us
        imu = gps = compass = barometer = ranges = encoders = battery = None
        current_a = 0.0
        if (power := self.battery) is not None:
            power.draw(dt_us, motion)
            current_a = power.current_a
            self.battery_ratio = power.ratio
            if now_us >= power.next_us:
                battery = power.sample(now_us, dt_us)
        if (sensor := self.imu) is not None and now_us >= sensor.next_us:
            imu = sensor.sample(now_us, dt_us, motion)
        if (receiver := self.gps) is not None:
            if now_us >= receiver.next_us:
                receiver.measure(now_us, dt_us, motion)
            if now_us >= receiver.release_us:
                gps = receiver.release(now_us)
        if (needle := self.compass) is not None and now_us >= needle.next_us:
            compass = needle.sample(now_us, dt_us, motion, current_a)
        if (gauge := self.barometer) is not None and now_us >= gauge.next_us:
            barometer = gauge.sample(now_us, dt_us, motion)
        if (wheels := self.encoder) is not None and now_us >= wheels.next_us:
            encoders = wheels.sample(now_us, dt_us, motion)
        if self.ranges and now_us >= self.ranges[0].next_us:
            ranges = self._sample_ranges(now_us, dt_us, motion)
        data = SensorData(
            now_us,
            self.vehicle_id,
            imu,
            gps,
            compass,
            barometer,
            ranges,
            None,
            encoders,
            battery,
        )
        return self._disturbed(data) if self.is_disturbed else data

    def set_failure(self, unit: str, kind: str) -> None:
        """Let a sensor fail, or work again with kind ``ok``.

        Args:
            unit: ``gyro, accel, imu, mag, baro, gps, range, encoder`` or ``battery``.
            kind: one of ``FailureKind``.

        Raises:
            ConfigError: the unit or kind is unknown.
        """
        for name in find_units(unit):
            self._failures.set(name, find_kind(kind))
        self._find_disturbed()

    def set_parameter(self, name: str, value: float) -> None:
        """Set a ``SIM_*`` fault parameter; the prefix may be left out.

        Raises:
            ConfigError: the parameter is unknown, or the value impossible.
        """
        plain = find_parameter(name)
        if not isfinite(value):
            raise ConfigError(f"Parameter {plain} = {value} is not a number.")
        if plain in MODEL_PARAMETERS:
            model = self.battery if plain.startswith("BATT_") else self.gps
            if model is None:
                raise ConfigError(
                    f"Vehicle {self.vehicle_id} does not carry what {plain} is about."
                )
            model.set_parameter(plain, value)
        else:
            self._parameters.set(plain, value, max(0, self.last_us))
        self._find_disturbed()

    def save(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "sensors": {name: sensor.save() for name, sensor in self._sensors.items()},
            "failures": self._failures.save(),
            "parameters": self._parameters.save(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave.

        Raises:
            ConfigError: the state belongs to a vehicle with other sensors.
        """
        if set(state.get("sensors", ())) != set(self._sensors):
            raise ConfigError(
                f"The snapshot of vehicle {self.vehicle_id} belongs to other sensors.",
                hint=f"Fitted here: {', '.join(self._sensors) or 'none'}.",
            )
        for name, sensor in self._sensors.items():
            sensor.load(state["sensors"][name])
        self._failures.load(state["failures"])
        self._parameters.load(state["parameters"])
        self._find_disturbed()
        if self.battery is not None:
            self.battery_ratio = self.battery.ratio

    def _named_sensors(self) -> dict[str, Sensor]:
        named: dict[str, Sensor | None] = {
            "battery": self.battery,
            "imu": self.imu,
            "gps": self.gps,
            "compass": self.compass,
            "barometer": self.barometer,
            "encoder": self.encoder,
        }
        named.update({f"range_{index}": sensor for index, sensor in enumerate(self.ranges)})
        return {name: sensor for name, sensor in named.items() if sensor is not None}

    def _align(self, last_us: int) -> None:
        """Find the next samples of all sensors after a jump in time."""
        for sensor in self._sensors.values():
            sensor.align(last_us)

    def _find_disturbed(self) -> None:
        self.is_disturbed = bool(self._failures) or bool(self._parameters)

    def _sample_ranges(
        self, now_us: int, dt_us: int, motion: Motion
    ) -> tuple[RangefinderData, ...]:
        return tuple([sensor.sample(now_us, dt_us, motion) for sensor in self.ranges])

    def _disturbed(self, data: SensorData) -> SensorData:
        """Let parameters, then failures, change the samples."""
        samples: dict[str, Any] = {
            "imu": data.imu,
            "gps": data.gps,
            "compass": data.compass,
            "barometer": data.barometer,
            "rangefinders": data.rangefinders,
            "encoders": data.encoders,
            "battery": data.battery,
        }
        self._parameters.apply(data.timestamp_us, samples)
        self._failures.apply(data.timestamp_us, samples)
        return SensorData(data.timestamp_us, data.vehicle_id, **samples)
