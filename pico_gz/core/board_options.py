"""How one vehicle's board differs from another's: mounting, units, serial ports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

from pico_gz.errors import ConfigError, did_you_mean

AXES = ("+x", "+y", "+z", "-x", "-y", "-z")


Choice = TypeVar("Choice", bound=StrEnum)


def choice(kind: type[Choice], word: str, key: str) -> Choice:
    """Turn a word of a fleet file into the value it names.

    Raises:
        ConfigError: it names none; the message offers the nearest.
    """
    known = [member.value for member in kind]
    if word not in known:
        raise ConfigError(f"{key} cannot be {word!r}.", hint=did_you_mean(word, known))
    return kind(word)


class AccelConvention(StrEnum):
    """What an accelerometer at rest shows on z: -9.81 (specific force) or +9.81."""

    SPECIFIC_FORCE_FRD = "specific_force_frd"
    GRAVITY_POSITIVE = "gravity_positive"


class CompassUnit(StrEnum):
    """The unit of what ``read_compass`` gives; 1 gauss is 100 microtesla."""

    GAUSS = "gauss"
    MICROTESLA = "microtesla"

    @property
    def per_gauss(self) -> float:
        """How many of it are one gauss."""
        return 100.0 if self is CompassUnit.MICROTESLA else 1.0


class PressureUnit(StrEnum):
    """The unit of what ``read_barometer`` gives; 1 hectopascal is 100 pascal."""

    PASCAL = "pascal"
    HECTOPASCAL = "hectopascal"

    @property
    def pascals(self) -> float:
        """How many pascal are one of it."""
        return 100.0 if self is PressureUnit.HECTOPASCAL else 1.0


class SerialFormat(StrEnum):
    """What a simulated GPS receiver sends on its UART."""

    NMEA = "nmea"
    UBX = "ubx"


class SerialOutput(msgspec.Struct, frozen=True):
    """A GPS receiver on a UART.

    Attributes:
        format: ``nmea`` (GGA and RMC) or ``ubx`` (NAV-PVT).
        rate_hz: most reports per second; never more than the simulated GPS has samples.
    """

    format: SerialFormat
    rate_hz: float = 5.0

    def __post_init__(self) -> None:
        """Refuse a format or rate that is none."""
        msgspec.structs.force_setattr(self, "format", choice(SerialFormat, self.format, "format"))
        if not (math.isfinite(self.rate_hz) and self.rate_hz > 0.0):
            raise ConfigError(f"A serial output needs a rate above 0, not {self.rate_hz} Hz.")


_CHOICES: dict[str, type[StrEnum]] = {
    "accel_convention": AccelConvention,
    "compass_unit": CompassUnit,
    "pressure_unit": PressureUnit,
}


class PlatformOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the sensors are mounted and read.

    Attributes:
        accel_convention: sign of the accelerometer.
        axis_remap: which body axis (FRD) the chip's x, y and z show, such as
            ``("+y", "-x", "+z")``; of accelerometer, gyro and compass.
        compass_unit: unit of the numbers that ``read_compass`` gives.
        pressure_unit: unit of the pressure that ``read_barometer`` gives.
        battery_divider: battery volts per volt at the ADC pin.
        serial_outputs: GPS receivers by UART port.
        utc_start_s: UTC at simulation time 0, seconds since 1970 (2026-01-01 00:00:00).
    """

    accel_convention: AccelConvention = AccelConvention.SPECIFIC_FORCE_FRD
    axis_remap: tuple[str, str, str] = ("+x", "+y", "+z")
    compass_unit: CompassUnit = CompassUnit.GAUSS
    pressure_unit: PressureUnit = PressureUnit.PASCAL
    battery_divider: float = 3.95
    serial_outputs: Mapping[int, SerialOutput] = {}
    utc_start_s: int = 1_767_225_600

    def __post_init__(self) -> None:
        """Refuse what no board has; plain words are as good as the enums."""
        for key, kind in _CHOICES.items():
            msgspec.structs.force_setattr(self, key, choice(kind, getattr(self, key), key))
        letters = sorted(axis[1:] for axis in self.axis_remap)
        if letters != ["x", "y", "z"] or not set(self.axis_remap) <= set(AXES):
            raise ConfigError(
                f"axis_remap {self.axis_remap} does not name x, y and z once each with a sign.",
                hint='For example ("+y", "-x", "+z").',
            )
        if not (math.isfinite(self.battery_divider) and self.battery_divider > 0.0):
            raise ConfigError(f"A battery divider is above 0, not {self.battery_divider}.")
