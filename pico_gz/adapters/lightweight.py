"""The built-in simulator as an adapter."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.adapters.lightweight_config import LightweightConfig, has_figures
from pico_gz.core.messages import (
    ActuatorCommands,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleTruth,
)
from pico_gz.core.rover_spec import RoverSpec, rover_spec
from pico_gz.core.subclassable import mypyc_attr
from pico_gz.core.vehicle_config import DriveKind, Pose, VehicleConfig
from pico_gz.errors import ConfigError, UnknownVehicleError
from pico_gz.simulator.contacts import Contact
from pico_gz.simulator.fleet_engine import FleetEngine
from pico_gz.simulator.models import ModelTable
from pico_gz.simulator.overlaps import footprint, overlaps_of, pose_of
from pico_gz.simulator.sensor_setup import fit_sensors
from pico_gz.simulator.world import World

log = logging.getLogger(__name__)

RoverChoice = Callable[[VehicleConfig], RoverSpec]


@mypyc_attr(allow_interpreted_subclasses=True)
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
        self._models = models
        self._engine = FleetEngine(self._world, self.seed, models)
        self._rovers: dict[int, RoverSpec] = {}
        self._skid: set[int] = set()
        self._time_us = 0
        self._truth: Mapping[int, VehicleTruth] = {}
        self._fresh_truth = False

    def _choose_seed(self, config: LightweightConfig | None, seed: int | None) -> int:
        chosen = seed if seed is not None else config.seed if config else None
        if chosen is None:
            import secrets  # most runs are given a seed

            chosen = secrets.randbits(31)
            # Not lower: without this line the run cannot be repeated.
            log.warning("%s: seed %d (drawn; give it again to repeat this run)", self.name, chosen)
        return chosen

    # --- what it can do -------------------------------------------------------------------

    def sim_time_us(self) -> int:
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

    def receive_truth(self) -> Mapping[int, VehicleTruth]:
        """Where the vehicles are, in id order; built when asked, at most once per step.

        Another thread that asks in the middle of a step gets what was built last, so that
        this never waits.
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

    def touching(self) -> list[tuple[int, int | str]]:
        """The contacts that last: (vehicle id, the other's id or an obstacle's name)."""
        with self._lock:
            return self._engine.touching()

    def rover(self, vehicle_id: int) -> RoverSpec:
        """The description that a vehicle is simulated by."""
        if vehicle_id not in self._rovers:
            raise UnknownVehicleError(vehicle_id, self._rovers)
        return self._rovers[vehicle_id]

    def overlaps_at(self, vehicle_id: int, pose: Pose) -> list[str]:
        """What a vehicle would stand inside of at ``pose``: names of vehicles and obstacles.

        Empty when nothing is there, or when nothing collides in this world.
        """
        return self._overlaps(vehicle_id, pose, self.rover(vehicle_id))

    def _overlaps(self, vehicle_id: int, pose: Pose, spec: RoverSpec) -> list[str]:
        if not self._world.contacts:
            return []
        truth = self.receive_truth()
        others = [
            footprint(self._vehicles[i].label, pose_of(truth[i]), self._rovers[i])
            for i in truth
            if i != vehicle_id
        ]
        return overlaps_of(footprint("", pose, spec), others, self._world.obstacles)

    # --- interventions --------------------------------------------------------------------

    def set_pose(self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float) -> None:
        self.set_motion(vehicle_id, north_m, east_m, yaw_deg, 0.0)

    def set_motion(
        self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float, speed_mps: float
    ) -> None:
        with self._lock:
            self._engine.set_pose(vehicle_id, north_m, east_m, yaw_deg, speed_mps)
            self._fresh_truth = False

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        with self._lock:
            self._engine.set_failure(vehicle_id, unit, kind)

    def set_environment(self, vehicle_id: int, name: str, value: float) -> None:
        with self._lock:
            self._engine.set_parameter(vehicle_id, name, value)

    def reseed(self, seed: int) -> None:
        """Draw from another seed from here on; what was drawn so far stays.

        Biases that are drawn once, when a sensor is fitted, are those of the new seed.
        """
        with self._lock:
            engine = FleetEngine(self._world, seed, self._models)
            for config in self._vehicles.values():
                spec = self._rovers[config.id]
                engine.add(spec, fit_sensors(spec, config.id, config.noise), config.pose)
            engine.load_state(self._engine.save_state())
            self._engine, self.seed = engine, seed
            self._fresh_truth = False

    def save_state(self) -> dict[str, Any]:
        with self._lock:
            return {"seed": self.seed, **self._engine.save_state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave; the same vehicles must be there.

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
        """Holds no resources."""

    def _add_vehicle(self, config: VehicleConfig) -> None:
        spec = self._spec_of(config)
        if there := self._overlaps(config.id, config.pose, spec):
            raise ConfigError(
                f"{config.label} cannot be added: it would stand inside {', '.join(there)}.",
                hint="Give it another pose; contacts are discs of the rover's radius_m.",
            )
        self._engine.add(spec, fit_sensors(spec, config.id, config.noise), config.pose)
        self._rovers[config.id] = spec
        if spec.drive is DriveKind.SKID:
            self._skid.add(config.id)
        self._fresh_truth = False

    def _spec_of(self, config: VehicleConfig) -> RoverSpec:
        if self._rover_of is None:
            return self._config.spec() if self._config else rover_spec(config.preset)
        spec = self._rover_of(config)
        if self._config is not None:
            return self._config.applied_to(spec)
        return LightweightConfig().applied_to(spec) if has_figures(spec) else spec

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
            first, second = rows
            command(vehicle_id, first, second)

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
