"""One rover description for Lightweight and the generated models; the presets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_type_hints

import msgspec

from pico_gz.core.portable_math import RAD_PER_DEG, sincos
from pico_gz.core.vehicle_config import (
    ARDUPILOT_CHANNELS,
    PICO_TRAIL_CHANNELS,
    ChannelMap,
    DriveKind,
)
from pico_gz.errors import ConfigError, did_you_mean

DEFAULT_PRESET = "pico_trail_freenove"


class Limit(NamedTuple):
    """What a field's value must be, in words and as a check; ``None`` always passes."""

    rule: str
    holds: Callable[[Any], bool]


_MAX_RATE_HZ = 100_000.0
_MAX_LEVER_M = 100.0
_MAX_RANGE_M = 100_000.0
# No battery of any cell count gives more than this over its nominal voltage (4.2 V / 3.7 V).
MAX_BATTERY_RATIO = 1.2

# A figure beyond this is a slip of the pen, and overflows what is computed from it.
_TOO_MUCH = 1.0e9
_FROM_0 = Limit("must be 0 or more and below 1e9", lambda value: 0.0 <= value < _TOO_MUCH)
_FROM_0_OR_INFINITE = Limit("must be 0 or more", lambda value: value >= 0.0)
_FROM_1 = Limit("must be 1 or more and at most 1000", lambda value: 1.0 <= value <= 1000.0)
_ABOVE_0 = Limit("must be above 0 and below 1e9", lambda value: 0.0 < value < _TOO_MUCH)
_SIZE = Limit("must be above 0 and at most 100", lambda value: 0.0 < value <= 100.0)
_MASS = Limit("must be above 0 and at most 100000", lambda value: 0.0 < value <= 1.0e5)
_SPEED = Limit("must be above 0 and at most 100", lambda value: 0.0 < value <= 100.0)
_BELOW_1 = Limit("must be 0 or more and below 1", lambda value: 0.0 <= value < 1.0)
_OFFSET = Limit("must be -100..100", lambda value: -100.0 <= value <= 100.0)
_CELLS = Limit("must be 1..12", lambda value: 1 <= value <= 12)
_BEAM = Limit("must be 0..90", lambda value: 0.0 <= value <= 90.0)
_BEARINGS = Limit("must be finite", lambda values: all(map(math.isfinite, values)))
_LEVER = Limit(
    f"each at most {_MAX_LEVER_M:.0f} m away",
    lambda place: all(abs(part) <= _MAX_LEVER_M for part in place),
)
_RANGE = Limit(
    f"must be above 0 and at most {_MAX_RANGE_M:.0f}", lambda value: 0.0 < value <= _MAX_RANGE_M
)
_RATE = Limit(
    f"must be 0 (every step)..{_MAX_RATE_HZ:.0f}", lambda value: 0.0 <= value <= _MAX_RATE_HZ
)
Positive = Annotated[float, _ABOVE_0]
NotNegative = Annotated[float, _FROM_0]
Share = Annotated[float, Limit("must be 0..1", lambda value: 0.0 <= value <= 1.0)]
Rate = Annotated[float, _RATE]  # samples per second
Size = Annotated[float, _SIZE]
Noise = Annotated[float | None, _FROM_0]  # replaces that of the fitted part


class FittedSensors(msgspec.Struct, frozen=True, kw_only=True):
    """The sensors that a rover carries.

    Attributes:
        imu: name of a sensor part; the same for ``gps``, ``compass``, ``barometer``.
        imu_rate_hz: samples per second, 0 = every step; a rate above the step rate gives one
            sample per step. Also ``gps_rate_hz``, ``compass_rate_hz``, ``barometer_rate_hz`` and
            ``range_rate_hz``.
        gps_noise_m: white position noise per axis instead of the part's position errors [m].
        accel_noise_mss: white noise per sample instead of the part's [m/s^2].
        gyro_noise_rads: white noise per sample instead of the part's [rad/s].
        compass_noise_rad: white heading noise instead of the part's [rad].
        gps_latency_ms: age of a position fix when it is delivered.
        gps_first_fix_s: time from power-on to the first fix.
        imu_position_frd_m: where the IMU sits, ahead, right of and below the reference point.
        compass_calibrated: hard and soft iron of the rover have been removed.
        encoder_ticks: per wheel turn; 0: no encoders fitted.
        encoder_miss: probability that an encoder misses a tick, 0..1.
    """

    imu: str = "icm20948"
    gps: str = "standard"
    compass: str = "qmc5883l"
    barometer: str = "bmp280"
    imu_rate_hz: Rate = 100.0
    gps_rate_hz: Rate = 5.0
    compass_rate_hz: Rate = 50.0
    barometer_rate_hz: Rate = 25.0
    range_rate_hz: Rate = 20.0
    gps_noise_m: Noise = None
    accel_noise_mss: Noise = None
    gyro_noise_rads: Noise = None
    compass_noise_rad: Noise = None
    gps_latency_ms: NotNegative = 100.0
    gps_first_fix_s: NotNegative = 0.0
    imu_position_frd_m: Annotated[tuple[float, float, float], _LEVER] = (0.0, 0.0, 0.0)
    compass_calibrated: bool = True
    encoder_ticks: Annotated[int, _FROM_0] = 20
    encoder_miss: Share = 0.0


class RoverSpec(FittedSensors, frozen=True, kw_only=True):
    """How a rover is built and how it moves. ``0`` switches a limit or an effect off.

    Attributes:
        preset: the name it started from.
        drive: skid steer or Ackermann.
        wheel_base: skid: between left and right wheels; Ackermann: between the axles [m].
        wheel_spread_m: the other wheel distance: skid front to rear, Ackermann left to right.
        wheel_radius_m: and ``wheel_width_m``.
        length_m: of the body; with ``width_m``, ``height_m`` and ``mass_kg``.
        radius_m: of the disc that collides; the reference point is its centre for skid steer.
        max_speed: on level ground with a full battery [m/s].
        max_turn_rate: limits the turn that is commanded, before the wheels [rad/s].
        deadband: commands below it do nothing, 0..1.
        expo: how much of the command is cubed, 0..1.
        lag_s: time constant of the driven wheels.
        coast_lag_s: the same without a command; ``None`` like ``lag_s``, infinite rolls freely.
        accel_limit_mps2: what the motors can do when speeding up.
        brake_limit_mps2: and when slowing down.
        track_factor: effective track over real track of a skid-steered rover, >= 1.
        yaw_lag_s: time constant from wheel speeds to yaw rate.
        icr_offset_m: how far the centre of rotation lies ahead of the reference point.
        slip: share of the wheel speed that is lost, 0..1.
        grip_mu: friction coefficient that bounds speed times yaw rate.
        rolling_resistance: coefficient, times g.
        hold_mps2: the gear holds an unpowered rover against this much; infinite: always.
        drag_area_m2: drag coefficient times area. 0, as in ``ideal``, ``ardupilot_skid`` and
            ``ardupilot_car``: neither wind nor still air act on it.
        skid_turn_radps: SIM_Rover law: yaw rate per unit of (left - right); 0: from the wheels.
        yaw_clamp_radps: the yaw rate never exceeds this.
        max_steer_deg: of the front wheels.
        steer_rate_degps: of the steering servo.
        understeer_s2pm: K in ``w = v tan(delta) / (L + K v^2)``.
        turn_circle_m: SIM_Rover law: diameter at full steering; 0: from the geometry.
        battery_scaling: whether the speed follows the battery voltage.
        battery_cells: lithium cells in series.
        battery_capacity_ah: charge when full.
        battery_ohm: inner resistance.
        idle_a: current of the electronics; ``run_a`` and ``stall_a`` per motor.
        rangefinders_deg: bearings of fitted rangefinders, clockwise from the bow.
        range_min_m: what rangefinders can measure, up to ``range_max_m``.
        range_beam_deg: full width of their cone; 0 is a single ray.
        noise_free: sensors measure the truth, whatever noise profile is asked for.
        drive_model: name of an exchangeable drive model; empty: by ``drive``.
        sensor_model: name of an exchangeable sensor model; empty: the standard one.
        channels: which servo output does what.

    On Gazebo, IMU and rangefinders are the world's: their rates, places and limits are not used,
    nor are the four noise figures and ``gps_rate_hz``.
    """

    preset: str = "custom"
    drive: DriveKind = DriveKind.SKID
    wheel_base: Size = 0.15
    wheel_spread_m: Size = 0.12
    wheel_radius_m: Size = 0.033
    wheel_width_m: Size = 0.026
    length_m: Size = 0.25
    width_m: Size = 0.16
    height_m: Size = 0.10
    mass_kg: Annotated[float, _MASS] = 1.2
    radius_m: Size = 0.15
    max_speed: Annotated[float, _SPEED] = 1.0
    max_turn_rate: NotNegative = 0.0
    deadband: Annotated[float, _BELOW_1] = 0.0
    expo: Share = 0.0
    lag_s: NotNegative = 0.0
    coast_lag_s: Annotated[float | None, _FROM_0_OR_INFINITE] = None
    accel_limit_mps2: NotNegative = 0.0
    brake_limit_mps2: NotNegative = 0.0
    track_factor: Annotated[float, _FROM_1] = 1.0
    yaw_lag_s: NotNegative = 0.0
    icr_offset_m: Annotated[float, _OFFSET] = 0.0
    slip: Annotated[float, _BELOW_1] = 0.0
    grip_mu: NotNegative = 0.0
    rolling_resistance: NotNegative = 0.0
    hold_mps2: Annotated[float, _FROM_0_OR_INFINITE] = math.inf
    drag_area_m2: NotNegative = 0.0
    skid_turn_radps: NotNegative = 0.0
    yaw_clamp_radps: NotNegative = 0.0
    max_steer_deg: float = 30.0
    steer_rate_degps: NotNegative = 0.0
    understeer_s2pm: NotNegative = 0.0
    turn_circle_m: NotNegative = 0.0
    battery_scaling: bool = False
    battery_cells: Annotated[int, _CELLS] = 2
    battery_capacity_ah: Positive = 2.5
    battery_ohm: NotNegative = 0.1
    idle_a: NotNegative = 0.15
    run_a: NotNegative = 0.5
    stall_a: NotNegative = 2.5
    rangefinders_deg: Annotated[tuple[float, ...], _BEARINGS] = ()
    range_min_m: NotNegative = 0.02
    range_max_m: Annotated[float, _RANGE] = 4.0
    range_beam_deg: Annotated[float, _BEAM] = 15.0
    noise_free: bool = False
    drive_model: str = ""
    sensor_model: str = ""
    channels: ChannelMap = ARDUPILOT_CHANNELS

    def __post_init__(self) -> None:
        """Refuse a rover that cannot exist, naming everything that is wrong with it."""
        problems = limit_problems(self)
        if self.drive is DriveKind.ACKERMANN and not 0.0 < self.max_steer_deg < 80.0:
            problems.append(f"max_steer_deg = {self.max_steer_deg!r}: between 0 and 80 degrees")
        if self.range_min_m >= self.range_max_m:
            problems.append(
                f"range_min_m = {self.range_min_m!r}: must be below range_max_m"
                f" ({self.range_max_m!r})"
            )
        if problems:
            raise ConfigError("This rover cannot be: " + "; ".join(problems) + ".")

    @property
    def track_m(self) -> float:
        """Distance between left and right wheels."""
        return self.wheel_base if self.drive is DriveKind.SKID else self.wheel_spread_m

    @property
    def axle_distance_m(self) -> float:
        """Distance between front and rear wheels."""
        return self.wheel_spread_m if self.drive is DriveKind.SKID else self.wheel_base

    @property
    def center_ahead_m(self) -> float:
        """How far the middle of the body lies ahead of the reference point."""
        return 0.0 if self.drive is DriveKind.SKID else 0.5 * self.wheel_base

    @property
    def effective_track_m(self) -> float:
        """The track that wheel speeds and yaw rate really obey."""
        return self.track_m * self.track_factor

    @property
    def top_yaw_radps(self) -> float:
        """A yaw rate that it never exceeds, on any battery."""
        return min(self._natural_top_yaw(), self.yaw_clamp_radps or math.inf)

    def _natural_top_yaw(self) -> float:
        fastest = self.max_speed * (MAX_BATTERY_RATIO if self.battery_scaling else 1.0)
        if self.drive is DriveKind.ACKERMANN:
            if self.turn_circle_m:
                return 2.0 * fastest / self.turn_circle_m
            sine, cosine = sincos(self.max_steer_deg * RAD_PER_DEG)
            return float(fastest * (sine / cosine) / self.wheel_base)
        if self.skid_turn_radps:
            return 2.0 * self.skid_turn_radps
        return 2.0 * fastest / self.effective_track_m


@cache
def _limits(kind: type[FittedSensors]) -> list[tuple[str, Limit]]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        (name, limit)
        for name, hint in hints.items()
        for limit in getattr(hint, "__metadata__", ())
        if isinstance(limit, Limit)
    ]


def limit_problems(described: FittedSensors) -> list[str]:
    """Name every field whose value is outside its limit, and the limit."""
    problems = []
    for name, limit in _limits(type(described)):
        value = getattr(described, name)
        if value is not None and not limit.holds(value):
            problems.append(f"{name} = {value!r}: {limit.rule}")
    return problems


PRESETS: dict[str, RoverSpec] = {
    spec.preset: spec
    for spec in (
        RoverSpec(
            preset="ideal",
            max_turn_rate=2.0,
            imu="simple",
            gps="simple",
            compass="simple",
            barometer="simple",
            gps_latency_ms=0.0,
            noise_free=True,
            channels=PICO_TRAIL_CHANNELS,
        ),
        RoverSpec(
            preset="pico_trail_freenove",
            deadband=0.05,
            lag_s=0.1,
            coast_lag_s=0.2,
            accel_limit_mps2=4.0,
            brake_limit_mps2=6.0,
            track_factor=1.6,
            yaw_lag_s=0.05,
            grip_mu=0.7,
            rolling_resistance=0.015,
            hold_mps2=3.0,
            drag_area_m2=0.02,
            battery_scaling=True,
            channels=PICO_TRAIL_CHANNELS,
        ),
        RoverSpec(
            preset="pico_trail_ackermann",
            drive=DriveKind.ACKERMANN,
            wheel_base=0.17,
            wheel_spread_m=0.14,
            length_m=0.28,
            radius_m=0.16,
            deadband=0.05,
            lag_s=0.15,
            coast_lag_s=0.3,
            accel_limit_mps2=3.0,
            brake_limit_mps2=5.0,
            grip_mu=0.7,
            rolling_resistance=0.015,
            hold_mps2=3.0,
            drag_area_m2=0.02,
            max_steer_deg=30.0,
            steer_rate_degps=60.0 / 0.18,
            battery_scaling=True,
            channels=PICO_TRAIL_CHANNELS,
        ),
        RoverSpec(
            preset="ardupilot_skid",
            wheel_base=0.30,
            wheel_spread_m=0.30,
            wheel_radius_m=0.06,
            wheel_width_m=0.06,
            length_m=0.42,
            width_m=0.30,
            height_m=0.13,
            mass_kg=2.7,
            radius_m=0.27,
            max_speed=4.0,
            lag_s=4.0 / 14.0,
            skid_turn_radps=140.0 * RAD_PER_DEG,
            yaw_clamp_radps=360.0 * RAD_PER_DEG,
            battery_cells=3,
            battery_capacity_ah=5.0,
        ),
        RoverSpec(
            preset="ardupilot_car",
            drive=DriveKind.ACKERMANN,
            wheel_base=0.63,
            wheel_spread_m=0.45,
            wheel_radius_m=0.10,
            wheel_width_m=0.08,
            length_m=0.90,
            width_m=0.45,
            height_m=0.25,
            mass_kg=12.0,
            radius_m=0.52,
            max_speed=20.0,
            lag_s=20.0 / 10.0,
            yaw_clamp_radps=360.0 * RAD_PER_DEG,
            max_steer_deg=35.0,
            turn_circle_m=1.8,
            battery_cells=3,
            battery_capacity_ah=5.0,
        ),
    )
}


def rover_spec(
    preset: str = DEFAULT_PRESET, overrides: Mapping[str, Any] | None = None
) -> RoverSpec:
    """Return a preset with some of its fields replaced.

    Raises:
        ConfigError: no such preset or field, a value of the wrong type, or one that no rover
            can have; the message names it and what is allowed.
    """
    if preset not in PRESETS:
        raise ConfigError(f"Unknown rover preset {preset!r}.", hint=did_you_mean(preset, PRESETS))
    return changed_rover(PRESETS[preset], overrides or {})


def changed_rover(base: RoverSpec, overrides: Mapping[str, Any]) -> RoverSpec:
    """``base`` with some of its fields replaced; raises like ``rover_spec``."""
    if not overrides:
        return base
    for name in overrides:
        if name not in rover_field_types():
            raise ConfigError(
                f"A rover has no {name!r}.", hint=did_you_mean(name, rover_field_types())
            )
    return msgspec.structs.replace(base, **converted(overrides))


@cache
def rover_field_types() -> dict[str, Any]:
    """The type of every field of a rover but its preset's name, without limits."""
    types = get_type_hints(RoverSpec)
    del types["preset"]
    return types


def converted(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what a fleet file holds (ints for floats, text for enums) into the field types."""
    values = {}
    for name, value in overrides.items():
        try:
            values[name] = msgspec.convert(value, rover_field_types()[name])
        except msgspec.ValidationError as error:
            raise ConfigError(f"Rover: {name} = {value!r}: {error}.") from error
    return values
