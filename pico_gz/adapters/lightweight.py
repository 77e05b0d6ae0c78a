"""The built-in simulator as an adapter, and its settings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.core.messages import (
    ActuatorCommands,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleTruth,
)
from pico_gz.core.rover_spec import RoverSpec, converted, rover_spec
from pico_gz.core.vehicle_config import DriveKind, VehicleConfig
from pico_gz.errors import ConfigError, UnknownVehicleError, did_you_mean
from pico_gz.simulator.contacts import Contact
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.models import ModelTable
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.world import World

_SIMPLE: dict[str, float] = {
    "wheel_base": 0.15,
    "max_speed": 1.0,
    "max_turn_rate": 2.0,
    "gps_noise_m": 0.5,
    "gps_rate_hz": 5.0,
    "accel_noise_mss": 0.1,
    "gyro_noise_rads": 0.01,
    "compass_noise_rad": 0.05,
}
_NOISY = {"noise_free": False}


class LightweightConfig:
    """The rover of the built-in simulator: a preset, or the simple model, and single figures.

    The simple model is kinematic skid steer and white noise: ``wheel_base`` 0.15 m,
    ``max_speed`` 1 m/s, ``max_turn_rate`` 2 rad/s, ``gps_noise_m`` 0.5, ``gps_rate_hz`` 5,
    ``accel_noise_mss`` 0.1, ``gyro_noise_rads`` 0.01, ``compass_noise_rad`` 0.05.

    Args:
        preset: one of ``pico_gz.core.rover_spec.PRESETS``; empty is the simple model.
        seed: of all random numbers; ``None`` draws one, which is logged and recorded.
        figures: any of the eight keys above; they win over the preset.

    Every figure can be read as an attribute. With a preset, a noise of ``None`` is that of the
    fitted sensor part.

    Raises:
        ConfigError: an unknown preset or key, or a figure that cannot be.
    """

    def __init__(self, *, preset: str = "", seed: int | None = None, **figures: float) -> None:
        for name in figures:
            if name not in _SIMPLE:
                known = ("preset", *_SIMPLE, "seed")
                raise ConfigError(f"Lightweight has no {name!r}.", hint=did_you_mean(name, known))
        self.preset = preset
        self.seed = seed
        self._figures = converted({name: x for name, x in figures.items() if x is not None})
        self._spec = self.applied_to(rover_spec(preset or "ideal", {} if preset else _NOISY))

    def __getattr__(self, name: str) -> Any:
        if name in _SIMPLE:
            return getattr(self._spec, name)
        raise AttributeError(f"LightweightConfig has no {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LightweightConfig):
            return NotImplemented
        return (self.seed, self._spec) == (other.seed, other._spec)

    def __hash__(self) -> int:
        return hash((self.seed, self._spec))

    def __repr__(self) -> str:
        given = {"preset": self.preset, **self._figures, "seed": self.seed}
        return f"LightweightConfig({', '.join(f'{key}={value!r}' for key, value in given.items())})"

    def changed(self, **keys: Any) -> LightweightConfig:
        """The same with some keys given explicitly, beside those that were before."""
        return LightweightConfig(
            **{"preset": self.preset, "seed": self.seed, **self._figures, **keys}
        )

    def spec(self) -> RoverSpec:
        """The rover that this describes."""
        return self._spec

    def applied_to(self, spec: RoverSpec) -> RoverSpec:
        """``spec`` with the figures that were given; a noisy ideal rover is the simple model."""
        changes = dict(self._figures)
        if not self.preset and spec.preset == "ideal" and not spec.noise_free:
            simple = {name: value for name, value in _SIMPLE.items() if name.count("noise")}
            unset = {name: value for name, value in simple.items() if getattr(spec, name) is None}
            changes = {**unset, **changes}
        return msgspec.structs.replace(spec, **changes)


log = logging.getLogger(__name__)

RoverChoice = Callable[[VehicleConfig], RoverSpec]


class LightweightAdapter(SimulatorAdapter):
    """Simulates rovers in this process, deterministically.

    Which rover a vehicle is: what ``rover_of`` says; else, with a ``config``, the one it
    describes (``LightweightConfig()`` is the simple model); else the preset that the vehicle
    names. Keys given explicitly to ``config`` override whichever it is.

    Args:
        config: the simple model, a preset, or single figures of it.
        name: under which it is registered.
        world: origin, ground, obstacles, wind and whether things collide.
        rover_of: finds the description of a vehicle.
        seed: of all random numbers; the config's when not given here, drawn when neither.
        models: exchangeable drive and sensor models.
        options: single keys of ``LightweightConfig``, as from a fleet file.
    """

    adapter_type = "lightweight"
    bounded_step = True

    def __init__(
        self,
        config: LightweightConfig | None = None,
        *,
        name: str | None = None,
        world: World | None = None,
        rover_of: RoverChoice | None = None,
        seed: int | None = None,
        models: ModelTable | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name)
        if options:
            config = (config or LightweightConfig()).changed(**options)
        self._config = config
        self._rover_of = rover_of
        self._world = world or World()
        self.seed = self._choose_seed(config, seed)
        self._engine = FleetEngine(self._world, self.seed, models)
        self._rovers: dict[int, RoverSpec] = {}
        self._skid: set[int] = set()
        self._time_us = 0
        self._truth: dict[int, VehicleTruth] = {}
        self._fresh_truth = False

    def _choose_seed(self, config: LightweightConfig | None, seed: int | None) -> int:
        chosen = seed if seed is not None else config.seed if config else None
        if chosen is None:
            import secrets  # most runs are given a seed

            chosen = secrets.randbits(31)
            # Not lower: nobody could repeat the run who does not see it.
            log.warning("%s: seed %d (drawn; give it again to repeat this run)", self.name, chosen)
        return chosen

    # --- what it can do -------------------------------------------------------------------

    def sim_time_us(self) -> int:
        """Simulation time of the last finished step [us]."""
        return self._time_us

    def capabilities(self) -> SimulatorCapabilities:
        """What is simulated: everything but cameras and optical flow."""
        ranges = any(spec.rangefinders_deg for spec in list(self._rovers.values()))
        return SimulatorCapabilities(
            sensors=SensorCapabilities(
                imu=True, gps=True, compass=True, barometer=True, rangefinder=ranges
            ),
            max_rate_hz=1000.0,
            multi_vehicle=True,
            terrain=True,
            wind=True,
        )

    def receive_truth(self) -> dict[int, VehicleTruth]:
        """Where the vehicles are, in id order; built when asked, at most once per step.

        Another thread that asks in the middle of a step gets what was built last, so that
        nobody ever waits here.
        """
        if self._fresh_truth or not self._lock.acquire(blocking=False):
            return self._truth
        try:
            if not self._fresh_truth:
                self._truth = self._engine.truth()
                self._fresh_truth = True
            return self._truth
        finally:
            self._lock.release()

    def drain_contacts(self) -> list[Contact]:
        """Take the contacts that began since the last call."""
        with self._lock:
            return self._engine.drain_contacts()

    def rover(self, vehicle_id: int) -> RoverSpec:
        """The description that a vehicle is simulated by."""
        if vehicle_id not in self._rovers:
            raise UnknownVehicleError(vehicle_id, self._rovers)
        return self._rovers[vehicle_id]

    # --- interventions --------------------------------------------------------------------

    def set_pose(self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float) -> None:
        """Put a vehicle somewhere else, standing still."""
        self.set_motion(vehicle_id, north_m, east_m, yaw_deg, 0.0)

    def set_motion(
        self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float, speed_mps: float
    ) -> None:
        """Put a vehicle somewhere else, going straight on at ``speed_mps``."""
        with self._lock:
            self._engine.set_pose(vehicle_id, north_m, east_m, yaw_deg, speed_mps)
            self._fresh_truth = False

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break a sensor, motor or the steering of a vehicle; ``ok`` mends it."""
        with self._lock:
            self._engine.set_failure(vehicle_id, unit, kind)

    def set_environment(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a simulation parameter of one vehicle, by its ``SIM_*`` name."""
        with self._lock:
            self._engine.set_parameter(vehicle_id, name, value)

    def save_state(self) -> dict[str, Any]:
        """Everything needed to go on from here, as plain values."""
        with self._lock:
            return {"seed": self.seed, **self._engine.save_state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave; the same vehicles must be there.

        Raises:
            ConfigError: the snapshot belongs to other vehicles or another seed.
        """
        with self._lock:
            if state["seed"] != self.seed:
                raise ConfigError(f"The snapshot has seed {state['seed']}, not {self.seed}.")
            self._engine.load_state(state)
            self._mailbox.clear()
            self._time_us = self._engine.time_us
            self._fresh_truth = False

    # --- hooks ----------------------------------------------------------------------------

    def _connect(self) -> None:
        """Nothing to reach: the simulator is here."""

    def _disconnect(self) -> None:
        """Nothing to let go of."""

    def _add_vehicle(self, config: VehicleConfig) -> None:
        spec = self._spec_of(config)
        self._engine.add(spec, fit_sensors(spec, config.id, config.noise), config.pose)
        self._rovers[config.id] = spec
        if spec.drive is DriveKind.SKID:
            self._skid.add(config.id)
        self._fresh_truth = False

    def _spec_of(self, config: VehicleConfig) -> RoverSpec:
        if self._rover_of is None:
            return self._config.spec() if self._config else rover_spec(config.preset)
        spec = self._rover_of(config)
        return self._config.applied_to(spec) if self._config else spec

    def _remove_vehicle(self, vehicle_id: int) -> None:
        self._engine.remove(vehicle_id)
        del self._rovers[vehicle_id]
        self._skid.discard(vehicle_id)
        self._fresh_truth = False

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        command, skid = self._engine.command, self._skid
        for vehicle_id, wanted in commands.items():
            rows = wanted.motors if vehicle_id in skid else wanted.motors[:1] + wanted.servos[:1]
            if len(rows) != 2:
                rows = self._completed(vehicle_id, wanted)
            command(vehicle_id, *rows)

    def _completed(self, vehicle_id: int, wanted: ActuatorCommands) -> tuple[float, float]:
        """What is not said is neutral."""
        first = wanted.motors[0] if wanted.motors else 0.0
        rest = wanted.motors[1:] if vehicle_id in self._skid else wanted.servos
        return first, rest[0] if rest else 0.0

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        self._fresh_truth = False
        records = self._engine.advance(dt_us)
        self._time_us = self._engine.time_us
        return records
