"""``[board]``, for the fleet and for single vehicles: how sensors are mounted and read."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from annotated_types import Interval

from pico_gz.board_options import (
    AccelConvention,
    CompassUnit,
    PlatformOptions,
    PressureUnit,
    SerialFormat,
    SerialOutput,
)
from pico_gz.config.problems import Findings, KeyPath
from pico_gz.config.types import CHECKING
from pico_gz.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialSection:
    """A GPS receiver that talks on a serial port of the board."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    uart: Annotated[int, Interval(ge=0, le=7)] = 1
    """The serial port."""
    format: SerialFormat = SerialFormat.NMEA
    """nmea (GGA and RMC) or ubx (NAV-PVT)."""
    rate_hz: Annotated[float, Interval(gt=0, le=100)] = 5.0
    """Most reports per second; never more than the GPS has fixes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardSection:
    """How sensors are mounted and read; the built-in autopilot and the scripts cope with it all."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    accel_convention: AccelConvention | None = None
    """At rest, z shows -9.81 (specific_force_frd, the default) or +9.81 (gravity_positive)."""
    axis_remap: tuple[Literal["+x", "+y", "+z", "-x", "-y", "-z"], ...] | None = None
    """Body axes (FRD) that x, y, z of IMU and compass show; default ["+x", "+y", "+z"]."""
    compass_unit: CompassUnit | None = None
    """Unit of the compass: gauss (the default) or microtesla."""
    pressure_unit: PressureUnit | None = None
    """Unit of the barometer: pascal (the default) or hectopascal."""
    battery_divider: Annotated[float, Interval(gt=0, le=100)] | None = None
    """Battery volts per volt at the ADC pin; default 3.95."""
    serial: tuple[SerialSection, ...] | None = None
    """GPS receivers on serial ports; their day is the date of [origin]; default none."""


def build_board(
    fleet: BoardSection,
    own: BoardSection,
    path: KeyPath,
    date: datetime.date,
    findings: Findings,
) -> PlatformOptions:
    """The board of one vehicle: what its own table says wins over the fleet's.

    Args:
        fleet: ``[board]``.
        own: the vehicle's own; an empty one is as good as none.
        path: where the vehicle's own stands.
        date: of the fleet; serial receivers start at its midnight, UTC.
        findings: takes what no board can have.
    """
    midnight = datetime.datetime.combine(date, datetime.time(), datetime.UTC)
    options = PlatformOptions(utc_start_s=int(midnight.timestamp()))
    for section, place in ((fleet, ("board",)), (own, path)):
        for field in fields(section):
            key, value = (*place, field.name), getattr(section, field.name)
            # Part of a bad list has been left out, so it is not what was meant.
            if value is None or findings.has_below(*key):
                continue
            try:
                options = _changed(options, field.name, value)
            except ConfigError as error:
                findings.add(key, error.message, hint=error.hint)
    return options


def _changed(options: PlatformOptions, key: str, value: Any) -> PlatformOptions:
    if key != "serial":
        return msgspec.structs.replace(options, **{key: value})
    ports = [receiver.uart for receiver in value]
    if len(set(ports)) != len(ports):
        raise ConfigError("two receivers share one serial port.", hint="Give each its own uart.")
    outputs = {one.uart: SerialOutput(one.format, one.rate_hz) for one in value}
    return msgspec.structs.replace(options, serial_outputs=outputs)
