"""One rover description for Lightweight and the generated models; the presets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from pico_gz.core.portable_math import FLOATS, RAD_PER_DEG, sincos
from pico_gz.core.vehicle_config import (
    ARDUPILOT_CHANNELS,
    PICO_TRAIL_CHANNELS,
    ChannelMap,
    DriveKind,
)
from pico_gz.errors import ConfigError, did_you_mean

DEFAULT_PRESET = "pico_trail_freenove"


class RoverSpec(msgspec.Struct, frozen=True, kw_only=True):
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
        drag_area_m2: drag coefficient times area, for wind.
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
        encoder_ticks: per wheel turn; 0: no encoders fitted.
        rangefinders_deg: bearings of fitted rangefinders, clockwise from the bow.
        imu: name of a sensor part; the same for ``gps``, ``compass``, ``barometer``.
        gps_latency_ms: age of a position fix when it is delivered.
        gps_first_fix_s: time from power-on to the first fix.
        imu_rate_hz: samples per second, 0 = every step; also ``compass_rate_hz``,
            ``barometer_rate_hz`` and ``range_rate_hz``.
        imu_position_frd_m: where the IMU sits, ahead, right of and below the reference point.
        compass_calibrated: hard and soft iron of the rover have been removed.
        encoder_miss: probability that an encoder misses a tick, 0..1.
        range_min_m: what rangefinders can tell, up to ``range_max_m``.
        range_beam_deg: full width of their cone; 0 is a single ray.
        noise_free: sensors tell the truth, whatever noise profile is asked for.
        drive_model: name of an exchangeable drive model; empty: by ``drive``.
        sensor_model: name of an exchangeable sensor model; empty: the standard one.
        channels: which servo output does what.

    On Gazebo, IMU and rangefinders are the world's: their rates, places and limits are not used.
    """

    preset: str = "custom"
    drive: DriveKind = DriveKind.SKID
    wheel_base: float = 0.15
    wheel_spread_m: float = 0.12
    wheel_radius_m: float = 0.033
    wheel_width_m: float = 0.026
    length_m: float = 0.25
    width_m: float = 0.16
    height_m: float = 0.10
    mass_kg: float = 1.2
    radius_m: float = 0.15
    max_speed: float = 1.0
    max_turn_rate: float = 0.0
    deadband: float = 0.0
    expo: float = 0.0
    lag_s: float = 0.0
    coast_lag_s: float | None = None
    accel_limit_mps2: float = 0.0
    brake_limit_mps2: float = 0.0
    track_factor: float = 1.0
    yaw_lag_s: float = 0.0
    icr_offset_m: float = 0.0
    slip: float = 0.0
    grip_mu: float = 0.0
    rolling_resistance: float = 0.0
    hold_mps2: float = math.inf
    drag_area_m2: float = 0.0
    skid_turn_radps: float = 0.0
    yaw_clamp_radps: float = 0.0
    max_steer_deg: float = 30.0
    steer_rate_degps: float = 0.0
    understeer_s2pm: float = 0.0
    turn_circle_m: float = 0.0
    battery_scaling: bool = False
    battery_cells: int = 2
    battery_capacity_ah: float = 2.5
    battery_ohm: float = 0.1
    idle_a: float = 0.15
    run_a: float = 0.5
    stall_a: float = 2.5
    encoder_ticks: int = 20
    rangefinders_deg: tuple[float, ...] = ()
    imu: str = "icm20948"
    gps: str = "standard"
    compass: str = "qmc5883l"
    barometer: str = "bmp280"
    gps_latency_ms: float = 100.0
    gps_first_fix_s: float = 0.0
    imu_rate_hz: float = 100.0
    compass_rate_hz: float = 50.0
    barometer_rate_hz: float = 25.0
    range_rate_hz: float = 20.0
    imu_position_frd_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    compass_calibrated: bool = True
    encoder_miss: float = 0.0
    range_min_m: float = 0.02
    range_max_m: float = 4.0
    range_beam_deg: float = 15.0
    noise_free: bool = False
    drive_model: str = ""
    sensor_model: str = ""
    channels: ChannelMap = ARDUPILOT_CHANNELS

    def __post_init__(self) -> None:
        """Refuse a rover that cannot exist, naming everything that is wrong with it."""
        problems = [
            f"{name} = {getattr(self, name)!r}: {rule}"
            for name, rule, holds in _rules()
            if not holds(getattr(self, name))
        ]
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
            sine, cosine = sincos(FLOATS, self.max_steer_deg * RAD_PER_DEG)
            return float(fastest * (sine / cosine) / self.wheel_base)
        if self.skid_turn_radps:
            return 2.0 * self.skid_turn_radps
        return 2.0 * fastest / self.effective_track_m


# No battery of any cell count gives more than this over its nominal voltage (4.2 V / 3.7 V).
MAX_BATTERY_RATIO = 1.2

_POSITIVE = (
    "wheel_base", "wheel_spread_m", "wheel_radius_m", "wheel_width_m", "length_m", "width_m",
    "height_m", "mass_kg", "radius_m", "max_speed", "battery_capacity_ah",
)  # fmt: skip
_NOT_NEGATIVE = (
    "max_turn_rate", "lag_s", "accel_limit_mps2", "brake_limit_mps2", "yaw_lag_s", "grip_mu",
    "rolling_resistance", "drag_area_m2", "skid_turn_radps", "yaw_clamp_radps",
    "steer_rate_degps", "understeer_s2pm", "turn_circle_m", "battery_ohm", "idle_a", "run_a",
    "stall_a", "encoder_ticks", "gps_latency_ms", "gps_first_fix_s", "range_min_m",
)  # fmt: skip
_RATES = ("imu_rate_hz", "compass_rate_hz", "barometer_rate_hz", "range_rate_hz")
_MAX_RATE_HZ = 100_000.0
_MAX_LEVER_M = 100.0
_MAX_RANGE_M = 100_000.0


def _rules() -> list[tuple[str, str, Any]]:
    def positive(value: float) -> bool:
        return 0.0 < value < math.inf

    def not_negative(value: float) -> bool:
        return 0.0 <= value < math.inf

    rules: list[tuple[str, str, Any]] = [(name, "must be above 0", positive) for name in _POSITIVE]
    rules += [(name, "must be 0 or more", not_negative) for name in _NOT_NEGATIVE]
    rules += [
        (name, f"must be 0 (every step)..{_MAX_RATE_HZ:.0f}", lambda v: 0.0 <= v <= _MAX_RATE_HZ)
        for name in _RATES
    ]
    rules += [
        ("deadband", "must be 0 or more and below 1", lambda value: 0.0 <= value < 1.0),
        ("slip", "must be 0 or more and below 1", lambda value: 0.0 <= value < 1.0),
        ("expo", "must be 0..1", lambda value: 0.0 <= value <= 1.0),
        ("track_factor", "must be 1 or more", lambda value: 1.0 <= value < math.inf),
        ("hold_mps2", "must be 0 or more", lambda value: value >= 0.0),
        ("coast_lag_s", "must be 0 or more", lambda value: value is None or value >= 0.0),
        ("icr_offset_m", "must be a finite number", math.isfinite),
        ("battery_cells", "must be 1..12", lambda value: 1 <= value <= 12),
        ("rangefinders_deg", "must be finite", lambda value: all(map(math.isfinite, value))),
        ("range_max_m", f"must be above 0 and at most {_MAX_RANGE_M:.0f}", _is_range),
        ("range_beam_deg", "must be 0..90", lambda value: 0.0 <= value <= 90.0),
        ("encoder_miss", "must be 0..1", lambda value: 0.0 <= value <= 1.0),
        ("imu_position_frd_m", f"each at most {_MAX_LEVER_M:.0f} m away", _is_near),
    ]
    return rules


def _is_range(value: float) -> bool:
    return 0.0 < value <= _MAX_RANGE_M


def _is_near(place: tuple[float, float, float]) -> bool:
    return all(abs(part) <= _MAX_LEVER_M for part in place)


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
    base = PRESETS[preset]
    if not overrides:
        return base
    known = [name for name in RoverSpec.__struct_fields__ if name != "preset"]
    for name in overrides:
        if name not in known:
            raise ConfigError(f"A rover has no {name!r}.", hint=did_you_mean(name, known))
    return msgspec.structs.replace(base, **_converted(overrides))


def _converted(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what a fleet file holds (ints for floats, text for enums) into the field types."""
    types = {field.name: field.type for field in msgspec.structs.fields(RoverSpec)}
    converted = {}
    for name, value in overrides.items():
        try:
            converted[name] = msgspec.convert(value, types[name])
        except msgspec.ValidationError as error:
            raise ConfigError(f"Rover: {name} = {value!r}: {error}.") from error
    return converted
