"""The settings of the built-in simulator: simple model or preset figures."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import msgspec

from pico_gz.core.rover_spec import RoverSpec, converted, rover_spec
from pico_gz.errors import ConfigError, did_you_mean

# The simple model: an ideal rover with white noise.
_SIMPLE_NOISE = {
    "gps_noise_m": 0.5,
    "accel_noise_mss": 0.1,
    "gyro_noise_rads": 0.01,
    "compass_noise_rad": 0.05,
}
_FIGURES = ("wheel_base", "max_speed", "max_turn_rate", "gps_rate_hz", *_SIMPLE_NOISE)
_PRESET_GPS_RATE_HZ = 5.0
_UNSET: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LightweightConfig:
    """The simple model: kinematic skid steer and white noise. ``preset`` sets all of it.

    Figures that are given win over the preset; the others are filled in on construction. With a
    preset, a noise of ``None`` is that of the fitted sensor part.

    Attributes:
        preset: one of ``pico_gz.core.rover_spec.PRESETS``; empty is the simple model.
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
        ConfigError: an unknown preset, or a figure that no rover can have.
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
        given = tuple(name for name in _FIGURES if getattr(self, name) is not None)
        object.__setattr__(self, "explicit", given)
        spec = self.spec()
        for name in _FIGURES:
            object.__setattr__(self, name, getattr(spec, name))

    def changed(self, **keys: Any) -> LightweightConfig:
        """The same with some keys given explicitly, beside those that were before."""
        known = [item.name for item in fields(self) if item.init]
        for name in keys:
            if name not in known:
                raise ConfigError(f"Lightweight has no {name!r}.", hint=did_you_mean(name, known))
        before = {name: getattr(self, name) for name in (*self.explicit, "preset", "seed")}
        return LightweightConfig(**{**before, **keys})

    def spec(self) -> RoverSpec:
        """The rover that this describes."""
        return self.applied_to(
            rover_spec(self.preset) if self.preset else rover_spec("ideal", {"noise_free": False})
        )

    def applied_to(self, spec: RoverSpec) -> RoverSpec:
        """``spec`` with the figures that were given; a noisy ideal rover is the simple model."""
        changes = converted({name: getattr(self, name) for name in self.explicit})
        if not self.preset and _is_simple(spec):
            unset = {n: value for n, value in _SIMPLE_NOISE.items() if getattr(spec, n) is None}
            changes = {**unset, **changes}
        return msgspec.structs.replace(spec, **changes)


def _is_simple(spec: RoverSpec) -> bool:
    return spec.preset == "ideal" and not spec.noise_free


def has_figures(spec: RoverSpec) -> bool:
    """Whether single figures of the sensors' noise or rate were given."""
    noise = any(getattr(spec, name) is not None for name in _SIMPLE_NOISE)
    return noise or spec.gps_rate_hz != _PRESET_GPS_RATE_HZ
