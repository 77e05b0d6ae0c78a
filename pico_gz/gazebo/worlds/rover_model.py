"""A rover as an SDF model: mechanics, sensors, plugin."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.units import US_PER_S
from pico_gz.core.vehicle_config import DriveKind, NoiseProfile
from pico_gz.gazebo.worlds.car_rover import ackermann_chassis
from pico_gz.gazebo.worlds.parts import (
    AT_ORIGIN,
    Chassis,
    Placement,
    check_model_name,
    rover_colour,
)
from pico_gz.gazebo.worlds.skid_rover import skid_chassis
from pico_gz.simulator.sensor_parts import BAROMETER_PARTS, COMPASS_PARTS, IMU_PARTS, find_part

# The plugin answers every physics step; an IMU slower than that repeats old samples.
_MIN_IMU_RATE_HZ = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    """White noise and a bias drawn once per run, in the sensor's own unit."""

    sigma: float = 0.0
    bias_sigma: float = 0.0

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to write."""
        return self.sigma == 0.0 and self.bias_sigma == 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorFit:
    """The sensors of one rover.

    Attributes:
        imu_rate_hz: at least the physics rate.
        accel: noise [m/s^2]; ``gyro`` [rad/s], ``magnetometer`` [gauss], ``pressure`` [Pa].
        altitude_m: of the world's origin, which the pressure sensor adds.
        topics: NavSat, magnetometer and barometer, which nobody but readers of topics needs.
        beams_deg: bearings of rangefinders, clockwise from the bow; they need rendering.
        lidar: a scanner that looks all around; needs rendering.
        camera: one that looks ahead; needs rendering.
    """

    imu_rate_hz: int
    accel: Gaussian = Gaussian()
    gyro: Gaussian = Gaussian()
    magnetometer: Gaussian = Gaussian()
    pressure: Gaussian = Gaussian()
    altitude_m: float = 0.0
    topics: bool = False
    beams_deg: tuple[float, ...] = ()
    lidar: bool = False
    camera: bool = False

    @property
    def needs_rendering(self) -> bool:
        """Whether Gazebo must load its rendering sensors."""
        return self.lidar or self.camera or bool(self.beams_deg)

    @property
    def beams_rad(self) -> tuple[float, ...]:
        """The same bearings as yaw of the body frame, counter-clockwise."""
        return tuple(math.radians(-bearing) for bearing in self.beams_deg)


def imu_rate_hz(physics_step_us: int) -> int:
    """A rate at which the IMU has a new sample in every physics step."""
    return max(_MIN_IMU_RATE_HZ, math.ceil(US_PER_S / physics_step_us))


def fit_sensors(
    spec: RoverSpec,
    noise: NoiseProfile,
    physics_step_us: int,
    *,
    altitude_m: float = 0.0,
    topics: bool = False,
    rangefinders: bool = False,
    lidar: bool = False,
    camera: bool = False,
) -> SensorFit:
    """The sensors of a rover, as noisy as the parts it names."""
    scale = 0.0 if spec.noise_free else noise.scale
    imu = find_part(IMU_PARTS, spec.imu, "IMU")
    bandwidth = math.sqrt(0.5 * US_PER_S / physics_step_us)
    accel = math.hypot(imu.accel_density * bandwidth, imu.accel_white)
    gyro = math.hypot(imu.gyro_density * bandwidth, imu.gyro_white)
    compass = find_part(COMPASS_PARTS, spec.compass, "compass")
    barometer = find_part(BAROMETER_PARTS, spec.barometer, "barometer")
    return SensorFit(
        imu_rate_hz=imu_rate_hz(physics_step_us),
        accel=Gaussian(sigma=scale * accel, bias_sigma=scale * imu.accel_turn_on),
        gyro=Gaussian(sigma=scale * gyro, bias_sigma=scale * imu.gyro_turn_on),
        magnetometer=Gaussian(sigma=scale * compass.white),
        pressure=Gaussian(sigma=scale * barometer.white, bias_sigma=scale * barometer.turn_on),
        altitude_m=altitude_m,
        topics=topics,
        beams_deg=spec.rangefinders_deg if rangefinders else (),
        lidar=lidar,
        camera=camera,
    )


IMU_NAME = "imu_sensor"
# A plugin that misses this many packets in a row complains; each miss is 10 ms.
CONNECTION_TIMEOUT_COUNT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSetup:
    """Where the ArduPilot plugin of a rover listens."""

    address: str
    port: int
    lock_step: bool = True
    have_32_channels: bool = False
    timeout_count: int = CONNECTION_TIMEOUT_COUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class RoverModel:
    """One rover of a world.

    Attributes:
        name: of the model.
        at: where it starts, in the world.
        chassis: its mechanics.
        sensors: what it carries.
        plugin: None: it is only shown, not driven.
        description: one sentence for people.
    """

    name: str
    chassis: Chassis
    sensors: SensorFit
    at: Placement = AT_ORIGIN
    plugin: PluginSetup | None = None
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse a name that SDF reserves."""
        check_model_name(self.name)


def build_rover_model(
    name: str,
    spec: RoverSpec,
    sensors: SensorFit,
    *,
    number: int,
    at: Placement = AT_ORIGIN,
    plugin: PluginSetup | None = None,
) -> RoverModel:
    """Build the model of a rover; ``number`` is written on it and chooses its colour."""
    build = ackermann_chassis if spec.drive is DriveKind.ACKERMANN else skid_chassis
    steering = "car-steered" if spec.drive is DriveKind.ACKERMANN else "skid-steered"
    chassis = build(spec, number, rover_colour(number))
    return RoverModel(
        name=name,
        chassis=chassis if plugin else _without_collisions(chassis),
        sensors=sensors,
        at=at,
        plugin=plugin,
        description=f"A {steering} rover: {spec.preset}, {spec.mass_kg:g} kg,"
        f" {spec.max_speed:g} m/s.",
    )


def _without_collisions(chassis: Chassis) -> Chassis:
    """What is only shown collides with nothing."""
    links = tuple(replace(link, collisions=()) for link in chassis.links)
    return replace(chassis, links=links)
