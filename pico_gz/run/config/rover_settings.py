"""The rover and board tables: a preset and the changed fields."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import msgspec

from pico_gz.core.board_options import PlatformOptions, SerialOutput
from pico_gz.core.rover_spec import (
    DEFAULT_PRESET,
    PRESETS,
    RoverSpec,
    rover_field_types,
    rover_spec,
)
from pico_gz.core.vehicle_config import ARDUPILOT_CHANNELS, PICO_TRAIL_CHANNELS, ChannelMap
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.run.config.field_types import expectation, key_names
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.settings import BoardSection, RoverSection

CHANNEL_MAPS = {"ardupilot": ARDUPILOT_CHANNELS, "pico_trail": PICO_TRAIL_CHANNELS}
ROVER_KEYS = tuple(rover_field_types())
_PART_KEYS = ("imu", "gps", "compass", "barometer")
# Each is judged alone first; what bounds it may be changed as well.
_LOOSENED: dict[str, dict[str, float]] = {
    "range_min_m": {"range_max_m": 100_000.0},
    "range_max_m": {"range_min_m": 0.0},
}


def check_preset(preset: str, path: KeyPath, findings: Findings) -> str:
    """Return ``preset``, or the default after noting that there is no such one."""
    if preset in PRESETS:
        return preset
    hint = did_you_mean(preset, PRESETS)
    findings.add(path, "there is no such rover preset.", value=preset, hint=hint)
    return DEFAULT_PRESET


def build_rover(section: RoverSection, changes: Mapping[str, Any], findings: Findings) -> RoverSpec:
    """Apply the changes one by one, so that every bad one is noted."""
    base = check_preset(section.preset, ("rover", "preset"), findings)
    good: dict[str, Any] = {}
    for name, written in {**section.given(), **changes}.items():
        path = ("rover", name)
        value = _channels(written, findings) if name == "channels" else written
        if name not in ROVER_KEYS:
            hint = did_you_mean(name, (*ROVER_KEYS, *key_names(RoverSection)))
            findings.add(path, "unknown key.", hint=_short(hint))
        elif name in _PART_KEYS:
            if _is_part(name, written, findings):
                good[name] = value
        elif not _fits(value, rover_field_types()[name]):
            findings.add(path, f"expected {_expected(name)}.", value=written)
        else:
            try:
                rover_spec(base, {**_LOOSENED.get(name, {}), name: value})
            except ConfigError as error:
                findings.add(path, _rule(error, name), value=written)
            else:
                good[name] = value
    return _combined(base, good, findings)


def _is_part(name: str, written: Any, findings: Findings) -> bool:
    """Whether there is such a sensor part; imported here because sensors bring NumPy with them."""
    from pico_gz.simulator import sensor_parts

    known = getattr(sensor_parts, f"{name.upper()}_PARTS")
    if isinstance(written, str) and written in known:
        return True
    message = "expected one of " + ", ".join(f'"{part}"' for part in known) + "."
    findings.add(("rover", name), message, value=written)
    return False


def _channels(written: Any, findings: Findings) -> Any:
    """A map by its name; in a table, unknown keys are errors here as everywhere."""
    if isinstance(written, str):
        return CHANNEL_MAPS.get(written, written)
    if not isinstance(written, dict):
        return written
    known = ChannelMap.__struct_fields__
    for key in written.keys() - set(known):
        findings.add(("rover", "channels", key), "unknown key.", hint=did_you_mean(key, known))
    return written


def _combined(base: str, changes: Mapping[str, Any], findings: Findings) -> RoverSpec:
    try:
        return rover_spec(base, changes)
    except ConfigError as error:  # fields that are fine alone and not together
        findings.add(("rover",), error.message)
        return PRESETS[base]


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _expected(name: str) -> str:
    if name == "channels":
        words = " or ".join(f'"{word}"' for word in CHANNEL_MAPS)
        return f"{words}, or a table as {{ left = 1, right = 3 }}"
    return expectation(rover_field_types()[name])


def _rule(error: ConfigError, name: str) -> str:
    """What was expected, without the name and value that stand before it already."""
    _, _, rule = error.message.partition(f"{name} = ")
    return rule.partition(": ")[2] or error.message


def _short(hint: str) -> str:
    """A rover has too many fields to list them all."""
    return hint if hint.startswith("Did") else "docs/fleet-file.md lists them."


def build_board(
    fleet: BoardSection,
    own: BoardSection,
    path: KeyPath,
    date: datetime.date,
    findings: Findings,
) -> PlatformOptions:
    """The board of one vehicle: its own table wins over the fleet's.

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
        for option in dataclasses.fields(section):
            key, value = (*place, option.name), getattr(section, option.name)
            # Part of a bad list has been left out, so it is not what was meant.
            if value is None or findings.has_below(*key):
                continue
            try:
                options = _changed_board(options, option.name, value)
            except ConfigError as error:
                findings.add(key, error.message, hint=error.hint)
    return options


def _changed_board(options: PlatformOptions, key: str, value: Any) -> PlatformOptions:
    if key != "serial":
        return msgspec.structs.replace(options, **{key: value})
    ports = [receiver.uart for receiver in value]
    if len(set(ports)) != len(ports):
        raise ConfigError("two receivers share one serial port.", hint="Give each its own uart.")
    outputs = {one.uart: SerialOutput(one.format, one.rate_hz) for one in value}
    return msgspec.structs.replace(options, serial_outputs=outputs)
