"""The settings of the Lightweight simulator that the source documents name."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.rover import PRESETS, RoverSpec, rover_spec

_ROVER_KEYS = ("wheel_base", "max_speed", "max_turn_rate")
_SENSOR_KEYS = (
    "gps_noise_m", "gps_rate_hz", "accel_noise_mss", "gyro_noise_rads", "compass_noise_rad",
)  # fmt: skip
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
# Of a preset's sensors, only the rate has a figure of its own; noise is that of the parts.
_PRESET_GPS_RATE_HZ = 5.0
_UNSET: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LightweightConfig:
    """The simple model: kinematic skid steer and white noise. ``preset`` sets all of it.

    Keys that are given override the preset; the others are filled in on construction. With a
    preset, a noise of ``None`` is that of the fitted sensor part.

    Attributes:
        preset: one of ``pico_gz.rover.PRESETS``; empty is the simple model.
        wheel_base: skid: between left and right wheels; Ackermann: between axles [m]; 0.15.
        max_speed: [m/s]; 1.0.
        max_turn_rate: [rad/s], limits the command before the wheels; 2.0.
        gps_noise_m: white noise of the position, per axis [m]; 0.5.
        gps_rate_hz: fixes per second; 5.
        accel_noise_mss: white noise per sample [m/s^2]; 0.1.
        gyro_noise_rads: white noise per sample [rad/s]; 0.01.
        compass_noise_rad: white noise of the heading [rad]; 0.05.
        seed: of all random numbers; ``None`` draws one, which is logged and recorded.

    Raises:
        ConfigError: an unknown preset or a figure that cannot be.
    """

    preset: str = ""
    wheel_base: float = _UNSET
    max_speed: float = _UNSET
    max_turn_rate: float = _UNSET
    gps_noise_m: float | None = None
    gps_rate_hz: float = _UNSET
    accel_noise_mss: float | None = None
    gyro_noise_rads: float | None = None
    compass_noise_rad: float | None = None
    seed: int | None = None
    explicit: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Fill in what was not given and refuse what cannot be."""
        if self.preset and self.preset not in PRESETS:
            raise ConfigError(
                f"Unknown rover preset {self.preset!r}.", hint=did_you_mean(self.preset, PRESETS)
            )
        given = tuple(name for name in _SIMPLE if getattr(self, name) is not None)
        object.__setattr__(self, "explicit", given)
        for name, value in self._defaults().items():
            if name not in given:
                object.__setattr__(self, name, value)
        for name in _SENSOR_KEYS:
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < math.inf:
                raise ConfigError(f"{name} = {value!r}: must be 0 or more.")
        self.spec()

    def _defaults(self) -> dict[str, float]:
        if not self.preset:
            return _SIMPLE
        spec = PRESETS[self.preset]
        return {
            **{name: getattr(spec, name) for name in _ROVER_KEYS},
            "gps_rate_hz": _PRESET_GPS_RATE_HZ,
        }

    def changed(self, **keys: Any) -> LightweightConfig:
        """The same with some keys given explicitly, beside those that were before."""
        known = [item.name for item in fields(self) if item.init]
        for name in keys:
            if name not in known:
                raise ConfigError(f"Lightweight has no {name!r}.", hint=did_you_mean(name, known))
        before = {name: getattr(self, name) for name in (*self.explicit, "preset", "seed")}
        return LightweightConfig(**{**before, **keys})

    def explicit_rover(self) -> dict[str, float]:
        """The figures of the rover that were given."""
        return {name: getattr(self, name) for name in _ROVER_KEYS if name in self.explicit}

    def spec(self) -> RoverSpec:
        """The rover that this describes."""
        if self.preset:
            return rover_spec(self.preset, self.explicit_rover())
        simple = {name: getattr(self, name) for name in _ROVER_KEYS}
        return rover_spec("ideal", {**simple, "noise_free": False})

    def sensor_changes(self, spec: RoverSpec) -> dict[str, float]:
        """What to change in the sensors that ``spec`` carries."""
        if not self.preset and spec.preset == "ideal" and not spec.noise_free:
            names: tuple[str, ...] = _SENSOR_KEYS
        else:
            names = tuple(name for name in _SENSOR_KEYS if name in self.explicit)
        return {name: getattr(self, name) for name in names}
