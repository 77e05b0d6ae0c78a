"""MuJoCo as an adapter: all rovers in one model, in this process."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.adapters.mujoco.mjcf import DEFAULT_STEP_US
from pico_gz.adapters.mujoco.physics import Physics, load_mujoco
from pico_gz.adapters.mujoco.rover_mjcf import PlacedRover
from pico_gz.adapters.mujoco.wheel_drive import WheelDrive
from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.messages import (
    ActuatorCommands,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleTruth,
)
from pico_gz.core.rover_spec import RoverSpec, rover_spec
from pico_gz.core.subclassable import mypyc_attr
from pico_gz.core.units import GRAVITY_MPS2, US_PER_S
from pico_gz.core.vehicle_config import Pose, VehicleConfig
from pico_gz.errors import ConfigError, UnknownVehicleError, did_you_mean
from pico_gz.simulator.contacts import Contact
from pico_gz.simulator.faults import ACTUATOR_UNITS, ActuatorFaults, find_units
from pico_gz.simulator.faults import UNITS as SENSOR_UNITS
from pico_gz.simulator.followed_fleet import FollowedFleet
from pico_gz.simulator.followed_motion import FollowedMotion
from pico_gz.simulator.kinematics import truth_of
from pico_gz.simulator.models import ModelTable
from pico_gz.simulator.overlaps import footprint, overlaps_of
from pico_gz.simulator.sensor_setup import SensorSetup, fit_sensors
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.world import Wind, World
from pico_gz.wire.servo import drive_values

# Bodies that touch bounce a little: shorter gaps are the same touch [us].
_TOUCH_GAP_US: Final = 200_000


class _RaySuite(SensorSuite):
    """Sensors with rangefinders that MuJoCo casts rays for; the native core knows none."""


class _Rover:
    """One rover: what it is, its motors, its sensors' set-up and what is broken."""

    __slots__ = ("drive", "faults", "place", "setup")

    def __init__(self, place: PlacedRover, drive: WheelDrive, setup: SensorSetup) -> None:
        self.place = place
        self.drive = drive
        self.setup = setup
        self.faults: ActuatorFaults | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class MujocoAdapter(SimulatorAdapter):
    """Simulates rovers with wheels and contacts, deterministically.

    Args:
        name: under which it is registered.
        world: origin, ground, obstacles, wind and whether things collide.
        rover_of: finds the description of a vehicle; default: the preset that it names.
        seed: of all random numbers.
        models: exchangeable drive models.
        physics_step_us: MuJoCo's own step; a step of the fleet is a whole number of them.
    """

    adapter_type = "mujoco"
    bounded_step = True

    def __init__(
        self,
        *,
        name: str | None = None,
        world: World | None = None,
        rover_of: Callable[[VehicleConfig], RoverSpec] | None = None,
        seed: int = 42,
        models: ModelTable | None = None,
        physics_step_us: int = DEFAULT_STEP_US,
    ) -> None:
        super().__init__(name)
        self._world = world or World()
        self._rover_of = rover_of or (lambda config: rover_spec(config.preset))
        self.seed = seed
        self.physics_step_us = physics_step_us
        self._models = models or ModelTable()
        self._magnetic = self._world.magnetic()
        self._wind = Wind(self._world.wind, seed)
        self._fleet = FollowedFleet(self._world.origin)
        self._rovers: dict[int, _Rover] = {}  # in id order
        self._physics: Physics | None = None
        self._has_changed = True
        self._time_us = 0
        self._truth: Mapping[int, VehicleTruth] = {}
        self._fresh_truth = False
        self._is_sampled = False  # the sensors have seen where the rovers are
        self._touching: dict[tuple[int, int | str], int] = {}  # -> when it was seen last
        self._contacts: list[Contact] = []

    @classmethod
    def unavailable_reason(cls) -> str | None:
        if importlib.util.find_spec("mujoco") is None:
            return "the extra 'mujoco' is not installed: pip install 'pico-gz[mujoco]'"
        return None

    # --- what it can do -------------------------------------------------------------------

    def sim_time_us(self) -> int:
        return self._time_us

    def capabilities(self) -> SimulatorCapabilities:
        """What is simulated: everything but cameras, scanners and optical flow."""
        ranges = any(one.setup.rangefinders for one in list(self._rovers.values()))
        return SimulatorCapabilities(
            sensors=SensorCapabilities(
                imu=True, gps=True, compass=True, barometer=True, rangefinder=ranges
            ),
            max_rate_hz=US_PER_S / self.physics_step_us,
            multi_vehicle=True,
            terrain=True,
            wind=True,
        )

    def receive_truth(self) -> Mapping[int, VehicleTruth]:
        """Where the vehicles are; built when asked, at most once per step, without waiting."""
        if self._fresh_truth or not self._lock.acquire(blocking=False):
            return self._truth
        try:
            if not self._fresh_truth:
                self._truth = self._build_truth()
                self._fresh_truth = True
            return self._truth
        finally:
            self._lock.release()

    def _build_truth(self) -> Mapping[int, VehicleTruth]:
        if self._is_sampled:
            return self._fleet.truths()
        # A rover was put somewhere since the last step.
        physics = self.physics()
        self._complete(physics, None if self._wind.calm else self._wind.at(self._time_us))
        return {
            vehicle_id: truth_of(
                vehicle_id,
                self._time_us,
                FollowedMotion(rover.place.spec).update(row, self._time_us, 1),
            )
            for (vehicle_id, rover), row in zip(
                self._rovers.items(), physics.seen.tolist(), strict=True
            )
        }

    def drain_contacts(self) -> list[Contact]:
        """Take the contacts that began since the last call."""
        with self._lock:
            contacts, self._contacts = self._contacts, []
            return contacts

    def touching(self) -> list[tuple[int, int | str]]:
        """The contacts that last: (vehicle id, the other's id or an obstacle's name)."""
        with self._lock:
            return list(self._touching)

    def rover(self, vehicle_id: int) -> RoverSpec:
        """The description that a vehicle is simulated by."""
        return self._known(vehicle_id).place.spec

    def overlaps_at(self, vehicle_id: int, pose: Pose) -> list[str]:
        """What a vehicle would stand inside of at ``pose``: names of vehicles and obstacles."""
        return self._overlaps(vehicle_id, pose, self.rover(vehicle_id))

    def _overlaps(self, vehicle_id: int, pose: Pose, spec: RoverSpec) -> list[str]:
        if not self._world.contacts:
            return []
        others = [
            footprint(one.place.label, self._pose_of(one.place), one.place.spec)
            for i, one in self._rovers.items()
            if i != vehicle_id
        ]
        return overlaps_of(footprint("", pose, spec), others, self._world.obstacles)

    def _pose_of(self, place: PlacedRover) -> Pose:
        """Where a rover is; one that was just added stands where it was put."""
        physics = self._physics
        if physics is None or place.vehicle_id not in physics.rank_of:
            return place.pose
        row = physics.seen[physics.rank_of[place.vehicle_id]].tolist()
        w, x, y, z = row[9:13]
        yaw_deg = math.degrees(yaw_from_quat((w, x, y, z)))
        return Pose(north_m=row[0], east_m=row[1], yaw_deg=yaw_deg)

    # --- interventions --------------------------------------------------------------------

    def set_pose(self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float) -> None:
        self.set_motion(vehicle_id, north_m, east_m, yaw_deg, 0.0)

    def set_motion(
        self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float, speed_mps: float
    ) -> None:
        with self._lock:
            rover, physics = self._known(vehicle_id), self.physics()
            if not math.isfinite(north_m + east_m + yaw_deg + speed_mps):
                raise ConfigError("A pose has finite numbers only.")
            most = rover.place.spec.max_speed
            if abs(speed_mps) > most:
                raise ConfigError(f"Vehicle {vehicle_id} reaches {most} m/s, not {speed_mps}.")
            rank = physics.rank_of[vehicle_id]
            physics.put(rank, north_m, east_m, math.radians(yaw_deg), speed_mps)
            rover.drive.move_at(speed_mps)
            self._fresh_truth = self._is_sampled = False

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break a sensor or an actuator of a vehicle; ``ok`` repairs it.

        Raises:
            ConfigError: no such unit on this vehicle, or no such failure.
        """
        with self._lock:
            rover = self._known(vehicle_id)
            if unit in ACTUATOR_UNITS:
                faults = rover.faults or self._new_faults(rover)
                faults.set(unit, kind, rover.drive.commands)
                rover.faults = faults if faults else None
                return
            try:
                units = find_units(unit)
            except ConfigError:
                hint = did_you_mean(unit, [*SENSOR_UNITS, *ACTUATOR_UNITS])
                raise ConfigError(f"The simulator has no unit {unit!r}.", hint=hint) from None
            if not all(rover.setup.carries(SENSOR_UNITS[name].field) for name in units):
                raise ConfigError(f"Vehicle {vehicle_id} has no unit {unit!r}.")
            with self._fleet.changing(vehicle_id) as suite:
                suite.set_failure(unit, kind)

    def _new_faults(self, rover: _Rover) -> ActuatorFaults:
        return ActuatorFaults(self.seed, rover.place.vehicle_id, rover.place.spec.drive)

    def set_environment(self, vehicle_id: int, name: str, value: float) -> None:
        with self._lock, self._fleet.changing(vehicle_id) as suite:
            suite.set_parameter(name, value)

    def save_state(self) -> dict[str, Any]:
        with self._lock:
            return {
                "seed": self.seed,
                "time_us": self._time_us,
                "wind": self._wind.save_state(),
                "mujoco": self.physics().save(),
                "sensors": self._fleet.save(),
                "touching": [[*pair, seen_us] for pair, seen_us in self._touching.items()],
                "vehicles": {
                    str(vehicle_id): {
                        "drive": rover.drive.save(),
                        "faults": [] if rover.faults is None else rover.faults.save(),
                    }
                    for vehicle_id, rover in self._rovers.items()
                },
            }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave; the same vehicles must be there.

        Raises:
            ConfigError: the snapshot belongs to other vehicles or another seed.
        """
        with self._lock:
            if state["seed"] != self.seed:
                raise ConfigError(f"The snapshot has seed {state['seed']}, not {self.seed}.")
            ids = sorted(int(vehicle_id) for vehicle_id in state["vehicles"])
            if ids != list(self._rovers):
                raise ConfigError(
                    f"The snapshot holds vehicles {ids}, here are {tuple(self._rovers)}."
                )
            self.physics().load(state["mujoco"])
            self._fleet.load(state["sensors"])
            self._wind.load_state(state["wind"])
            for vehicle_id, rover in self._rovers.items():
                saved = state["vehicles"][str(vehicle_id)]
                rover.drive.load(saved["drive"])
                rover.faults = None
                if saved["faults"]:
                    rover.faults = self._new_faults(rover)
                    rover.faults.load(saved["faults"])
            self._touching = {(one, other): seen for one, other, seen in state["touching"]}
            self._contacts = []
            self._time_us = state["time_us"]
            self._mailbox.clear()
            self._fresh_truth = self._is_sampled = False

    # --- hooks ----------------------------------------------------------------------------

    def _connect(self) -> None:
        load_mujoco()

    def _disconnect(self) -> None:
        """Holds no resources."""

    def _add_vehicle(self, config: VehicleConfig) -> None:
        spec = self._rover_of(config)
        if there := self._overlaps(config.id, config.pose, spec):
            raise ConfigError(
                f"{config.label} cannot be added: it would stand inside {', '.join(there)}.",
                hint="Give it another pose.",
            )
        place = PlacedRover(vehicle_id=config.id, label=config.label, spec=spec, pose=config.pose)
        setup = fit_sensors(spec, config.id, config.noise)
        drive = WheelDrive(spec, self._models.drive(spec))
        rovers = {**self._rovers, config.id: _Rover(place, drive, setup)}
        self._rovers = dict(sorted(rovers.items()))
        kind = _RaySuite if setup.rangefinders else SensorSuite
        suite = kind(setup, self._world.origin, self._magnetic, self.seed, self)
        self._fleet.add(FollowedMotion(spec), suite)
        self._fleet_changed()

    def _remove_vehicle(self, vehicle_id: int) -> None:
        self._rovers = {i: rover for i, rover in self._rovers.items() if i != vehicle_id}
        self._fleet.remove(vehicle_id)
        if self._physics is not None:  # one of the same id that comes later does not continue it
            self._physics.rank_of.pop(vehicle_id, None)
        self._touching = {
            pair: seen for pair, seen in self._touching.items() if vehicle_id not in pair
        }
        self._fleet_changed()

    def _fleet_changed(self) -> None:
        self._has_changed = True
        self._fresh_truth = self._is_sampled = False

    def _known(self, vehicle_id: int) -> _Rover:
        if vehicle_id not in self._rovers:
            raise UnknownVehicleError(vehicle_id, self._rovers)
        return self._rovers[vehicle_id]

    def physics(self) -> Physics:
        """The model of the present fleet; rovers that stay continue as they are."""
        if self._has_changed or self._physics is None:
            places = [rover.place for rover in self._rovers.values()]
            physics = Physics(self._world, places, self.physics_step_us)
            if self._physics is not None:
                physics.adopt(self._physics)
            self._physics = physics
            self._has_changed = False
        return self._physics

    def cast(
        self,
        north_m: float,
        east_m: float,
        dir_n: float,
        dir_e: float,
        max_m: float,
        skip_vehicle: int,
    ) -> float:
        """Distance along a ray of a vehicle's rangefinder, as ``Scene.cast``."""
        return self.physics().cast(north_m, east_m, dir_n, dir_e, max_m, skip_vehicle)

    # --- a step ---------------------------------------------------------------------------

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        for vehicle_id, wanted in commands.items():
            drive = self._rovers[vehicle_id].drive
            drive.commands = drive_values(wanted, drive.spec.drive)

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        substeps, rest = divmod(dt_us, self.physics_step_us)
        if rest:
            raise ConfigError(
                f"{self.name}: a step of {dt_us} us is no whole number of physics steps "
                f"of {self.physics_step_us} us.",
                hint=f"Change step_us of [time], or physics_step_us of [adapters.{self.name}].",
            )
        physics = self.physics()
        wind = None if self._wind.calm else self._wind.at(self._time_us)
        physics.step(self._controls(physics, dt_us, wind), substeps)
        self._time_us = now_us = self._time_us + dt_us
        self._fresh_truth = False
        if physics.can_touch:
            self._note_touches(physics.touches())
        self._complete(physics, wind)
        self._is_sampled = True
        return self._fleet.sample_all(physics.seen, now_us, dt_us)

    def _controls(
        self, physics: Physics, dt_us: int, wind: tuple[float, float] | None
    ) -> list[float]:
        """What the motors and servos of all rovers do in this step."""
        controls: list[float] = []
        is_level = wind is None and self._world.terrain.level
        rows = None if is_level else physics.seen.tolist()
        for rank, (vehicle_id, rover) in enumerate(self._rovers.items()):
            drive = rover.drive
            commands = drive.commands
            if rover.faults is not None:
                commands = rover.faults.apply(commands, self._time_us, dt_us)
            ratio = self._fleet.battery_ratio(vehicle_id) if drive.battery_scaling else 1.0
            push = None if rows is None else _push(physics, rank, drive, rows[rank], wind)
            controls += drive.advance(dt_us, commands, ratio, push)
        return controls

    def _complete(self, physics: Physics, wind: tuple[float, float] | None) -> None:
        """Add wind and commands to what is seen of the rovers."""
        seen = physics.seen
        if wind is not None:
            seen[:, 16:19] = (1.0, *wind)
        seen[:, 19:21] = [
            rover.drive.commands if rover.drive.is_skid else (rover.drive.commands[0],) * 2
            for rover in self._rovers.values()
        ] or seen[:, 19:21]

    def _note_touches(self, touches: Mapping[tuple[int, int | str], float]) -> None:
        now_us = self._time_us
        for pair, force_n in touches.items():
            if pair not in self._touching:
                self._contacts.append(Contact(now_us, *pair, force_n))
            self._touching[pair] = now_us
        over = [p for p, seen_us in self._touching.items() if now_us - seen_us > _TOUCH_GAP_US]
        for pair in over:
            del self._touching[pair]


def _push(
    physics: Physics,
    rank: int,
    drive: WheelDrive,
    row: list[float],
    wind: tuple[float, float] | None,
) -> float:
    """What gravity and wind add along a rover's x axis [m/s^2]; the wind also pushes its body."""
    w, x, y, z = row[9:13]
    ahead_n, ahead_e = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
    push = 2.0 * (x * z - w * y) * GRAVITY_MPS2
    if wind is None or not drive.drag_gain:
        return push
    north, east = wind[0] - row[3], wind[1] - row[4]
    gain = drive.drag_gain * math.hypot(north, east)
    physics.push(rank, gain * north, gain * east)
    speed = ahead_n * row[3] + ahead_e * row[4]
    return push + drive.drag(speed, ahead_n * wind[0] + ahead_e * wind[1])
