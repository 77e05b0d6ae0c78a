"""JsbsimAdapter: aircraft of JSBSim with the kit's sensors.

JSBSim has no way to save the inside of an aircraft (engines, filters, the integrators' past). A
snapshot therefore holds each aircraft's start and everything it was given since then; loading
flies that again, to the same bits, at some hundred times real time.
"""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.adapters.jsbsim.aircraft import (
    Aircraft,
    AircraftSpec,
    Controls,
    Flight,
    Start,
    package,
)
from pico_gz.core.messages import (
    ActuatorCommands,
    BarometerData,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleTruth,
)
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.units import US_PER_S
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import ConfigError, MissingExtraError, UnknownVehicleError
from pico_gz.simulator.ambient_sensors import EXPONENT, LAPSE_PER_M
from pico_gz.simulator.faults import UNITS, find_units
from pico_gz.simulator.followed_fleet import FollowedFleet
from pico_gz.simulator.followed_motion import NO_WHEELS_SEEN, FollowedMotion, Seen
from pico_gz.simulator.sensor_setup import SensorSetup, fit_sensors
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.world import Wind, World

log = logging.getLogger(__name__)

# Models of a rover's drive fit no aircraft: encoders, battery, shaking in step with wheels.
_FITTED: Final = {"battery": None, "rangefinders": (), "encoder_ticks": 0, "vibration": 0.0}
# Below this height it is taken for standing or rolling [m].
_ON_WHEELS_M: Final = 5.0


class JsbsimAdapter(SimulatorAdapter):
    """Flies aircraft in this process, deterministically.

    Args:
        name: under which it is registered.
        world: origin and wind; the ground is level at the origin's altitude.
        aircraft_of: which aircraft a vehicle is and how it starts; default: a Cessna 172 on the
            runway.
        sensors_of: the description of which a vehicle's sensors are taken.
        seed: of all random numbers.
    """

    adapter_type = "jsbsim"
    bounded_step = True

    def __init__(
        self,
        *,
        name: str | None = None,
        world: World | None = None,
        aircraft_of: Callable[[VehicleConfig], AircraftSpec] = lambda _: AircraftSpec(),
        sensors_of: Callable[[VehicleConfig], RoverSpec] = lambda _: RoverSpec(),
        seed: int = 42,
    ) -> None:
        super().__init__(name)
        self._world = world or World()
        self._aircraft_of = aircraft_of
        self._sensors_of = sensors_of
        self.seed = seed
        self._magnetic = self._world.magnetic()
        self._wind = Wind(self._world.wind, seed)
        self._sensors = FollowedFleet(self._world.origin)
        self._setups: dict[int, SensorSetup] = {}
        self._flown: dict[int, _Flown] = {}
        self._time_us = 0
        self._truth: dict[int, VehicleTruth] = {}

    # --- what it can do -------------------------------------------------------------------

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Why there is no JSBSim here."""
        try:
            package()
        except MissingExtraError as error:
            return f"{error.message.rstrip('.')}: {error.hint}"
        return None

    def sim_time_us(self) -> int:
        return self._time_us

    def capabilities(self) -> SimulatorCapabilities:
        """What is simulated; there is no uneven ground."""
        return SimulatorCapabilities(
            sensors=SensorCapabilities(imu=True, gps=True, compass=True, barometer=True),
            max_rate_hz=1000.0,
            multi_vehicle=True,
            wind=True,
        )

    def receive_truth(self) -> Mapping[int, VehicleTruth]:
        return self._truth

    # --- interventions --------------------------------------------------------------------

    def set_pose(self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float) -> None:
        """Put an aircraft on the ground, standing, engines running."""
        self._start_over(vehicle_id, north_m, east_m, yaw_deg, 0.0, 0.0)

    def set_motion(
        self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float, speed_mps: float
    ) -> None:
        """Put an aircraft elsewhere in level flight, at the height that it has now.

        Raises:
            ConfigError: it is on the ground, or cannot fly at this speed.
        """
        if not speed_mps:
            self.set_pose(vehicle_id, north_m, east_m, yaw_deg)
            return
        height_m = self._known(vehicle_id).flight.altitude_m - self._world.origin.alt_m
        if height_m < _ON_WHEELS_M:
            raise ConfigError(
                f"Vehicle {vehicle_id} is on the ground: an aircraft has a speed in the air only."
            )
        self._start_over(vehicle_id, north_m, east_m, yaw_deg, height_m, speed_mps)

    def _start_over(
        self,
        vehicle_id: int,
        north_m: float,
        east_m: float,
        yaw_deg: float,
        altitude_m: float,
        airspeed_mps: float,
    ) -> None:
        with self._lock:
            model, controls = self._known(vehicle_id).start.model, self._flown[vehicle_id].controls
            start = Start(
                model, north_m, east_m, yaw_deg, altitude_m, airspeed_mps, *self._wind_now()
            )
            flown = _Flown(start, self._world)
            flown.controls = controls
            self._flown[vehicle_id] = flown
            self._publish()

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Let a sensor fail, or work again with kind ``ok``.

        Raises:
            ConfigError: no such sensor on this aircraft, or no such failure.
        """
        with self._lock:
            self._known(vehicle_id)
            fitted = [
                name for name, one in UNITS.items() if self._setups[vehicle_id].carries(one.field)
            ]
            if not set(_units(unit)) <= set(fitted):
                raise ConfigError(
                    f"An aircraft of {self.name} has no unit {unit!r}.",
                    hint=f"It can break {', '.join(fitted)}.",
                )
            with self._sensors.changing(vehicle_id) as suite:
                suite.set_failure(unit, kind)

    def set_environment(self, vehicle_id: int, name: str, value: float) -> None:
        with self._lock, self._sensors.changing(vehicle_id) as suite:
            suite.set_parameter(name, value)

    def save_state(self) -> dict[str, Any]:
        with self._lock:
            vehicles = {}
            for vehicle_id, flown in self._flown.items():
                with self._sensors.changing(vehicle_id) as suite:
                    sensors = suite.save()
                vehicles[str(vehicle_id)] = {**flown.save(), "sensors": sensors}
            return {
                "seed": self.seed,
                "time_us": self._time_us,
                "wind": self._wind.save_state(),
                "vehicles": vehicles,
            }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave, by flying each aircraft again from its start.

        Raises:
            ConfigError: the snapshot belongs to other vehicles or another seed.
        """
        with self._lock:
            ids = sorted(map(int, state["vehicles"]))
            if ids != list(self._vehicles) or state["seed"] != self.seed:
                raise ConfigError(
                    f"The snapshot has vehicles {ids} and seed {state['seed']}, not"
                    f" {list(self._vehicles)} and {self.seed}."
                )
            self._time_us = state["time_us"]
            self._wind.load_state(state["wind"])
            for vehicle_id in ids:
                saved = state["vehicles"][str(vehicle_id)]
                self._flown[vehicle_id] = _Flown.load(saved, self._world)
                with self._sensors.changing(vehicle_id) as suite:
                    suite.load(saved["sensors"])
                    suite.last_us = -1  # sample times follow from the clock
            self._mailbox.clear()
            self._publish()

    # --- hooks ----------------------------------------------------------------------------

    def _connect(self) -> None:
        package()

    def _disconnect(self) -> None:
        """Holds no resources."""

    def _add_vehicle(self, config: VehicleConfig) -> None:
        pose, spec = config.pose, self._aircraft_of(config)
        start = Start(
            spec.model,
            pose.north_m,
            pose.east_m,
            pose.yaw_deg,
            spec.altitude_m,
            spec.airspeed_mps,
            *self._wind_now(),
        )
        self._flown[config.id] = _Flown(start, self._world)
        self._flown = dict(sorted(self._flown.items()))
        described = self._sensors_of(config)
        setup = fit_sensors(described, config.id, config.noise, _FITTED)
        self._setups[config.id] = setup
        suite = SensorSuite(setup, self._world.origin, self._magnetic, self.seed)
        self._sensors.add(FollowedMotion(described), suite)

    def _remove_vehicle(self, vehicle_id: int) -> None:
        del self._flown[vehicle_id], self._setups[vehicle_id]
        self._sensors.remove(vehicle_id)
        self._truth = {i: truth for i, truth in self._truth.items() if i != vehicle_id}

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        for vehicle_id, command in commands.items():
            throttle = max(0.0, command.motors[0]) if command.motors else 0.0
            surfaces = (*command.servos[:3], 0.0, 0.0, 0.0)[:3]
            self._flown[vehicle_id].controls = Controls(throttle, *surfaces)

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        wind = self._wind_now()
        self._time_us += dt_us
        for vehicle_id, flown in self._flown.items():
            flown.advance(wind, dt_us, f"Vehicle {vehicle_id} at {self._time_us / US_PER_S:.2f} s")
        self._publish()
        seen = {i: _seen(flown.flight, flown.controls, wind) for i, flown in self._flown.items()}
        records = self._sensors.sample(seen, self._time_us, dt_us)
        return {i: self._at_height(records[i], flown) for i, flown in self._flown.items()}

    # --- inside ---------------------------------------------------------------------------

    def _known(self, vehicle_id: int) -> _Flown:
        if vehicle_id not in self._flown:
            raise UnknownVehicleError(vehicle_id, self._flown)
        return self._flown[vehicle_id]

    def _wind_now(self) -> tuple[float, float]:
        return self._wind.at(self._time_us)

    def _publish(self) -> None:
        now_us, (north, east) = self._time_us, self._wind_now()
        self._truth = {
            vehicle_id: _truth(flown.flight, vehicle_id, now_us, (north, east, 0.0))
            for vehicle_id, flown in self._flown.items()
        }

    def _at_height(self, record: SensorData, flown: _Flown) -> SensorData:
        """Bring the pressure to the altitude: a barometer's model knows no curved earth."""
        air = record.barometer
        if air is None:
            return record
        flight = flown.flight
        flat_m = self._world.origin.alt_m - flight.position_ned_m[2]
        ratio = (1.0 - LAPSE_PER_M * flight.altitude_m) / (1.0 - LAPSE_PER_M * flat_m)
        pressure = air.pressure_pa * math.pow(ratio, EXPONENT)
        return msgspec.structs.replace(record, barometer=BarometerData(pressure, air.temperature_c))


_INPUT = struct.Struct("<II6d")  # how many steps, their length [us], controls, wind


class _Flown:
    """An aircraft, its present controls, and all that it was given since its start."""

    def __init__(self, start: Start, world: World) -> None:
        self.start = start
        self.controls = Controls()
        self._aircraft = Aircraft(start, world.origin)
        self.flight = self._aircraft.read()
        self._inputs = bytearray()
        self._last: tuple[float, ...] = ()
        self._repeats = 0
        self._is_wrecked = False

    def advance(self, wind: tuple[float, float], dt_us: int, label: str = "") -> None:
        """Fly on; an aircraft that JSBSim can no longer compute stays where it was."""
        given = (dt_us, *self.controls, *wind)
        if given != self._last:
            self._note()
            self._last = given
        self._repeats += 1
        if self._is_wrecked:
            return
        try:
            self._aircraft.advance(self.controls, wind, dt_us)
            flight = self._aircraft.read()
            self._is_wrecked = not _is_finite(flight)
        except (RuntimeError, ArithmeticError, ConfigError) as error:  # whatever C++ throws
            log.debug("%s: %s", label, error)
            self._is_wrecked = True
        if not self._is_wrecked:
            self.flight = flight
            return
        if label:
            log.error("%s: JSBSim cannot compute %s any more; it stays.", label, self.start.model)
        still = (0.0, 0.0, 0.0)
        self.flight = self.flight._replace(
            velocity_ned_mps=still,
            rates_frd_radps=still,
            accel_ned_mps2=still,
            angular_accel_frd_radps2=still,
        )

    def _note(self) -> None:
        if self._repeats:
            dt_us, *numbers = self._last
            self._inputs += _INPUT.pack(self._repeats, int(dt_us), *numbers)
        self._repeats = 0

    def save(self) -> dict[str, Any]:
        """Return the start, the inputs and the controls as plain values."""
        self._note()
        self._last = ()
        return {
            "start": list(self.start),
            "inputs": bytes(self._inputs),
            "controls": list(self.controls),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any], world: World) -> _Flown:
        """Fly what ``save`` gave again."""
        flown = cls(Start(*state["start"]), world)
        for count, dt_us, *numbers in _INPUT.iter_unpack(state["inputs"]):
            flown.controls = Controls(*numbers[:4])
            for _ in range(count):
                flown.advance((numbers[4], numbers[5]), dt_us)
        flown.controls = Controls(*state["controls"])
        return flown


def _units(unit: str) -> tuple[str, ...]:
    """The sensors of a unit; one that no vehicle has stays as it is."""
    try:
        return tuple(find_units(unit))
    except ConfigError:
        return (unit,)


def _is_finite(flight: Flight) -> bool:
    *vectors, altitude_m = flight
    return math.isfinite(altitude_m + sum(map(math.fsum, vectors)))


def _seen(flight: Flight, controls: Controls, wind: tuple[float, float]) -> Seen:
    return (
        *flight.position_ned_m,
        *flight.velocity_ned_mps,
        *flight.rates_frd_radps,
        *flight.quat_wxyz,
        *flight.specific_force_frd_mps2,
        1.0,
        *wind,
        controls.throttle,
        controls.throttle,
        *NO_WHEELS_SEEN,
    )


def _truth(
    flight: Flight, vehicle_id: int, now_us: int, wind_ned_mps: tuple[float, float, float]
) -> VehicleTruth:
    return VehicleTruth(
        now_us,
        vehicle_id,
        *flight.position_ned_m,
        flight.quat_wxyz,
        flight.velocity_ned_mps,
        flight.rates_frd_radps,
        flight.accel_ned_mps2,
        flight.angular_accel_frd_radps2,
        wind_ned_mps,
    )
